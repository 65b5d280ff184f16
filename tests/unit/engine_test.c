// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine where a scenario cannot show it, because it takes ten thousand windows, a record that is busy,
 * 32 consumers, or a count of what was read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/engine_host.h"
#include "unit/random.h"

/* --- deadlines --- */

static void random_window(uint32_t slot, uint64_t *random)
{
	struct kphi_peer *p = &host.peer[slot];
	uint64_t interval = MS + random_magnitude(random, 36);

	add_peer(slot, interval, 1);
	p->model = (uint8_t)random_below(random, KPHI_MODELS);
	p->set = (uint8_t)random_below(random, 4);
	p->pause_ns = random_magnitude(random, 36);
	p->min_std_ns = random_magnitude(random, 34);
	for (uint64_t n = random_below(random, RING + 10); n; n--)
		kphi_window_take(&host.record[slot].window, host.ring[slot], RING, 0,
				 interval / 2 + random_below(random, interval),
				 1 + !random_below(random, 20));
}

/* At the computed deadline it convicts; a nanosecond before it does not. */
static void convicts_to_the_nanosecond(void **state)
{
	struct engine_config config = config_of(1);
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct kphi_estimate e;
		struct engine *engine;
		uint64_t deadline;

		begin(NULL);
		random_window(0, &random);
		config.consumer[0].suspect = Q32_ONE / 4 + random_below(&random, 40 * Q32_ONE);
		config.consumer[0].clear = config.consumer[0].suspect;
		engine = engine_new(&config, &callbacks, 1);
		assert_true(estimate_from_window(&e, &host.record[0].window, &host.peer[0], host.ring[0]));
		deadline = BEGIN + estimate_silence(&e, config.consumer[0].suspect);
		engine_scan(engine, BEGIN);
		live(engine, deadline - 1);
		engine_look(engine, 0, deadline - 1);
		assert_int_equal(count(EVENT_suspect), 0);
		live(engine, deadline);
		assert_int_equal(count(EVENT_suspect), 1);
		assert_true(last()->now_ns == deadline && last()->phi >= config.consumer[0].suspect);
		engine_free(engine);
	}
}

/* A peer dies after any number of beats, whatever its deadline was when the engine looked last. */
static void finds_every_death_in_time(void **state)
{
	struct engine_config config = config_of(2);
	uint64_t random = 2;

	(void)state;
	config.consumer[1].min_samples = 8;
	for (int i = 0; i < 2000; i++) {
		uint64_t at = BEGIN, interval = 100 * MS + random_below(&random, 3 * SEC);
		struct kphi_estimate e;
		struct engine *engine = engine_new(&config, &callbacks, 1);

		begin(NULL);
		add_peer(0, random_below(&random, 2) ? interval : 0, 1);
		engine_scan(engine, BEGIN);
		for (uint64_t beats = random_below(&random, 100); beats; beats--) {
			/* One in sixteen is an outlier, which leaves the window after 64. */
			at += random_below(&random, 16)
				      ? interval - interval / 8 + random_below(&random, interval / 4)
				      : 3 * interval;
			live(engine, at - 1);
			beat(0, at);
		}
		if (estimate_from_window(&e, &host.record[0].window, &host.peer[0], NULL) &&
		    host.record[0].window.n >= 8) {
			uint64_t deadline = at + estimate_silence(&e, config.consumer[1].suspect);

			live(engine, deadline - 1);
			host.events = 0;
			live(engine, deadline);
			assert_int_equal(count(EVENT_suspect), 1);
		}
		engine_free(engine);
	}
}

static void busy_is_tried_again(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	add_peer(0, SEC, 30);
	host.busy = 3;
	engine_scan(e, BEGIN);
	assert_true(engine_next_ns(e) == BEGIN + MS);
	live(e, BEGIN + 10 * SEC);
	assert_int_equal(count(EVENT_suspect), 1);
	engine_free(e);
}

/* Nobody listens: nobody is late. Somebody does: five intervals from then, to the nanosecond. */
static void first_beat_is_due_when_somebody_listens(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	add_peer(0, SEC, 0);
	host.since_ns = 0;
	engine_scan(e, BEGIN);
	live(e, BEGIN + 100 * SEC);
	assert_int_equal(host.events, 0);
	host.since_ns = BEGIN + 100 * SEC;
	engine_scan(e, BEGIN + 101 * SEC);
	engine_look(e, 0, BEGIN + 105 * SEC - 1);
	assert_int_equal(host.events, 0);
	live(e, BEGIN + 105 * SEC);
	assert_int_equal(count(EVENT_never_heard), 1);
	assert_int_equal(count(EVENT_suspect), 1);
	engine_free(e);
}

/* The beat of a peer that becomes suspect in this moment, and for which nobody has asked yet. */
static void a_beat_without_a_hint(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);
	uint64_t suspected;

	(void)state;
	add_peer(0, SEC, 30);
	engine_scan(e, BEGIN);
	host.beat_on_watch_ns = BEGIN + 5 * SEC;
	live(e, BEGIN + 5 * SEC);
	assert_int_equal(count(EVENT_suspect), 1);
	suspected = host.event[0].now_ns;
	assert_int_equal(count(EVENT_trust), 1);
	assert_true(last()->now_ns <= suspected + MS);
	engine_free(e);
}

/* While a stall is open, silence stands still a nanosecond before the deadline. Nobody looks at every
 * nanosecond. */
static void an_open_stall_is_not_polled(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 1);
	struct kphi_estimate estimate;

	(void)state;
	add_peer(0, SEC, 30);
	estimate_from_window(&estimate, &host.record[0].window, &host.peer[0], NULL);
	host.tick.last_ns = BEGIN + estimate_silence(&estimate, config.consumer[0].suspect) - 1;
	engine_scan(e, host.tick.last_ns + KPHI_TICK_LIMIT_NS + 1);
	host.reads = 0;
	live(e, host.tick.last_ns + 10 * SEC);
	assert_int_equal(host.events, 0);
	assert_in_range(host.reads, 10, 1100);
	engine_free(e);
}

/* --- consumers --- */

static uint32_t heard_of(const char *consumer, uint64_t *sum)
{
	uint32_t n = 0;

	*sum = 0;
	for (uint32_t i = 0; i < host.events; i++)
		if (!*consumer || !strcmp(host.consumer[i], consumer)) {
			*sum = *sum * 31 + host.event[i].now_ns + (uint64_t)host.event[i].type * 7 +
			       (uint64_t)host.event[i].cause;
			n++;
		}
	return n;
}

/* An hour of a few peers that come and go, with stalls in between; `only`: one consumer, or all. */
static uint32_t an_hour(const struct engine_config *all, int only, uint64_t *sum)
{
	struct engine *e = engine_new(all, &callbacks, 8);
	uint64_t random = 3, at = BEGIN;
	uint64_t total = 0;
	char name[KPHI_NAME_SIZE];
	uint32_t n;

	begin(NULL);
	if (only >= 0)
		host.cares = 1U << only;
	for (uint32_t i = 0; i < 8; i++) {
		add_peer(i, SEC, 20);
		/* Gaps are not learned, so that deadlines stay where they are. */
		host.peer[i].max_interval_ns = 2 * SEC;
	}
	engine_scan(e, at);
	for (int i = 0; i < 14400; i++) {
		at += random_below(&random, SEC / 2);
		live(e, at - 1);
		if (random_below(&random, 40) == 0) {
			host.tick.stalls++;
			host.tick.stalled_total_ns = total += 400 * MS;
			host.tick.stall[host.tick.stalls % KPHI_STALLS] = (struct kphi_stall){at, 400 * MS};
		}
		for (uint32_t slot = 0; slot < 8; slot++)
			if (at - host.record[slot].last_ns > SEC &&
			    random_below(&random, 6 + 100 * ((at / (20 * SEC) + slot) % 3)) < 5) {
				beat(slot, at);
				host.record[slot].stalled_copy_ns = total;
				engine_look(e, slot, at);
			}
	}
	engine_free(e);
	snprintf(name, sizeof(name), "c%d", only);
	n = heard_of(only < 0 ? "" : name, sum);
	return n;
}

/* What one consumer hears does not depend on who else listens. (Of correlated holds only the count of the
 * overdue is shared, which may be a little older for one who asks alone.) */
static void consumers_do_not_influence_each_other(void **state)
{
	struct engine_config config = config_of(4);
	uint64_t together[4], alone;
	uint32_t heard[4];
	char name[KPHI_NAME_SIZE];

	(void)state;
	config.consumer[0].suspect = config.consumer[0].clear = 2 * Q32_ONE;
	config.consumer[2].suspect = 20 * Q32_ONE;
	config.consumer[3].shadow = true;
	config.consumer[3].min_samples = 60;
	assert_true(an_hour(&config, -1, &alone) > 2000);
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		heard[i] = heard_of(name, &together[i]);
		assert_true(heard[i] > 200);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(an_hour(&config, i, &alone), heard[i]);
		assert_true(alone == together[i]);
	}
}

/* As many as there may be, all in one look, and then a new life: the end of 32 suspicions, and 32 more. */
static void thirty_two_at_once(void **state)
{
	struct engine_config config = config_of(ENGINE_CONSUMERS);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	add_peer(0, SEC, 30);
	engine_scan(e, BEGIN);
	engine_advance(e, BEGIN + 100 * SEC);
	assert_int_equal(count(EVENT_suspect), 32);
	assert_int_equal(host.verdict[0].consumers, UINT32_MAX);
	for (uint32_t i = 0; i < host.events; i++)
		assert_true(host.event[i].token == host.verdict[0].token);
	host.record[0].epoch = 2;
	host.record[0].restarts = 1;
	host.record[0].last_ns = BEGIN + 100 * SEC;
	host.events = 0;
	engine_look(e, 0, BEGIN + 200 * SEC);
	assert_int_equal(count(EVENT_restart), 1);
	assert_int_equal(count(EVENT_trust), 32);
	assert_int_equal(count(EVENT_suspect), 32);
	assert_int_equal(host.events, 65);
	assert_true(host.verdict[0].epoch == 2 && host.verdict[0].since_ns == BEGIN + 200 * SEC);
	engine_free(e);
}

static void a_shadow_has_no_token(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e;

	(void)state;
	config.consumer[0].shadow = true;
	e = engine_new(&config, &callbacks, 1);
	add_peer(0, SEC, 30);
	engine_scan(e, BEGIN);
	assert_int_equal(host.verdicts, 1);
	live(e, BEGIN + 20 * SEC);
	assert_int_equal(count(EVENT_suspect), 1);
	assert_true(last()->token == 0);
	/* It is in the verdict, which is the same as before in all that others act on. */
	assert_int_equal(host.verdicts, 2);
	assert_int_equal(host.verdict[0].shadows, 1);
	assert_int_equal(host.verdict[0].consumers, 0);
	assert_int_equal(host.verdict[0].state, KPHI_VERDICT_TRUST);
	assert_true(host.verdict[0].token == 1 && host.verdict[0].since_ns == BEGIN);
	assert_int_equal(host.token, 1);
	beat(0, BEGIN + 30 * SEC);
	engine_look(e, 0, BEGIN + 30 * SEC);
	assert_int_equal(host.verdict[0].shadows, 0);
	assert_true(host.verdict[0].token == 1);
	engine_free(e);
}

/* --- what is published beside the state --- */

/* Two consumers are held one after the other, for two causes: the state stays, and so does its token. */
static void a_verdict_says_why_and_for_whom(void **state)
{
	struct engine_config config = config_of(3);
	struct engine *e;
	const struct kphi_verdict *v = &host.verdict[0];
	uint64_t token;

	(void)state;
	config.consumer[0].correlated = config.consumer[1].correlated = true;
	config.consumer[1].suspect = 12 * Q32_ONE;
	config.consumer[2].suspect = 16 * Q32_ONE;
	e = engine_new(&config, &callbacks, 2);
	add_peer(0, SEC, 30);
	add_peer(1, SEC, 30);
	engine_scan(e, BEGIN);
	assert_int_equal(v->state, KPHI_VERDICT_TRUST);
	assert_int_equal(v->cause, KPHI_BECAUSE_NOTHING);
	while (!v->held)
		engine_advance(e, engine_next_ns(e));
	assert_int_equal(v->state, KPHI_VERDICT_HELD);
	assert_int_equal(v->cause, KPHI_BECAUSE_CORRELATED);
	assert_int_equal(v->held, 1);
	token = v->token;
	while (v->held == 1)
		engine_advance(e, engine_next_ns(e));
	assert_int_equal(v->held, 3);
	assert_true(v->state == KPHI_VERDICT_HELD && v->token == token);
	/* The third does not mind how many are silent. */
	while (v->state == KPHI_VERDICT_HELD)
		engine_advance(e, engine_next_ns(e));
	assert_int_equal(v->state, KPHI_VERDICT_SUSPECT);
	assert_int_equal(v->cause, KPHI_BECAUSE_SILENCE);
	assert_true(v->held == 3 && v->consumers == 4 && v->token > token);
	host.peer[0].mute_until_ns = BEGIN + 1000 * SEC;
	engine_look(e, 0, BEGIN + 30 * SEC);
	assert_true(v->state == KPHI_VERDICT_UNKNOWN && v->cause == KPHI_BECAUSE_MUTE);
	assert_int_equal(v->held | v->consumers | v->shadows, 0);
	engine_free(e);
}

/* The silence that reaches the threshold, from the last beat, less what this host was stalled since. */
static uint64_t crossing(uint32_t slot, q32_t threshold, uint64_t stalled_ns)
{
	struct kphi_estimate estimate;

	assert_true(estimate_from_window(&estimate, &host.record[slot].window, &host.peer[slot],
					 host.ring[slot]));
	return host.record[slot].last_ns + stalled_ns + estimate_silence(&estimate, threshold);
}

static void a_late_suspicion_says_how_late(void **state)
{
	struct engine_config config = config_of(2);
	struct engine *e = engine_new(&config, &callbacks, 1);

	(void)state;
	add_peer(0, SEC, 30);
	host.tick.last_ns = BEGIN + 100 * SEC;
	engine_scan(e, BEGIN);
	host.tick.stalled_total_ns = 20 * MS; /* too short to hold anybody */
	engine_advance(e, BEGIN + 20 * SEC);
	assert_int_equal(count(EVENT_suspect), 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(host.event[host.events - 2 + i].crossed_ns,
				 crossing(0, config.consumer[i].suspect, 20 * MS));
	assert_true(last()->crossed_ns < BEGIN + 20 * SEC);
	engine_free(e);
}

/* Whoever came to it later than that for a reason of his own was not late. */
static void who_had_to_wait_was_not_late(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e = engine_new(&config, &callbacks, 2);

	(void)state;
	/* A daemon that was not there. */
	add_peer(0, SEC, 30);
	engine_scan(e, BEGIN + 100 * SEC);
	assert_int_equal(count(EVENT_suspect), 1);
	assert_int_equal(last()->crossed_ns, 0);
	/* A mute. */
	add_peer(1, SEC, 30);
	host.peer[1].mute_until_ns = BEGIN + 50 * SEC;
	engine_look(e, 1, BEGIN);
	live(e, BEGIN + 60 * SEC);
	assert_int_equal(count(EVENT_suspect), 2);
	assert_true(last()->slot == 1 && last()->now_ns == BEGIN + 50 * SEC);
	assert_int_equal(last()->crossed_ns, 0);
	/* A threshold that was another one then. */
	beat(0, BEGIN + 200 * SEC);
	engine_look(e, 0, BEGIN + 200 * SEC);
	config.consumer[0].suspect = Q32_ONE;
	config.consumer[0].clear = Q32_ONE;
	host.events = 0;
	assert_true(
		engine_configure(e, &config, (const int[ENGINE_CONSUMERS]){0}, crossing(0, Q32_ONE, 0) + 1));
	assert_int_equal(count(EVENT_suspect), 1);
	assert_int_equal(last()->crossed_ns, 0);
	engine_free(e);
}

/* --- many --- */

/* All fall silent at once: each is read a few times, not once for each of the others. */
static void counting_is_not_quadratic(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e;

	(void)state;
	config.consumer[0].correlated = true;
	e = engine_new(&config, &callbacks, PEERS);
	for (uint32_t i = 0; i < PEERS; i++) {
		add_peer(i, SEC, 30);
		host.record[i].last_ns = BEGIN + i * (SEC / PEERS);
	}
	engine_scan(e, BEGIN + SEC);
	host.reads = 0;
	live(e, BEGIN + 10 * SEC);
	assert_int_equal(count(EVENT_hold), PEERS);
	/* Two looks each on the way to the hold and one after it; a count every 8 ms for a second, then ten a
	 * second. */
	assert_true(host.reads < (3ULL + 125 + 60) * PEERS);
	engine_free(e);
}

/* When a daemon starts in the middle of an outage, the first that it looks at is not alone. */
static void the_first_of_a_scan(void **state)
{
	struct engine_config config = config_of(1);
	struct engine *e;

	(void)state;
	config.consumer[0].correlated = true;
	e = engine_new(&config, &callbacks, 20);
	for (uint32_t i = 0; i < 20; i++)
		add_peer(i, SEC, 30);
	engine_scan(e, BEGIN + 20 * SEC);
	assert_int_equal(count(EVENT_hold), 20);
	assert_int_equal(host.events, 20);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(convicts_to_the_nanosecond),
		TEST(finds_every_death_in_time),
		TEST(busy_is_tried_again),
		TEST(first_beat_is_due_when_somebody_listens),
		TEST(a_beat_without_a_hint),
		TEST(an_open_stall_is_not_polled),
		TEST(consumers_do_not_influence_each_other),
		TEST(thirty_two_at_once),
		TEST(a_shadow_has_no_token),
		TEST(a_verdict_says_why_and_for_whom),
		TEST(a_late_suspicion_says_how_late),
		TEST(who_had_to_wait_was_not_late),
		TEST(counting_is_not_quadratic),
		TEST(the_first_of_a_scan),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
