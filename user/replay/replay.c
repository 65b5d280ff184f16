// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fixed.h"
#include "core/silence.h"
#include "replay/replay_peer.h"

#define CPUS (UINT16_MAX + 1UL)

/* After these, what lay before says nothing about what comes. */
#define NOTES_BREAK (KPHI_NOTE(restart) | KPHI_NOTE(handover) | KPHI_NOTE(renegotiated))

/* And an interval that ends so was not one sender's. */
#define NOTES_NOBODY (KPHI_NOTE(restart) | KPHI_NOTE(handover))

struct replay *replay_new(const struct replay_plan *plan)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->plan = plan;
	r->stalled = calloc(CPUS, sizeof(*r->stalled));
	r->reach = calloc(REPLAY_GROUPS_MAX, sizeof(*r->reach));
	if (r->stalled && r->reach)
		return r;
	replay_free(r);
	return NULL;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->peers; i++)
		free(r->peer[i]);
	free(r->peer);
	free(r->stalled);
	free(r->reach);
	free(r);
}

/* As a reader sees it whose CPU has stalled since. Apart, because a tick is large and this is rare. */
static __attribute__((noinline)) uint64_t silence_less_stalls(const struct kphi_record *record,
							      uint64_t stalled_total_ns, uint64_t now_ns)
{
	struct kphi_tick tick = {.stalled_total_ns = stalled_total_ns};

	return silence_ns(record, &tick, now_ns);
}

/*
 * The silence that a reader would have seen just before this message. What the CPU of the last arrival has
 * stalled since is known as far as any message has told.
 */
static uint64_t silence_before(const struct replay *r, const struct kphi_record *record, uint64_t now_ns)
{
	uint64_t stalled = r->stalled[record->cpu];

	if (stalled > record->stalled_copy_ns)
		return silence_less_stalls(record, stalled, now_ns);
	return now_ns > record->last_ns ? now_ns - record->last_ns : 0;
}

static void crash(struct replay_peer *p, const struct replay_plan *plan, const struct crash *c)
{
	uint64_t *row = p->detections + (size_t)c->place * plan->contenders;

	for (uint32_t i = 0; i < plan->contenders; i++) {
		uint64_t deadline = p->tallies[i].deadline_ns;

		if (deadline == UINT64_MAX)
			row[i] = UINT64_MAX;
		else
			row[i] = deadline > c->silence_ns ? deadline - c->silence_ns : 0;
	}
}

/* An interval that may have been too long for somebody, or in which the peer crashes. */
static void count_closely(const struct replay *r, struct replay_peer *p, uint64_t silence_ns)
{
	const struct replay_plan *plan = r->plan;
	struct crash c;

	if (crashes_meet(&p->crashes, silence_ns, &c))
		crash(p, plan, &c);
	p->mistaken = false;
	for (uint32_t i = 0; i < plan->groups; i++) {
		struct tally *t = &p->tallies[plan->group[i].first];

		for (uint32_t k = 0; k < r->reach[i]; k++) {
			tally_interval(&t[k], silence_ns);
			p->mistaken |= t[k].mistake_ns != 0;
		}
	}
}

/* Whatever mistake was going on, it is not the next one's beginning. */
static void forget_mistakes(const struct replay *r, struct replay_peer *p)
{
	for (uint32_t i = 0; p->mistaken && i < r->plan->contenders; i++)
		p->tallies[i].mistake_ns = 0;
	p->mistaken = false;
}

static void use_model(const struct replay_group *g, struct replay_peer *p)
{
	p->judged.model = g->model == REPLAY_OWN_MODEL ? p->settings.model : (uint8_t)g->model;
	p->judged.set = p->settings.set;
	p->judged.pause_ns = p->settings.pause_ns;
	p->judged.min_std_ns = p->settings.min_std_ns;
	replay_tune(&p->judged, &g->tuning, &p->record.window);
}

/*
 * No contender of the group suspects within this silence. Most silences are short, so this is where the time
 * goes: a model that judges by z reaches no threshold above phi(0) before mean and pause are over, and to
 * compare with those takes neither a root nor a division. Else the hastiest contender answers for all.
 */
static bool all_trust(const struct replay_plan *plan, const struct replay_peer *p,
		      const struct replay_group *g, uint64_t silence_ns)
{
	const struct threshold *hastiest = &plan->threshold[g->hastiest];
	const struct kphi_window *w = &p->record.window;
	struct kphi_estimate e;

	if (g->above_mean && w->n >= 2 &&
	    (p->judged.model == KPHI_MODEL_NORMAL || p->judged.model == KPHI_MODEL_AKKA))
		if ((u128)w->n * silence_ns <= (u128)w->n * effective_pause_ns(w, &p->judged) + w->sum_ns)
			return true;
	estimate_from_window(&e, w, &p->judged, p->ring);
	return silence_ns <= estimate_silence_at(&e, hastiest);
}

/* The deadlines of this silence: of all contenders, or of those whom it concerns. How many those are. */
static uint32_t judge_group(const struct replay_plan *plan, struct replay_peer *p,
			    const struct replay_group *g, uint64_t silence_ns, bool all)
{
	struct kphi_estimate e;
	uint32_t i;

	use_model(g, p);
	if (!all && !p->mistaken && all_trust(plan, p, g, silence_ns))
		return 0;
	estimate_from_window(&e, &p->record.window, &p->judged, p->ring);
	for (i = 0; i < g->n; i++) {
		struct tally *t = &p->tallies[g->first + i];

		t->deadline_ns = estimate_silence_at(&e, &plan->threshold[g->first + i]);
		if (!all && g->ascends && replay_is_unmoved(t, silence_ns))
			break;
	}
	return i;
}

/* Does it take the deadlines to say what this silence has been? If so they are in the tallies now. */
static bool judge(const struct replay *r, struct replay_peer *p, uint64_t silence_ns)
{
	const struct replay_plan *plan = r->plan;
	bool crashes = !p->crashes.skip;
	uint32_t any = crashes || p->mistaken || plan->yardsticks;

	for (uint32_t i = 0; i < plan->groups; i++)
		if (!plan->group[i].detector)
			any |= r->reach[i] = judge_group(plan, p, &plan->group[i], silence_ns, crashes);
	if (plan->yardsticks)
		replay_states_judge(r, p, silence_ns, crashes);
	return any;
}

/* By how much the sender has counted on, as far as its messages tell. */
static uint64_t steps_of(const struct kphi_record *r, const struct kphi_beat *b, uint64_t highest)
{
	return b->native || b->sequence_bits ? r->sequence.highest - highest : 1;
}

/* What an arrival has ended, and what begins with it. */
static void go_on(const struct replay *r, struct replay_peer *p, const struct detector_arrival *a,
		  uint32_t notes, bool close)
{
	bool goes_on = p->open && !(notes & NOTES_BREAK);

	if (!p->open || notes & NOTES_NOBODY) {
		forget_mistakes(r, p);
	} else {
		p->intervals++;
		p->alive_ns += a->silence_ns;
		if (r->plan->interval)
			r->plan->interval(r->plan->context, p->number, &p->record.window, a->silence_ns);
		if (close)
			count_closely(r, p, a->silence_ns);
		else
			p->crashes.skip--;
	}
	p->open = p->record.state == KPHI_UP && p->record.window.interval_ns;
	if (!p->open || !r->plan->yardsticks)
		return;
	if (goes_on)
		replay_states_arrive(r, p, a);
	else
		replay_states_begin(r, p);
}

/* The deadlines are those of the record before this message: they are asked for before it is taken. */
static void take(struct replay *r, struct replay_peer *p, struct kphi_beat *b, uint64_t lost)
{
	uint64_t highest = p->record.sequence.highest, silence;
	struct detector_arrival a;
	enum kphi_counter outcome;
	uint32_t notes;
	bool close;

	r->stalled[b->cpu] = b->stalled_total_ns;
	silence = silence_before(r, &p->record, b->now_ns);
	close = p->open && judge(r, p, silence);
	outcome = kphi_record_take(&p->record, &p->settings, p->ring, r->plan->window, b, &notes);
	if (outcome != KPHI_COUNT_beat && outcome != KPHI_COUNT_leave && outcome != KPHI_COUNT_down)
		return;
	if (notes & KPHI_NOTE(stamp_inverted))
		return;
	if (lost != p->lost)
		notes |= KPHI_NOTE(restart); /* what the recorder dropped was perhaps this peer's */
	p->lost = lost;
	a = (struct detector_arrival){silence, steps_of(&p->record, b, highest),
				      p->record.window.interval_ns};
	go_on(r, p, &a, notes, close);
}

/* --- a record as a whole --- */

/* Entry i of the window in the order of age, the oldest first. */
static uint64_t entry_of(const struct replay_state *s, uint32_t i)
{
	const struct kphi_window *w = &s->record->window;
	uint32_t oldest = w->n == s->window && w->next < s->window ? w->next : 0;

	return s->ring[(oldest + i) % s->window];
}

/* The ring is filled again, if windows are of another length here than where it was recorded. */
static void refill(struct replay_peer *p, const struct replay_state *s, uint32_t window)
{
	const struct kphi_window *w = &s->record->window;

	p->record = *s->record;
	if (window == s->window) {
		memcpy(p->ring, s->ring, w->n * sizeof(*p->ring));
	} else {
		kphi_window_empty(&p->record.window);
		for (uint32_t i = 0; i < w->n; i++)
			kphi_window_add(&p->record.window, p->ring, window, entry_of(s, i));
		p->record.window.capped_run = w->capped_run;
	}
	memcpy(p->ring + window, s->ring + s->window, w->capped_run * sizeof(*p->ring));
}

/* The yardsticks have learned what the window tells, so that they know as much as the models do. */
static void teach(const struct replay *r, struct replay_peer *p, const struct replay_state *s)
{
	replay_states_begin(r, p);
	for (uint32_t i = 0; i < s->record->window.n; i++) {
		uint64_t entry = entry_of(s, i), steps = entry >> KPHI_RING_STEPS_SHIFT;
		const struct detector_arrival a = {entry & KPHI_RING_NS, steps ? steps : 1,
						   p->record.window.interval_ns};

		replay_states_arrive(r, p, &a);
	}
}

static void restore(struct replay *r, struct replay_peer *p, const struct replay_state *s, uint64_t lost)
{
	forget_mistakes(r, p);
	refill(p, s, r->plan->window);
	p->lost = lost;
	p->open = p->record.state == KPHI_UP && p->record.window.interval_ns;
	if (p->open && r->plan->yardsticks)
		teach(r, p, s);
}

/* --- the stream --- */

/* NULL, with *err. */
static struct replay_peer *peer_of(struct replay *r, const struct replay_source *source, uint32_t number,
				   int *err)
{
	struct replay_peer *p = number < r->peers ? r->peer[number] : NULL;
	const struct kphi_peer *settings;

	if (p)
		return p;
	settings = source->settings(source->context, number);
	p = settings ? replay_peer_new(r, number, settings) : NULL;
	*err = settings ? -ENOMEM : -EINVAL;
	return p;
}

int replay_run(struct replay *r, const struct replay_source *source, uint64_t most)
{
	struct kphi_beat beat;
	struct replay_state state;
	uint32_t number;
	int got = 1, err;

	for (uint64_t i = 0; i < most; i++) {
		struct replay_peer *p;
		uint64_t lost;

		got = source->next(source->context, &number, &beat);
		if (got <= 0)
			return got;
		p = peer_of(r, source, number, &err);
		if (!p)
			return err;
		lost = source->lost ? source->lost(source->context) : 0;
		if (got == 1) {
			take(r, p, &beat, lost);
			p->heard = true;
			r->arrivals++;
		} else {
			state = source->state(source->context);
			restore(r, p, &state, lost);
		}
	}
	return 1;
}
