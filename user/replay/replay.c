// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fixed.h"
#include "core/silence.h"
#include "replay/replay_peer.h"

/* After these, what lay before says nothing about what comes. */
#define NOTES_BREAK (KPHI_NOTE(restart) | KPHI_NOTE(handover) | KPHI_NOTE(renegotiated))

/* And an interval that ends so was not one sender's. */
#define NOTES_NOBODY (KPHI_NOTE(restart) | KPHI_NOTE(handover))

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

/* In a pool, the crash of one peer follows that of another. */
static uint64_t *row_of(const struct replay *r, const struct replay_peer *p, const struct crash *c)
{
	struct replay_pool *pool = r->share.pool;
	uint64_t *rows = pool ? pool->detections : p->detections;

	return rows + (pool ? pool->crashes++ : c->place) * r->plan->contenders;
}

static void crash(const struct replay *r, const struct replay_peer *p, const struct crash *c)
{
	uint64_t *row = row_of(r, p, c);

	for (uint32_t i = 0; i < r->plan->contenders; i++) {
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
		crash(r, p, &c);
	p->mistaken = false;
	for (uint32_t i = 0; i < plan->groups; i++) {
		uint32_t first = plan->group[i].first;

		for (uint32_t k = first; k < first + r->reach[i]; k++) {
			tally_interval(&p->tallies[k], &p->mistakes_ns[k], silence_ns);
			p->mistaken |= p->mistakes_ns[k] != 0;
		}
	}
}

/* Whatever mistake was going on, it is not the next one's beginning. */
static void forget_mistakes(const struct replay *r, struct replay_peer *p)
{
	for (uint32_t i = 0; p->mistaken && i < r->plan->contenders; i++)
		p->mistakes_ns[i] = 0;
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
 * Most silences are short, and where this is true nobody of the group suspects: the hastiest contender needs
 * z standard deviations, and none is less than the floor. So it takes neither a root nor a division.
 */
static bool is_short(const struct replay_peer *p, const struct replay_group *g, uint64_t silence_ns)
{
	const struct kphi_window *w = &p->record.window;
	bool clean = p->judged.model == KPHI_MODEL_LOSS;
	uint64_t n = clean ? w->clean_n : w->n, sum_ns = clean ? w->clean_sum_ns : w->sum_ns;
	u128 floor_ns, pause_ns;

	if (g->z40 < 0 || n < 2)
		return false;
	pause_ns = effective_pause_ns(w, &p->judged);
	floor_ns = (u128)n * effective_min_std_ns(w, &p->judged) * (uint64_t)g->z40 >> Z40_FRACTION;
	return (u128)n * silence_ns <= n * pause_ns + sum_ns + floor_ns;
}

/* The deadlines of the empirical model are intervals of the window, as long as they are not beyond all of
 * them. */
static uint32_t judge_by_rank(const struct replay *r, struct replay_peer *p, const struct replay_group *g,
			      uint64_t silence_ns, bool all)
{
	uint32_t n = p->record.window.n, end = g->first + g->n, i;
	bool full = n == r->plan->window, estimated = false;
	struct kphi_estimate e;

	for (i = g->first; i < end; i++) {
		uint64_t *deadline_ns = &p->tallies[i].deadline_ns;

		if (full && r->rank[i]) {
			*deadline_ns = p->sorted[n - r->rank[i]];
		} else {
			if (!estimated)
				estimate_from_sorted(&e, &p->record.window, &p->judged, p->sorted);
			estimated = true;
			*deadline_ns = estimate_silence_at(&e, &r->plan->threshold[i]);
		}
		if (!all && g->ascends && replay_is_unmoved(p, i, silence_ns))
			break;
	}
	return i - g->first;
}

/*
 * The deadlines of this silence: of all contenders, or of those whom it concerns. How many those are. phi is
 * much cheaper than its inverse, and says whom: those who suspect at more grant more, and are unmoved if they
 * were in no mistake.
 */
static uint32_t judge_group(const struct replay *r, struct replay_peer *p, const struct replay_group *g,
			    uint64_t silence_ns, bool all)
{
	const struct replay_plan *plan = r->plan;
	const struct threshold *threshold = &plan->threshold[g->first];
	struct kphi_estimate e;
	q32_t phi;
	uint32_t i;

	use_model(g, p);
	if (p->judged.model == KPHI_MODEL_EMPIRICAL)
		return judge_by_rank(r, p, g, silence_ns, all);
	if (!all && !p->mistaken && is_short(p, g, silence_ns))
		return 0;
	estimate_from_window(&e, &p->record.window, &p->judged, p->ring);
	phi = all ? 0 : estimate_phi(&e, silence_ns);
	if (!all && !p->mistaken && phi < plan->threshold[g->hastiest].phi)
		return 0;
	for (i = 0; i < g->n; i++) {
		if (!all && g->ascends && threshold[i].phi > phi && !p->mistakes_ns[g->first + i])
			break;
		p->tallies[g->first + i].deadline_ns = estimate_silence_at(&e, &threshold[i]);
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
			any |= r->reach[i] = judge_group(r, p, &plan->group[i], silence_ns, crashes);
	if (plan->yardsticks)
		replay_states_judge(r, p, silence_ns, crashes);
	return any;
}

/* What a window was before it took one more. */
struct window_before {
	uint32_t n, next;
	uint64_t oldest; /* the entry at `next`, which the new one takes the place of if the window is full */
};

static void sort_in(struct replay_peer *p, const struct window_before *before)
{
	const struct kphi_window *w = &p->record.window;
	uint64_t newest_ns = p->ring[before->next] & KPHI_RING_NS, *s = p->sorted;
	uint32_t n = before->n, to;

	if (w->n == n) { /* it was full */
		uint32_t from = (uint32_t)empirical_rank(s, n, before->oldest & KPHI_RING_NS) - 1;

		memmove(&s[from], &s[from + 1], (n - from - 1) * sizeof(*s));
		n--;
	}
	to = (uint32_t)empirical_rank(s, n, newest_ns);
	memmove(&s[to + 1], &s[to], (n - to) * sizeof(*s));
	s[to] = newest_ns;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_anew(struct replay_peer *p)
{
	const struct kphi_window *w = &p->record.window;

	for (uint32_t i = 0; i < w->n; i++)
		p->sorted[i] = p->ring[i] & KPHI_RING_NS;
	qsort(p->sorted, w->n, sizeof(*p->sorted), ascending);
}

/* Whatever has become of the window, what is sorted is what is in it. */
static void keep_sorted(struct replay_peer *p, uint32_t size, const struct window_before *before,
			uint32_t notes)
{
	const struct kphi_window *w = &p->record.window;
	bool again = notes & (NOTES_BREAK | KPHI_NOTE(retuned));

	if (!again && w->n == before->n && w->next == before->next)
		return;
	if (!again && before->next < size && w->next == (before->next + 1) % size &&
	    (w->n == before->n + 1 || (w->n == before->n && w->n == size))) {
		sort_in(p, before);
		return;
	}
	sort_anew(p);
}

/* By how much the sender has counted on, as far as its messages tell. */
static uint64_t steps_of(const struct kphi_record *r, const struct kphi_beat *b, uint64_t highest)
{
	return b->native || b->sequence_bits ? r->sequence.highest - highest : 1;
}

static void count_interval(const struct replay *r, struct replay_peer *p, uint64_t silence_ns)
{
	p->intervals++;
	p->alive_ns += silence_ns;
	if (r->share.pool) {
		r->share.pool->intervals++;
		r->share.pool->alive_ns += silence_ns;
	}
}

/* What an arrival has ended, and what begins with it. */
static void go_on(const struct replay *r, struct replay_peer *p, const struct detector_arrival *a,
		  uint32_t notes, bool close)
{
	bool goes_on = p->open && !(notes & NOTES_BREAK);

	if (!p->open || notes & NOTES_NOBODY) {
		forget_mistakes(r, p);
	} else {
		count_interval(r, p, a->silence_ns);
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
	const struct kphi_window *w = &p->record.window;
	struct window_before before = {0};
	struct detector_arrival a;
	enum kphi_counter outcome;
	uint32_t notes;
	bool close;

	silence = silence_before(r, &p->record, b->now_ns);
	close = p->open && judge(r, p, silence);
	if (p->sorted)
		before = (struct window_before){w->n, w->next, p->ring[w->next]};
	outcome = kphi_record_take(&p->record, &p->settings, p->ring, r->plan->window, b, &notes);
	if (p->sorted)
		keep_sorted(p, r->plan->window, &before, notes);
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
	if (p->sorted)
		sort_anew(p);
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
		if (got == 1)
			r->stalled[beat.cpu] = beat.stalled_total_ns;
		if (r->share.pool && number % r->share.shares != r->share.share)
			continue;
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
