// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bfd.h: every reason for which RFC 5880, 6.8.6 has a receiver discard a packet, as far as one can know it
 * who is no end of the session, each with the packet beside it that passes; and what the others say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kphi/bfd.h>

#include "prog/bfd.h"
#include "unit/random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MS           1000000ULL

enum { VERSION, STATE, MULTIPLIER, LENGTH, MINE, YOURS = 8 }; /* offsets */

/* The packet of docs and captures: FRR, up, 50 ms. */
static const uint8_t captured[BFD_SIZE] = {
	0x20, 0xc0, 0x03, 0x18, 0x6e, 0xf5, 0x44, 0x83, 0x33, 0xee, 0xfa, 0x7c,
	0x00, 0x00, 0xc3, 0x50, 0x00, 0x00, 0xc3, 0x51, 0x00, 0x00, 0xc3, 0x52,
};

static enum kphi_counter read_bytes(const uint8_t bytes[BFD_SIZE], uint32_t length, struct kphi_bfd *to)
{
	struct kphi_bfd_wire w;

	memcpy(&w, bytes, sizeof(w));
	return kphi_bfd_read(&w, length, to);
}

static void what_a_packet_says(void **state)
{
	uint8_t bytes[BFD_SIZE];
	struct kphi_bfd b;

	(void)state;
	assert_int_equal(read_bytes(captured, BFD_SIZE, &b), KPHI_COUNT_beat);
	assert_int_equal(b.discriminator, 0x6ef54483);
	assert_int_equal(b.desired_tx_us, 50000);
	assert_int_equal(b.required_rx_us, 50001);
	assert_int_equal(b.state, KPHI_BFD_UP);
	assert_int_equal(b.diagnostic, 0);
	assert_int_equal(b.multiplier, 3);
	assert_int_equal(b.flags, 0);

	memcpy(bytes, captured, sizeof(bytes));
	bytes[VERSION] = 0x21;
	bytes[STATE] = BFD_DOWN | BFD_FINAL | BFD_INDEPENDENT;
	bytes[MULTIPLIER] = 255;
	put32(bytes + MINE, UINT32_MAX);
	put32(bytes + 12, UINT32_MAX);
	assert_int_equal(read_bytes(bytes, BFD_SIZE, &b), KPHI_COUNT_beat);
	assert_int_equal(b.discriminator, UINT32_MAX);
	assert_int_equal(b.desired_tx_us, UINT32_MAX);
	assert_int_equal(b.state, KPHI_BFD_DOWN);
	assert_int_equal(b.diagnostic, 1);
	assert_int_equal(b.multiplier, 255);
	assert_int_equal(b.flags, KPHI_BFD_FINAL | KPHI_BFD_INDEPENDENT);
}

/* One byte, or the length of what carries it, differs from the captured packet. */
static const struct defect {
	const char *name;
	uint8_t at, value;
	uint32_t length; /* 0: 24 bytes */
	enum kphi_counter outcome;
} defects[] = {
	{"version 0", VERSION, 0x00, 0, KPHI_COUNT_bfd_version},
	{"version 2", VERSION, 0x40, 0, KPHI_COUNT_bfd_version},
	{"version 7", VERSION, 0xe0, 0, KPHI_COUNT_bfd_version},
	{"version 1, the last diagnostic", VERSION, 0x3f, 0, KPHI_COUNT_beat},
	{"length 0", LENGTH, 0, 0, KPHI_COUNT_bfd_short},
	{"length 23", LENGTH, 23, 0, KPHI_COUNT_bfd_short},
	{"length 24", LENGTH, 24, 0, KPHI_COUNT_beat},
	{"length 25 of 24", LENGTH, 25, 0, KPHI_COUNT_bfd_short},
	{"length 25 of 25", LENGTH, 25, 25, KPHI_COUNT_beat},
	{"length 24 of 25", LENGTH, 24, 25, KPHI_COUNT_beat},
	{"length 255 of 254", LENGTH, 255, 254, KPHI_COUNT_bfd_short},
	{"length 255 of 255", LENGTH, 255, 255, KPHI_COUNT_beat},
	{"authenticated without room for it", STATE, BFD_UP | BFD_AUTHENTICATED, 0, KPHI_COUNT_bfd_short},
	{"authenticated beyond its length", STATE, BFD_UP | BFD_AUTHENTICATED, 26, KPHI_COUNT_bfd_short},
	{"multiplier 0", MULTIPLIER, 0, 0, KPHI_COUNT_bfd_multiplier},
	{"multiplier 1", MULTIPLIER, 1, 0, KPHI_COUNT_beat},
	{"multipoint", STATE, BFD_UP | BFD_MULTIPOINT, 0, KPHI_COUNT_bfd_multipoint},
	{"all bits but multipoint and authentication", STATE, 0xfa, 0, KPHI_COUNT_beat},
	{"my discriminator 1", MINE + 3, 1, 0, KPHI_COUNT_beat},
};

static void each_defect_and_what_is_beside_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(defects); i++) {
		const struct defect *d = &defects[i];
		uint8_t bytes[BFD_SIZE];
		struct kphi_bfd b;

		memcpy(bytes, captured, sizeof(bytes));
		bytes[d->at] = d->value;
		if (read_bytes(bytes, d->length ? d->length : BFD_SIZE, &b) != d->outcome)
			fail_msg("%s", d->name);
	}
}

static void authentication_needs_a_type_and_a_length(void **state)
{
	uint8_t bytes[BFD_SIZE];
	struct kphi_bfd b;

	(void)state;
	memcpy(bytes, captured, sizeof(bytes));
	bytes[STATE] |= BFD_AUTHENTICATED;
	for (uint8_t length = 24; length < 30; length++) {
		bytes[LENGTH] = length;
		assert_int_equal(read_bytes(bytes, 30, &b),
				 length < 26 ? KPHI_COUNT_bfd_short : KPHI_COUNT_beat);
	}
}

/* Only who is down, or administratively so, may not know the other's discriminator. */
static void discriminators(void **state)
{
	static const uint8_t states[] = {BFD_ADMIN_DOWN, BFD_DOWN, BFD_INIT, BFD_UP};
	uint8_t bytes[BFD_SIZE];
	struct kphi_bfd b;

	(void)state;
	for (size_t i = 0; i < COUNT(states); i++) {
		memcpy(bytes, captured, sizeof(bytes));
		bytes[STATE] = states[i];
		assert_int_equal(read_bytes(bytes, BFD_SIZE, &b), KPHI_COUNT_beat);
		put32(bytes + YOURS, 0);
		assert_int_equal(read_bytes(bytes, BFD_SIZE, &b),
				 i < 2 ? KPHI_COUNT_beat : KPHI_COUNT_bfd_discriminator);
		put32(bytes + YOURS, 1);
		put32(bytes + MINE, 0);
		assert_int_equal(read_bytes(bytes, BFD_SIZE, &b), KPHI_COUNT_bfd_discriminator);
	}
}

/* The rules of 6.8.6 once more, in its own order, over bytes that chance has made. */
static enum kphi_counter by_the_book(const uint8_t *p, uint32_t length)
{
	bool authenticated = p[STATE] & BFD_AUTHENTICATED, knows_other = p[8] | p[9] | p[10] | p[11];

	if (p[VERSION] / 32 != 1)
		return KPHI_COUNT_bfd_version;
	if (p[LENGTH] < (authenticated ? 26 : 24))
		return KPHI_COUNT_bfd_short;
	if (p[LENGTH] > length)
		return KPHI_COUNT_bfd_short;
	if (p[MULTIPLIER] == 0)
		return KPHI_COUNT_bfd_multiplier;
	if (p[STATE] % 2)
		return KPHI_COUNT_bfd_multipoint;
	if (!p[4] && !p[5] && !p[6] && !p[7])
		return KPHI_COUNT_bfd_discriminator;
	if (!knows_other && p[STATE] / 64 != KPHI_BFD_DOWN && p[STATE] / 64 != KPHI_BFD_ADMIN_DOWN)
		return KPHI_COUNT_bfd_discriminator;
	return KPHI_COUNT_beat;
}

static void a_million_packets(void **state)
{
	uint64_t random = 5880, met[KPHI_COUNTERS] = {0};

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint32_t length = BFD_SIZE + (uint32_t)random_below(&random, 6);
		uint8_t bytes[BFD_SIZE];
		enum kphi_counter expected;
		struct kphi_bfd b;

		memcpy(bytes, captured, sizeof(bytes));
		for (uint64_t n = random_below(&random, 4); n; n--)
			bytes[random_below(&random, 12)] = (uint8_t)random_magnitude(&random, 8);
		if (!random_below(&random, 4))
			put32(bytes + (random_below(&random, 2) ? MINE : YOURS), 0);
		expected = by_the_book(bytes, length);
		assert_int_equal(read_bytes(bytes, length, &b), expected);
		met[expected]++;
	}
	for (int i = KPHI_COUNT_bfd_short; i <= KPHI_COUNT_bfd_discriminator; i++)
		assert_true(met[i] > 1000);
	assert_true(met[KPHI_COUNT_beat] > 100000);
}

/* RFC 5880, 6.8.2 and 6.8.3: the larger of what he desires and what we require. */
static void intervals(void **state)
{
	struct kphi_bfd b = {.desired_tx_us = 50000};

	(void)state;
	assert_int_equal(kphi_bfd_interval_ns(&b, 0), 0);
	assert_int_equal(kphi_bfd_interval_ns(&b, 1), 50 * MS);
	assert_int_equal(kphi_bfd_interval_ns(&b, 50 * MS), 50 * MS);
	assert_int_equal(kphi_bfd_interval_ns(&b, 50 * MS + 1), 50 * MS + 1);
	assert_int_equal(kphi_bfd_interval_ns(&b, 300 * MS), 300 * MS);
	b.desired_tx_us = 0;
	assert_int_equal(kphi_bfd_interval_ns(&b, 10 * MS), 10 * MS);
	b.desired_tx_us = UINT32_MAX; /* 71 minutes: more than 32 bits of nanoseconds */
	assert_true(kphi_bfd_interval_ns(&b, 1) == UINT32_MAX * 1000ULL);
}

static void who_may_be_silent(void **state)
{
	(void)state;
	for (uint8_t flags = 0; flags < 64; flags++)
		for (int s = KPHI_BFD_ADMIN_DOWN; s <= KPHI_BFD_UP; s++) {
			struct kphi_bfd b = {.state = (uint8_t)s, .flags = flags};
			bool quiet = s == KPHI_BFD_ADMIN_DOWN || (s == KPHI_BFD_UP && flags & BFD_DEMAND);

			assert_int_equal(!!kphi_bfd_is_quiet(&b), quiet);
			assert_int_equal(!!kphi_bfd_is_poll(&b), !!(flags & (BFD_POLL | BFD_FINAL)));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_packet_says),
		cmocka_unit_test(each_defect_and_what_is_beside_it),
		cmocka_unit_test(authentication_needs_a_type_and_a_length),
		cmocka_unit_test(discriminators),
		cmocka_unit_test(a_million_packets),
		cmocka_unit_test(intervals),
		cmocka_unit_test(who_may_be_silent),
	};

	return cmocka_run_group_tests_name("bfd", tests, NULL, NULL);
}
