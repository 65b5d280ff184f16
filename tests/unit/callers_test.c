// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who knocks, gathered by id: rhythm by sequence numbers, addresses, and bounds that nobody can move by what
 * he sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/wire.h>

#include "core/callers.h"

#define MS 1000000ULL

static struct callers *callers;

static int begin(void **state)
{
	(void)state;
	callers = calloc(1, sizeof(*callers));
	return callers ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(callers);
	return 0;
}

static struct kphi_stranger beat(uint8_t who, uint64_t sequence, uint64_t now_ns)
{
	struct kphi_stranger s = {.type = KPHI_WIRE_BEAT,
				  .epoch = 5,
				  .sequence = sequence,
				  .now_ns = now_ns,
				  .node_id = {[15] = who},
				  .source = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	return s;
}

static void take(struct kphi_stranger s)
{
	callers_take(callers, &s);
}

static void one_message_has_no_rhythm(void **state)
{
	(void)state;
	take(beat(1, 7, 100 * MS));
	assert_int_equal(callers->n, 1);
	assert_int_equal(callers->caller[0].messages, 1);
	assert_int_equal(callers->caller[0].first_ns, 100 * MS);
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 0);
}

/* Beats that got lost have their place in it, what comes twice has none. */
static void rhythm_is_by_numbers(void **state)
{
	(void)state;
	for (uint64_t n = 10; n <= 20; n++) {
		if (n % 3 == 0) /* lost: 12, 15, 18 */
			continue;
		take(beat(1, n, n * 40 * MS));
		take(beat(1, n, n * 40 * MS + MS)); /* the other way to here */
	}
	assert_int_equal(callers->caller[0].messages, 16);
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 40 * MS);
	take(beat(1, 15, 900 * MS)); /* late */
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 40 * MS);
	assert_int_equal(callers->caller[0].last.now_ns, 900 * MS);
}

static void a_new_life_has_a_rhythm_of_its_own(void **state)
{
	struct kphi_stranger s;

	(void)state;
	take(beat(1, 1000, 1000 * MS));
	take(beat(1, 1001, 1100 * MS));
	s = beat(1, 1, 9000 * MS);
	s.epoch = 6;
	take(s);
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 0);
	s.sequence = 3;
	s.now_ns += 40 * MS;
	take(s);
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 20 * MS);
	take(beat(1, 5000, 9500 * MS)); /* of the former one */
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 20 * MS);
}

/* The goodbye of a sender comes when it ends, not when a beat is due. */
static void goodbyes_are_no_beats(void **state)
{
	struct kphi_stranger s = beat(1, 3, 210 * MS);

	(void)state;
	take(beat(1, 1, 100 * MS));
	take(beat(1, 2, 200 * MS));
	s.type = KPHI_WIRE_LEAVE;
	take(s);
	assert_int_equal(caller_interval_ns(&callers->caller[0]), 100 * MS);
	assert_int_equal(callers->caller[0].messages, 3);
}

/* Numbers as nobody honest sends them. */
static void hostile_numbers(void **state)
{
	(void)state;
	take(beat(1, 0, MS));
	take(beat(1, UINT64_MAX, UINT64_MAX));
	assert_true(caller_interval_ns(&callers->caller[0]) <= 1);
	take(beat(2, UINT64_MAX, MS));
	take(beat(2, 0, 2 * MS));
	assert_int_equal(caller_interval_ns(&callers->caller[1]), 0);
	take(beat(3, 1, 5 * MS));
	take(beat(3, 2, 5 * MS)); /* at once */
	take(beat(3, 3, 4 * MS)); /* another CPU's stamp */
	assert_int_equal(caller_interval_ns(&callers->caller[2]), 0);
	take(beat(4, 1, 0));
	take(beat(4, 2, UINT64_MAX));
	assert_true(caller_interval_ns(&callers->caller[3]) == UINT64_MAX);
}

static void addresses(void **state)
{
	struct kphi_stranger s = beat(1, 1, MS);

	(void)state;
	for (uint8_t round = 0; round < 2; round++)
		for (uint8_t i = 1; i <= KPHI_SOURCES; i++) {
			s.source[15] = i;
			take(s);
		}
	assert_int_equal(callers->caller[0].sources, KPHI_SOURCES);
	assert_false(callers->caller[0].more_sources);
	for (uint8_t i = 0; i < KPHI_SOURCES; i++)
		assert_int_equal(callers->caller[0].source[i][15], i + 1);
	s.source[15] = 99;
	take(s);
	assert_int_equal(callers->caller[0].sources, KPHI_SOURCES);
	assert_true(callers->caller[0].more_sources);
}

/* More ids than there is room for, all of which look for their place at the same spot; those who were there
 * first are found all the same. */
static void made_up_ids(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 3 * CALLERS_MAX; n++) {
		struct kphi_stranger s = beat(0, 1, n);

		memcpy(s.node_id, &n, sizeof(n));
		memcpy(s.node_id + 8, &n, sizeof(n)); /* whose halves cancel each other out */
		take(s);
	}
	assert_int_equal(callers->n, CALLERS_MAX);
	assert_int_equal(callers->messages, 3 * CALLERS_MAX);
	assert_int_equal(callers->not_kept, 2 * CALLERS_MAX);
	for (uint32_t n = 0; n < CALLERS_MAX; n++) {
		struct kphi_stranger s = beat(0, 2, 100 * MS + n);

		memcpy(s.node_id, &n, sizeof(n));
		memcpy(s.node_id + 8, &n, sizeof(n));
		take(s);
		assert_int_equal(callers->caller[n].messages, 2);
	}
	assert_int_equal(callers->not_kept, 2 * CALLERS_MAX);
}

static void the_loudest_comes_first(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 9; n++)
		take(beat(n < 3 ? 1 : n < 8 ? 2 : 3, n, n));
	take(beat(4, 1, 100));
	callers_sort(callers);
	assert_int_equal(callers->caller[0].last.node_id[15], 2);
	assert_int_equal(callers->caller[1].last.node_id[15], 1);
	assert_int_equal(callers->caller[2].last.node_id[15], 3);
	assert_int_equal(callers->caller[3].last.node_id[15], 4);
}

static void round_durations(void **state)
{
	static const struct {
		uint64_t from, to;
	} cases[] = {
		{0, 0},
		{1, 1},
		{7, 7},
		{99, 100},
		{99300000, 100 * MS},
		{100015000, 100 * MS},
		{101900000, 100 * MS},
		{125000000, 125 * MS},
		{124990000, 125 * MS},
		{250010000, 250 * MS},
		{33333333, 33 * MS},
		{1000013976, 1000 * MS},
		{1499000000, 1500 * MS},
		{9990000000, 10000 * MS},
		{UINT64_MAX, 18400000000000000000ULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(callers_round_ns(cases[i].from), cases[i].to);
	for (uint64_t ns = 1; ns < 1ULL << 62; ns = ns * 5 / 3 + 1) {
		uint64_t round = callers_round_ns(ns);

		assert_true((round > ns ? round - ns : ns - round) <= ns / 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_message_has_no_rhythm, begin, end),
		cmocka_unit_test_setup_teardown(rhythm_is_by_numbers, begin, end),
		cmocka_unit_test_setup_teardown(a_new_life_has_a_rhythm_of_its_own, begin, end),
		cmocka_unit_test_setup_teardown(goodbyes_are_no_beats, begin, end),
		cmocka_unit_test_setup_teardown(hostile_numbers, begin, end),
		cmocka_unit_test_setup_teardown(addresses, begin, end),
		cmocka_unit_test_setup_teardown(made_up_ids, begin, end),
		cmocka_unit_test_setup_teardown(the_loudest_comes_first, begin, end),
		cmocka_unit_test(round_durations),
	};

	return cmocka_run_group_tests_name("callers", tests, NULL, NULL);
}
