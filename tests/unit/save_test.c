// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Saved stores: what is written is read back, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/parse.h"
#include "io/saved.h"
#include "unit/random.h"

#define LINES_MAX 16

static char *print(const struct saved_store *s, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);

	saved_print(to, s);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void assert_refused(const char *text, size_t size, const char *expected)
{
	struct saved_store s;
	char why[WHY_SIZE] = "";

	if (saved_parse(text, size, &s, why, sizeof(why)) != -EINVAL)
		fail_msg("taken, not refused with: %s", expected);
	free(s.peers);
	if (!strstr(why, expected))
		fail_msg("\"%s\" rather than \"%s\"", why, expected);
}

/* The same, for objects to which this adds the checksums. */
static void assert_lines_refused(const char *const *objects, const char *expected)
{
	char text[4096] = "";
	uLong crc = crc32(0, NULL, 0);
	size_t length = 0;

	for (; *objects; objects++) {
		crc = crc32(crc, (const Bytef *)*objects, (uInt)strlen(*objects));
		crc = crc32(crc, (const Bytef *)"\n", 1);
		length += (size_t)sprintf(text + length, "%08lx %s\n", crc, *objects);
	}
	assert_refused(text, length, expected);
}

/* --- back and forth --- */

static void some_text(uint64_t *random, char *text, size_t size)
{
	static const char *const pieces[] = {"a", "Z", "9", "\"", "\\", "/", "ä",
					     "€", "𝄞", "'", "{",  "-",  " "};
	size_t length = 0, wanted = 1 + random_below(random, size - 1);

	while (length < wanted) {
		const char *piece = pieces[random_below(random, sizeof(pieces) / sizeof(*pieces))];

		if (length + strlen(piece) >= size)
			break;
		if (*piece == ' ' && (!length || wanted - length < 4))
			continue;
		memcpy(text + length, piece, strlen(piece));
		length += strlen(piece);
	}
	if (!length || text[length - 1] == ' ')
		text[length ? length - 1 : 0] = 'x';
}

static void some_match(uint64_t *random, struct kphi_match *m)
{
	m->width = (uint8_t)(1 + random_below(random, 8));
	m->offset = (uint16_t)random_below(random, PARSE_OFFSET_MAX + 1);
	m->mask = random_bits(random) & UINT64_MAX >> (8 - m->width) * 8;
	m->mask = m->mask ? m->mask : 1;
	m->value = random_bits(random) & m->mask;
}

/* All that there can be in a rule, whatever preset it is from. */
static void some_rule(uint64_t *random, struct kphi_id *id, struct kphi_rule *r)
{
	static const char *const devices[] = {"", "eth0", "bond0.7", "\xc3\xa4\"\\'"};

	if (random_below(random, 2)) {
		id->protocol = (uint8_t)(18 + random_below(random, 238));
		id->port = 0;
	}
	for (uint64_t i = 0, n = random_below(random, KPHI_MATCHES + 1); i < n; i++)
		some_match(random, &r->match[i]);
	if (r->match[0].width && random_below(random, 2)) {
		r->any_source = 1;
		memset(id->bytes, 0, sizeof(id->bytes));
	}
	if (random_below(random, 2))
		some_match(random, &r->leave);
	if (random_below(random, 2)) {
		r->sequence_offset = (uint16_t)random_below(random, PARSE_OFFSET_MAX + 1);
		r->sequence_bits = (uint8_t)(8 << random_below(random, 4));
		r->sequence_little = r->sequence_bits > 8 && random_below(random, 2);
	}
	r->decoder = id->protocol == 17 && random_below(random, 2);
	r->local_rx_ns = r->decoder * random_magnitude(random, 41);
	r->min_ttl = (uint8_t)random_bits(random);
	r->vlan = (uint16_t)random_below(random, 4095);
	r->preset = (uint8_t)random_bits(random);
	snprintf(r->device, sizeof(r->device), "%s",
		 devices[random_below(random, sizeof(devices) / sizeof(*devices))]);
}

/* What a native peer may demand. */
static void some_demands(uint64_t *random, struct saved_peer *p)
{
	p->peer.demands = (uint8_t)random_below(random, 16);
	if (p->peer.demands & KPHI_DEMAND_SOURCE)
		p->rule.sources = (uint8_t)(1 + random_below(random, KPHI_SOURCES));
	for (int i = 0; i < p->rule.sources; i++) {
		p->rule.source[i][0] = random_bits(random) | 1;
		p->rule.source[i][1] = random_bits(random);
	}
	if (p->peer.demands & KPHI_DEMAND_DEVICE)
		snprintf(p->rule.device, sizeof(p->rule.device), "bond0.7");
	if (p->peer.demands & KPHI_DEMAND_TTL)
		p->rule.min_ttl = (uint8_t)(1 + random_below(random, 255));
	if (!(p->peer.demands & KPHI_DEMAND_KEY))
		return;
	some_text(random, p->key, sizeof(p->key));
	p->sequence = random_magnitude(random, 64);
}

static struct saved_peer some_peer(uint64_t *random)
{
	struct saved_peer p = {.epoch = random_magnitude(random, 64)};
	bool native = random_below(random, 2);

	some_text(random, p.peer.name, sizeof(p.peer.name));
	if (random_below(random, 2))
		some_text(random, p.peer.host, sizeof(p.peer.host));
	p.peer.id.kind = native ? KPHI_ID_NATIVE : KPHI_ID_RULE;
	p.peer.id.protocol = native ? 0 : 17;
	p.peer.id.port = native ? 0 : (uint16_t)(1 + random_below(random, 65535));
	for (int i = 0; i < 16; i++)
		p.peer.id.bytes[i] = (uint8_t)random_bits(random);
	p.peer.id.bytes[0] |= 1;
	if (native && random_below(random, 2))
		some_demands(random, &p);
	if (!native && random_below(random, 4))
		some_rule(random, &p.peer.id, &p.rule);
	p.peer.model = (uint8_t)random_below(random, KPHI_MODELS);
	p.peer.interval_ns = random_below(random, 2) * random_magnitude(random, 40);
	if (random_below(random, 2)) {
		p.peer.set |= KPHI_SET_MIN_STD;
		p.peer.min_std_ns = random_below(random, 2) * random_magnitude(random, 47);
	}
	if (random_below(random, 2)) {
		p.peer.set |= KPHI_SET_PAUSE;
		p.peer.pause_ns = random_below(random, 2) * random_magnitude(random, 47);
	}
	if (random_below(random, 2))
		p.peer.max_interval_ns = p.peer.interval_ns + 1 + random_below(random, 1000);
	if (random_below(random, 2)) {
		p.muted_until_s = 1 + random_below(random, UINT32_MAX);
		p.mute_left_ns = random_magnitude(random, 62);
		if (random_below(random, 2))
			some_text(random, p.peer.mute_reason, sizeof(p.peer.mute_reason));
	}
	return p;
}

static void everything_comes_back(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct saved_peer peers[LINES_MAX];
		struct saved_store s = {1 + (uint32_t)random_below(&random, KPHI_PEERS_MAX),
					KPHI_WINDOW_MIN + (uint32_t)random_below(&random, 1000),
					random_magnitude(&random, 40),
					peers,
					0,
					random_below(&random, 2)};
		struct saved_store back;
		char why[WHY_SIZE];
		size_t size;
		char *text;

		s.count = (uint32_t)random_below(&random, LINES_MAX + 1);
		s.capacity += s.count;
		s.capacity = s.capacity > KPHI_PEERS_MAX ? KPHI_PEERS_MAX : s.capacity;
		for (uint32_t k = 0; k < s.count; k++)
			peers[k] = some_peer(&random);
		text = print(&s, &size);
		if (saved_parse(text, size, &back, why, sizeof(why)))
			fail_msg("%s\n%s", why, text);
		assert_int_equal(back.capacity, s.capacity);
		assert_int_equal(back.window, s.window);
		assert_int_equal(back.saved_s, s.saved_s);
		assert_int_equal(back.keyed, s.keyed);
		assert_int_equal(back.count, s.count);
		if (s.count)
			assert_memory_equal(back.peers, s.peers, s.count * sizeof(*peers));
		free(back.peers);
		free(text);
	}
}

/* What was saved by kphi 0.1, and what it can still read. */
static void version_1(void **state)
{
	struct saved_peer peers[1] = {
		{.peer = {.name = "ups", .id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 4001}}}};
	struct saved_store s = {2, 1000, 1, peers, 1, false}, back;
	char why[WHY_SIZE];
	size_t size;
	char *text = print(&s, &size);

	(void)state;
	assert_non_null(strstr(text, " {\"kphi_store\":1,"));
	assert_non_null(strstr(text, "{\"name\":\"ups\",\"from\":\"::\",\"port\":4001,\"interval_ns\":0,"
				     "\"model\":\"normal\",\"epoch\":0}"));
	assert_int_equal(saved_parse(text, size, &back, why, sizeof(why)), 0);
	assert_memory_equal(back.peers, peers, sizeof(peers));
	free(back.peers);
	free(text);
	peers[0].rule.min_ttl = 255;
	text = print(&s, &size);
	assert_non_null(strstr(text, " {\"kphi_store\":2,"));
	free(text);
	peers[0] = (struct saved_peer){.peer = {.name = "db1",
						.id = {.kind = KPHI_ID_NATIVE, .bytes = {1}},
						.demands = KPHI_DEMAND_KEY,
						.ring = 7},
				       .key = "cluster",
				       .epoch = 9,
				       .sequence = 12};
	text = print(&s, &size);
	assert_non_null(strstr(text, " {\"kphi_store\":3,"));
	assert_non_null(strstr(text, "\"key\":\"cluster\",\"last_sequence\":12,"));
	free(text);
}

/* --- damage --- */

static struct saved_store three(struct saved_peer peers[3])
{
	uint64_t random = 3;

	for (int i = 0; i < 3; i++)
		peers[i] = some_peer(&random);
	return (struct saved_store){1024, 1000, 1795992874, peers, 3, true};
}

static uint32_t line_of(const char *text, size_t at)
{
	uint32_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

/* Each bit of the file, one at a time: refused, and the line is named (or the one after a lost newline). */
static void each_bit(void **state)
{
	struct saved_peer peers[3];
	struct saved_store s = three(peers);
	size_t size;
	char *text = print(&s, &size);

	(void)state;
	for (size_t i = 0; i < size * 8; i++) {
		char expected[32];

		text[i / 8] ^= (char)(1 << i % 8);
		snprintf(expected, sizeof(expected), "line %u: ", line_of(text, i / 8));
		assert_refused(text, size, expected);
		text[i / 8] ^= (char)(1 << i % 8);
	}
	free(text);
}

static void cut_off_anywhere(void **state)
{
	struct saved_peer peers[3];
	struct saved_store s = three(peers);
	size_t size;
	char *text = print(&s, &size), *longer;

	(void)state;
	for (size_t i = 0; i < size; i++) {
		char *part = malloc(i + 1); /* so that a byte too far is seen */

		memcpy(part, text, i);
		assert_refused(part, i, "the file was cut off");
		free(part);
	}
	longer = malloc(size + 1);
	memcpy(longer, text, size);
	longer[size] = '\n';
	assert_refused(longer, size + 1, "line 6: something follows the end");
	free(longer);
	free(text);
}

/* Lines that are whole, each of them, but not the ones that were written. */
static void lost_swapped_twice(void **state)
{
	struct saved_peer peers[3];
	struct saved_store s = three(peers);
	size_t size, at[7] = {0};
	char *text = print(&s, &size), *other = malloc(2 * size);

	(void)state;
	for (int i = 0; i < 5; i++)
		at[i + 1] = at[i] + (size_t)(strchr(text + at[i], '\n') + 1 - (text + at[i]));
	assert_int_equal(at[5], size);
	memcpy(other, text, at[1]);
	memcpy(other + at[1], text + at[2], size - at[2]);
	assert_refused(other, size - (at[2] - at[1]), "line 2: damaged, or a line before it is missing");
	memcpy(other, text, at[2]);
	memcpy(other + at[2], text + at[1], size - at[1]);
	assert_refused(other, size + (at[2] - at[1]), "line 3: damaged");
	memcpy(other, text, at[1]);
	memcpy(other + at[1], text + at[2], at[3] - at[2]);
	memcpy(other + at[1] + at[3] - at[2], text + at[1], at[2] - at[1]);
	memcpy(other + at[3], text + at[3], size - at[3]);
	assert_refused(other, size, "line 2: damaged");
	free(other);
	free(text);
}

/* --- whole, but not ours --- */

#define HEAD       "{\"kphi_store\":1,\"capacity\":2,\"window\":1000,\"saved_s\":1}"
#define ID         "\"id\":\"00000000-0000-4000-8000-000000000001\""
#define REST       "\"interval_ns\":0,\"model\":\"normal\",\"epoch\":1"
#define RULE(rule) "{\"name\":\"a\",\"from\":\"10.0.0.1\"," rule "," REST "}"
#define BOUND(to)  "{\"name\":\"a\"," ID "," to "," REST "}"
#define PEER(name) "{\"name\":\"" name "\"," ID "," REST "}"

static void what_cannot_be(void **state)
{
	static const struct {
		const char *lines[LINES_MAX];
		const char *expected;
	} cases[] = {
		{{"{\"kphi_store\":4}"}, "line 1: version 4 is not known to this kphi, which reads 1 to 3"},
		{{"{\"kphi_store\":0}"}, "line 1: version 0 is not known"},
		{{"{\"peers\":0}"}, "line 1: \"kphi_store\" is missing"},
		{{"[]"}, "line 1: this is not one JSON object"},
		{{"{} {}"}, "line 1: this is not one JSON object"},
		{{"{\"kphi_store\":1,\"capacity\":0,\"window\":1000,\"saved_s\":1}"},
		 "line 1: there is no store"},
		{{"{\"kphi_store\":1,\"capacity\":1048577,\"window\":9,\"saved_s\":1}"},
		 "\"capacity\" is above 1048576"},
		{{"{\"kphi_store\":1,\"capacity\":1,\"window\":7,\"saved_s\":1}"},
		 "line 1: there is no store"},
		{{HEAD, "{\"peers\":1}"}, "line 2: 1 peers were saved, but there are 0"},
		{{HEAD, PEER("a"), "{\"peers\":\"1\"}"}, "line 3: \"peers\" is no whole number"},
		{{HEAD, PEER("a"), PEER("b"), PEER("c")},
		 "line 4: more peers than the store had room for (2)"},
		{{HEAD, "{\"name\":\"a\"," ID "," REST ",\"colour\":1}"},
		 "line 2: \"colour\" is no key of version 3"},
		{{HEAD, "{" ID "," REST "}"}, "line 2: \"name\" is missing"},
		{{HEAD, "{\"name\":7," ID "," REST "}"}, "line 2: \"name\" is no text"},
		{{HEAD, PEER("a\\u0000b")}, "line 2: \"name\" is no text"},
		{{HEAD, PEER("a\\nb")}, "line 2: "},
		{{HEAD, PEER("")}, "line 2: "},
		{{HEAD, "{\"name\":\"a\"," REST "}"}, "line 2: an identity is either"},
		{{HEAD, "{\"name\":\"a\"," ID ",\"port\":1," REST "}"}, "line 2: an identity is either"},
		{{HEAD, "{\"name\":\"a\",\"from\":\"10.0.0.1\"," REST "}"}, "line 2: \"port\" is missing"},
		{{HEAD, "{\"name\":\"a\",\"from\":\"10.0.0.1\",\"port\":0," REST "}"},
		 "line 2: UDP has a \"port\" above 0"},
		{{HEAD, "{\"name\":\"a\",\"from\":\"host\",\"port\":1," REST "}"}, "line 2: "},
		{{HEAD, "{\"name\":\"a\",\"id\":\"1\"," REST "}"}, "line 2: "},
		{{HEAD, "{\"name\":\"a\"," ID ",\"interval_ns\":-1,\"model\":\"normal\",\"epoch\":1}"},
		 "line 2: \"interval_ns\" is no whole number"},
		{{HEAD, "{\"name\":\"a\"," ID ",\"interval_ns\":1.5,\"model\":\"normal\",\"epoch\":1}"},
		 "line 2: \"interval_ns\" is no whole number"},
		{{HEAD, "{\"name\":\"a\"," ID ",\"interval_ns\":0,\"model\":\"odd\",\"epoch\":1}"},
		 "line 2: \"model\" is none that this kphi knows"},
		{{HEAD, "{\"name\":\"a\"," ID ",\"interval_ns\":0,\"model\":\"normal\"}"},
		 "line 2: \"epoch\" is missing"},
		{{HEAD, "{\"name\":\"a\"," ID
			",\"interval_ns\":9,\"max_interval_ns\":8,\"model\":\"normal\",\"epoch\":1}"},
		 "line 2: \"max_interval_ns\" is below"},
		{{HEAD, PEER("a"), HEAD}, "line 3: \"kphi_store\" is no key"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_lines_refused(cases[i].lines, cases[i].expected);
	assert_refused("", 0, "line 1: missing: the file was cut off");
	assert_refused("hello\n", 6, "line 1: too short");
	assert_refused("0123456789012345\n", 17, "line 1: damaged");
}

static void what_nobody_can_demand(void **state)
{
	static const struct {
		const char *lines[LINES_MAX];
		const char *expected;
	} cases[] = {
		{{"{\"kphi_store\":3,\"capacity\":2,\"window\":9,\"saved_s\":1,\"require_key\":2}"},
		 "line 1: \"require_key\" is above 1"},
		{{HEAD, BOUND("\"key\":\"k\"")}, "line 2: \"last_sequence\" is missing"},
		{{HEAD, BOUND("\"key\":\"\",\"last_sequence\":1")}, "line 2: \"key\": "},
		{{HEAD, BOUND("\"bound_from\":[]")}, "line 2: \"bound_from\" is no list of 1 to 4"},
		{{HEAD,
		  BOUND("\"bound_from\":[\"1.1.1.1\",\"1.1.1.2\",\"1.1.1.3\",\"1.1.1.4\",\"1.1.1.5\"]")},
		 "line 2: \"bound_from\" is no list of 1 to 4"},
		{{HEAD, BOUND("\"bound_from\":[7]")},
		 "line 2: \"bound_from\" has an element that is no text"},
		{{HEAD, BOUND("\"bound_from\":[\"host\"]")}, "line 2: \"bound_from\": "},
		{{HEAD, BOUND("\"bound_device\":\"a b\"")}, "line 2: \"bound_device\": "},
		{{HEAD, BOUND("\"bound_ttl\":256")}, "line 2: \"bound_ttl\" is above 255"},
		{{HEAD, RULE("\"port\":1,\"key\":\"k\"")}, "line 2: \"key\" goes with an \"id\" only"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_lines_refused(cases[i].lines, cases[i].expected);
}

static void what_no_rule_can_be(void **state)
{
	static const struct {
		const char *lines[LINES_MAX];
		const char *expected;
	} cases[] = {
		{{HEAD, RULE("\"protocol\":112,\"port\":1")}, "line 2: UDP has a \"port\" above 0"},
		{{HEAD, RULE("\"protocol\":256")}, "line 2: \"protocol\" is above 255"},
		{{HEAD, RULE("\"port\":1,\"id\":\"x\"")}, "line 2: an identity is either"},
		{{HEAD, RULE("\"port\":1,\"match\":\"0:01\"")}, "line 2: \"match\" is no list"},
		{{HEAD, RULE("\"port\":1,\"match\":[1]")}, "\"match\" has an element that is no text"},
		{{HEAD, RULE("\"port\":1,\"match\":[\"0:0\"]")}, "line 2: \"match\": '0:0' has 1 hex digits"},
		{{HEAD, RULE("\"port\":1,\"match\":[\"0:01\",\"1:01\",\"2:01\"]")},
		 "line 2: \"match\" has 3 elements: 2 are the most"},
		{{HEAD, RULE("\"port\":1,\"leave\":\"01\"")}, "line 2: \"leave\": "},
		{{HEAD, RULE("\"port\":1,\"sequence\":\"0:24\"")}, "line 2: \"sequence\": "},
		{{HEAD, RULE("\"port\":1,\"device\":\"a b\"")}, "line 2: \"device\": "},
		{{HEAD, RULE("\"port\":1,\"ttl\":256")}, "line 2: \"ttl\" is above 255"},
		{{HEAD, RULE("\"port\":1,\"vlan\":4095")}, "line 2: \"vlan\" is above 4094"},
		{{HEAD, RULE("\"port\":1,\"decoder\":\"ospf\"")}, "line 2: \"decoder\" is none"},
		{{HEAD, RULE("\"protocol\":112,\"decoder\":\"bfd\"")}, "line 2: BFD is UDP"},
		{{HEAD, "{\"name\":\"a\",\"port\":1," REST "}"},
		 "line 2: a rule has a \"from\", or a \"match\", or both"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_lines_refused(cases[i].lines, cases[i].expected);
}

/* Bytes that are nearly right must not be read beyond their end, whatever they are (sanitizers look on). */
static void noise(void **state)
{
	struct saved_peer peers[3];
	struct saved_store s = three(peers), back;
	uint64_t random = 17;
	char why[WHY_SIZE];
	size_t size;
	char *text = print(&s, &size);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char *copy = malloc(size);

		memcpy(copy, text, size);
		for (uint64_t n = 1 + random_below(&random, 8); n; n--)
			copy[random_below(&random, size)] = (char)random_bits(&random);
		if (memcmp(copy, text, size) != 0)
			assert_int_equal(saved_parse(copy, size, &back, why, sizeof(why)), -EINVAL);
		else
			assert_int_equal(saved_parse(copy, size, &back, why, sizeof(why)), 0);
		free(back.peers);
		free(copy);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_back),
		cmocka_unit_test(version_1),
		cmocka_unit_test(each_bit),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(lost_swapped_twice),
		cmocka_unit_test(what_cannot_be),
		cmocka_unit_test(what_nobody_can_demand),
		cmocka_unit_test(what_no_rule_can_be),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("save", tests, NULL, NULL);
}
