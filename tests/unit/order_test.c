// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace/order.h: whatever order changes come in, each record's are handed on in its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/order.h"
#include "unit/random.h"

#define SLOTS 8
#define MANY  100000

static struct taken {
	uint32_t slot;
	uint64_t version;
	bool gap;
} taken[MANY];
static uint32_t takes;
static int answer; /* of the taker */

static int take(void *context, const struct kphi_arrival *a, bool gap)
{
	(void)context;
	assert_true(takes < MANY);
	taken[takes++] = (struct taken){a->slot, a->version, gap};
	return answer;
}

static struct order order;

static int begin(void **state)
{
	(void)state;
	takes = 0;
	answer = 0;
	return order_begin(&order, SLOTS, take, NULL);
}

static int end(void **state)
{
	(void)state;
	order_end(&order);
	return 0;
}

static void comes(uint32_t slot, uint64_t version, uint64_t now_ns)
{
	const struct kphi_arrival a = {.slot = slot, .version = version};

	assert_int_equal(order_take(&order, &a, now_ns), answer);
}

static void assert_taken(uint32_t at, uint32_t slot, uint64_t version, bool gap)
{
	assert_true(at < takes);
	assert_int_equal(taken[at].slot, slot);
	assert_int_equal(taken[at].version, version);
	assert_int_equal(taken[at].gap, gap);
}

static void the_early_one_waits(void **state)
{
	(void)state;
	order_follow(&order, 3, 10);
	comes(3, 12, 0);
	comes(3, 18, 0);
	comes(3, 16, 0);
	comes(4, 2, 0); /* somebody who is not followed */
	assert_int_equal(takes, 2);
	comes(3, 14, 0);
	assert_int_equal(takes, 5);
	assert_taken(0, 3, 12, false);
	assert_taken(2, 3, 14, false);
	assert_taken(3, 3, 16, false);
	assert_taken(4, 3, 18, false);
	assert_int_equal(order_version(&order, 3), 18);
	assert_int_equal(order.held, 0);
}

static void what_is_known_is_dropped(void **state)
{
	(void)state;
	order_follow(&order, 0, 10);
	comes(0, 8, 0);
	comes(0, 10, 0);
	comes(0, 0, 0);
	comes(SLOTS, 12, 0);
	assert_int_equal(takes, 0);
	assert_int_equal(order.late, 0);
	comes(0, 12, 0);
	assert_int_equal(takes, 1);
}

static void what_is_lost_is_not_waited_for_for_ever(void **state)
{
	(void)state;
	order_follow(&order, 0, 10);
	order_follow(&order, 1, 10);
	comes(0, 16, 5);
	comes(1, 14, 6);
	comes(0, 18, 7);
	comes(0, 22, 8);
	assert_int_equal(order_give_up(&order, 4 + ORDER_WAIT_NS), 0);
	assert_int_equal(takes, 0);
	assert_int_equal(order_give_up(&order, 5 + ORDER_WAIT_NS), 0);
	assert_int_equal(takes, 2);
	assert_taken(0, 0, 16, true);
	assert_taken(1, 0, 18, false);
	comes(0, 12, 9); /* after all, but too late */
	assert_int_equal(order.late, 1);
	assert_int_equal(order_give_up(&order, UINT64_MAX), 0);
	assert_int_equal(takes, 4);
	assert_taken(2, 1, 14, true);
	assert_taken(3, 0, 22, true);
}

static void not_too_many_wait(void **state)
{
	(void)state;
	order_follow(&order, 0, 10);
	for (uint32_t i = 0; i < ORDER_HELD_MAX; i++)
		comes(0, 20 + 4 * (uint64_t)(ORDER_HELD_MAX - i), 0);
	assert_int_equal(takes, 0);
	comes(0, 14, 0); /* the last one to come is the first in the order */
	assert_int_equal(takes, 1);
	assert_taken(0, 0, 14, true);
	assert_int_equal(order.held, ORDER_HELD_MAX);
}

static void an_error_ends_it(void **state)
{
	(void)state;
	order_follow(&order, 0, 10);
	answer = -5;
	comes(0, 12, 0);
	assert_int_equal(takes, 1);
}

/* Changes of all slots, each moved back by a few places; some are lost. Handed on: all others, in order. */
static void any_order(void **state)
{
	static struct kphi_arrival queue[MANY];
	uint64_t version[SLOTS] = {0}, random = 7, last[SLOTS] = {0};
	uint32_t n = 0, lost = 0, gaps = 0;

	(void)state;
	for (uint32_t i = 0; i < SLOTS; i++)
		order_follow(&order, i, version[i] = 2 * (uint64_t)(i + 1));
	while (n < MANY - 8) {
		uint32_t slot = (uint32_t)random_below(&random, SLOTS);

		version[slot] += 2;
		if (!random_below(&random, 500))
			lost++;
		else
			queue[n++] = (struct kphi_arrival){.slot = slot, .version = version[slot]};
	}
	for (uint32_t i = 0; i + 4 < n; i++) {
		uint32_t other = i + (uint32_t)random_below(&random, 4);
		struct kphi_arrival a = queue[i];

		queue[i] = queue[other];
		queue[other] = a;
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(order_take(&order, &queue[i], i * 1000000ULL), 0);
		assert_int_equal(order_give_up(&order, i * 1000000ULL), 0);
	}
	assert_int_equal(order_give_up(&order, UINT64_MAX), 0);
	assert_int_equal(takes, n);
	assert_int_equal(order.late, 0);
	for (uint32_t i = 0; i < takes; i++) {
		uint32_t slot = taken[i].slot;

		assert_true(taken[i].version > last[slot]);
		assert_int_equal(taken[i].gap,
				 taken[i].version != (last[slot] ?: 2 * (uint64_t)(slot + 1)) + 2);
		gaps += taken[i].gap;
		last[slot] = taken[i].version;
	}
	assert_in_range(lost, 100, 1000);
	assert_in_range(gaps, lost / 2, lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_early_one_waits, begin, end),
		cmocka_unit_test_setup_teardown(what_is_known_is_dropped, begin, end),
		cmocka_unit_test_setup_teardown(what_is_lost_is_not_waited_for_for_ever, begin, end),
		cmocka_unit_test_setup_teardown(not_too_many_wait, begin, end),
		cmocka_unit_test_setup_teardown(an_error_ends_it, begin, end),
		cmocka_unit_test_setup_teardown(any_order, begin, end),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
