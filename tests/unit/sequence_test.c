// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sequence.h against a list of all numbers, over millions of random ones near every edge of 64 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/random.h"
#include "unit/sequence_model.h"

#define LIVES 40000
#define STEPS 100 /* in one life */

/* Numbers as a bad network delivers them: mostly the next, some late, some twice, now and then a leap. */
static uint64_t next_number(uint64_t *random, const struct sequence_model *m)
{
	uint64_t room = UINT64_MAX - m->highest, near = random_below(random, 80);

	switch (random_below(random, 16)) {
	case 0:
		return m->highest - (near < m->highest ? near : m->highest);
	case 1:
		return m->highest - (near % 8 < m->highest ? near % 8 : m->highest);
	case 2:
		return m->taken[random_below(random, m->n)];
	case 3:
		return m->highest + (near < room ? near : room);
	case 4:
		return m->highest + (62 + near % 4 < room ? 62 + near % 4 : 0); /* around the width */
	case 5:
		return random_below(random, 50) ? m->highest : random_bits(random);
	default:
		return m->highest + (room > 0) + (room > 3 ? near % 3 : 0);
	}
}

static void live(uint64_t *random, uint64_t first, uint64_t met[KPHI_COUNTERS])
{
	struct sequence_model model;
	struct kphi_sequence s;

	sequence_model_begin(&model, first);
	kphi_sequence_begin(&s, first);
	for (int step = 0; step < STEPS; step++) {
		uint64_t number = next_number(random, &model);
		enum kphi_counter expected = sequence_model_take(&model, number);

		assert_int_equal(kphi_sequence_take(&s, number), expected);
		assert_true(sequence_model_same(&model, &s));
		met[expected]++;
	}
}

static void millions_of_numbers(void **state)
{
	static const uint64_t origins[] = {
		0, 1, 40, 1ULL << 32, 1ULL << 63, UINT64_MAX - 300, UINT64_MAX - 10, UINT64_MAX};
	uint64_t met[KPHI_COUNTERS] = {0}, random = 4303;

	(void)state;
	for (int i = 0; i < LIVES; i++)
		live(&random, origins[i % 8] + (i % 8 < 5 ? random_below(&random, 5) : 0), met);
	assert_true(met[KPHI_COUNT_beat] > 1000000);
	assert_true(met[KPHI_COUNT_duplicate] > 100000);
	assert_true(met[KPHI_COUNT_reordered] > 100000);
	assert_true(met[KPHI_COUNT_stale_sequence] > 10000);
}

/* Every step across the window's width, from a window with every second number missing. */
static void every_step_settles_what_it_leaves(void **state)
{
	(void)state;
	for (uint64_t step = 1; step < 200; step++) {
		struct sequence_model model;
		struct kphi_sequence s;

		sequence_model_begin(&model, 10);
		kphi_sequence_begin(&s, 10);
		for (uint64_t number = 12; number < 110; number += 2) {
			sequence_model_take(&model, number);
			kphi_sequence_take(&s, number);
		}
		sequence_model_take(&model, 108 + step);
		assert_int_equal(kphi_sequence_take(&s, 108 + step), KPHI_COUNT_beat);
		assert_true(sequence_model_same(&model, &s));
	}
}

static void ones_are_counted(void **state)
{
	uint64_t random = 1;

	(void)state;
	assert_int_equal(kphi_ones(0), 0);
	assert_int_equal(kphi_ones(UINT64_MAX), 64);
	for (int i = 0; i < 100000; i++) {
		uint64_t x = random_magnitude(&random, 64);

		assert_int_equal(kphi_ones(x), __builtin_popcountll(x));
	}
}

/* --- numbers that come round --- */

static uint64_t mask_of(uint32_t bits)
{
	return UINT64_MAX >> (64 - bits);
}

/* What a sender that is sometimes restarted, and a network that is sometimes mad, deliver. */
struct source {
	uint64_t next, stray;
	uint32_t strays; /* still to come, one after the other */
};

static uint64_t delivered(uint64_t *random, struct source *s, const struct resync_model *m)
{
	if (s->strays) {
		s->strays--;
		return s->stray++;
	}
	switch (random_below(random, 24)) {
	case 0: /* a row of strays, anywhere or close by */
		s->strays = (uint32_t)random_below(random, 5);
		s->stray = random_below(random, 2) ? random_bits(random)
						   : s->next - 70 + random_below(random, 80);
		return s->stray++;
	case 1: /* a restart: at nothing, or at random */
		s->next = random_below(random, 2) ? random_below(random, 2) : random_bits(random);
		break;
	case 2:
		return s->next - 1 - random_below(random, 70);
	case 3:
		return m->life.highest;
	case 4:
		s->next += random_below(random, 70);
		break;
	case 5:
		if (!random_below(random, 8))
			s->next += 2990 + random_below(random, 20);
		break;
	default:
		break;
	}
	return s->next++;
}

struct met {
	uint64_t outcome[KPHI_COUNTERS], restarts;
};

static void live_round(uint64_t *random, uint32_t bits, uint64_t first, struct met *met)
{
	static struct resync_model model;
	struct source source = {.next = first + 1};
	struct kphi_sequence s;
	uint32_t resync = 0;

	model.bits = bits;
	resync_model_begin(&model, first & mask_of(bits));
	kphi_sequence_begin(&s, first & mask_of(bits));
	for (int step = 0; step < 2 * STEPS; step++) {
		uint64_t number = delivered(random, &source, &model) & mask_of(bits);
		uint32_t restart = 0;
		bool expected_restart;
		enum kphi_counter expected = resync_model_take(&model, number, &expected_restart);

		assert_int_equal(kphi_sequence_resync(&s, number, bits, &resync, &restart), expected);
		assert_int_equal(restart, expected_restart);
		if (restart)
			kphi_sequence_begin(&s, number); /* as kphi_record_begin() does */
		assert_true(sequence_model_same(&model.life, &s));
		met->outcome[expected]++;
		met->restarts += restart;
	}
}

static void numbers_that_come_round(void **state)
{
	static const uint32_t widths[] = {8, 16, 32, 64};
	uint64_t random = 3550;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct met met = {.restarts = 0};

		for (int life = 0; life < 3000; life++)
			live_round(&random, widths[i],
				   life % 3 ? random_bits(&random) : 0 - random_below(&random, 100), &met);
		assert_true(met.outcome[KPHI_COUNT_beat] > 100000);
		assert_true(met.outcome[KPHI_COUNT_duplicate] > 5000);
		assert_true(met.outcome[KPHI_COUNT_reordered] > 1000);
		assert_true(met.outcome[KPHI_COUNT_stale_sequence] > 1000);
		assert_true(met.restarts > 1000);
	}
}

static void the_shorter_way_round(void **state)
{
	static const uint32_t widths[] = {8, 16, 32, 64};
	struct kphi_sequence s;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint32_t bits = widths[i];
		uint64_t last = mask_of(bits), half = 1ULL << (bits - 1);

		kphi_sequence_begin(&s, last);
		assert_int_equal(kphi_sequence_ahead(&s, last, bits), 0);
		assert_int_equal(kphi_sequence_ahead(&s, 0, bits), 1);
		assert_int_equal(kphi_sequence_ahead(&s, 9, bits), 10);
		assert_int_equal(kphi_sequence_ahead(&s, last - 1, bits), -1);
		assert_true(kphi_sequence_ahead(&s, half - 2, bits) == (int64_t)(half - 1));
		assert_true(kphi_sequence_ahead(&s, half - 1, bits) == -(int64_t)(half - 1) - 1);
		kphi_sequence_begin(&s, 0);
		assert_int_equal(kphi_sequence_ahead(&s, last, bits), -1);
		/* rounds later, the highest has outgrown the field */
		s.highest = bits < 64 ? 5 * (last + 1) + 3 : 3;
		assert_int_equal(kphi_sequence_ahead(&s, 4, bits), 1);
		assert_int_equal(kphi_sequence_ahead(&s, 2, bits), -1);
	}
}

/* A field of 8 bits counts round and round without a number lost; the 64-bit one ends in a new life. */
static void round_and_round(void **state)
{
	uint32_t resync = 0, restart = 0;
	struct kphi_sequence s;

	(void)state;
	kphi_sequence_begin(&s, 7);
	for (uint64_t number = 8; number < 5000; number++)
		assert_int_equal(kphi_sequence_resync(&s, number & 0xff, 8, &resync, &restart),
				 KPHI_COUNT_beat);
	assert_int_equal(s.highest, 4999);
	assert_int_equal(s.lost | restart | resync, 0);

	kphi_sequence_begin(&s, UINT64_MAX - 1);
	assert_int_equal(kphi_sequence_resync(&s, UINT64_MAX, 64, &resync, &restart), KPHI_COUNT_beat);
	assert_int_equal(kphi_sequence_resync(&s, 0, 64, &resync, &restart), KPHI_COUNT_stale_sequence);
	assert_int_equal(restart, 0);
	assert_int_equal(kphi_sequence_resync(&s, 1, 64, &resync, &restart), KPHI_COUNT_beat);
	assert_int_equal(restart, 1);
}

/* One number from elsewhere is stale and changes nothing, however often it comes; the second one in a row is
 * a new life, also if it is 0. */
static void a_stray_and_a_restart(void **state)
{
	static const uint64_t strays[] = {0, 1, 100, 899, 4001, 65534, 65535};
	struct kphi_sequence s, before;

	(void)state;
	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		uint32_t resync = 0, restart = 0;

		kphi_sequence_begin(&s, 1000);
		before = s;
		for (int again = 0; again < 5; again++)
			assert_int_equal(kphi_sequence_resync(&s, strays[i], 16, &resync, &restart),
					 KPHI_COUNT_stale_sequence);
		assert_int_equal(restart, 0);
		assert_memory_equal(&s, &before, sizeof(s));
		assert_int_equal(kphi_sequence_resync(&s, 1001, 16, &resync, &restart), KPHI_COUNT_beat);
		assert_int_equal(kphi_sequence_resync(&s, strays[i] + 1, 16, &resync, &restart),
				 KPHI_COUNT_stale_sequence); /* something new has come in between */
		assert_int_equal(restart, 0);
		assert_int_equal(kphi_sequence_resync(&s, (strays[i] + 2) & 0xffff, 16, &resync, &restart),
				 KPHI_COUNT_beat);
		assert_int_equal(restart, 1);
		assert_int_equal(resync, 0);
	}
}

/* The largest step forward that is a loss, and the smallest that is a jump. */
static void the_largest_step(void **state)
{
	uint32_t resync = 0, restart = 0;
	struct kphi_sequence s;

	(void)state;
	kphi_sequence_begin(&s, 10);
	assert_int_equal(kphi_sequence_resync(&s, 3010, 32, &resync, &restart), KPHI_COUNT_beat);
	assert_int_equal(s.lost, 2999);
	assert_int_equal(kphi_sequence_resync(&s, 6011, 32, &resync, &restart), KPHI_COUNT_stale_sequence);
	assert_int_equal(s.highest, 3010);
	assert_int_equal(kphi_sequence_resync(&s, 3011, 32, &resync, &restart), KPHI_COUNT_beat);
}

/* A sender that is restarted before it has sent 64 packets says only what it has said before. */
static void a_young_sender_restarts(void **state)
{
	uint32_t resync = 0, restart = 0;
	struct kphi_sequence s;

	(void)state;
	kphi_sequence_begin(&s, 0);
	for (uint64_t number = 1; number <= 40; number++)
		kphi_sequence_resync(&s, number, 16, &resync, &restart);
	assert_int_equal(kphi_sequence_resync(&s, 0, 16, &resync, &restart), KPHI_COUNT_duplicate);
	assert_int_equal(kphi_sequence_resync(&s, 1, 16, &resync, &restart), KPHI_COUNT_duplicate);
	assert_int_equal(restart, 0);
	assert_int_equal(kphi_sequence_resync(&s, 2, 16, &resync, &restart), KPHI_COUNT_beat);
	assert_int_equal(restart, 1);

	/* A network that delivers all of it twice, each packet after its copy or a few later, is none. */
	kphi_sequence_begin(&s, 0);
	restart = 0;
	for (uint64_t number = 1; number <= 1000; number++) {
		assert_int_equal(kphi_sequence_resync(&s, number, 16, &resync, &restart), KPHI_COUNT_beat);
		if (number > 5)
			assert_int_equal(kphi_sequence_resync(&s, number - number % 5, 16, &resync, &restart),
					 KPHI_COUNT_duplicate);
	}
	assert_int_equal(restart, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(millions_of_numbers),
		cmocka_unit_test(every_step_settles_what_it_leaves),
		cmocka_unit_test(ones_are_counted),
		cmocka_unit_test(numbers_that_come_round),
		cmocka_unit_test(the_shorter_way_round),
		cmocka_unit_test(round_and_round),
		cmocka_unit_test(a_stray_and_a_restart),
		cmocka_unit_test(the_largest_step),
		cmocka_unit_test(a_young_sender_restarts),
	};

	return cmocka_run_group_tests_name("sequence", tests, NULL, NULL);
}
