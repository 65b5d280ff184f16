// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What else a rule asks of a packet that is its own: TTL, VLAN, goodbyes, sequence numbers, BFD; and packets
 * of any IP protocol, with all that may stand before them, in one buffer or in several. */
#include <kphi/bfd.h>

#include "prog/bfd.h"
#include "prog/rules.h"

static const struct shape v4 = {.version = 4, .source = 2, .port = RULE_PORT};
static const struct shape v6 = {.version = 6, .source = 2, .port = RULE_PORT};
static const struct rule_for by_2 = {.source = 2}, by_2_v6 = {.source = 2, .version = 6};
static const uint8_t some[24] = {1, 2, 3, 4, 5, 6, 7, 8};

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "packets", 16, 8);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

static void expect_some(const struct shape *s, int outcome, const char *what)
{
	expect_payload(s, some, sizeof(some), outcome, 0, what);
}

/* --- TTL and VLAN --- */

static void ttl(void **state)
{
	static const uint8_t ttls[] = {1, 64, 253, 254, 255};
	const struct kphi_rule near = {.min_ttl = 254};

	(void)state;
	rule_add(&by_2, &near);
	rule_add(&by_2_v6, &near);
	for (size_t i = 0; i < COUNT(ttls); i++) {
		struct shape s4 = v4, s6 = v6;

		s4.ttl = s6.ttl = ttls[i];
		expect_some(&s4, ttls[i] < 254 ? KPHI_COUNT_rule_ttl : KPHI_COUNT_beat, "TTL");
		expect_some(&s6, ttls[i] < 254 ? KPHI_COUNT_rule_ttl : KPHI_COUNT_beat, "hop limit");
	}
}

static void vlan(void **state)
{
	static const struct {
		const char *name;
		uint16_t tags[2], vlans[2];
		bool fits;
	} cases[] = {
		{"no tag: a card may have taken it off", {0}, {0}, true},
		{"its own", {TPID_Q}, {100}, true},
		{"its own, with a priority", {TPID_Q}, {100 | PRIORITY}, true},
		{"another", {TPID_Q}, {101}, false},
		{"the last one", {TPID_Q}, {4095}, false},
		{"a priority alone", {TPID_Q}, {PRIORITY}, true},
		{"a priority, then its own", {TPID_Q, TPID_Q}, {PRIORITY, 100}, true},
		{"a priority, then another", {TPID_Q, TPID_Q}, {PRIORITY, 101}, false},
		{"QinQ, its own outside", {TPID_AD, TPID_Q}, {100, 5}, true},
		{"QinQ, its own inside", {TPID_AD, TPID_Q}, {5, 100}, false},
	};
	const struct kphi_rule on_100 = {.vlan = 100};
	struct shape other = v4;

	(void)state;
	rule_add(&by_2, &on_100);
	rule_add(&(struct rule_for){.source = 3}, NULL);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct shape s = v4;

		memcpy(s.tags, cases[i].tags, sizeof(cases[i].tags));
		memcpy(s.vlans, cases[i].vlans, sizeof(cases[i].vlans));
		expect_some(&s, cases[i].fits ? KPHI_COUNT_beat : KPHI_COUNT_rule_vlan, cases[i].name);
		s.source = 3;
		expect_some(&s, KPHI_COUNT_beat, "a rule that asks for none");
	}
	other.source = 4;
	other.tags[0] = TPID_Q;
	expect_some(&other, KPHI_COUNT_no_rule, "nobody's");
}

/* --- goodbyes --- */

static void leave_and_return(void **state)
{
	uint8_t payload[24] = {0};
	const struct kphi_rule rule = {.leave = {.value = 0x4200, .mask = 0xff0f, .offset = 22, .width = 2}};
	uint32_t slot = rule_add(&by_2, &rule);

	(void)state;
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_beat, 0, "a beat");
	put16(payload + 22, 0x42f0);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_leave, 0, "a goodbye");
	assert_int_equal(world_record(&world, slot).state, KPHI_LEFT);
	put16(payload + 22, 0x4201);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_beat, 0, "another bit");
	assert_int_equal(world_record(&world, slot).state, KPHI_UP);
	assert_int_equal(world_record(&world, slot).window.n, 0); /* from a goodbye to a return */
	put16(payload + 22, 0x4200);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_leave, 0, "a goodbye again");
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_leave, 0, "and again");
	expect_payload(&v4, payload, 23, KPHI_COUNT_beat, 0, "cut before the end of a goodbye");
}

/* --- sequence numbers --- */

static void put_number(uint8_t *at, uint64_t number, uint8_t bits, bool little)
{
	for (uint8_t i = 0; i < bits / 8; i++)
		at[little ? i : bits / 8 - 1 - i] = (uint8_t)(number >> 8 * i);
}

static void count_in(uint8_t bits, bool little)
{
	const uint64_t first = 0xfedcba9876543210 >> (64 - bits);
	const struct kphi_rule rule = {.sequence_offset = (uint16_t)(24 - bits / 8),
				       .sequence_bits = bits,
				       .sequence_little = little};
	uint8_t payload[24] = {0}, *at = payload + rule.sequence_offset;
	uint32_t slot = rule_add(&by_2, &rule);
	struct kphi_record r;

	put_number(at, first, bits, little);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_beat, 0, "first");
	assert_int_equal(world_record(&world, slot).sequence.highest, first);
	put_number(at, first + 3, bits, little);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_beat, 0, "two are lost");
	put_number(at, first + 2, bits, little);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_reordered, 0, "one is late");
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_duplicate, 0, "and double");
	put_number(at, first - 100, bits, little);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_stale_sequence, 0, "one is astray");
	expect_payload(&v4, payload, sizeof(payload) - 1, KPHI_COUNT_rule_short, 0, "cut");
	put_number(at, first - 99, bits, little);
	expect_payload(&v4, payload, sizeof(payload), KPHI_COUNT_beat, KPHI_NOTE(restart), "a restart");
	r = world_record(&world, slot);
	assert_int_equal(r.sequence.highest, (first - 99) & UINT64_MAX >> (64 - bits));
	assert_int_equal(r.restarts, 1);
	assert_int_equal(r.stale, 1);
	rule_delete(slot);
}

static void sequence_numbers(void **state)
{
	(void)state;
	for (uint8_t bits = 8; bits <= 64; bits *= 2) {
		count_in(bits, false);
		count_in(bits, true);
	}
}

/* --- handovers --- */

static void speakers_take_turns(void **state)
{
	uint32_t slot = rule_add(&(struct rule_for){.source = 0}, NULL);
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2}, six[16] = {0xfd, [15] = 2};
	struct shape third = v4;

	(void)state;
	third.source = 3;
	expect_some(&v4, KPHI_COUNT_beat, "the first speaker");
	expect_payload(&third, some, sizeof(some), KPHI_COUNT_beat, KPHI_NOTE(handover), "another");
	expect_some(&third, KPHI_COUNT_beat, "the same");
	expect_payload(&v4, some, sizeof(some), KPHI_COUNT_beat, KPHI_NOTE(handover), "the first one");
	assert_memory_equal(world_record(&world, slot).speaker, mapped, 16);
	expect_payload(&v6, some, sizeof(some), KPHI_COUNT_beat, KPHI_NOTE(handover), "one by IPv6");
	assert_memory_equal(world_record(&world, slot).speaker, six, 16);
	assert_int_equal(beats_of(slot), 5);
	assert_int_equal(world_record(&world, slot).window.n, 1);
}

/* --- BFD --- */

static const struct kphi_rule bfd_rule = {
	.decoder = KPHI_DECODER_BFD, .min_ttl = 255, .local_rx_ns = 10000000};
static const struct rule_for bfd_by_2 = {.source = 2, .port = BFD_PORT};
static const struct shape bfd_v4 = {.version = 4, .source = 2, .port = BFD_PORT, .ttl = BFD_TTL};

static void expect_bfd(const struct bfd *b, int outcome, uint32_t notes, const char *what)
{
	uint8_t payload[BFD_SIZE];

	bfd_write(payload, b);
	expect_payload(&bfd_v4, payload, sizeof(payload), outcome, notes, what);
}

static void a_bfd_session(void **state)
{
	uint32_t slot = rule_add(&bfd_by_2, &bfd_rule);
	struct bfd b = {BFD_DOWN, 0, 0xfe7fbabd, 0, 1000000, 100000};
	struct kphi_record r;

	(void)state;
	expect_bfd(&b, KPHI_COUNT_beat, 0, "down");
	assert_int_equal(world_record(&world, slot).window.interval_ns, 1000000000);
	b = (struct bfd){BFD_UP | BFD_POLL, 0, b.mine, 0x296ffbd7, 100000, 100000};
	expect_bfd(&b, KPHI_COUNT_beat, 0, "up, polls");
	b.state = BFD_UP | BFD_FINAL;
	expect_bfd(&b, KPHI_COUNT_beat, 0, "answers");
	b.state = BFD_UP;
	expect_bfd(&b, KPHI_COUNT_beat, KPHI_NOTE(renegotiated), "the new interval is in force");
	r = world_record(&world, slot);
	assert_int_equal(r.window.interval_ns, 100000000);
	assert_int_equal(r.bfd.discriminator, 0xfe7fbabd);
	assert_int_equal(r.bfd.desired_tx_us, 100000);
	assert_int_equal(r.bfd.required_rx_us, 100000);
	assert_int_equal(r.bfd.state, KPHI_BFD_UP);
	assert_int_equal(r.bfd.multiplier, 3);
	b.state = BFD_ADMIN_DOWN;
	b.diagnostic = 7;
	expect_bfd(&b, KPHI_COUNT_leave, 0, "administratively down");
	r = world_record(&world, slot);
	assert_int_equal(r.state, KPHI_LEFT);
	assert_int_equal(r.bfd.diagnostic, 7);
	b.state = BFD_UP | BFD_DEMAND;
	expect_bfd(&b, KPHI_COUNT_leave, 0, "demand mode");
	b.state = BFD_INIT;
	expect_bfd(&b, KPHI_COUNT_beat, 0, "back");
	assert_int_equal(world_record(&world, slot).state, KPHI_UP);
	b.mine++;
	expect_bfd(&b, KPHI_COUNT_beat, KPHI_NOTE(restart), "restarted");
	assert_int_equal(world_record(&world, slot).restarts, 1);
}

static void bfd_defects_are_no_beats(void **state)
{
	static const struct {
		const char *name;
		uint8_t at, value;
		int outcome;
	} defects[] = {
		{"version 0", 0, 0x00, KPHI_COUNT_bfd_version},
		{"version 2", 0, 0x40, KPHI_COUNT_bfd_version},
		{"length 23", 3, 23, KPHI_COUNT_bfd_short},
		{"length 25", 3, 25, KPHI_COUNT_bfd_short},
		{"authentication left out", 1, BFD_UP | BFD_AUTHENTICATED, KPHI_COUNT_bfd_short},
		{"multiplier 0", 2, 0, KPHI_COUNT_bfd_multiplier},
		{"multipoint", 1, BFD_UP | BFD_MULTIPOINT, KPHI_COUNT_bfd_multipoint},
	};
	uint32_t slot = rule_add(&bfd_by_2, &bfd_rule);
	struct shape far = bfd_v4;
	uint8_t payload[BFD_SIZE];
	struct bfd b = bfd_up;

	(void)state;
	expect_bfd(&bfd_up, KPHI_COUNT_beat, 0, "as it should be");
	for (size_t i = 0; i < COUNT(defects); i++) {
		bfd_write(payload, &bfd_up);
		payload[defects[i].at] = defects[i].value;
		expect_payload(&bfd_v4, payload, sizeof(payload), defects[i].outcome, 0, defects[i].name);
	}
	b.mine = 0;
	expect_bfd(&b, KPHI_COUNT_bfd_discriminator, 0, "no discriminator of its own");
	b = bfd_up;
	b.yours = 0;
	expect_bfd(&b, KPHI_COUNT_bfd_discriminator, 0, "up with nobody");
	bfd_write(payload, &bfd_up);
	for (uint32_t size = 0; size < BFD_SIZE; size++)
		expect_payload(&bfd_v4, payload, size, KPHI_COUNT_bfd_short, 0, "cut");
	far.ttl = 254;
	expect_payload(&far, payload, sizeof(payload), KPHI_COUNT_rule_ttl, 0, "from behind a router");
	assert_int_equal(beats_of(slot), 1);
	expect_bfd(&bfd_up, KPHI_COUNT_beat, 0, "as it should be, still");
}

/* Several sessions between two hosts: a match on the discriminator tells them apart. */
static void a_session_by_its_discriminator(void **state)
{
	struct kphi_rule rule = bfd_rule;
	struct bfd b = bfd_up;
	uint32_t slot;

	(void)state;
	rule.match[0] = (struct kphi_match){.value = b.mine, .mask = UINT32_MAX, .offset = 4, .width = 4};
	slot = rule_add(&bfd_by_2, &rule);
	expect_bfd(&b, KPHI_COUNT_beat, 0, "its own");
	b.mine ^= 1;
	expect_bfd(&b, KPHI_COUNT_no_rule, 0, "another session's");
	assert_int_equal(beats_of(slot), 1);
}

/* --- other protocols of IP --- */

static const uint8_t vrrp[20] = {0x21, 0x33, 0x96, 0x01, 0x00, 0x01, 0x3e, 0x19, 0x0a, 0x4d, 0x00, 0x64};

#define VRRP4(...)                                                                                           \
	{                                                                                                    \
		.version = 4, .source = 2, .protocol = PROTOCOL_VRRP, .bare = true, .ttl = 255, __VA_ARGS__  \
	}
#define VRRP6(...)                                                                                           \
	{                                                                                                    \
		.version = 6, .source = 2, .protocol = PROTOCOL_VRRP, .bare = true, .ttl = 255, __VA_ARGS__  \
	}
#define CHAIN(n, ...) .extensions_count = (n), .extensions = {__VA_ARGS__}
#define OPTIONS                                                                                              \
	{                                                                                                    \
		EXTENSION_OPTIONS, 0, 0                                                                      \
	}

static const struct protocol_case {
	const char *name;
	struct shape shape;
	int outcome;
} protocol_cases[] = {
	{"IPv4", VRRP4(), KPHI_COUNT_beat},
	{"IPv4, tagged twice", VRRP4(.tags = {TPID_AD, TPID_Q}), KPHI_COUNT_beat},
	{"IPv4, options", VRRP4(.option_words = 10), KPHI_COUNT_beat},
	{"IPv4, padded frame", VRRP4(.padding = 26), KPHI_COUNT_beat},
	{"IPv4, first fragment", VRRP4(.fragment = FRAGMENT4_MORE), KPHI_COUNT_beat},
	{"IPv4, later fragment", VRRP4(.fragment = 185), KPHI_COUNT_fragment},
	{"IPv4, last fragment with options", VRRP4(.fragment = 0x1fff, .option_words = 3),
	 KPHI_COUNT_fragment},
	{"IPv6", VRRP6(), KPHI_COUNT_beat},
	{"IPv6, hop-by-hop", VRRP6(CHAIN(1, {EXTENSION_HOP, 1, 0})), KPHI_COUNT_beat},
	{"IPv6, AH and routing", VRRP6(CHAIN(2, {EXTENSION_ROUTING, 2, 0}, {EXTENSION_AH, 4, 0})),
	 KPHI_COUNT_beat},
	{"IPv6, six", VRRP6(CHAIN(6, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS)), KPHI_COUNT_beat},
	{"IPv6, seven", VRRP6(CHAIN(7, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS)),
	 KPHI_COUNT_ipv6_extensions},
	{"IPv6, atomic fragment", VRRP6(CHAIN(1, {EXTENSION_FRAGMENT, 0, 0})), KPHI_COUNT_beat},
	{"IPv6, first fragment", VRRP6(CHAIN(1, {EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE})), KPHI_COUNT_beat},
	{"IPv6, later fragment", VRRP6(CHAIN(2, OPTIONS, {EXTENSION_FRAGMENT, 0, 185 * 8})),
	 KPHI_COUNT_fragment},
	{"ESP", {.version = 4, .source = 2, .protocol = PROTOCOL_ESP, .bare = true, .ttl = 255}, NOTHING},
	{"TCP", {.version = 6, .source = 2, .protocol = PROTOCOL_TCP, .bare = true, .ttl = 255}, NOTHING},
	{"UDP to a port of that number", {.version = 4, .source = 2, .port = PROTOCOL_VRRP}, NOTHING},
};

static void other_protocols(void **state)
{
	const struct kphi_rule rule = {.match = {{.value = 0x0133, .mask = 0x0fff, .width = 2}},
				       .leave = {.mask = 0xff, .offset = 2, .width = 1},
				       .min_ttl = 255};
	uint32_t slot = rule_add(&(struct rule_for){.protocol = PROTOCOL_VRRP}, &rule);
	const uint8_t other[20] = {0x21, 0x34}, last[20] = {0x31, 0x33};

	(void)state;
	for (size_t i = 0; i < COUNT(protocol_cases); i++) {
		const struct protocol_case *c = &protocol_cases[i];
		bool six = c->shape.version == 6, turned = c->outcome == KPHI_COUNT_beat && i &&
							   six != (protocol_cases[i - 1].shape.version == 6);

		expect_payload(&c->shape, vrrp, sizeof(vrrp), c->outcome, turned ? KPHI_NOTE(handover) : 0,
			       c->name);
	}
	expect_payload(&protocol_cases[0].shape, other, sizeof(other), KPHI_COUNT_no_rule, 0,
		       "another virtual router");
	expect_payload(&protocol_cases[0].shape, vrrp, 1, KPHI_COUNT_no_rule, 0, "one byte");
	expect_payload(&protocol_cases[0].shape, vrrp, 0, KPHI_COUNT_no_rule, 0, "an IP header alone");
	expect_payload(&protocol_cases[7].shape, last, sizeof(last), KPHI_COUNT_leave, 0, "priority 0");
	assert_int_equal(world_record(&world, slot).state, KPHI_LEFT);
}

/* A rule without matches does not look at the payload, so there may be none. */
static void nothing_but_a_header(void **state)
{
	struct shape s = VRRP4();

	uint32_t slot = rule_add(&(struct rule_for){.source = 2, .protocol = PROTOCOL_VRRP}, NULL);

	(void)state;
	expect_payload(&s, vrrp, 0, KPHI_COUNT_beat, 0, "an IP header alone");
	s.source = 3;
	expect_payload(&s, vrrp, 0, KPHI_COUNT_no_rule, 0, "somebody else's");
	rule_delete(slot);
	expect_payload(&s, vrrp, 0, NOTHING, 0, "a protocol that nobody asks for any more");
}

/* --- several buffers --- */

enum { LARGE = 6000 };

/* Whatever lies in a later buffer is read from there: match, goodbye and sequence number, also where a buffer
 * ends within them. */
static void beyond_the_first_buffer(void **state)
{
	static uint8_t payload[LARGE];
	struct kphi_rule rule = {.leave = {.value = 0xbeef, .mask = 0xffff, .offset = 5990, .width = 2},
				 .sequence_offset = LARGE - 4,
				 .sequence_bits = 32};
	struct shape s = v4;
	uint32_t slot, sequence = 0;

	(void)state;
	for (uint32_t i = 0; i < LARGE; i++)
		payload[i] = (uint8_t)(i * 31 >> 3);
	rule.match[0] = rule_match(payload, 4096, 8);
	slot = rule_add(&by_2, &rule);
	put32(payload + LARGE - 4, ++sequence);
	expect_payload(&s, payload, LARGE, KPHI_COUNT_beat, 0, "buffers as they fall");
	put16(payload + 5990, 0xbeef);
	put32(payload + LARGE - 4, ++sequence);
	expect_payload(&s, payload, LARGE, KPHI_COUNT_leave, 0, "a goodbye");
	put16(payload + 5990, 0);
	expect_payload(&s, payload, LARGE - 1, KPHI_COUNT_rule_short, 0, "a byte is missing");
	payload[4100] ^= 1;
	expect_payload(&s, payload, LARGE, KPHI_COUNT_no_rule, 0, "another byte");
	payload[4100] ^= 1;
	assert_int_equal(world_record(&world, slot).sequence.highest, 2);
}

static void a_buffer_ends_anywhere(void **state)
{
	uint8_t payload[24];
	struct kphi_rule rule = {.sequence_offset = 20, .sequence_bits = 32};
	uint32_t slot, headers = 14 + 20 + 8;

	(void)state;
	memcpy(payload, some, sizeof(payload));
	rule.match[0] = rule_match(payload, 0, 8);
	slot = rule_add(&by_2, &rule);
	for (uint32_t linear = headers; linear <= headers + sizeof(payload); linear++) {
		put32(payload + 20, linear);
		packet_build_around(&packet, &v4, payload, sizeof(payload));
		packet.linear = linear;
		if (linear == headers && world_try(&world, &packet) == -EINVAL) {
			print_message("this kernel's test runs fill the first buffer (before 6.18)\n");
			skip();
		}
		expect(&world, &packet, linear == headers ? KPHI_COUNT_duplicate : KPHI_COUNT_beat, 0,
		       "split");
	}
	assert_int_equal(beats_of(slot), 1 + sizeof(payload));
	assert_int_equal(world_record(&world, slot).sequence.lost, 0);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(ttl),
		IN_A_WORLD(vlan),
		IN_A_WORLD(leave_and_return),
		IN_A_WORLD(sequence_numbers),
		IN_A_WORLD(speakers_take_turns),
		IN_A_WORLD(a_bfd_session),
		IN_A_WORLD(bfd_defects_are_no_beats),
		IN_A_WORLD(a_session_by_its_discriminator),
		IN_A_WORLD(other_protocols),
		IN_A_WORLD(nothing_but_a_header),
		IN_A_WORLD(beyond_the_first_buffer),
		IN_A_WORLD(a_buffer_ends_anywhere),
	};

	return cmocka_run_group_tests_name("rules_packet", tests, NULL, NULL);
}
