// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Replays and their peers: how they are made, and what they take. */
#include <errno.h>
#include <stdlib.h>

#include "replay/replay_peer.h"

#define CPUS (UINT16_MAX + 1UL)

struct replay *replay_new(const struct replay_plan *plan)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->plan = plan;
	r->stalled = calloc(CPUS, sizeof(*r->stalled));
	r->reach = calloc(REPLAY_GROUPS_MAX, sizeof(*r->reach));
	r->rank = calloc(plan->contenders + 1UL, sizeof(*r->rank));
	if (!r->stalled || !r->reach || !r->rank) {
		replay_free(r);
		return NULL;
	}
	for (uint32_t i = 0; i < plan->contenders; i++)
		if (plan->threshold[i].phi)
			r->rank[i] = (uint32_t)empirical_reached_at(plan->window, plan->threshold[i].phi);
	return r;
}

struct replay *replay_new_share(const struct replay_plan *plan, const struct replay_share *share)
{
	struct replay_pool *pool = share->pool;
	struct replay *r;

	if (!pool->tallies) {
		pool->contenders = plan->contenders;
		pool->tallies = calloc(plan->contenders + 1UL, sizeof(*pool->tallies));
	}
	r = pool->tallies ? replay_new(plan) : NULL;
	if (r)
		r->share = *share;
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->peers; i++)
		replay_peer_free(r->peer[i]);
	free(r->peer);
	free(r->stalled);
	free(r->reach);
	free(r->rank);
	free(r);
}

void replay_pool_free(struct replay_pool *pool)
{
	free(pool->tallies);
	free(pool->detections);
}

/* --- peers */

static bool make_room(struct replay *r, uint32_t number)
{
	uint32_t peers = number + 1;
	struct replay_peer **grown;

	if (number < r->peers)
		return true;
	if (!peers)
		return false;
	grown = realloc(r->peer, peers * sizeof(void *));
	if (!grown)
		return false;
	r->peer = grown;
	while (r->peers < peers)
		r->peer[r->peers++] = NULL;
	return true;
}

/* How the memory of a peer is divided: itself, its yardsticks, its ring, that sorted, and what is its own of
 * what is found. */
struct layout {
	size_t states, mistakes, ring, sorted, tallies, detections, end;
};

static struct layout lay_out(const struct replay_plan *plan, bool pooled)
{
	struct layout l;

	l.states = (sizeof(struct replay_peer) + REPLAY_ALIGNMENT - 1) / REPLAY_ALIGNMENT * REPLAY_ALIGNMENT;
	l.mistakes = l.states + replay_states_size(plan);
	l.ring = l.mistakes + plan->contenders * sizeof(uint64_t);
	l.sorted = l.ring + KPHI_RING_SIZE(plan->window) * sizeof(uint64_t);
	l.tallies = l.sorted + (plan->sorts ? plan->window * sizeof(uint64_t) : 0);
	l.detections = l.tallies + (pooled ? 0 : plan->contenders * sizeof(struct tally));
	l.end = l.detections + (pooled ? 0 : (size_t)plan->contenders * plan->crashes * sizeof(uint64_t));
	return l;
}

size_t replay_peer_size(const struct replay_plan *plan)
{
	return lay_out(plan, true).end + plan->crashes * sizeof(struct crash_to_come);
}

static struct replay_peer *allocate(const struct replay *r)
{
	struct replay_pool *pool = r->share.pool;
	struct layout l = lay_out(r->plan, pool);
	unsigned char *memory = calloc(1, l.end);
	struct replay_peer *p = (void *)memory;

	if (!p)
		return NULL;
	p->states = memory + l.states;
	p->mistakes_ns = (void *)(memory + l.mistakes);
	p->ring = (void *)(memory + l.ring);
	p->sorted = r->plan->sorts ? (void *)(memory + l.sorted) : NULL;
	p->tallies = pool ? pool->tallies : (void *)(memory + l.tallies);
	p->detections = pool ? NULL : (void *)(memory + l.detections);
	return p;
}

/* gcc 12's analyzer loses sight of what is reached through a context, and calls it leaked. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Rows for the crashes of one more peer. */
static int pool_reserve(struct replay_pool *pool, uint64_t crashes)
{
	uint64_t room = pool->crashes_room + crashes;
	uint64_t *grown = realloc(pool->detections, (room * pool->contenders + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	pool->detections = grown;
	pool->crashes_room = room;
	return 0;
}

static int begin_crashes(const struct replay *r, struct replay_peer *p)
{
	const struct replay_plan *plan = r->plan;
	const struct replay_share *s = &r->share;
	uint64_t seed = plan->seed ^ (p->number + 1ULL) * 0xd1342543de82ef95U;
	uint32_t size = plan->crash_every && p->number % plan->crash_every ? 0 : plan->crashes;

	if (!s->pool) {
		crashes_begin(&p->crashes, size, seed);
		return 0;
	}
	if (crashes_begin_known(&p->crashes, size, seed, s->intervals(s->context, p->number)))
		return -ENOMEM;
	return pool_reserve(s->pool, p->crashes.size);
}

struct replay_peer *replay_peer_new(struct replay *r, uint32_t number, const struct kphi_peer *settings)
{
	struct replay_peer *p = make_room(r, number) ? allocate(r) : NULL;

	if (!p)
		return NULL;
	p->number = number;
	p->settings = p->judged = *settings;
	p->record.state = KPHI_WAITING;
	kphi_window_begin(&p->record.window, settings);
	r->peer[number] = p;
	return begin_crashes(r, p) ? NULL : p;
}

void replay_peer_free(struct replay_peer *p)
{
	if (p)
		crashes_end(&p->crashes);
	free(p);
}
