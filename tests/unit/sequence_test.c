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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(millions_of_numbers),
		cmocka_unit_test(every_step_settles_what_it_leaves),
		cmocka_unit_test(ones_are_counted),
	};

	return cmocka_run_group_tests_name("sequence", tests, NULL, NULL);
}
