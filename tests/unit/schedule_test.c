// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The heap of deadlines against the simplest thing that does the same: an array that is searched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/schedule.h"
#include "unit/random.h"

#define SLOTS 100

static void empty(void **state)
{
	struct schedule *s = schedule_new(0);
	uint32_t slot;

	(void)state;
	assert_true(schedule_next_ns(s) == UINT64_MAX);
	assert_false(schedule_take(s, UINT64_MAX, &slot));
	schedule_set(s, 0, 5); /* beyond its capacity: nothing */
	schedule_hasten(s, 7, 5);
	assert_true(schedule_next_ns(s) == UINT64_MAX);
	schedule_free(s);
	schedule_free(NULL);
}

static void a_deadline_moves_both_ways(void **state)
{
	struct schedule *s = schedule_new(3);
	uint32_t slot;

	(void)state;
	schedule_set(s, 0, 10);
	schedule_set(s, 1, 20);
	schedule_set(s, 2, 30);
	schedule_set(s, 2, 5);
	assert_int_equal(schedule_next_ns(s), 5);
	schedule_set(s, 2, 25);
	assert_int_equal(schedule_next_ns(s), 10);
	schedule_set(s, 0, UINT64_MAX);
	schedule_set(s, 0, UINT64_MAX); /* there is none any more */
	assert_int_equal(schedule_next_ns(s), 20);
	schedule_hasten(s, 1, 21); /* it is due earlier already */
	assert_int_equal(schedule_next_ns(s), 20);
	schedule_hasten(s, 1, 19);
	assert_false(schedule_take(s, 18, &slot));
	assert_true(schedule_take(s, 19, &slot));
	assert_int_equal(slot, 1);
	assert_true(schedule_take(s, 100, &slot));
	assert_int_equal(slot, 2);
	assert_false(schedule_take(s, 100, &slot));
	schedule_free(s);
}

static uint64_t earliest(const uint64_t at[SLOTS])
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < SLOTS; i++)
		least = at[i] < least ? at[i] : least;
	return least;
}

static void as_a_searched_array(void **state)
{
	struct schedule *s = schedule_new(SLOTS);
	uint64_t at[SLOTS], random = 7;
	uint32_t slot;

	(void)state;
	for (int i = 0; i < SLOTS; i++)
		at[i] = UINT64_MAX;
	for (int i = 0; i < 200000; i++) {
		uint64_t when = random_below(&random, 1000);

		slot = (uint32_t)random_below(&random, SLOTS);
		switch (random_below(&random, 4)) {
		case 0:
			at[slot] = UINT64_MAX;
			schedule_set(s, slot, UINT64_MAX);
			break;
		case 1:
			at[slot] = when < at[slot] ? when : at[slot];
			schedule_hasten(s, slot, when);
			break;
		case 2:
			if (schedule_take(s, when, &slot)) {
				assert_true(at[slot] <= when && at[slot] == earliest(at));
				at[slot] = UINT64_MAX;
			} else {
				assert_true(earliest(at) > when);
			}
			break;
		default:
			at[slot] = when;
			schedule_set(s, slot, when);
		}
		assert_true(schedule_next_ns(s) == earliest(at));
	}
	schedule_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(a_deadline_moves_both_ways),
		cmocka_unit_test(as_a_searched_array),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
