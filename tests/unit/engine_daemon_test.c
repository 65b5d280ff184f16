// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The engine as a daemon uses it beside looking: another configuration, a restart, what to tell of ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/engine_host.h"

/* --- a changed configuration --- */

/* Consumers 0, 1, 2 become 2, none, 0; a new one is 1. Who suspected goes on to, unannounced, with its token.
 */
static void configure_renumbers(void **state)
{
	struct engine_config config = config_of(3), changed = config_of(3);
	const int map[ENGINE_CONSUMERS] = {2, -1, 0};
	struct engine *e = engine_new(&config, &callbacks, 2);
	uint64_t old_token, since;

	(void)state;
	add_peer(0, SEC, 30);
	add_peer(1, SEC, 30);
	host.record[1].last_ns = BEGIN + 90 * SEC;
	engine_scan(e, BEGIN);
	live(e, BEGIN + 93 * SEC);
	assert_int_equal(count(EVENT_suspect), 3);
	old_token = host.verdict[0].token;
	since = host.verdict[0].since_ns;
	host.events = 0;

	changed.consumer[0] = config.consumer[2];
	changed.consumer[2] = config.consumer[0];
	snprintf(changed.consumer[1].name, KPHI_NAME_SIZE, "new");
	changed.consumer[1].suspect = PHI_MAX;
	assert_true(engine_configure(e, &changed, map, BEGIN + 93 * SEC));
	assert_int_equal(host.events, 0);
	assert_int_equal(host.verdict[0].consumers, 5);
	assert_true(host.verdict[0].token == old_token && host.verdict[0].since_ns == since);

	/* A stricter consumer is heard of at once; the one that has gone for good is gone. */
	changed.consumer[1].suspect = 2 * Q32_ONE;
	assert_true(engine_configure(e, &changed, (const int[ENGINE_CONSUMERS]){0, 1, 2}, BEGIN + 94 * SEC));
	assert_int_equal(host.events, 1);
	assert_string_equal(host.consumer[0], "new");
	assert_int_equal(host.verdict[0].consumers, 7);
	host.events = 0;
	beat(0, BEGIN + 95 * SEC);
	engine_look(e, 0, BEGIN + 95 * SEC);
	assert_int_equal(count(EVENT_trust), 3);
	live(e, BEGIN + 200 * SEC);
	assert_int_equal(count(EVENT_suspect), 6);
	engine_free(e);
}

/* A hold goes on as well, and ends when it would have. */
static void configure_keeps_holds(void **state)
{
	struct engine_config config = config_of(2), changed = config_of(2);
	struct engine *e;
	uint64_t held;

	(void)state;
	config.consumer[1].correlated = changed.consumer[0].correlated = true;
	config.consumer[0].suspect = changed.consumer[1].suspect = PHI_MAX;
	e = engine_new(&config, &callbacks, 2);
	add_peer(0, SEC, 30);
	add_peer(1, SEC, 30);
	engine_scan(e, BEGIN);
	live(e, BEGIN + 20 * SEC);
	assert_int_equal(count(EVENT_hold), 2);
	held = last()->now_ns;
	host.events = 0;
	assert_true(engine_configure(e, &changed, (const int[ENGINE_CONSUMERS]){1, 0}, BEGIN + 21 * SEC));
	live(e, held + 60 * SEC - 1);
	assert_int_equal(host.events, 0);
	live(e, held + 60 * SEC);
	assert_int_equal(count(EVENT_release), 2);
	assert_int_equal(count(EVENT_suspect), 2);
	assert_true(last()->cause == CAUSE_SILENCE && host.event[0].cause == CAUSE_BOUND);
	engine_free(e);
}

/* A consumer that does not care about the peer any longer trusts it, and says why. */
static void configure_narrows(void **state)
{
	struct engine_config config = config_of(2);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	add_peer(0, SEC, 30);
	engine_scan(e, BEGIN);
	live(e, BEGIN + 20 * SEC);
	host.events = 0;
	host.cares = 2;
	assert_true(engine_configure(e, &config, (const int[ENGINE_CONSUMERS]){0, 1}, BEGIN + 21 * SEC));
	assert_int_equal(host.events, 1);
	assert_int_equal(last()->type, EVENT_trust);
	assert_int_equal(last()->cause, CAUSE_RESET);
	assert_int_equal(host.verdict[0].consumers, 2);
	engine_free(e);
}

/* --- a daemon that comes back --- */

static void recalled_hold_goes_on(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e;
	uint64_t held = BEGIN;

	(void)state;
	config.consumer[0].correlated = true;
	e = engine_new(&config, &callbacks, 2);
	add_peer(0, SEC, 30);
	add_peer(1, SEC, 30);
	engine_scan(e, BEGIN);
	live(e, BEGIN + 20 * SEC);
	assert_int_equal(count(EVENT_hold), 2);
	held = last()->now_ns;
	engine_free(e);

	host.events = 0;
	e = engine_new(&config, &callbacks, 2);
	for (uint32_t i = 0; i < 2; i++) {
		host.verdict[i].valid_until_ns = BEGIN + 23 * SEC;
		engine_recall(e, i, &host.verdict[i]);
	}
	engine_scan(e, BEGIN + 30 * SEC);
	assert_int_equal(host.events, 0);
	live(e, held + 60 * SEC - 1);
	assert_int_equal(host.events, 0);
	live(e, held + 60 * SEC);
	assert_int_equal(count(EVENT_release), 2);
	assert_int_equal(count(EVENT_suspect), 2);
	engine_free(e);
}

/* Another peer has the slot now: nothing of the old verdict is believed. */
static void recalled_of_another_generation(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);
	const struct kphi_verdict old = {.valid_until_ns = BEGIN,
					 .consumers = 1,
					 .state = KPHI_VERDICT_SUSPECT,
					 .epoch = 1,
					 .generation = 4};

	(void)state;
	add_peer(0, SEC, 30);
	host.record[0].generation = 5;
	engine_recall(e, 0, &old);
	engine_scan(e, BEGIN);
	assert_int_equal(host.events, 0);
	assert_int_equal(host.verdict[0].state, KPHI_VERDICT_TRUST);
	assert_int_equal(host.verdict[0].generation, 5);
	engine_free(e);
}

static void recites_what_stands(void **state)
{
	struct engine_config config = config_of(2);
	struct engine *e = engine_new(&config, &callbacks, 4);
	uint64_t since;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add_peer(i, SEC, 30);
	host.record[1].last_ns = BEGIN + 100 * SEC;
	host.peer[2].mute_until_ns = BEGIN + 1000 * SEC;
	strcpy(host.peer[2].mute_reason, "why");
	engine_scan(e, BEGIN);
	live(e, BEGIN + 20 * SEC);
	since = host.verdict[0].since_ns;
	host.events = 0;
	engine_recite(e, BEGIN + 30 * SEC, say, NULL);
	assert_int_equal(host.events, 3);
	assert_int_equal(count(EVENT_suspect), 2);
	assert_int_equal(count(EVENT_mute), 1);
	assert_true(host.event[0].since_ns == since && host.event[1].token == host.verdict[0].token);
	assert_int_equal(engine_unsettled(e), 2);
	engine_free(e);
}

/* --- this host --- */

static void a_stall(uint64_t end_ns, uint64_t length_ns)
{
	host.tick.stall[host.tick.stalls++ % KPHI_STALLS] = (struct kphi_stall){end_ns, length_ns};
	host.tick.stalled_total_ns += length_ns;
	host.tick.last_ns = end_ns;
}

static void stalls_are_told_once(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	a_stall(BEGIN - SEC, 500 * MS); /* before our time */
	engine_observe_ticks(e, &host.tick, 1, BEGIN);
	assert_int_equal(host.events, 0);
	a_stall(BEGIN + 800 * MS, 300 * MS);
	engine_observe_ticks(e, &host.tick, 1, BEGIN + SEC);
	engine_observe_ticks(e, &host.tick, 1, BEGIN + 2 * SEC);
	assert_int_equal(count(EVENT_stall), 1);
	assert_true(last()->length_ns == 300 * MS && last()->since_ns == BEGIN + 500 * MS);
	for (uint64_t i = 0; i < 20; i++)
		a_stall(BEGIN + 2 * SEC + i * 50 * MS, 60 * MS);
	engine_observe_ticks(e, &host.tick, 1, BEGIN + 3 * SEC);
	assert_int_equal(count(EVENT_stall), 1 + KPHI_STALLS);
	engine_free(e);
}

/* Once while it lasts, and again when it comes back. */
static void blind_stall_is_told_once(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);
	uint64_t at = BEGIN;

	(void)state;
	host.tick.last_ns = at;
	engine_observe_ticks(e, &host.tick, 1, at);
	for (int minutes = 0; minutes < 6; minutes++)
		for (int i = 0; i < 60; i++) {
			at += SEC;
			if (minutes % 3)
				a_stall(at, 700 * MS);
			host.tick.last_ns = at;
			engine_observe_ticks(e, &host.tick, 1, at);
			if (minutes == 1 &&
			    i < 41) /* 42 times 0.7 s are less than half a minute, 43 are more */
				assert_int_equal(count(EVENT_blind_stall), 0);
			if (minutes == 1 && i > 43)
				assert_int_equal(count(EVENT_blind_stall), 1);
		}
	assert_int_equal(count(EVENT_blind_stall), 2);
	engine_free(e);
}

/* A stall that has not ended yet, seen from another CPU. */
static void an_open_stall_counts(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	host.tick.last_ns = BEGIN;
	for (uint64_t s = 0; s <= 30; s++)
		engine_observe_ticks(e, &host.tick, 1, BEGIN + s * SEC);
	assert_int_equal(count(EVENT_blind_stall), 0);
	engine_observe_ticks(e, &host.tick, 1, BEGIN + 31 * SEC);
	assert_int_equal(count(EVENT_blind_stall), 1);
	engine_free(e);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(event_name(EVENT_never_heard), "never_heard");
	assert_string_equal(event_name(EVENT_TYPES), "unknown");
	assert_null(event_cause_name(CAUSE_NONE));
	assert_null(event_cause_name(CAUSES));
	for (int i = CAUSE_NONE + 1; i < CAUSES; i++)
		assert_non_null(event_cause_name((enum event_cause)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(configure_renumbers),
		TEST(configure_keeps_holds),
		TEST(configure_narrows),
		TEST(recalled_hold_goes_on),
		TEST(recalled_of_another_generation),
		TEST(recites_what_stands),
		TEST(stalls_are_told_once),
		TEST(blind_stall_is_told_once),
		TEST(an_open_stall_counts),
		TEST(names),
	};

	return cmocka_run_group_tests_name("engine_daemon", tests, NULL, NULL);
}
