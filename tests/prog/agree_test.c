// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program in the kernel and the same text compiled for the host say the same of frames that chance has
 * damaged, so what the unit tests and fuzzers learn from the one holds for the other.
 */
#include "prog/world.h"
#include "unit/frame.h"

#define ROUNDS 80000

static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;
static uint32_t slot;

static const struct shape shapes[] = {
	{.version = 4},
	{.version = 4, .option_words = 5},
	{.version = 4, .tags = {TPID_Q}, .trailer = 8},
	{.version = 4, .tags = {TPID_AD, TPID_Q}, .fragment = FRAGMENT4_MORE},
	{.version = 6, .padding = 6},
	{.version = 6,
	 .tags = {TPID_Q},
	 .extensions_count = 1,
	 .extensions = {{EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE}}},
	{.version = 6,
	 .extensions_count = 3,
	 .extensions = {{EXTENSION_HOP, 0, 0}, {EXTENSION_AH, 2, 0}, {EXTENSION_OPTIONS, 1, 0}}},
	{.version = 6,
	 .extensions_count = 6,
	 .extensions = {{EXTENSION_HOP, 0, 0},
			{EXTENSION_OPTIONS, 0, 0},
			{EXTENSION_ROUTING, 0, 0},
			{EXTENSION_FRAGMENT, 0, 0},
			{EXTENSION_AH, 1, 0},
			{EXTENSION_OPTIONS, 0, 0}}},
	/* foreign ones, which the program may dismiss before it parses them */
	{.version = 4, .port = MESSAGE_PORT + 1},
	{.version = 6, .port = 53},
	{.version = 4, .protocol = PROTOCOL_TCP},
	{.version = 6, .protocol = PROTOCOL_TCP},
	{.version = 6, .protocol = PROTOCOL_ICMP6},
};

static uint32_t random_below(uint32_t n)
{
	static uint64_t random = 7441;

	random = random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(random >> 33) % n;
}

static void damage(struct packet *p)
{
	static const uint8_t telling[] = {0, 1, 17, 43, 44, 51, 60, 0x40, 0x45, 0x60, 0x81, 0x88, 0xff};

	for (uint32_t n = random_below(4); n; n--) {
		uint32_t at = random_below(4) ? 12 + random_below(p->payload - 12) : random_below(p->length);

		switch (random_below(3)) {
		case 0:
			p->bytes[at] = (uint8_t)random_below(256);
			break;
		case 1:
			p->bytes[at] ^= (uint8_t)(1U << random_below(8));
			break;
		default:
			p->bytes[at] = telling[random_below(COUNT(telling))];
		}
	}
	if (!random_below(3))
		p->length = WORLD_MIN_FRAME + random_below(p->length - WORLD_MIN_FRAME + 1);
}

/* The one outcome that moved, or NOTHING. What comes after the message is understood is one: beat. */
static int outcome_in_kernel(const uint64_t before[KPHI_COUNTERS])
{
	uint64_t after[KPHI_COUNTERS];
	int outcome = NOTHING;

	world_counts(&world, after);
	for (int i = 0; i < KPHI_COUNT_restart; i++) {
		if (after[i] == before[i])
			continue;
		assert_int_equal(after[i] - before[i], 1);
		assert_int_equal(outcome, NOTHING);
		outcome = i;
	}
	if (outcome == KPHI_COUNT_leave || outcome == KPHI_COUNT_down || outcome >= KPHI_COUNT_unknown_peer)
		return KPHI_COUNT_beat;
	return outcome;
}

static int outcome_on_host(const struct packet *p)
{
	struct parsed parsed = frame_parse(p->bytes, p->length, p->length);

	if (parsed.verdict == FOREIGN ||
	    (parsed.verdict == PARSED && (parsed.protocol != IPPROTO_UDP || parsed.port != MESSAGE_PORT)))
		return NOTHING;
	return parsed.verdict == PARSED ? (int)parsed.native : parsed.verdict;
}

static void kernel_and_host_agree(void **state)
{
	static struct packet p;
	uint32_t met[KPHI_COUNTERS + 1] = {0};
	uint64_t before[KPHI_COUNTERS];

	(void)state;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct message m = world_message(&world, slot, 1, round);
		int host, kernel;

		packet_build(&p, &shapes[random_below(COUNT(shapes))], &m);
		damage(&p);
		world_counts(&world, before);
		assert_int_equal(world_try(&world, &p), 0);
		host = outcome_on_host(&p);
		kernel = outcome_in_kernel(before);
		if (host != kernel)
			fail_msg("round %u, %u bytes: counter %d in the kernel, %d on the host", round,
				 p.length, kernel, host);
		met[1 + host]++;
	}
	/* Chance met everything there is to agree on. */
	for (int i = NOTHING; i < KPHI_COUNT_unknown_peer; i++)
		if (i != KPHI_COUNT_leave && i != KPHI_COUNT_down &&
		    (i < KPHI_COUNT_no_rule || i > KPHI_COUNT_bfd_discriminator))
			assert_true(met[1 + i] > 10);
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "agree", 16, 8);
	slot = world_add(&world, &hourly);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_and_host_agree),
	};

	return cmocka_run_group_tests_name("agree", tests, open_world, close_world);
}
