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
	if (r->stalled)
		return r;
	free(r);
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
	struct crash c;

	if (crashes_meet(&p->crashes, silence_ns, &c))
		crash(p, r->plan, &c);
	p->mistaken = false;
	for (uint32_t i = 0; i < r->plan->contenders; i++) {
		tally_interval(&p->tallies[i], silence_ns);
		p->mistaken |= p->tallies[i].mistake_ns != 0;
	}
}

/* Whatever mistake was going on, it is not the next one's beginning. */
static void forget_mistakes(const struct replay *r, struct replay_peer *p)
{
	for (uint32_t i = 0; p->mistaken && i < r->plan->contenders; i++)
		p->tallies[i].mistake_ns = 0;
	p->mistaken = false;
}

static void use_model(struct replay_peer *p, const struct replay_group *g)
{
	p->settings.model = g->model == REPLAY_OWN_MODEL ? p->own_model : (uint8_t)g->model;
}

/* The deadlines of the silence that follows what the record has seen so far. */
static void judge(const struct replay *r, struct replay_peer *p)
{
	const struct replay_plan *plan = r->plan;

	for (uint32_t i = 0; i < plan->groups; i++) {
		const struct replay_group *g = &plan->group[i];
		struct kphi_estimate e;

		if (g->detector)
			continue;
		use_model(p, g);
		estimate_from_window(&e, &p->record.window, &p->settings, p->ring);
		for (uint32_t c = g->first; c < g->first + g->n; c++)
			p->tallies[c].deadline_ns = estimate_silence_at(&e, &plan->threshold[c]);
	}
	if (plan->yardsticks)
		replay_states_judge(r, p);
}

/*
 * No contender of the group suspects within this silence. Most silences are short, so this is where the time
 * goes: a model that judges by z reaches no threshold above phi(0) before mean and pause are over, and to
 * compare with those takes neither a root nor a division. Else the hastiest contender answers for all.
 */
static bool all_trust(const struct replay_plan *plan, struct replay_peer *p, const struct replay_group *g,
		      uint64_t silence_ns)
{
	const struct threshold *hastiest = &plan->threshold[g->hastiest];
	const struct kphi_window *w = &p->record.window;
	struct kphi_estimate e;

	use_model(p, g);
	if (g->above_mean && w->n >= 2 &&
	    (p->settings.model == KPHI_MODEL_NORMAL || p->settings.model == KPHI_MODEL_AKKA))
		if ((u128)w->n * silence_ns <= (u128)w->n * effective_pause_ns(w, &p->settings) + w->sum_ns)
			return true;
	estimate_from_window(&e, w, &p->settings, p->ring);
	return silence_ns <= estimate_silence_at(&e, hastiest);
}

/* Does it take the deadlines to say what this interval has been? */
static bool is_close(const struct replay *r, struct replay_peer *p, uint64_t silence_ns)
{
	const struct replay_plan *plan = r->plan;

	if (!p->crashes.skip || p->mistaken || plan->yardsticks)
		return true;
	for (uint32_t i = 0; i < plan->groups; i++)
		if (!all_trust(plan, p, &plan->group[i], silence_ns))
			return true;
	return false;
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
	close = p->open && is_close(r, p, silence);
	if (close)
		judge(r, p);
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

int replay_run(struct replay *r, const struct replay_source *source, uint64_t most)
{
	struct kphi_beat beat;
	uint32_t number;
	int got = 1;

	for (uint64_t i = 0; i < most; i++) {
		struct replay_peer *p;

		got = source->next(source->context, &number, &beat);
		if (got <= 0)
			return got;
		p = number < r->peers ? r->peer[number] : NULL;
		if (!p) {
			const struct kphi_peer *settings = source->settings(source->context, number);

			p = settings ? replay_peer_new(r, number, settings) : NULL;
			if (!p)
				return settings ? -ENOMEM : -EINVAL;
		}
		take(r, p, &beat, source->lost ? source->lost(source->context) : 0);
		r->arrivals++;
	}
	return 1;
}
