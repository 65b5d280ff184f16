// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel side's parser under the sanitizers: every length from nothing, and a million frames that chance
 * has damaged, each in memory that ends where the frame ends. What it must say of them, tests/prog asks of
 * the program itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prog/bfd.h"
#include "unit/frame.h"
#include "unit/random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define DAMAGED      1000000

static const struct message beat = {.type = 1, .id = {1, 2, 3}, .epoch = 4, .sequence = 5};

static const struct shape shapes[] = {
	{.version = 4, .source = 1},
	{.version = 4, .source = 2, .option_words = 10, .port = 9999},
	{.version = 4, .source = 3, .tags = {TPID_Q}, .padding = 10},
	{.version = 4, .source = 4, .tags = {TPID_AD, TPID_Q}, .fragment = FRAGMENT4_MORE, .trailer = 7},
	{.version = 6, .source = 5},
	{.version = 6, .source = 6, .tags = {TPID_AD, TPID_Q}, .port = 1},
	{.version = 6,
	 .source = 7,
	 .extensions_count = 6,
	 .extensions = {{EXTENSION_HOP, 1, 0},
			{EXTENSION_OPTIONS, 0, 0},
			{EXTENSION_ROUTING, 2, 0},
			{EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE},
			{EXTENSION_AH, 4, 0},
			{EXTENSION_OPTIONS, 3, 0}}},
	{.version = 6, .source = 8, .extensions_count = 1, .extensions = {{EXTENSION_HOP, 255, 0}}},
};

/* What has no ports: all that counts is where the IP headers end. */
static const struct other {
	struct shape shape;
	bool fragment;
} others[] = {
	{{.version = 4, .source = 1, .protocol = PROTOCOL_VRRP, .bare = true}, false},
	{{.version = 4, .source = 2, .protocol = PROTOCOL_TCP, .bare = true, .option_words = 10}, false},
	{{.version = 4, .source = 3, .protocol = 255, .bare = true, .tags = {TPID_AD, TPID_Q}}, false},
	{{.version = 4, .protocol = PROTOCOL_VRRP, .bare = true, .fragment = FRAGMENT4_MORE}, false},
	{{.version = 4, .protocol = PROTOCOL_VRRP, .bare = true, .fragment = FRAGMENT4_MORE | 1}, true},
	{{.version = 4, .protocol = PROTOCOL_VRRP, .bare = true, .fragment = 0x1fff}, true},
	{{.version = 6, .source = 4, .protocol = PROTOCOL_VRRP, .bare = true, .padding = 3}, false},
	{{.version = 6, .source = 5, .protocol = PROTOCOL_ICMP6, .bare = true, .tags = {TPID_Q}}, false},
	{{.version = 6, .protocol = PROTOCOL_NONE, .bare = true}, false},
	{{.version = 6,
	  .protocol = PROTOCOL_VRRP,
	  .bare = true,
	  .extensions_count = 6,
	  .extensions = {{EXTENSION_HOP, 1, 0},
			 {EXTENSION_OPTIONS, 0, 0},
			 {EXTENSION_ROUTING, 2, 0},
			 {EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE},
			 {EXTENSION_AH, 4, 0},
			 {EXTENSION_OPTIONS, 3, 0}}},
	 false},
	{{.version = 6,
	  .protocol = PROTOCOL_VRRP,
	  .bare = true,
	  .extensions_count = 2,
	  .extensions = {{EXTENSION_HOP, 0, 0}, {EXTENSION_FRAGMENT, 0, 8}}},
	 true},
};

static struct packet packet;

static void offsets_and_identities(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct shape *s = &shapes[i];
		uint8_t source[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = s->source};
		uint8_t source6[16] = {[0] = 0xfd, [15] = s->source};
		struct parsed p;

		packet_build(&packet, s, &beat);
		p = frame_parse(packet.bytes, packet.length, packet.length);
		assert_int_equal(p.verdict, PARSED);
		assert_int_equal(p.payload, packet.payload);
		assert_int_equal(p.length, MESSAGE_SIZE + s->trailer);
		assert_int_equal(p.port, s->port ? s->port : MESSAGE_PORT);
		assert_memory_equal(p.source, s->version == 4 ? source : source6, 16);
		assert_int_equal(p.native, KPHI_COUNT_beat);
		assert_memory_equal(p.id.bytes, beat.id, 16);
		assert_int_equal(p.beat.epoch, 4);
		assert_int_equal(p.beat.sequence, 5);
	}
}

static void other_protocols(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		const struct shape *s = &others[i].shape;
		struct parsed p;

		packet_build(&packet, s, &beat);
		for (uint32_t length = 14; length <= packet.length; length++) {
			p = frame_parse(packet.bytes, length, length);
			assert_int_equal(p.verdict == PARSED, length >= packet.padding);
			if (p.verdict != PARSED)
				continue;
			assert_int_equal(p.protocol, s->protocol);
			assert_int_equal(p.payload, packet.headers_end);
			assert_int_equal(p.length, MESSAGE_SIZE);
			assert_int_equal(p.port, 0);
			assert_int_equal(p.fragment, others[i].fragment);
			assert_int_equal(p.source[15], s->source);
		}
	}
}

/* No frame at all, one byte, two: what BPF_PROG_TEST_RUN does not take, a driver might. */
static void shorter_than_an_ethernet_header(void **state)
{
	(void)state;
	packet_build(&packet, &shapes[0], &beat);
	for (uint32_t length = 0; length < 14; length++) {
		struct parsed p = frame_parse(packet.bytes, length, length);

		assert_int_equal(p.verdict, KPHI_COUNT_malformed_ethernet);
	}
	packet_build(&packet, &(struct shape){.ethertype = ETHERTYPE_ARP}, &beat);
	assert_int_equal(frame_parse(packet.bytes, 13, 13).verdict, KPHI_COUNT_malformed_ethernet);
	assert_int_equal(frame_parse(packet.bytes, 14, 14).verdict, FOREIGN);
}

static void assert_sane(const struct parsed *p, uint64_t length, uint64_t linear)
{
	assert_in_range(p->verdict + 2, 0, KPHI_COUNT_fragment + 2);
	if (p->verdict != PARSED)
		return;
	/* Of another protocol than UDP nothing has been looked at, so it may begin in a later buffer. */
	assert_true(p->payload <= (p->protocol == PROTOCOL_UDP ? linear : length));
	assert_true((uint64_t)p->payload + p->length <= length);
	assert_true(p->protocol == PROTOCOL_UDP || !p->port);
	if (p->protocol == PROTOCOL_UDP)
		assert_true(p->native != KPHI_COUNT_beat || p->length >= MESSAGE_SIZE);
}

static void every_cut_of_frame_and_first_buffer(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		packet_build(&packet, &shapes[i], &beat);
		for (uint32_t length = 0; length <= packet.length; length++) {
			struct parsed cut = frame_parse(packet.bytes, length, length);
			struct parsed split = frame_parse(packet.bytes, packet.length, length);

			assert_sane(&cut, length, length);
			assert_sane(&split, packet.length, length);
			assert_int_equal(cut.verdict == PARSED, length >= packet.padding);
			assert_int_equal(split.verdict == PARSED, length >= packet.payload);
		}
	}
}

static void damage(uint64_t *random, struct packet *p)
{
	static const uint8_t telling[] = {0, 1, 17, 43, 44, 51, 60, 0x40, 0x4f, 0x60, 0x81, 0x88, 0xff};

	for (uint64_t n = random_below(random, 6); n; n--) {
		uint64_t at = random_below(random, random_below(random, 4) ? p->payload : p->length);

		p->bytes[at] = random_below(random, 2) ? (uint8_t)random_bits(random)
						       : telling[random_below(random, COUNT(telling))];
	}
}

/* --- what rules read of a frame --- */

/* Where a rule looks; it is known by what stands there in a frame of zeros. */
static const struct frame_rule list[] = {
	{.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_UDP, .port = BFD_PORT, .shape = 1},
	 .rule = {.decoder = KPHI_DECODER_BFD}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_UDP, .port = MESSAGE_PORT, .shape = 2},
	 .shape = {.mask = {0xff}, .offset = {15}, .width = {1}, .bits = 8},
	 .rule = {.sequence_offset = 80,
		  .sequence_bits = 64,
		  .sequence_little = 1,
		  .leave = {.mask = 0xff, .offset = 87, .width = 1}}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_VRRP, .shape = 3},
	 .shape = {.mask = {0xffffff, 0xff}, .offset = {13, 65535}, .width = {3, 8}, .bits = 32}},
	{.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_VRRP, .shape = 4},
	 .rule = {.sequence_offset = 65535, .sequence_bits = 16}},
};
static const struct frame_rules rules = {.list = list, .n = COUNT(list)};

static void build_for_a_rule(uint64_t *random)
{
	struct shape s = shapes[random_below(random, COUNT(shapes) - 1)];
	uint8_t bfd[BFD_SIZE];

	switch (random_below(random, 4)) {
	case 0:
		s.port = BFD_PORT;
		bfd_write(bfd, &bfd_up);
		packet_build_around(&packet, &s, bfd, sizeof(bfd));
		return;
	case 1:
		packet_build(&packet, &others[random_below(random, COUNT(others))].shape, &beat);
		return;
	default:
		packet_build(&packet, &s, &beat);
	}
}

static void a_million_damaged_frames(void **state)
{
	uint64_t random = 60, met[KPHI_COUNTERS + 2] = {0}, ruled[KPHI_COUNTERS] = {0};

	(void)state;
	for (int i = 0; i < DAMAGED; i++) {
		uint64_t length, linear;
		struct parsed p;

		/* The last shape is longer than chance would ever tell apart from its neighbours. */
		build_for_a_rule(&random);
		damage(&random, &packet);
		length = random_below(&random, 3) ? packet.length : random_below(&random, packet.length + 1);
		linear = random_below(&random, 4) ? length : random_below(&random, length + 1);
		p = frame_parse_for(packet.bytes, length, linear, &rules);
		assert_sane(&p, length, linear);
		met[p.verdict + 2]++;
		if (p.rule >= 0)
			ruled[p.ruled]++;
	}
	assert_true(ruled[KPHI_COUNT_beat] > 1000);
	assert_true(ruled[KPHI_COUNT_rule_short] > 1000);
	assert_true(ruled[KPHI_COUNT_bfd_short] > 1000);
	for (int verdict = PARSED; verdict <= KPHI_COUNT_fragment; verdict++)
		if (verdict < 0 || verdict > KPHI_COUNT_down)
			assert_true(met[verdict + 2] > 20);
}

static void pure_noise(void **state)
{
	uint64_t random = 61, parsed = 0;
	uint8_t noise[200];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t length = random_below(&random, sizeof(noise) + 1);
		struct parsed p;

		for (size_t k = 0; k < sizeof(noise); k += 8)
			put64(noise + k, random_bits(&random));
		if (random_below(&random, 8))
			put16(noise + 12, random_below(&random, 2) ? 0x0800 : 0x86dd);
		noise[14] = random_below(&random, 2) ? 0x45 : 0x60;
		noise[16] = noise[18] = noise[38] = 0; /* lengths of less than 256, if it is read as IPv4 */
		if (random_below(&random, 2))
			put32(noise + 20, PROTOCOL_UDP); /* and no fragment */
		p = frame_parse(noise, length, length);
		assert_sane(&p, length, length);
		parsed += p.verdict == PARSED;
	}
	assert_true(parsed > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_and_identities),
		cmocka_unit_test(other_protocols),
		cmocka_unit_test(shorter_than_an_ethernet_header),
		cmocka_unit_test(every_cut_of_frame_and_first_buffer),
		cmocka_unit_test(a_million_damaged_frames),
		cmocka_unit_test(pure_noise),
	};

	return cmocka_run_group_tests_name("parse_frame", tests, NULL, NULL);
}
