// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a look has to say. Events wait until the verdict is published, so that whoever acts on one finds its
 * token in the map.
 */
#include "core/engine_state.h"

struct event *tell(struct look *l, enum event_type type, enum event_cause cause)
{
	struct engine *e = l->e;
	struct event *event = &e->queue[e->queued < ENGINE_QUEUE - 1 ? e->queued++ : ENGINE_QUEUE - 1];

	*event = (struct event){
		.type = type,
		.cause = cause,
		.now_ns = l->now_ns,
		.slot = l->index,
		.generation = l->record.generation,
		.epoch = l->record.epoch,
		.peer = l->peer.name,
		.host = l->peer.host[0] ? l->peer.host : NULL,
		.model = l->peer.model,
	};
	if (type == EVENT_retuned)
		event->interval_ns = l->record.window.interval_ns;
	return event;
}

/* The token of what this look changes: one for all of it. */
static uint64_t token(struct look *l)
{
	if (!l->token)
		l->token = l->e->host.token(l->e->host.context);
	return l->token;
}

/* Somebody else beats under its identity, or it came back as what it was before. */
static bool is_contradicted(const struct look *l)
{
	return l->record.state == KPHI_UP && l->record.stale_ns > l->record.last_ns;
}

struct event *tell_consumer(struct look *l, enum event_type type, enum event_cause cause, uint32_t consumer,
			    uint64_t since_ns)
{
	const struct consumer *c = &l->e->config.consumer[consumer];
	struct event *event = tell(l, type, cause);

	event->consumer = c->name;
	event->threshold = type == EVENT_trust ? c->clear : c->suspect;
	event->since_ns = since_ns;
	event->silence_ns = l->silence_ns;
	event->judged = l->judged;
	if (l->judged)
		event->phi = estimate_phi(&l->estimate, l->silence_ns);
	if (type == EVENT_suspect && cause == CAUSE_SILENCE && is_contradicted(l))
		event->detail = l->rule ? "its packets arrive, but their sequence numbers do not follow each "
					  "other: is that field of the rule the right one?"
					: "messages of an older epoch or sequence arrive under its identity: "
					  "if they are its own, `kphi peer reset` accepts the next";
	if (!c->shadow && (type == EVENT_suspect || type == EVENT_trust))
		event->token = token(l);
	return event;
}

static enum event_cause suspect_cause(const struct look *l)
{
	if (l->record.state == KPHI_DOWN)
		return CAUSE_DECLARED_DOWN;
	return l->record.state == KPHI_WAITING ? CAUSE_NEVER_HEARD : CAUSE_SILENCE;
}

static enum kphi_verdict_state verdict_state(const struct look *l)
{
	const struct slot *s = l->slot;
	uint32_t acting = ~l->e->shadows;

	if (l->muted)
		return KPHI_VERDICT_UNKNOWN;
	if (s->suspects & acting)
		return KPHI_VERDICT_SUSPECT;
	if (s->blind)
		return KPHI_VERDICT_BLIND;
	if (look_held(l) & acting)
		return KPHI_VERDICT_HELD;
	return l->judged ? KPHI_VERDICT_TRUST : KPHI_VERDICT_UNKNOWN;
}

static enum kphi_verdict_cause verdict_cause(const struct look *l, enum kphi_verdict_state state)
{
	static const uint8_t suspicion[CAUSES] = {
		[CAUSE_SILENCE] = KPHI_BECAUSE_SILENCE,
		[CAUSE_NEVER_HEARD] = KPHI_BECAUSE_NEVER_HEARD,
		[CAUSE_DECLARED_DOWN] = KPHI_BECAUSE_DECLARED_DOWN,
	};

	switch (state) {
	case KPHI_VERDICT_SUSPECT:
		return suspicion[suspect_cause(l)];
	case KPHI_VERDICT_BLIND:
		return l->slot->blind == CAUSE_HOOK ? KPHI_BECAUSE_HOOK : KPHI_BECAUSE_CARRIER;
	case KPHI_VERDICT_HELD:
		return l->slot->stalled & ~l->e->shadows ? KPHI_BECAUSE_STALL : KPHI_BECAUSE_CORRELATED;
	default:
		return l->muted ? KPHI_BECAUSE_MUTE : KPHI_BECAUSE_NOTHING;
	}
}

/* All of it but the token, and how long it is valid. */
static struct kphi_verdict verdict(const struct look *l)
{
	const struct slot *s = l->slot;
	enum kphi_verdict_state state = verdict_state(l);
	uint32_t suspects = l->muted ? 0 : s->suspects;

	return (struct kphi_verdict){
		.epoch = l->record.epoch,
		.since_ns = state == KPHI_VERDICT_SUSPECT ? s->suspect_ns
			    : state != s->published       ? l->now_ns
							  : s->since_ns,
		.generation = s->generation,
		.consumers = suspects & ~l->e->shadows,
		.state = (uint8_t)state,
		.cause = (uint8_t)verdict_cause(l, state),
		.held = look_held(l),
		.shadows = suspects & l->e->shadows,
	};
}

/* What may change without being another verdict: nobody who keeps a token has to act on it. */
static bool is_remarked(const struct slot *s, const struct kphi_verdict *v)
{
	return v->cause != s->published_cause || v->held != s->published_held ||
	       v->shadows != s->published_shadows;
}

static void publish(struct look *l)
{
	struct slot *s = l->slot;
	const struct engine_host *host = &l->e->host;
	struct kphi_verdict v = verdict(l);

	s->since_ns = v.since_ns;
	if (v.state != s->published || v.consumers != s->published_mask || v.epoch != s->published_epoch)
		token(l);
	/* Consumers that only have other numbers now are no news: the token stays. */
	if (!l->token && !(s->flags & SLOT_CONFIGURE) && !is_remarked(s, &v))
		return;
	if (l->token)
		s->token = l->token;
	s->published = v.state;
	s->published_mask = v.consumers;
	s->published_epoch = v.epoch;
	s->published_cause = v.cause;
	s->published_held = v.held;
	s->published_shadows = v.shadows;
	v.valid_until_ns = l->now_ns + l->e->config.verdict_ttl_ns;
	v.token = s->token;
	host->verdict(host->context, l->index, &v);
}

static void flush(struct engine *e, void (*say)(void *context, const struct event *event), void *context)
{
	for (uint32_t i = 0; i < e->queued; i++)
		say(context, &e->queue[i]);
	e->queued = 0;
}

void tell_all(struct look *l)
{
	publish(l);
	flush(l->e, l->e->host.event, l->e->host.context);
}

/* --- the current state, for whoever was not there when it came about --- */

static void recite(struct look *l)
{
	const struct slot *s = l->slot;
	struct event *event;

	l->token = s->token;
	if (l->muted) {
		event = tell(l, EVENT_mute, CAUSE_BEGUN);
		event->detail = l->peer.mute_reason[0] ? l->peer.mute_reason : NULL;
	}
	if (s->blind)
		tell(l, EVENT_blind, (enum event_cause)s->blind);
	FOR_EACH_BIT(c, look_held(l))
	{
		tell_consumer(l, EVENT_hold, s->stalled & 1U << c ? CAUSE_STALL : CAUSE_CORRELATED, c,
			      look_suspicion(l, c)->since_ns);
	}
	FOR_EACH_BIT(c, s->suspects)
	{
		tell_consumer(l, EVENT_suspect, suspect_cause(l), c, look_suspicion(l, c)->since_ns);
	}
}

void engine_recite(struct engine *e, uint64_t now_ns, void (*say)(void *context, const struct event *event),
		   void *context)
{
	struct look l;

	for (uint32_t i = 0; i < e->used; i++) {
		const struct slot *s = &e->slot[i];

		if (!(s->flags & (SLOT_UNSETTLED | SLOT_MUTED)) || !look_read(&l, e, i, now_ns) ||
		    l.record.state == KPHI_FREE || l.record.generation != s->generation)
			continue;
		recite(&l);
		flush(e, say, context);
	}
}
