// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From a store (memory of the test's own) to the bytes of the heat map, and to who is in it. */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/window.h>

#include "kernel/clock.h"
#include "show/verdict.h"
#include "unit/memory_store.h"
#include "web/look.h"
#include "web/stream.h"

#define MS     1000000ULL
#define MINUTE (60000 * MS)

static struct look look;
static struct history *history;

static int begin(void **state)
{
	(void)state;
	memory_begin(1);
	look_init(&look, clock_monotonic_ns());
	history = history_new(PEERS);
	return 0;
}

static int end(void **state)
{
	(void)state;
	look_free(&look);
	history_free(history);
	return 0;
}

/* One that beats every minute, the last time just now: whatever the test takes, its phi stays 0. */
static void move_in(uint32_t slot, const char *name)
{
	struct kphi_record *r = &memory.records[slot];

	memset(r, 0, sizeof(*r));
	memory.peers[slot] = (struct kphi_peer){.interval_ns = MINUTE};
	snprintf(memory.peers[slot].name, KPHI_NAME_SIZE, "%s", name);
	r->version = 2;
	r->state = KPHI_UP;
	r->last_ns = clock_monotonic_ns();
	kphi_window_begin(&r->window, &memory.peers[slot]);
	for (int i = 0; i < WINDOW; i++)
		kphi_window_take(&r->window, memory.windows[slot], WINDOW, 0, MINUTE, 1);
}

static void give_verdict(uint32_t slot, enum kphi_verdict_state state)
{
	memory.verdicts[slot] = (struct kphi_verdict){
		.valid_until_ns = UINT64_MAX,
		.generation = memory.records[slot].generation,
		.epoch = memory.records[slot].epoch,
		.life = 3,
		.state = (uint8_t)state,
	};
}

static uint8_t cell(uint32_t at)
{
	assert_int_equal(look_at_all(&look, &store, history), 0);
	assert_true(at < look.n);
	return look.cell[at];
}

/* --- bytes --- */

static void phi_in_eighths(void **state)
{
	static const struct {
		q32_t phi;
		uint8_t cell;
	} table[] = {
		{0, 1},
		{Q32_ONE / 8 - 1, 1},
		{Q32_ONE / 8, 2},
		{8 * Q32_ONE, 65},
		{239 * (Q32_ONE / 8) - 1, 239},
		{239 * (Q32_ONE / 8), 240}, /* 29.875 */
		{30 * Q32_ONE, 240},
		{PHI_MAX, 240},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct view v = {.opinion = {.judged = true, .state = PEER_UP, .phi = table[i].phi}};

		assert_int_equal(cell_of(&v), table[i].cell);
	}
}

static void states_have_bytes_of_their_own(void **state)
{
	(void)state;
	move_in(0, "db1");
	assert_int_equal(cell(0), 1);
	memory.records[0].window.interval_ns = 0;
	assert_int_equal(cell(0), CELL_NOT_JUDGED);
	memory.records[0].state = KPHI_WAITING;
	assert_int_equal(cell(0), CELL_NOT_JUDGED);
	memory.records[0].state = KPHI_LEFT;
	assert_int_equal(cell(0), CELL_LEFT);
	memory.records[0].state = KPHI_DOWN;
	assert_int_equal(cell(0), CELL_DOWN);
	assert_int_equal(look.suspect, 1);
	memory.peers[0].mute_until_ns = UINT64_MAX;
	assert_int_equal(cell(0), CELL_MUTED);
	assert_int_equal(look.suspect, 0);
}

static void silence_is_counted(void **state)
{
	(void)state;
	move_in(0, "db1");
	move_in(1, "db2");
	memory.records[1].last_ns -= 100 * MINUTE;
	assert_int_equal(cell(1), CELL_PHI_MAX);
	assert_int_equal(look.suspect, 1);
	assert_int_equal(look.held + look.blind, 0);
}

/* The byte of the peer in a slot when a daemon lives. */
static uint8_t cell_by_daemon(uint32_t slot)
{
	static const struct kphi_daemon daemon = {.starts = 3};
	struct view v;

	assert_int_equal(store_read(&store, slot, &v.record, &v.peer), 0);
	view_judge(&v, &store, slot, &look.threshold, clock_monotonic_ns());
	view_daemon(&v, &store, &daemon);
	return cell_of(&v);
}

/* A verdict on another life, or one that has run out, is none. */
static void the_daemon_knows_what_is_held_and_blind(void **state)
{
	(void)state;
	move_in(0, "db1");
	memory.records[0].generation = 4;
	memory.records[0].last_ns -= 100 * MINUTE;
	give_verdict(0, KPHI_VERDICT_HELD);
	assert_int_equal(cell_by_daemon(0), CELL_HELD);
	assert_int_equal(cell(0), CELL_PHI_MAX); /* without a daemon */
	give_verdict(0, KPHI_VERDICT_BLIND);
	assert_int_equal(cell_by_daemon(0), CELL_BLIND);
	memory.verdicts[0].epoch++;
	assert_int_equal(cell_by_daemon(0), CELL_PHI_MAX);
	give_verdict(0, KPHI_VERDICT_BLIND);
	memory.verdicts[0].generation++;
	assert_int_equal(cell_by_daemon(0), CELL_PHI_MAX);
	give_verdict(0, KPHI_VERDICT_BLIND);
	memory.verdicts[0].valid_until_ns = 1;
	assert_int_equal(cell_by_daemon(0), CELL_PHI_MAX);
	give_verdict(0, KPHI_VERDICT_BLIND);
	memory.records[0].state = KPHI_LEFT;
	memory.records[0].last_ns = clock_monotonic_ns(); /* after an hour a goodbye is no longer believed */
	assert_int_equal(cell_by_daemon(0), CELL_LEFT);
}

/* --- who --- */

static void a_roster_keeps_its_number_until_somebody_comes_or_goes(void **state)
{
	uint64_t number;

	(void)state;
	move_in(1, "db1");
	move_in(5, "db2");
	cell(0);
	number = look.roster;
	assert_int_equal(look.n, 2);
	assert_int_equal(look.peer[1].slot, 5);
	memory.records[5].state = KPHI_LEFT;
	cell(0);
	assert_int_equal(look.roster, number);
	move_in(3, "db3");
	cell(0);
	assert_int_equal(look.roster, number + 1);
	memory.records[5].state = KPHI_FREE;
	cell(0);
	assert_int_equal(look.roster, number + 2);
	memory.records[1].generation++;
	cell(0);
	assert_int_equal(look.roster, number + 3);
	memory.records[3].state = KPHI_FREE;
	move_in(4, "db4"); /* as many as before */
	cell(0);
	assert_int_equal(look.roster, number + 4);
	assert_int_equal(look_at_all(&look, NULL, NULL), 0);
	assert_int_equal(look.roster, number + 5);
	assert_int_equal(look.n, 0);
}

/* In what a look cannot read it sees what it saw before. */
static void who_is_busy_looks_as_before(void **state)
{
	uint64_t number;

	(void)state;
	move_in(0, "db1");
	move_in(1, "db2");
	memory.records[1].state = KPHI_LEFT;
	assert_int_equal(cell(1), CELL_LEFT);
	number = look.roster;
	memory.records[1].version = 3;
	memory.records[1].state = KPHI_UP;
	assert_int_equal(cell(1), CELL_LEFT);
	assert_int_equal(look.roster, number);
	memory.records[1].version = 4;
	assert_int_equal(cell(1), 1);
}

static void the_past_is_kept_by_either_look(void **state)
{
	uint8_t cells[1];

	(void)state;
	move_in(2, "db1");
	look_for_history(&look, &store, history);
	assert_true(history_read(history, 2, 0, 1, cells));
	assert_int_equal(cells[0], 1);
	memory.records[2].state = KPHI_DOWN;
	cell(0);
	assert_true(history_read(history, 2, 0, 1, cells));
	assert_int_equal(cells[0], CELL_DOWN);
	memory.records[2].state = KPHI_FREE;
	look_for_history(&look, &store, history);
	assert_false(history_read(history, 2, 0, 1, cells));
}

/* --- what is sent --- */

static struct json_object *read_json(char *text)
{
	struct json_object *root = json_tokener_parse(text);

	assert_non_null(root);
	free(text);
	return root;
}

static const char *value(struct json_object *o, const char *key)
{
	struct json_object *found = NULL;

	assert_true(json_object_object_get_ex(o, key, &found));
	return json_object_to_json_string_ext(found, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void frames_and_rosters_are_in_one_order(void **state)
{
	struct json_object *roster, *frame;
	char expected[512];
	size_t length;

	(void)state;
	move_in(1, "db1");
	move_in(6, "db\"2");
	snprintf(memory.peers[6].host, KPHI_NAME_SIZE, "rack 4");
	memory.records[6].generation = 9;
	memory.records[6].state = KPHI_LEFT;
	cell(0);
	roster = read_json(stream_roster(&look, &store, &length));
	frame = read_json(stream_frame(&look, &length));
	assert_string_equal(value(roster, "peers"),
			    "[{\"name\":\"db1\",\"host\":null,\"slot\":1,\"generation\":0},"
			    "{\"name\":\"db\\\"2\",\"host\":\"rack 4\",\"slot\":6,\"generation\":9}]");
	assert_string_equal(value(frame, "cells"), "\"AfI=\"");
	assert_string_equal(value(frame, "roster"), value(roster, "roster"));
	snprintf(expected, sizeof(expected), "%llu", (unsigned long long)look.now_ns / 1000000000);
	assert_string_equal(value(frame, "column"), expected);
	assert_string_equal(value(frame, "daemon"), "false");
	assert_string_equal(value(frame, "store"), "true");
	json_object_put(roster);
	json_object_put(frame);
}

static void a_stall_shows_while_it_lasts(void **state)
{
	(void)state;
	move_in(0, "db1");
	memory.ticks[0].last_ns = clock_monotonic_ns() - 200 * MS;
	cell(0);
	assert_true(look.stalled);
	memory.ticks[0].last_ns = UINT64_MAX;
	cell(0);
	assert_false(look.stalled);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phi_in_eighths),
		TEST(states_have_bytes_of_their_own),
		TEST(silence_is_counted),
		TEST(the_daemon_knows_what_is_held_and_blind),
		TEST(a_roster_keeps_its_number_until_somebody_comes_or_goes),
		TEST(who_is_busy_looks_as_before),
		TEST(the_past_is_kept_by_either_look),
		TEST(frames_and_rosters_are_in_one_order),
		TEST(a_stall_shows_while_it_lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
