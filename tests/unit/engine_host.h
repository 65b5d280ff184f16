/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host of a few arrays for the engine. To be included after cmocka.h, once in a test. */
#ifndef KPHI_TESTS_ENGINE_HOST_H
#define KPHI_TESTS_ENGINE_HOST_H

#include <kphi/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/models.h"

#define MS     1000000ULL
#define SEC    (1000 * MS)
#define PEERS  2000
#define EVENTS 20000
#define RING   64
#define BEGIN  (1000 * SEC)

static struct host {
	struct kphi_record record[PEERS];
	struct kphi_peer peer[PEERS];
	struct kphi_rule rule[PEERS];
	uint64_t ring[PEERS][KPHI_RING_SIZE(RING)];
	struct kphi_tick tick;
	struct kphi_verdict verdict[PEERS];
	struct event event[EVENTS];
	char consumer[EVENTS][KPHI_NAME_SIZE];
	char label[KPHI_NAME_SIZE], detail[160]; /* of the last event */
	uint32_t events, verdicts, busy, peers;
	bool no_rings;
	uint64_t reads, token;
	uint32_t cares;
	uint64_t since_ns; /* what `hearing` answers */
	uint64_t beat_on_watch_ns; /* a beat that comes between the reading and the request to hint at it */
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

static const struct kphi_rule *read_rule(void *context, uint32_t slot)
{
	(void)context;
	return &host.rule[slot];
}

static const uint64_t *read_ring(void *context, uint32_t slot, struct kphi_record *record)
{
	static uint64_t room[RING]; /* good until the next call, and no longer */

	(void)context;
	(void)record;
	memcpy(room, host.ring[slot], sizeof(room));
	return host.no_rings ? NULL : room;
}

static struct engine_hearing hearing(void *context, const struct kphi_record *record)
{
	(void)context;
	(void)record;
	return (struct engine_hearing){CAUSE_NONE, host.since_ns};
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
	snprintf(host.label, sizeof(host.label), "%s", event->host ? event->host : "");
	snprintf(host.detail, sizeof(host.detail), "%s", event->detail ? event->detail : "");
	host.event[host.events++] = *event;
}

static void watch(void *context, uint32_t slot, uint32_t generation, bool on)
{
	(void)context;
	(void)generation;
	if (on && host.beat_on_watch_ns)
		host.record[slot].last_ns = host.beat_on_watch_ns;
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
	.rule = read_rule,
	.ring = read_ring,
	.hearing = hearing,
	.consumers = consumers,
	.event = say,
	.watch = watch,
	.verdict = publish,
	.token = token,
};

static inline struct engine_config config_of(uint32_t n)
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
static inline void add_peer(uint32_t slot, uint64_t interval_ns, uint32_t beats)
{
	struct kphi_record *r = &host.record[slot];
	struct kphi_peer *p = &host.peer[slot];

	*p = (struct kphi_peer){.interval_ns = interval_ns};
	snprintf(p->name, sizeof(p->name), "peer%u", slot);
	*r = (struct kphi_record){.state = beats ? KPHI_UP : KPHI_WAITING, .last_ns = BEGIN, .epoch = 1};
	r->since_ns = BEGIN - SEC;
	kphi_window_begin(&r->window, p);
	for (uint32_t i = 1; i < beats; i++)
		kphi_window_take(&r->window, host.ring[slot], RING, 0, interval_ns, 1);
	if (slot >= host.peers)
		host.peers = slot + 1;
}

static inline void beat(uint32_t slot, uint64_t at_ns)
{
	struct kphi_record *r = &host.record[slot];

	kphi_window_take(&r->window, host.ring[slot], RING, host.peer[slot].max_interval_ns,
			 at_ns - r->last_ns, 1);
	r->last_ns = at_ns;
}

static inline int begin(void **state)
{
	(void)state;
	memset(&host, 0, sizeof(host));
	host.cares = UINT32_MAX;
	host.since_ns = 1;
	return 0;
}

/* Only when the engine asks for it, up to and including `until`. */
static inline void live(struct engine *e, uint64_t until_ns)
{
	for (uint64_t at = engine_next_ns(e); at <= until_ns; at = engine_next_ns(e)) {
		engine_advance(e, at);
		assert_true(engine_next_ns(e) > at);
	}
}

static inline uint32_t count(enum event_type type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < host.events; i++)
		n += host.event[i].type == type;
	return n;
}

static inline const struct event *last(void)
{
	assert_true(host.events > 0);
	return &host.event[host.events - 1];
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

#endif
