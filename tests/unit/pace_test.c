/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sender's schedule with injected time: outages of hours and months of beats take milliseconds here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pace.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

static const uint8_t node[16] = {0x6b, 0x70, 0x68, 0x69, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/* Small and seeded, so that a failure can be repeated. */
static uint64_t noise(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 33;
}

static void slots_lie_on_the_phase_of_the_node(void **state)
{
	struct pace pace;

	(void)state;
	for (uint64_t now = 0; now < 3 * SEC; now += 77 * MS + 13) {
		pace_start(&pace, node, SEC, 0, 1, now);
		assert_true(pace.due_ns >= now && pace.due_ns - now < SEC);
		assert_int_equal(pace.due_ns % SEC, pace_phase_ns(node, SEC));
	}
	pace_start(&pace, node, SEC, 0, 1, 5 * SEC + pace_phase_ns(node, SEC));
	assert_int_equal(pace.due_ns, 5 * SEC + pace_phase_ns(node, SEC));
}

/* Ids that differ in one counting byte, the least random ones there are, still fill every tenth alike. */
static void a_thousand_nodes_spread(void **state)
{
	unsigned int tenths[10] = {0};
	uint8_t id[16] = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		id[14] = (uint8_t)(i >> 8);
		id[15] = (uint8_t)i;
		tenths[pace_phase_ns(id, SEC) / (SEC / 10)]++;
	}
	/* 100 expected, standard deviation 9.5: five of them either way. */
	for (unsigned int i = 0; i < 10; i++)
		assert_in_range(tenths[i], 52, 148);
}

static void ten_million_late_wakeups_do_not_drift(void **state)
{
	const uint64_t interval = 10 * MS + 7, beats = 10 * 1000 * 1000;
	uint64_t random = 42, first;
	struct pace pace;

	(void)state;
	pace_start(&pace, node, interval, 0, 1, 123456789);
	first = pace.due_ns;
	for (uint64_t k = 0; k < beats; k++) {
		if (pace.due_ns != first + k * interval)
			fail_msg("slot %lu drifted", (unsigned long)k);
		pace_next(&pace, pace.due_ns + noise(&random) % (5 * MS));
	}
	assert_int_equal(pace.skipped, 0);
}

/* Ten seconds stopped: one beat at once, the rest of the ten are skipped, and the grid is the old one. */
static void a_freeze_is_not_caught_up(void **state)
{
	struct pace pace;
	uint64_t first, woken;

	(void)state;
	pace_start(&pace, node, SEC, 0, 1, 100 * SEC);
	first = pace.due_ns;
	woken = first + 10 * SEC + 300 * MS;

	pace_next(&pace, woken);
	assert_int_equal(pace.due_ns, first + 11 * SEC);
	assert_int_equal(pace.skipped, 10);

	pace_next(&pace, pace.due_ns);
	assert_int_equal(pace.due_ns, first + 12 * SEC);
	assert_int_equal(pace.skipped, 10);
}

/* Woken just before a slot, the beat sent at once stands for it. */
static void no_two_beats_come_close(void **state)
{
	struct pace pace;
	uint64_t first;

	(void)state;
	pace_start(&pace, node, SEC, 0, 1, 100 * SEC);
	first = pace.due_ns;

	pace_next(&pace, first + 750 * MS);
	assert_int_equal(pace.due_ns, first + SEC);
	assert_int_equal(pace.skipped, 0);

	pace_next(&pace, first + SEC + 750 * MS + 1);
	assert_int_equal(pace.due_ns, first + 3 * SEC);
	assert_int_equal(pace.skipped, 1);
}

/* Whatever the lateness: due in the future, on the grid, a quarter of an interval away, all slots accounted
 * for. */
static void any_lateness_keeps_the_rules(void **state)
{
	uint64_t random = 7, first, slots = 0;
	struct pace pace;

	(void)state;
	pace_start(&pace, node, 50 * MS, 200000, 9, 1);
	first = pace.slot_ns;
	for (unsigned int i = 0; i < 200000; i++) {
		uint64_t late = noise(&random) % 3 ? noise(&random) % MS : noise(&random) * 97 % (400 * MS);
		uint64_t now = pace.due_ns + late;

		pace_next(&pace, now);
		slots++;
		assert_true(pace.due_ns >= now + 50 * MS / PACE_GAP_DIVISOR);
		assert_true(pace.due_ns <= now + (50 + 10) * MS + 50 * MS / PACE_GAP_DIVISOR);
		assert_int_equal(pace.slot_ns, first + (slots + pace.skipped) * 50 * MS);
	}
}

static void jitter_is_uniform_and_bounded(void **state)
{
	unsigned int tenths[10] = {0};
	uint64_t first, before = 0;
	struct pace pace;

	(void)state;
	pace_start(&pace, node, SEC, PACE_JITTER_MAX_PPM, 3, 0);
	first = pace.slot_ns;
	for (uint64_t k = 0; k < 10000; k++) {
		uint64_t after_slot = pace.due_ns - pace.slot_ns;

		assert_int_equal(pace.slot_ns, first + k * SEC);
		assert_true(after_slot <= SEC / 2);
		assert_true(k == 0 || pace.due_ns - before >= SEC / 2);
		tenths[after_slot * 10 / (SEC / 2 + 1)]++;
		before = pace.due_ns;
		pace_next(&pace, pace.due_ns);
	}
	assert_int_equal(pace.skipped, 0);
	/* 1000 expected, standard deviation 30. */
	for (unsigned int i = 0; i < 10; i++)
		assert_in_range(tenths[i], 850, 1150);
}

static void seeds_differ_and_repeat(void **state)
{
	struct pace a, b, c;

	(void)state;
	pace_start(&a, node, SEC, 100000, 1, 0);
	pace_start(&b, node, SEC, 100000, 1, 0);
	pace_start(&c, node, SEC, 100000, 2, 0);
	assert_int_equal(a.due_ns, b.due_ns);
	assert_int_not_equal(a.due_ns, c.due_ns);
}

/* A clock that wraps is 584 years away; arithmetic that cannot bear it is wrong today as well. */
static void the_clock_may_wrap(void **state)
{
	uint64_t first, start = UINT64_MAX - 5 * SEC;
	struct pace pace;

	(void)state;
	pace_start(&pace, node, SEC, 0, 1, start);
	first = pace.due_ns;
	for (uint64_t k = 0; k < 20; k++) {
		assert_int_equal(pace.due_ns, first + k * SEC);
		pace_next(&pace, pace.due_ns + 3 * MS);
	}
	assert_true(pace.due_ns < start);
	assert_int_equal(pace.skipped, 0);

	pace_start(&pace, node, SEC, 0, 1, start);
	pace_next(&pace, pace.due_ns + 100 * SEC);
	assert_int_equal(pace.due_ns, first + 101 * SEC);
	assert_int_equal(pace.skipped, 100);
}

static void extreme_intervals(void **state)
{
	struct pace pace;

	(void)state;
	pace_start(&pace, node, 1, 0, 1, 1000);
	assert_int_equal(pace.due_ns, 1000);
	pace_next(&pace, 2000);
	assert_int_equal(pace.due_ns, 2000);
	assert_int_equal(pace.skipped, 999);

	/* A day with the widest jitter: the product with the percentage has room. */
	pace_start(&pace, node, 86400 * SEC, PACE_JITTER_MAX_PPM, 1, 1000);
	assert_int_equal(pace.jitter_ns, 43200 * SEC);
	assert_true(pace.due_ns < 2 * 86400 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_lie_on_the_phase_of_the_node),
		cmocka_unit_test(a_thousand_nodes_spread),
		cmocka_unit_test(ten_million_late_wakeups_do_not_drift),
		cmocka_unit_test(a_freeze_is_not_caught_up),
		cmocka_unit_test(no_two_beats_come_close),
		cmocka_unit_test(any_lateness_keeps_the_rules),
		cmocka_unit_test(jitter_is_uniform_and_bounded),
		cmocka_unit_test(seeds_differ_and_repeat),
		cmocka_unit_test(the_clock_may_wrap),
		cmocka_unit_test(extreme_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
