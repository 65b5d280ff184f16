// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules: what presets expand to, what is refused and why, and that a rule's words make it again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "io/format.h"
#include "rule/describe.h"
#include "unit/random.h"
#include "unit/rule_words.h"

/* --- what they expand to --- */

static void assert_match(const struct kphi_match *m, uint16_t offset, uint8_t width, uint64_t value,
			 uint64_t mask)
{
	assert_int_equal(m->offset, offset);
	assert_int_equal(m->width, width);
	assert_int_equal(m->value, value);
	assert_int_equal(m->mask, mask);
}

static void the_old_words_are_a_plain_rule(void **state)
{
	static const struct kphi_rule nothing;
	struct made m = make("from 10.0.0.1 port 9000"), udp = make("proto udp from 10.0.0.1 port 9000");

	(void)state;
	assert_int_equal(m.peer.id.kind, KPHI_ID_RULE);
	assert_int_equal(m.peer.id.protocol, 17);
	assert_int_equal(m.peer.id.port, 9000);
	assert_int_equal(m.peer.id.bytes[15], 1);
	assert_memory_equal(&m.rule, &nothing, sizeof(nothing));
	assert_true(same(&m, &udp));
}

static void bfd(void **state)
{
	struct made m = make("proto bfd from fe80::1 local-rx 300ms discriminator 4294967295 dev eth0");
	struct made multihop = make("proto bfd from 10.0.0.1 port 4784");
	struct made lag = make("proto bfd from 10.0.0.1 port 6784");

	(void)state;
	assert_int_equal(m.peer.id.port, 3784);
	assert_int_equal(m.rule.decoder, KPHI_DECODER_BFD);
	assert_int_equal(m.rule.min_ttl, 255);
	assert_int_equal(m.rule.local_rx_ns, 300000000);
	assert_match(&m.rule.match[0], 4, 4, UINT32_MAX, UINT32_MAX);
	assert_string_equal(m.rule.device, "eth0");
	assert_int_equal(multihop.rule.min_ttl, 0);
	assert_int_equal(multihop.rule.match[0].width, 0);
	assert_int_equal(lag.rule.min_ttl, 255);
}

static void vrrp(void **state)
{
	struct made m = make("proto vrrp vrid 51"), one = make("proto vrrp vrid 51 from 10.0.0.1");

	(void)state;
	assert_int_equal(m.peer.id.protocol, 112);
	assert_int_equal(m.peer.id.port, 0);
	assert_true(m.rule.any_source);
	assert_int_equal(m.rule.min_ttl, 255);
	assert_match(&m.rule.match[0], 0, 2, 0x0133, 0x0fff); /* 2133 and 3133 */
	assert_match(&m.rule.leave, 2, 1, 0, 0xff);
	assert_false(one.rule.any_source);
}

static void corosync_and_memberlist(void **state)
{
	struct made ping = make("proto corosync from 10.0.0.1"), any = make("proto memberlist from 10.0.0.1");
	char why[WHY_SIZE];

	(void)state;
	assert_int_equal(ping.peer.id.port, 5405);
	assert_match(&ping.rule.match[0], 0, 2, 0x0181, 0xffff);
	assert_int_equal(ping.rule.sequence_offset, 23);
	assert_int_equal(ping.rule.sequence_bits, 16);
	assert_false(ping.rule.sequence_little);
	assert_int_equal(any.peer.id.port, 7946);
	assert_int_equal(any.rule.match[0].width, 0);
	assert_int_equal(rule_settle(&any.rule, &rule_command_line, false, &any.peer, why, sizeof(why)), 0);
	assert_int_equal(any.peer.model, KPHI_MODEL_EXPONENTIAL);
	any.peer.model = KPHI_MODEL_AKKA;
	assert_int_equal(rule_settle(&any.rule, &rule_command_line, true, &any.peer, why, sizeof(why)), 0);
	assert_int_equal(any.peer.model, KPHI_MODEL_AKKA);
}

/* By hand, all that there is; and the order of two matches is nothing to a rule. */
static void by_hand(void **state)
{
	struct made m = make("proto udp port 9 match 4:30/f0 match 0:0181 sequence 4:32le leave 9:ff ttl 64 "
			     "vlan 4094");
	struct made other = make("proto udp vlan 4094 leave 9:FF match 0:0181 match 4:30/f0 ttl 64 port 9 "
				 "sequence 4:32le");
	struct made twice = make("proto udp port 9 match 0:01 match 0:01");
	struct made ip = make("proto ip protocol 89 from fd00::1");

	(void)state;
	assert_true(m.rule.any_source);
	assert_match(&m.rule.match[0], 0, 2, 0x0181, 0xffff);
	assert_match(&m.rule.match[1], 4, 1, 0x30, 0xf0);
	assert_match(&m.rule.leave, 9, 1, 0xff, 0xff);
	assert_int_equal(m.rule.sequence_offset, 4);
	assert_int_equal(m.rule.sequence_bits, 32);
	assert_true(m.rule.sequence_little);
	assert_int_equal(m.rule.min_ttl, 64);
	assert_int_equal(m.rule.vlan, 4094);
	assert_true(same(&m, &other));
	assert_int_equal(twice.rule.match[1].width, 0);
	assert_int_equal(ip.peer.id.protocol, 89);
	assert_int_equal(ip.peer.id.port, 0);
	assert_int_equal(ip.rule.preset, PRESET_IP);
}

/* --- what is refused --- */

static const struct {
	const char *words;
	enum rule_word at;
	const char *reason;
} wrong[] = {
	{"proto bdf from 10.0.0.1", RULE_PROTO, "did you mean bfd?"},
	{"proto smtp from 10.0.0.1", RULE_PROTO, "choose udp, ip, bfd, vrrp, corosync or memberlist"},
	{"from 10.0.0.1", RULE_FROM, "`from` and `port` go together"},
	{"proto udp from 10.0.0.1", RULE_PROTO, "`proto udp` needs `port`: the UDP port that it sends to"},
	{"proto ip from 10.0.0.1", RULE_PROTO, "needs `protocol`: the number of the IP protocol"},
	{"proto vrrp", RULE_PROTO, "`proto vrrp` needs `vrid`: the number of the virtual router"},
	{"proto bfd", RULE_PROTO, "`proto bfd` needs `from`: the address that it sends from"},
	{"proto corosync port 5405", RULE_PROTO, "`proto corosync` needs `from`"},
	{"proto vrrp vrid 1 port 3", RULE_PORT, "takes `vrid`, `from`, `vlan` and `dev`, but no `port`"},
	{"proto bfd from 10.0.0.1 match 0:01", RULE_MATCH, "but no `match`"},
	{"proto bfd from 10.0.0.1 ttl 3", RULE_TTL, "but no `ttl`"},
	{"proto udp from 10.0.0.1 port 9 local-rx 1s", RULE_LOCAL_RX, "but no `local-rx`"},
	{"proto ip protocol 17 from 10.0.0.1", RULE_PROTOCOL, "write `proto udp`"},
	{"proto ip protocol 256 from 10.0.0.1", RULE_PROTOCOL, "between 1 and 255"},
	{"proto ip protocol 0 from 10.0.0.1", RULE_PROTOCOL, "between 1 and 255"},
	{"proto udp port 9", RULE_WORD_KINDS, "a rule without `from` needs a `match`"},
	{"port 9", RULE_WORD_KINDS, "a rule without `from` needs a `match`"},
	{"proto ip protocol 112", RULE_WORD_KINDS, "a rule without `from` needs a `match`"},
	{"proto udp port 9 sequence 0:16", RULE_WORD_KINDS, "a rule without `from` needs a `match`"},
	{"proto bfd from 10.0.0.1 port 3785", RULE_PORT, "has the ports 3784, 4784 and 6784, and not 3785"},
	{"proto bfd from 10.0.0.1 discriminator 0", RULE_DISCRIMINATOR, "between 1 and 4294967295"},
	{"proto bfd from 10.0.0.1 discriminator 4294967296", RULE_DISCRIMINATOR, "between 1"},
	{"proto bfd from 10.0.0.1 local-rx 50", RULE_LOCAL_RX, "has no unit"},
	{"proto bfd from 10.0.0.1 local-rx 0", RULE_LOCAL_RX, "must be between 1us"},
	{"proto vrrp vrid 0", RULE_VRID, "between 1 and 255"},
	{"proto vrrp vrid 256", RULE_VRID, "between 1 and 255"},
	{"from 10.0.0 port 9", RULE_FROM, "is not an IP address"},
	{"from 10.0.0.1 port 0", RULE_PORT, "is not a port"},
	{"from 10.0.0.1 port 9 ttl 0", RULE_TTL, "between 1 and 255"},
	{"from 10.0.0.1 port 9 ttl 256", RULE_TTL, "between 1 and 255"},
	{"from 10.0.0.1 port 9 vlan 4095", RULE_VLAN, "between 1 and 4094"},
	{"from 10.0.0.1 port 9 dev eth0/1", RULE_DEVICE, "is no device"},
	{"from 10.0.0.1 port 9 dev abcdefghijklmnop", RULE_DEVICE, "have 1 to 15 bytes"},
	{"from 10.0.0.1 port 9 dev ..", RULE_DEVICE, "is no device"},
	{"from 10.0.0.1 port 9 match 0:01 match 0:02", RULE_MATCH, "no packet can have both 0:01 and 0:02"},
	{"from 10.0.0.1 port 9 match 0:00112233 match 2:23", RULE_MATCH, "no packet can have both"},
	{"from 10.0.0.1 port 9 match 1", RULE_MATCH, "does not begin with an offset"},
	{"from 10.0.0.1 port 9 match :01", RULE_MATCH, "does not begin with an offset"},
	{"from 10.0.0.1 port 9 match 9001:01", RULE_MATCH, "looks too far: an offset is at most 9000"},
	{"from 10.0.0.1 port 9 match 99999999999999999999:01", RULE_MATCH, "looks too far"},
	{"from 10.0.0.1 port 9 match 0:", RULE_MATCH, "is no match: write OFFSET:HEX"},
	{"from 10.0.0.1 port 9 match 0:0x01", RULE_MATCH, "is no match"},
	{"from 10.0.0.1 port 9 match 0:01/", RULE_MATCH, "has a mask of another length"},
	{"from 10.0.0.1 port 9 match 0:01/f", RULE_MATCH, "has a mask of another length"},
	{"from 10.0.0.1 port 9 match 0:01/ff/ff", RULE_MATCH, "is no match"},
	{"from 10.0.0.1 port 9 match 0:018", RULE_MATCH, "has 3 hex digits: two make a byte"},
	{"from 10.0.0.1 port 9 match 0:001122334455667788", RULE_MATCH, "has 18 hex digits"},
	{"from 10.0.0.1 port 9 match 0:00/00", RULE_MATCH, "asks for nothing: its mask is zero"},
	{"from 10.0.0.1 port 9 leave 0:31/f0", RULE_LEAVE, "has bits outside its mask"},
	{"from 10.0.0.1 port 9 sequence 4:24", RULE_SEQUENCE, "8, 16, 32 or 64"},
	{"from 10.0.0.1 port 9 sequence 4:8le", RULE_SEQUENCE, "8, 16, 32 or 64"},
	{"from 10.0.0.1 port 9 sequence 4:", RULE_SEQUENCE, "8, 16, 32 or 64"},
	{"from 10.0.0.1 port 9 sequence 32", RULE_SEQUENCE, "does not begin with an offset"},
};

static void wrong_words_are_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		struct rule_fault fault = {RULE_WORD_KINDS, ""};
		struct made m;

		if (parse(wrong[i].words, &m, &fault) != -EINVAL || fault.at != wrong[i].at ||
		    !strstr(fault.why, wrong[i].reason))
			fail_msg("%s: at %d: %s", wrong[i].words, fault.at, fault.why);
	}
}

/* A file wants whole words, and its keys are named as it names them. */
static void sentences_use_the_reader_s_words(void **state)
{
	struct rule_text short_one = {.word = {[RULE_PROTO] = "vr", [RULE_VRID] = "1"}};
	struct rule_text foreign = {
		.word = {[RULE_PROTO] = "vrrp", [RULE_VRID] = "1", [RULE_LOCAL_RX] = "1s"}};
	struct rule_fault fault;
	struct made m = {0};

	(void)state;
	assert_int_equal(rule_parse(&short_one, &rule_command_line, &m.peer, &m.rule, &fault), 0);
	assert_int_equal(rule_parse(&short_one, &rule_yaml, &m.peer, &m.rule, &fault), -EINVAL);
	assert_string_equal(fault.why, "'vr' is abbreviated: write 'vrrp'");
	assert_int_equal(rule_parse(&foreign, &rule_yaml, &m.peer, &m.rule, &fault), -EINVAL);
	assert_string_equal(fault.why,
			    "`proto vrrp` takes `vrid`, `from`, `vlan` and `device`, but no `local_rx`");
}

static void settings_that_do_not_go_with_a_protocol(void **state)
{
	struct made m = make("proto bfd from 10.0.0.1"), any = make("proto memberlist from 10.0.0.1");
	char why[WHY_SIZE];

	(void)state;
	m.peer.interval_ns = 1000000;
	assert_int_equal(rule_settle(&m.rule, &rule_command_line, true, &m.peer, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "BFD says its `interval` itself"));
	assert_non_null(strstr(why, "`local-rx`"));
	any.peer.set = KPHI_SET_PAUSE;
	assert_int_equal(rule_settle(&any.rule, &rule_command_line, false, &any.peer, why, sizeof(why)),
			 -EINVAL);
	assert_non_null(strstr(why, "judged by the exponential model"));
	assert_int_equal(rule_settle(&any.rule, &rule_command_line, true, &any.peer, why, sizeof(why)), 0);
}

/* --- words --- */

static void words_say_what_the_preset_does_not(void **state)
{
	static const char *const same_again[] = {
		"proto bfd from 10.0.0.2 port 3784 local-rx 300ms",
		"proto bfd from fd00::2 port 6784 discriminator 7 vlan 5 dev eth0",
		"proto udp from fd00::2 port 9000 match 0:0181",
		"proto udp port 9000 match 0:30/f0 match 4:01 sequence 4:32le leave 9:ff ttl 255",
		"proto ip protocol 89 from 10.0.0.1",
		"proto vrrp vrid 51",
		"proto vrrp vrid 51 from 10.0.0.1 dev bond0",
		"proto corosync from 10.0.0.1 port 5405",
		"proto memberlist from 10.0.0.1 port 7946",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(same_again); i++) {
		struct made m = make(same_again[i]);
		char text[RULE_WORDS];

		rule_words(&m.peer, &m.rule, text);
		assert_string_equal(text, same_again[i]);
		assert_string_equal(rule_preset(&m.peer, &m.rule), preset_names[m.rule.preset]);
	}
}

/* A store of a newer kphi may have presets that this one does not know: what they ask for can still be told.
 */
static void presets_of_the_future(void **state)
{
	struct made udp = make("proto udp from 10.0.0.1 port 9 match 0:01"),
		    ip = make("proto ip protocol 89 from ::1");
	char text[RULE_WORDS];

	(void)state;
	udp.rule.preset = 77;
	ip.rule.preset = PRESET_COROSYNC;
	rule_words(&udp.peer, &udp.rule, text);
	assert_string_equal(text, "proto udp from 10.0.0.1 port 9 match 0:01");
	rule_words(&ip.peer, &ip.rule, text);
	assert_string_equal(text, "proto ip protocol 89 from ::1");
}

static void longest_words_fit(void **state)
{
	static const char longest[] =
		"proto udp from fd00:1111:2222:3333:4444:5555:6666:7777 port 65535 "
		"match 1000:00112233445566f0/fffffffffffffff0 match 9000:00112233445566f0/fffffffffffffff0 "
		"sequence 9000:64le leave 9000:00112233445566f0/fffffffffffffff0 ttl 255 vlan 4094 "
		"dev abcdefghijklmno";
	struct made m = make(longest);
	char text[RULE_WORDS];

	(void)state;
	/* The two matches look at overlapping bytes and want different ones there, but under no common bit
	 * ... */
	rule_words(&m.peer, &m.rule, text);
	assert_string_equal(text, longest);
}

static void add_match(uint64_t *random, char *text, const char *keyword)
{
	struct kphi_match m = {.width = (uint8_t)(1 + random_below(random, 8)),
			       .offset = (uint16_t)random_below(random, PARSE_OFFSET_MAX + 1)};
	uint64_t all = UINT64_MAX >> (8 - m.width) * 8;
	char written[MATCH_SIZE];

	m.mask = random_below(random, 2) ? all : random_bits(random) & all;
	m.mask = m.mask ? m.mask : 1;
	m.value = random_bits(random) & m.mask;
	sprintf(text + strlen(text), " %s %s", keyword, format_match(&m, written));
}

static void add_source(uint64_t *random, char *text)
{
	uint8_t address[16];
	char written[ADDRESS_SIZE];

	for (int i = 0; i < 16; i++)
		address[i] = (uint8_t)random_bits(random);
	if (random_below(random, 2))
		memcpy(address, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	sprintf(text + strlen(text), " from %s", format_address(address, written));
}

static void add_word(uint64_t *random, char *text, enum rule_word word, const struct preset *p)
{
	static const char *const sequences[] = {"8", "16", "32", "64", "16le", "32le", "64le"};
	static const char *const devices[] = {"eth0", "lo", "bond0.7", "a$'\"\\b", "\xc3\xa4"};
	char *end = text + strlen(text), duration[FORMAT_SIZE];
	unsigned int port = (unsigned int)(1 + random_below(random, 65535));

	if (word == RULE_PROTOCOL)
		sprintf(end, " protocol %u", 18 + (unsigned int)random_below(random, 238));
	else if (word == RULE_VRID)
		sprintf(end, " vrid %u", 1 + (unsigned int)random_below(random, 255));
	else if (word == RULE_FROM)
		add_source(random, text);
	else if (word == RULE_PORT)
		sprintf(end, " port %u", p->ports[0].port ? p->ports[random_below(random, 3)].port : port);
	else if (word == RULE_DISCRIMINATOR)
		sprintf(end, " discriminator %u", 1 + (unsigned int)random_below(random, UINT32_MAX));
	else if (word == RULE_MATCH || word == RULE_LEAVE)
		add_match(random, text, word == RULE_MATCH ? "match" : "leave");
	else if (word == RULE_SEQUENCE)
		sprintf(end, " sequence %u:%s", (unsigned int)random_below(random, 9001),
			sequences[random_below(random, LENGTH(sequences))]);
	else if (word == RULE_LOCAL_RX)
		sprintf(end, " local-rx %s",
			format_duration_exact(1000 + random_magnitude(random, 41), duration));
	else if (word == RULE_TTL)
		sprintf(end, " ttl %u", 1 + (unsigned int)random_below(random, 255));
	else if (word == RULE_VLAN)
		sprintf(end, " vlan %u", 1 + (unsigned int)random_below(random, 4094));
	else if (word == RULE_DEVICE)
		sprintf(end, " dev %s", devices[random_below(random, LENGTH(devices))]);
}

/* The words of some rule, in any order that has `proto` first. */
static const struct preset *some_words(uint64_t *random, char *text)
{
	const struct preset *p = &presets[random_below(random, PRESETS)];
	unsigned int begin = (unsigned int)random_below(random, RULE_WORD_KINDS);

	sprintf(text, "proto %s", p->name);
	for (unsigned int i = 0; i < RULE_WORD_KINDS; i++) {
		unsigned int word = (begin + i) % RULE_WORD_KINDS;

		if (p->needs >> word & 1 || (p->takes >> word & 1 && random_below(random, 2)))
			add_word(random, text, word, p);
		if (p->takes & RULE_BIT(MATCH) && word == RULE_MATCH && random_below(random, 2))
			add_word(random, text, word, p);
	}
	if (p->takes & RULE_BIT(FROM) && !strstr(text, "from") && !strstr(text, "match") &&
	    p->takes & RULE_BIT(MATCH))
		add_source(random, text);
	return p;
}

static void words_make_the_rule_again(void **state)
{
	uint64_t random = 4;
	unsigned int seen[PRESETS] = {0};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[TEXT_SIZE], words[RULE_WORDS], again[RULE_WORDS];
		const struct preset *p = some_words(&random, text);
		struct rule_fault fault;
		struct made m, back;

		/* Two matches that happen to exclude each other are no rule. */
		if (parse(text, &m, &fault)) {
			if (!strstr(fault.why, "no packet can have both"))
				fail_msg("%s: %s", text, fault.why);
			continue;
		}
		rule_words(&m.peer, &m.rule, words);
		assert_true(strlen(words) < RULE_WORDS - 1);
		back = make(words);
		if (!same(&m, &back))
			fail_msg("%s\nbecame %s", text, words);
		rule_words(&back.peer, &back.rule, again);
		assert_string_equal(words, again);
		assert_string_equal(rule_preset(&m.peer, &m.rule), p->name);
		seen[p - presets]++;
	}
	for (int i = 0; i < PRESETS; i++)
		assert_true(seen[i] > 2000);
}

/* --- the table --- */

static void the_table_is_sound(void **state)
{
	(void)state;
	for (int i = 0; i < PRESETS; i++) {
		const struct preset *p = &presets[i];

		assert_string_equal(preset_names[i], p->name);
		assert_int_equal(p->needs & p->takes, 0);
		assert_int_equal((p->needs | p->takes) & RULE_BIT(PROTO), 0);
		assert_true((p->needs | p->takes) & RULE_BIT(FROM));
		assert_int_equal(!p->protocol, !!(p->needs & RULE_BIT(PROTOCOL)));
		/* What has ports is told one, or has one of its own. */
		assert_true(p->protocol != 17 || p->port || p->needs & RULE_BIT(PORT));
		assert_true(!p->ports[0].port || p->ports[0].port == p->port);
	}
	assert_null(preset_names[PRESETS]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_old_words_are_a_plain_rule),
		cmocka_unit_test(bfd),
		cmocka_unit_test(vrrp),
		cmocka_unit_test(corosync_and_memberlist),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(wrong_words_are_refused_with_a_reason),
		cmocka_unit_test(sentences_use_the_reader_s_words),
		cmocka_unit_test(settings_that_do_not_go_with_a_protocol),
		cmocka_unit_test(words_say_what_the_preset_does_not),
		cmocka_unit_test(presets_of_the_future),
		cmocka_unit_test(longest_words_fit),
		cmocka_unit_test(words_make_the_rule_again),
		cmocka_unit_test(the_table_is_sound),
	};

	return cmocka_run_group_tests_name("rule", tests, NULL, NULL);
}
