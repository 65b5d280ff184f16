// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* window.h against lists that are summed anew, with 128-bit integers that BPF does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/window_pair.h"

static void squares_are_exact(void **state)
{
	static const uint64_t edges[] = {0,          1,           2,           0xffff,           0x10000,
					 0xffffffff, 0x100000000, 0x100000001, (1ULL << 47) - 1, 1ULL << 47};
	uint64_t random = 3;

	(void)state;
	for (size_t i = 0; i < 1000000; i++) {
		uint64_t x = i < sizeof(edges) / sizeof(*edges) ? edges[i] : random_magnitude(&random, 47);
		uint64_t high, low;

		kphi_square(x, &high, &low);
		assert_true(((model_u128)high << 64 | low) == (model_u128)x * x);
	}
}

static uint64_t some_setting(uint64_t *random)
{
	return random_below(random, 3) ? random_magnitude(random, 43) : 0;
}

/* Intervals around what the window thinks of as its cap, and of every magnitude. */
static uint64_t some_interval(uint64_t *random, const struct window_model *m)
{
	switch (random_below(random, 8)) {
	case 0:
		return random_magnitude(random, 64);
	case 1:
		return m->cap_ns + random_below(random, 3) - 1;
	case 2:
		return KPHI_INTERVAL_MAX_NS + random_below(random, 3) - 1;
	default:
		return random_below(random, m->cap_ns + 1);
	}
}

/* Long quiet stretches, so that windows fill and wrap, and wild ones, so that they are retuned. */
static void walk(struct pair *p, uint64_t *random, uint64_t steps, uint64_t deep_every)
{
	uint64_t wild = 0, retuned = 0, full = 0;

	for (uint64_t step = 0; step < steps; step++) {
		uint64_t x = some_interval(random, p->model);
		uint32_t notes;

		if (!step || !random_below(random, 40 * p->size))
			pair_begin(p, some_setting(random), some_setting(random));
		if (!random_below(random, 30))
			wild = 2 + random_below(random, 12);
		if (wild && wild--)
			x = p->model->cap_ns + 1 + random_magnitude(random, 50);
		notes = pair_step(p, x, some_steps(random), step % deep_every == 0);
		retuned += !!(notes & KPHI_NOTE(retuned));
		full += p->w.n == p->size;
	}
	assert_true(retuned > 100);
	assert_true(full > steps / 100);
}

static void millions_of_intervals(void **state)
{
	static const uint32_t sizes[] = {8, 9, 15, 16, 17, 31, 64};
	uint64_t random = 99;
	struct pair p;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		pair_new(&p, sizes[i]);
		walk(&p, &random, 400000, 1);
		pair_free(&p);
	}
}

/* Stretches without a wild interval, so that a window of a thousand wraps. */
static void a_thousand_wrap(void **state)
{
	uint64_t random = 5;
	struct pair p;

	(void)state;
	pair_new(&p, 1000);
	pair_begin(&p, 0, 0);
	for (int step = 0; step < 300000; step++)
		pair_step(&p, random_below(&random, p.model->cap_ns + 1), some_steps(&random),
			  step % 500 == 0);
	assert_int_equal(p.w.n, 1000);
	assert_int_equal(p.w.losses.beats_long, 300000 % KPHI_LOSS_MEMORY_LONG);
	pair_free(&p);
}

static void the_longest_intervals_fill_the_largest_window(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, KPHI_WINDOW_MAX);
	pair_begin(&p, KPHI_INTERVAL_MAX_NS, 0);
	for (uint32_t i = 0; i < 3 * KPHI_WINDOW_MAX; i++)
		pair_take(&p, KPHI_INTERVAL_MAX_NS, i % 1000 == 0);
	/* What core/ multiplies by n still fits 128 bits with room: 2^12 x 2^12 x 2^94. */
	assert_int_equal(p.w.squares_high, 1ULL << (94 + 12 - 64));
	assert_int_equal(p.w.squares_low, 0);
	assert_int_equal(p.w.clean_squares_high, p.w.squares_high);
	assert_int_equal(p.w.clean_squares_low, 0);
	/* Those of one step make room for those of two, which leave no trace in the sums of the others. */
	for (uint32_t i = 0; i < KPHI_WINDOW_MAX; i++)
		pair_step(&p, KPHI_INTERVAL_MAX_NS - i % 2, 2, i % 1000 == 0);
	assert_int_equal(p.w.clean_n, 0);
	assert_int_equal(p.w.clean_sum_ns | p.w.clean_squares_high | p.w.clean_squares_low, 0);
	for (uint32_t i = 0; i < KPHI_WINDOW_MAX; i++)
		pair_step(&p, 0, 1 + i % 3, i % 1000 == 0);
	assert_int_equal(p.w.sum_ns | p.w.squares_high | p.w.squares_low, 0);
	pair_free(&p);
}

/* Sums return to nothing exactly, however large what went through them. */
static void nothing_drifts(void **state)
{
	uint64_t random = 11;
	struct pair p;

	(void)state;
	pair_new(&p, 16);
	pair_begin(&p, KPHI_INTERVAL_MAX_NS, 0);
	for (int i = 0; i < 1000000; i++)
		pair_step(&p, random_magnitude(&random, 47), some_steps(&random), 0);
	for (int i = 0; i < 16; i++)
		pair_take(&p, 0, 0);
	assert_int_equal(p.w.n, 16);
	assert_int_equal(p.w.clean_n, 16);
	assert_int_equal(p.w.clean_sum_ns | p.w.clean_squares_high | p.w.clean_squares_low, 0);
	assert_int_equal(p.w.sum_ns | p.w.squares_high | p.w.squares_low, 0);
	pair_free(&p);
}

/* --- the rules, one by one --- */

static void the_first_eight_are_learned(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, 8);
	pair_begin(&p, 0, 0);
	assert_int_equal(p.w.cap_ns, KPHI_INTERVAL_MAX_NS);
	for (uint64_t i = 1; i <= 8; i++) {
		assert_int_equal(p.w.interval_ns, 0);
		assert_int_equal(pair_take(&p, 1000 * i, 1), 0);
	}
	assert_int_equal(p.w.interval_ns, 4500);
	assert_int_equal(p.w.cap_ns, 45000);
	pair_begin(&p, 0, 7000); /* a cap that was set stays */
	for (uint64_t i = 0; i < 8; i++)
		pair_take(&p, 500, 1);
	assert_int_equal(p.w.interval_ns, 500);
	assert_int_equal(p.w.cap_ns, 7000);
	pair_begin(&p, 0, 0); /* an interval of nothing is taken for the least there is */
	for (uint64_t i = 0; i < 8; i++)
		pair_take(&p, 0, 1);
	assert_int_equal(p.w.interval_ns, 1);
	pair_free(&p);
}

static void the_cap_itself_is_learned_and_more_is_not(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, 8);
	pair_begin(&p, 1000, 0);
	assert_int_equal(pair_take(&p, 10000, 1), 0);
	assert_int_equal(pair_take(&p, 10001, 1), KPHI_NOTE(capped));
	assert_int_equal(p.w.n, 1);
	pair_begin(&p, 1000, 1500);
	assert_int_equal(pair_take(&p, 1500, 1), 0);
	assert_int_equal(pair_take(&p, 1501, 1), KPHI_NOTE(capped));
	pair_free(&p);
}

static void seven_in_a_row_are_forgiven(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, 8);
	pair_begin(&p, 1000, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 7; i++)
			assert_int_equal(pair_take(&p, 20000, 1), KPHI_NOTE(capped));
		assert_int_equal(pair_take(&p, 1000, 1), 0);
	}
	assert_int_equal(p.w.interval_ns, 1000);
	assert_int_equal(p.w.n, 3);
	pair_free(&p);
}

/* A setting wrong by more than the cap heals, upwards by retuning, and the next life tries the setting again.
 */
static void eight_in_a_row_retune(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, 8);
	pair_begin(&p, 1000, 2000);
	pair_take(&p, 900, 1);
	for (uint64_t i = 0; i < 7; i++)
		pair_take(&p, 20000 + i, 1);
	assert_int_equal(pair_take(&p, 20007, 1), KPHI_NOTE(capped) | KPHI_NOTE(retuned));
	assert_int_equal(p.w.n, 8);
	assert_int_equal(p.w.interval_ns, 20003);
	assert_int_equal(p.w.cap_ns, 200030); /* the cap that was set is part of the wrong setting */
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(pair_take(&p, 21000, 1), 0);
	pair_begin(&p, 1000, 2000);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(squares_are_exact),
		cmocka_unit_test(the_first_eight_are_learned),
		cmocka_unit_test(the_cap_itself_is_learned_and_more_is_not),
		cmocka_unit_test(seven_in_a_row_are_forgiven),
		cmocka_unit_test(eight_in_a_row_retune),
		cmocka_unit_test(millions_of_intervals),
		cmocka_unit_test(a_thousand_wrap),
		cmocka_unit_test(the_longest_intervals_fill_the_largest_window),
		cmocka_unit_test(nothing_drifts),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
