// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine with a host of a few arrays: what a scenario cannot show, because it asks for a record that is
 * busy, ten thousand windows, a changed configuration, or how often something was read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kphi/record.h>
#include <kphi/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/models.h"
#include "unit/random.h"

#define MS     1000000ULL
#define SEC    (1000 * MS)
#define PEERS  2000
#define EVENTS 20000
#define RING   64
#define BEGIN  (1000 * SEC)

static struct host {
	struct kphi_record record[PEERS];
	struct kphi_peer peer[PEERS];
	uint64_t ring[PEERS][RING];
	struct kphi_tick tick;
	struct kphi_verdict verdict[PEERS];
	struct event event[EVENTS];
	char consumer[EVENTS][KPHI_NAME_SIZE];
	uint32_t events, verdicts, busy, peers;
	uint64_t reads, token;
	uint32_t cares;
} host;

static bool read_slot(void *context, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer)
{
	(void)context;
	host.reads++;
	if (host.busy) {
		host.busy--;
		return false;
	}
	*record = host.record[slot];
	*peer = host.peer[slot];
	return true;
}

static const struct kphi_tick *read_tick(void *context, uint32_t cpu)
{
	(void)context;
	(void)cpu;
	return &host.tick;
}

static struct engine_hearing hearing(void *context, const struct kphi_record *record)
{
	(void)context;
	(void)record;
	return (struct engine_hearing){CAUSE_NONE, 1};
}

static uint32_t consumers(void *context, const struct kphi_peer *peer)
{
	(void)context;
	(void)peer;
	return host.cares;
}

static void say(void *context, const struct event *event)
{
	(void)context;
	assert_true(host.events < EVENTS);
	if (event->consumer)
		snprintf(host.consumer[host.events], KPHI_NAME_SIZE, "%s", event->consumer);
	host.event[host.events++] = *event;
}

static void watch(void *context, uint32_t slot, uint32_t generation, bool on)
{
	(void)context;
	(void)generation;
	host.peer[slot].watched = on;
}

static void publish(void *context, uint32_t slot, const struct kphi_verdict *verdict)
{
	(void)context;
	host.verdict[slot] = *verdict;
	host.verdicts++;
}

static uint64_t token(void *context)
{
	(void)context;
	return ++host.token;
}

static const struct engine_host callbacks = {
	.read = read_slot,
	.tick = read_tick,
	.hearing = hearing,
	.consumers = consumers,
	.event = say,
	.watch = watch,
	.verdict = publish,
	.token = token,
};

static struct engine_config config_of(uint32_t n)
{
	struct engine_config config = {
		.consumers = n,
		.correlated_ppm = 500000,
		.correlated_min = 2,
		.hold_max_ns = 60 * SEC,
		.verdict_ttl_ns = 3 * SEC,
	};

	for (uint32_t i = 0; i < n; i++) {
		snprintf(config.consumer[i].name, KPHI_NAME_SIZE, "c%u", i);
		config.consumer[i].suspect = (8 + i) * Q32_ONE;
		config.consumer[i].clear = 4 * Q32_ONE;
	}
	return config;
}

/* A peer that has beaten `beats` times, last at BEGIN. */
static void add_peer(uint32_t slot, uint64_t interval_ns, uint32_t beats)
{
	struct kphi_record *r = &host.record[slot];
	struct kphi_peer *p = &host.peer[slot];

	*p = (struct kphi_peer){.interval_ns = interval_ns};
	snprintf(p->name, sizeof(p->name), "peer%u", slot);
	*r = (struct kphi_record){.state = beats ? KPHI_UP : KPHI_WAITING, .last_ns = BEGIN, .epoch = 1};
	r->since_ns = BEGIN - SEC;
	kphi_window_begin(&r->window, p);
	for (uint32_t i = 1; i < beats; i++)
		kphi_window_take(&r->window, host.ring[slot], RING, 0, interval_ns);
	if (slot >= host.peers)
		host.peers = slot + 1;
}

static void beat(uint32_t slot, uint64_t at_ns)
{
	struct kphi_record *r = &host.record[slot];

	kphi_window_take(&r->window, host.ring[slot], RING, host.peer[slot].max_interval_ns,
			 at_ns - r->last_ns);
	r->last_ns = at_ns;
}

static int begin(void **state)
{
	(void)state;
	memset(&host, 0, sizeof(host));
	host.cares = UINT32_MAX;
	return 0;
}

/* Only when the engine asks for it, up to and including `until`. */
static void live(struct engine *e, uint64_t until_ns)
{
	for (uint64_t at = engine_next_ns(e); at <= until_ns; at = engine_next_ns(e)) {
		engine_advance(e, at);
		assert_true(engine_next_ns(e) > at);
	}
}

static uint32_t count(enum event_type type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < host.events; i++)
		n += host.event[i].type == type;
	return n;
}

static const struct event *last(void)
{
	assert_true(host.events > 0);
	return &host.event[host.events - 1];
}

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
				 interval / 2 + random_below(random, interval));
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
		assert_true(estimate_from_record(&e, &host.record[0].window, &host.peer[0]));
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
		if (estimate_from_record(&e, &host.record[0].window, &host.peer[0]) &&
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
	assert_int_equal(host.verdicts, 1);
	assert_int_equal(host.verdict[0].state, KPHI_VERDICT_TRUST);
	engine_free(e);
}

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

#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(convicts_to_the_nanosecond), TEST(finds_every_death_in_time),
		TEST(busy_is_tried_again),        TEST(consumers_do_not_influence_each_other),
		TEST(thirty_two_at_once),         TEST(a_shadow_has_no_token),
		TEST(configure_renumbers),        TEST(configure_narrows),
		TEST(recalled_hold_goes_on),      TEST(recalled_of_another_generation),
		TEST(recites_what_stands),        TEST(counting_is_not_quadratic),
		TEST(stalls_are_told_once),       TEST(blind_stall_is_told_once),
		TEST(an_open_stall_counts),       TEST(names),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
