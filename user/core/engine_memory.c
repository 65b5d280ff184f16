// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the engine knows of a slot before it judges: a new peer, a known one, or one the last daemon knew. */
#include <kphi/wire.h>
#include <string.h>

#include "core/engine_state.h"

#define NOTHING_PUBLISHED 0xff

void engine_recall(struct engine *e, uint32_t index, const struct kphi_verdict *v)
{
	struct slot *s;
	uint32_t all = e->config.consumers < 32 ? (1U << e->config.consumers) - 1 : UINT32_MAX;
	uint64_t ttl_ns = e->config.verdict_ttl_ns;

	if (index >= e->slots || !v->valid_until_ns)
		return;
	if (v->valid_until_ns > ttl_ns && v->valid_until_ns - ttl_ns > e->alive_ns)
		e->alive_ns = v->valid_until_ns - ttl_ns;
	s = &e->slot[index];
	*s = (struct slot){
		.epoch = v->epoch,
		.published_epoch = v->epoch,
		.token = v->token,
		.since_ns = v->since_ns,
		.generation = v->generation,
		.suspects = v->consumers & all & ~e->shadows,
		.published_mask = v->consumers & all & ~e->shadows,
		.published = v->state,
		.flags = SLOT_KNOWN | SLOT_RECALLED,
	};
	if (s->suspects)
		s->suspect_ns = v->since_ns;
	FOR_EACH_BIT(c, s->suspects)
	{
		e->suspicion[(size_t)index * e->config.consumers + c] =
			(struct suspicion){.since_ns = v->since_ns, .from_ns = v->since_ns};
	}
	if (index >= e->used)
		e->used = index + 1;
}

/* Whoever was here is gone; so is every opinion of it. */
static void forget(struct look *l)
{
	if (l->slot->flags & SLOT_UNSETTLED)
		l->e->unsettled--;
	memset(l->slot, 0, sizeof(*l->slot));
}

/* A slot that has become free: a verdict on the peer that was here must not outlive it. */
static void leave_empty(struct look *l)
{
	struct engine_host *host = &l->e->host;
	struct kphi_verdict gone = {
		.generation = l->record.generation,
		.since_ns = l->now_ns,
		.valid_until_ns = l->now_ns + l->e->config.verdict_ttl_ns,
	};

	forget(l);
	gone.token = host->token(host->context);
	host->verdict(host->context, l->index, &gone);
}

/* Facts that are old when the engine first sees the peer are no events. */
static void adopt_facts(struct look *l)
{
	struct slot *s = l->slot;

	s->state = l->record.state;
	s->retuned = l->record.retuned;
	look_speaker(l, s->speaker);
	if (l->record.flags & KPHI_WIRE_DEGRADED)
		s->flags |= SLOT_DEGRADED;
}

static void meet(struct look *l)
{
	struct slot *s = l->slot;

	forget(l);
	s->generation = l->record.generation;
	s->epoch = l->record.epoch;
	s->published = NOTHING_PUBLISHED;
	s->flags = SLOT_KNOWN | SLOT_CONFIGURE;
	adopt_facts(l);
	if (l->index >= l->e->used)
		l->e->used = l->index + 1;
}

/*
 * A peer that the last daemon knew. What it has told is not told again: its verdict and the time of its death
 * say what that was. A goodbye, a death or a new life since then has not been told.
 */
static void recognise(struct look *l)
{
	struct slot *s = l->slot;

	adopt_facts(l);
	if (l->record.since_ns > l->e->alive_ns && (s->state == KPHI_LEFT || s->state == KPHI_DOWN))
		s->state = KPHI_UP;
	if (s->published == KPHI_VERDICT_UNKNOWN && l->muted)
		s->flags |= SLOT_MUTED;
	if (s->published == KPHI_VERDICT_BLIND)
		s->blind = (uint8_t)(l->hearing.blind ? l->hearing.blind : CAUSE_CARRIER);
	if (s->state == KPHI_WAITING && s->suspects && l->record.since_ns <= l->e->alive_ns)
		s->never_ns = l->record.since_ns;
	if (s->published == KPHI_VERDICT_HELD)
		for (uint32_t c = 0; c < l->e->config.consumers; c++)
			if (!(s->suspects & 1U << c))
				*look_suspicion(l, c) = (struct suspicion){s->since_ns, l->from_ns, 0};
	s->flags |= SLOT_CONFIGURE;
}

bool look_remember(struct look *l)
{
	struct slot *s = l->slot;
	struct engine_host *host = &l->e->host;

	if (l->record.state == KPHI_FREE) {
		if (s->flags & SLOT_KNOWN)
			leave_empty(l);
		return false;
	}
	if (!(s->flags & SLOT_KNOWN) || s->generation != l->record.generation)
		meet(l);
	else if (s->flags & SLOT_RECALLED)
		recognise(l);
	if (s->flags & SLOT_CONFIGURE)
		s->cares = host->consumers(host->context, &l->peer) &
			   (uint32_t)((1ULL << l->e->config.consumers) - 1);
	return true;
}
