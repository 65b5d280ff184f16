// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Consumers: who suspects the peer now, who trusts it again, whose suspicion is withheld, and until when. */
#include "core/engine_state.h"

/* The arrival that a suspicion follows; of a peer that was never heard, its add or reset. */
static uint64_t heard_ns(const struct look *l)
{
	return l->record.state == KPHI_WAITING ? l->record.since_ns : l->record.last_ns;
}

void look_trust(struct look *l, uint32_t mask, enum event_cause cause)
{
	mask &= l->slot->suspects;
	FOR_EACH_BIT(c, mask)
	{
		tell_consumer(l, EVENT_trust, cause, c, look_suspicion(l, c)->since_ns);
	}
	l->slot->suspects &= ~mask;
}

void look_release(struct look *l, uint32_t mask, enum event_cause cause)
{
	mask &= look_held(l);
	FOR_EACH_BIT(c, mask)
	{
		tell_consumer(l, EVENT_release, cause, c, look_suspicion(l, c)->since_ns);
	}
	/* Fewer are overdue now: those that are held for being many may have to be judged. */
	if (l->slot->correlated & mask)
		hold_recheck_at(l->e, l->now_ns);
	l->slot->stalled &= ~mask;
	l->slot->correlated &= ~mask;
}

static uint64_t first_beat_ns(const struct look *l)
{
	uint64_t interval_ns = l->record.window.interval_ns;

	return interval_ns ? interval_ns * ENGINE_FIRST_BEAT_INTERVALS : ENGINE_FIRST_BEAT_NS;
}

/* On too few samples phi says nothing. But a peer that dies in its infancy has to be found some day. */
static uint64_t infant_ns(const struct look *l)
{
	const struct kphi_window *w = &l->record.window;
	uint64_t silence =
		w->interval_ns ? first_beat_ns(l) : ENGINE_FIRST_BEAT_INTERVALS * window_mean_ns(w);

	if (!w->interval_ns && !w->n)
		return ENGINE_FIRST_SILENCE_NS;
	return silence > ENGINE_FIRST_BEAT_NS ? silence : ENGINE_FIRST_BEAT_NS;
}

static bool by_phi(const struct look *l, const struct consumer *consumer)
{
	return l->judged && l->record.window.n >= consumer->min_samples;
}

/* The silence from which on this consumer suspects the peer. */
static uint64_t reach_ns(const struct look *l, uint32_t c)
{
	if (!by_phi(l, &l->e->config.consumer[c]))
		return infant_ns(l);
	return estimate_silence_at(&l->estimate, &l->e->threshold[c]);
}

static uint64_t deadline_ns(const struct look *l, uint64_t reach)
{
	return later(l->from_ns + l->discount_ns, reach);
}

static uint64_t due_ns(const struct look *l, uint32_t c, enum event_cause cause)
{
	if (cause == CAUSE_DECLARED_DOWN)
		return l->record.since_ns;
	return deadline_ns(l, cause == CAUSE_NEVER_HEARD ? first_beat_ns(l) : reach_ns(l, c));
}

/*
 * The last daemon's verdict says nothing of shadows. What was due while it lived it has told them, and it is
 * not told again.
 */
static bool was_told(const struct look *l, uint32_t c, enum event_cause cause)
{
	return l->slot->flags & SLOT_RECALLED && l->e->shadows & 1U << c &&
	       due_ns(l, c, cause) <= l->e->alive_ns;
}

/*
 * When this consumer should have suspected it, had the engine been called at that very moment; 0: it had
 * another reason to wait (a hold, a mute, a configuration or a daemon that was not there yet), or it is not
 * about silence. A look after that moment that convicted nobody had one.
 */
static uint64_t crossed_ns(const struct look *l, uint32_t c, enum event_cause cause)
{
	const struct slot *s = l->slot;
	uint64_t due = cause == CAUSE_SILENCE ? due_ns(l, c, cause) : 0;

	return s->looked_ns && s->looked_ns < due && !(s->flags & SLOT_CONFIGURE) ? due : 0;
}

static void convict(struct look *l, uint32_t mask, enum event_cause cause)
{
	struct slot *s = l->slot;

	FOR_EACH_BIT(c, mask)
	{
		*look_suspicion(l, c) = (struct suspicion){.since_ns = l->now_ns, .from_ns = heard_ns(l)};
		if (!(s->suspects & ~l->e->shadows))
			s->suspect_ns = l->now_ns;
		s->suspects |= 1U << c;
		if (!was_told(l, c, cause))
			tell_consumer(l, EVENT_suspect, cause, c, l->now_ns)->crossed_ns =
				crossed_ns(l, c, cause);
	}
}

/* Trust returns with a beat, and only if what is thought of the silence after it is clear of doubt. */
static void recover(struct look *l)
{
	uint32_t clear = 0;
	q32_t phi = l->slot->suspects && l->judged ? estimate_phi(&l->estimate, l->silence_ns) : 0;

	FOR_EACH_BIT(c, l->slot->suspects)
	{
		const struct consumer *consumer = &l->e->config.consumer[c];

		if (l->record.last_ns <= look_suspicion(l, c)->from_ns)
			continue;
		if (l->judged ? phi <= consumer->clear && phi < consumer->suspect
			      : l->silence_ns < infant_ns(l))
			clear |= 1U << c;
	}
	look_trust(l, clear, CAUSE_BEAT);
}

/* --- holds --- */

/* What there is against this host, as far as it was asked for. */
struct evidence {
	bool correlated; /* or has just been */
	uint64_t correlated_until_ns; /* 0: it still is, and will be checked again */
	struct grace_span grace;
};

/* What this consumer knows of this silence; NULL: it has never withheld anything about it. */
static struct suspicion *held_before(const struct look *l, uint32_t c)
{
	struct suspicion *s = look_suspicion(l, c);

	return s->since_ns && s->from_ns == l->from_ns ? s : NULL;
}

/* When this consumer has held this silence for long enough. */
static uint64_t bound_ns(const struct look *l, uint32_t c)
{
	const struct suspicion *s = held_before(l, c);

	return s ? later(s->since_ns, l->e->config.hold_max_ns) : UINT64_MAX;
}

/* Until when stalls hold this consumer; 0: they do not. New ones do not extend the grace beyond its bound. */
static uint64_t grace_ns(const struct look *l, uint32_t c, const struct grace_span *grace)
{
	const struct suspicion *s = held_before(l, c);

	if (grace->begin_ns && s && s->grace_bound_ns && s->grace_bound_ns < grace->until_ns)
		return s->grace_bound_ns > l->now_ns ? s->grace_bound_ns : 0;
	return grace->until_ns;
}

static void hold(struct look *l, uint32_t c, enum event_cause cause)
{
	struct slot *s = l->slot;

	if (!held_before(l, c))
		*look_suspicion(l, c) = (struct suspicion){.since_ns = l->now_ns, .from_ns = l->from_ns};
	s->hold_from_ns = l->from_ns;
	if (cause == CAUSE_STALL) {
		s->stalled |= 1U << c;
	} else {
		s->correlated |= 1U << c;
		hold_recheck_at(l->e, l->now_ns + ENGINE_RECHECK_NS);
	}
	if (!(s->flags & SLOT_RECALLED && s->published == KPHI_VERDICT_HELD))
		tell_consumer(l, EVENT_hold, cause, c, look_suspicion(l, c)->since_ns);
}

/* A hold keeps its cause as long as that lasts, so that two causes at once do not make it flicker. */
static enum event_cause withheld(const struct look *l, uint32_t c, const struct evidence *against)
{
	if (l->now_ns >= bound_ns(l, c))
		return CAUSE_NONE;
	if (l->slot->correlated & 1U << c && against->correlated)
		return CAUSE_CORRELATED;
	if (grace_ns(l, c, &against->grace))
		return CAUSE_STALL;
	return against->correlated && l->e->config.consumer[c].correlated ? CAUSE_CORRELATED : CAUSE_NONE;
}

/* When to judge again what is held now. */
static void look_at_end_of_hold(struct look *l, uint32_t c, const struct evidence *against)
{
	struct suspicion *s = look_suspicion(l, c);

	if (l->slot->stalled & 1U << c) {
		if (!s->grace_bound_ns && against->grace.begin_ns)
			s->grace_bound_ns = later(against->grace.begin_ns, hold_grace_most_ns(l));
		look_again_at(l, grace_ns(l, c, &against->grace));
	} else if (against->correlated_until_ns) {
		look_again_at(l, against->correlated_until_ns);
	}
	look_again_at(l, bound_ns(l, c));
}

static void resolve_one(struct look *l, uint32_t c, bool due, enum event_cause cause,
			const struct evidence *against)
{
	uint32_t bit = 1U << c;
	enum event_cause now = withheld(l, c, against);
	enum event_cause was = l->slot->stalled & bit      ? CAUSE_STALL
			       : l->slot->correlated & bit ? CAUSE_CORRELATED
							   : CAUSE_NONE;

	if (was && was != now)
		look_release(l, bit, l->now_ns >= bound_ns(l, c) ? CAUSE_BOUND : was);
	if (due && now && was != now)
		hold(l, c, now);
	if (due && !now)
		convict(l, bit, cause);
	if (look_held(l) & bit)
		look_at_end_of_hold(l, c, against);
}

/* Those that are held are judged again by the recheck, all by one count; only who is not needs one now. */
static void find_correlated(const struct look *l, uint32_t due, struct evidence *against)
{
	bool recheck = l->e->recheck_ns != UINT64_MAX && !(due & ~l->slot->correlated);

	against->correlated = recheck ? l->e->correlated : hold_correlated(l->e, l->now_ns);
	if (against->correlated)
		return;
	against->correlated_until_ns = hold_correlated_until(l);
	against->correlated = l->now_ns < against->correlated_until_ns;
}

/* Consumers in `due` would suspect the peer now. Do they, or does the evidence turn against this host? */
static void resolve(struct look *l, uint32_t due, enum event_cause cause)
{
	struct evidence against = {.grace = hold_grace(l)};
	uint32_t wanted = due | look_held(l), believers = l->slot->correlated;

	FOR_EACH_BIT(c, wanted)
	{
		if (l->e->config.consumer[c].correlated && !grace_ns(l, c, &against.grace) &&
		    l->now_ns < bound_ns(l, c))
			believers |= 1U << c;
	}
	if (cause == CAUSE_SILENCE && believers)
		find_correlated(l, due, &against);
	FOR_EACH_BIT(c, wanted)
	{
		resolve_one(l, c, due & 1U << c, cause, &against);
	}
}

/* --- states --- */

/*
 * A beat may bring a deadline nearer: by a sample too few, or by one that pushes an outlier out of the
 * window. But no deadline is nearer to the last beat than pause + interval (while the interval is learned:
 * than what is known of it), so a look at that time, and in silence at twice the silence, comes before any.
 */
static void look_before_deadline(struct look *l)
{
	const struct kphi_window *w = &l->record.window;
	uint64_t interval_ns = w->interval_ns ? w->interval_ns : window_mean_ns(w);
	uint64_t soonest =
		interval_ns ? deadline_ns(l, later(effective_pause_ns(w, &l->peer), interval_ns)) : 0;

	if (soonest <= l->now_ns)
		soonest = later(l->now_ns, l->silence_ns + ENGINE_INFANT_LOOK_NS);
	look_again_at(l, soonest);
}

static void judge_up(struct look *l)
{
	struct slot *s = l->slot;
	uint32_t due = 0, judges;

	recover(l);
	judges = s->cares & ~s->suspects;
	if (judges & ~look_held(l) && !s->blind)
		look_before_deadline(l);
	FOR_EACH_BIT(c, judges)
	{
		uint64_t reach = reach_ns(l, c);

		if (l->silence_ns >= reach)
			due |= 1U << c;
		else if (!s->blind)
			look_again_at(l, deadline_ns(l, reach));
	}
	if (l->muted || s->blind)
		l->overdue = due;
	else if (due | look_held(l))
		resolve(l, due, CAUSE_SILENCE);
}

/* What the last daemon has told while it lived, if it was in a position to. */
static bool never_was_told(const struct look *l, uint64_t deadline)
{
	return l->slot->flags & SLOT_RECALLED && deadline <= l->e->alive_ns &&
	       l->slot->published == KPHI_VERDICT_UNKNOWN && !l->muted;
}

/* The first beat is due if somebody listens. */
/* Nobody knows which CPU will take the first beat: a stall of any of them speaks for the peer, the last one
 * longest. */
static struct grace_span waiting_grace(struct look *l)
{
	const struct kphi_tick *best = l->tick;
	struct grace_span last = hold_grace(l), g;

	for (uint32_t cpu = 0; cpu < l->e->cpus; cpu++) {
		l->tick = l->e->host.tick(l->e->host.context, cpu);
		g = hold_grace(l);
		if (g.until_ns > last.until_ns) {
			last = g;
			best = l->tick;
		}
	}
	l->tick = best;
	return last;
}

static void judge_waiting(struct look *l)
{
	struct slot *s = l->slot;
	uint32_t due = s->cares & ~s->suspects;
	uint64_t deadline = deadline_ns(l, first_beat_ns(l));
	struct grace_span grace;

	if (!l->hearing.since_ns || s->blind)
		return;
	if (l->now_ns < deadline) {
		look_again_at(l, deadline);
		return;
	}
	if (l->muted) {
		l->overdue = due;
		return;
	}
	grace = waiting_grace(l);
	if (grace.until_ns && l->now_ns < later(deadline, l->e->config.hold_max_ns))
		look_again_at(l, grace.until_ns);
	else if (s->never_ns != l->record.since_ns) {
		s->never_ns = l->record.since_ns;
		if (!never_was_told(l, deadline))
			tell(l, EVENT_never_heard, CAUSE_NONE);
	}
	resolve(l, due, CAUSE_NEVER_HEARD);
}

void look_judge(struct look *l)
{
	switch (l->record.state) {
	case KPHI_WAITING:
		judge_waiting(l);
		break;
	case KPHI_UP:
		judge_up(l);
		break;
	case KPHI_DOWN:
		if (l->muted)
			l->overdue = l->slot->cares & ~l->slot->suspects;
		else
			convict(l, l->slot->cares & ~l->slot->suspects, CAUSE_DECLARED_DOWN);
		break;
	default: /* left: believed, and when that expires, nothing is expected either */
		break;
	}
}
