// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The heat map's past against a model that keeps every value ever put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/random.h"
#include "web/history.h"

#define SLOTS 16

static uint8_t cells[HISTORY_SECONDS];

static void put(struct history *h, uint64_t second, uint32_t slot, uint32_t generation, uint8_t cell)
{
	history_begin(h, second);
	assert_true(history_put(h, slot, generation, cell));
	history_end(h);
}

static void the_highest_of_a_second_stays(void **state)
{
	struct history *h = history_new(SLOTS);

	(void)state;
	put(h, 1000, 3, 7, 20);
	put(h, 1000, 3, 7, 50);
	put(h, 1000, 3, 7, 30);
	assert_true(history_read(h, 3, 7, 1, cells));
	assert_int_equal(cells[0], 50);
	history_free(h);
}

static void seconds_without_a_look_are_empty(void **state)
{
	static const uint8_t expected[] = {9, 0, 0, 4};
	struct history *h = history_new(SLOTS);

	(void)state;
	put(h, 1000, 0, 1, 9);
	put(h, 1003, 0, 1, 4);
	assert_true(history_read(h, 0, 1, 4, cells));
	assert_memory_equal(cells, expected, sizeof(expected));
	/* A whole round of the ring later, not one of the old values is taken for a new one. */
	put(h, 1003 + HISTORY_SECONDS, 0, 1, 5);
	assert_true(history_read(h, 0, 1, HISTORY_SECONDS, cells));
	for (uint32_t i = 0; i < HISTORY_SECONDS - 1; i++)
		assert_int_equal(cells[i], 0);
	assert_int_equal(cells[HISTORY_SECONDS - 1], 5);
	put(h, 1000000, 0, 1, 6);
	assert_true(history_read(h, 0, 1, HISTORY_SECONDS, cells));
	assert_int_equal(cells[HISTORY_SECONDS - 1], 6);
	assert_int_equal(cells[HISTORY_SECONDS - 2], 0);
	history_free(h);
}

static void another_generation_is_another_peer(void **state)
{
	struct history *h = history_new(SLOTS);

	(void)state;
	put(h, 1000, 2, 1, 100);
	put(h, 1001, 2, 2, 8);
	assert_false(history_read(h, 2, 1, 2, cells));
	assert_true(history_read(h, 2, 2, 2, cells));
	assert_int_equal(cells[0], 0);
	assert_int_equal(cells[1], 8);
	assert_int_equal(history_peers(h), 1);
	history_free(h);
}

static void who_is_left_out_is_forgotten(void **state)
{
	struct history *h = history_new(SLOTS);

	(void)state;
	history_begin(h, 1000);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		assert_true(history_put(h, slot, 1, (uint8_t)(slot + 1)));
	history_end(h);
	assert_int_equal(history_peers(h), SLOTS);
	history_begin(h, 1001);
	for (uint32_t slot = 1; slot < SLOTS; slot += 2)
		assert_true(history_put(h, slot, 1, 1));
	history_end(h);
	assert_int_equal(history_peers(h), SLOTS / 2);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		assert_int_equal(history_read(h, slot, 1, 2, cells), slot % 2);
		if (slot % 2)
			assert_int_equal(cells[0], slot + 1);
	}
	history_free(h);
}

static void there_is_room_for_so_many_and_for_others_once_they_go(void **state)
{
	struct history *h = history_new(HISTORY_PEERS + 2);

	(void)state;
	history_begin(h, 1000);
	for (uint32_t slot = 0; slot < HISTORY_PEERS; slot++)
		assert_true(history_put(h, slot, 1, 1));
	assert_false(history_has_room(h, HISTORY_PEERS));
	assert_false(history_put(h, HISTORY_PEERS, 1, 1));
	assert_true(history_has_room(h, 17));
	history_end(h);
	history_begin(h, 1001);
	for (uint32_t slot = 1; slot < HISTORY_PEERS; slot++)
		history_put(h, slot, 1, 1);
	history_end(h);
	assert_true(history_has_room(h, HISTORY_PEERS));
	put(h, 1002, HISTORY_PEERS, 1, 1);
	assert_false(history_has_room(h, HISTORY_PEERS + 2)); /* no such slot */
	assert_false(history_put(h, HISTORY_PEERS + 2, 1, 1));
	history_free(h);
}

/* Slots, generations, seconds and values by chance, over several rounds of the ring. */
static void it_agrees_with_a_model(void **state)
{
	enum { LAST = 20000 };
	uint8_t(*model)[LAST] = calloc(SLOTS, sizeof(*model));
	uint32_t generation[SLOTS] = {0};
	struct history *h = history_new(SLOTS);
	uint64_t chance = 5, compared = 0;

	(void)state;
	for (uint64_t second = 1; second < LAST;
	     second += random_below(&chance, 40) ? 1 : random_below(&chance, 500)) {
		history_begin(h, second);
		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			uint8_t cell = (uint8_t)random_below(&chance, 247);

			if (!random_below(&chance, 2000)) {
				generation[slot]++;
				memset(model[slot], 0, LAST);
			}
			if (cell > model[slot][second])
				model[slot][second] = cell;
			assert_true(history_put(h, slot, generation[slot], cell));
		}
		history_end(h);
		if (random_below(&chance, 50))
			continue;
		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			uint32_t n = 1 + (uint32_t)random_below(&chance, HISTORY_SECONDS);

			assert_true(history_read(h, slot, generation[slot], n, cells));
			for (uint32_t i = 0; i < n; i++, compared++)
				assert_int_equal(cells[i],
						 second < n - 1 - i ? 0 : model[slot][second - (n - 1 - i)]);
		}
	}
	assert_true(compared > 1000000);
	history_free(h);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_of_a_second_stays),
		cmocka_unit_test(seconds_without_a_look_are_empty),
		cmocka_unit_test(another_generation_is_another_peer),
		cmocka_unit_test(who_is_left_out_is_forgotten),
		cmocka_unit_test(there_is_room_for_so_many_and_for_others_once_they_go),
		cmocka_unit_test(it_agrees_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
