// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Evidence against this host: it has stalled, or too many peers are overdue at once. */
#include <kphi/record.h>

#include "core/engine_state.h"
#include "core/fixed.h"
#include "core/silence.h"

/* --- grace --- */

static uint64_t interval_ns(const struct look *l)
{
	uint64_t known = l->record.window.interval_ns;

	return known ? known : ENGINE_FIRST_BEAT_NS / ENGINE_FIRST_BEAT_INTERVALS;
}

uint64_t hold_grace_most_ns(const struct look *l)
{
	return interval_ns(l) * ENGINE_GRACE_INTERVALS;
}

/* One more stall, later than those before: it begins a grace, or extends the one it falls into. */
static void grace_add(struct grace_span *g, const struct look *l, uint64_t end_ns, uint64_t length_ns)
{
	uint64_t most = hold_grace_most_ns(l), least = interval_ns(l), until;

	if (!end_ns || length_ns < kphi_min_std(&l->record.window, &l->peer))
		return;
	length_ns = length_ns < least ? least : length_ns < most ? length_ns : most;
	until = later(end_ns, length_ns);
	if (end_ns > g->until_ns) {
		g->begin_ns = end_ns;
		g->until_ns = until;
		return;
	}
	if (until > later(g->begin_ns, most))
		until = later(g->begin_ns, most);
	if (until > g->until_ns)
		g->until_ns = until;
}

/*
 * The stalls that are still on record, oldest first. The longest of the last minute, which may be a suspend,
 * is kept beside the ring, and takes its place among the others.
 */
static struct grace_span grace_after_stalls(const struct look *l)
{
	const struct kphi_tick *t = l->tick;
	struct grace_span g = {0};
	bool longest = false;

	for (uint64_t i = 0; i < KPHI_STALLS; i++) {
		const struct kphi_stall *s = &t->stall[(t->stalls + i) % KPHI_STALLS];

		if (!longest && s->end_ns >= t->stall_length_end_ns) {
			grace_add(&g, l, t->stall_length_end_ns, t->stall_length_ns);
			longest = true;
		}
		grace_add(&g, l, s->end_ns, s->length_ns);
	}
	if (!longest)
		grace_add(&g, l, t->stall_length_end_ns, t->stall_length_ns);
	return g;
}

struct grace_span hold_grace(const struct look *l)
{
	uint64_t open = silence_open_stall_ns(l->tick, l->now_ns);
	struct grace_span g;

	if (open && open >= kphi_min_std(&l->record.window, &l->peer))
		return (struct grace_span){.until_ns = later(l->now_ns, ENGINE_RECHECK_NS)};
	g = grace_after_stalls(l);
	return l->now_ns < g.until_ns ? g : (struct grace_span){0};
}

/* --- correlated --- */

/* mean + 2 sd, the pause left out: a beat that is later than this is overdue. An exponential's standard
 * deviation is its mean. */
static uint64_t overdue_ns(const struct look *l)
{
	const struct kphi_estimate *e = &l->estimate;
	uint64_t sd = e->model == KPHI_MODEL_EXPONENTIAL ? e->sum_ns : e->scale_ns;

	return l->judged ? div_floor((u128)e->sum_ns + 2 * (u128)sd, e->n) : interval_ns(l);
}

/*
 * What has been silent for longer than any hold lasts is old news: it says nothing about this host now. No
 * consumer is asked for that, so that none has an influence on another; ten times overdue is beyond every
 * sensible threshold.
 */
static bool is_old_news(const struct look *l)
{
	uint64_t overdue = overdue_ns(l);

	return l->silence_ns / 10 > overdue && l->silence_ns - 10 * overdue > l->e->config.hold_max_ns;
}

static bool is_evidence(const struct look *l)
{
	return l->judged && l->record.window.n >= ENGINE_CORRELATED_SAMPLES && !l->muted &&
	       !l->hearing.blind && !is_old_news(l);
}

static bool count_overdue(struct engine *e, uint64_t now_ns, uint64_t *read)
{
	uint32_t slots = e->scanning ? e->slots : e->used;
	uint64_t judged = 0, overdue = 0;
	struct look l;

	for (uint32_t i = 0; i < slots; i++) {
		/* In a scan, those that come later count as well, so that the first is not judged alone. */
		if (!e->scanning && (!(e->slot[i].flags & SLOT_KNOWN) || e->slot[i].state != KPHI_UP))
			continue;
		++*read;
		if (!look_glance(&l, e, i, now_ns) || !is_evidence(&l))
			continue;
		judged++;
		overdue += l.silence_ns > overdue_ns(&l);
	}
	return overdue >= e->config.correlated_min && overdue * 1000000 > judged * e->config.correlated_ppm;
}

bool hold_correlated(struct engine *e, uint64_t now_ns)
{
	uint64_t read = 1;

	if (now_ns < e->count_until_ns && now_ns >= e->counted_ns)
		return e->correlated;
	e->correlated = count_overdue(e, now_ns, &read);
	e->counted_ns = now_ns;
	if (e->correlated)
		e->correlated_ns = now_ns;
	e->count_until_ns = now_ns + read * ENGINE_COUNT_KEEP_NS;
	return e->correlated;
}

uint64_t hold_correlated_until(const struct look *l)
{
	return l->e->correlated_ns ? later(l->e->correlated_ns, overdue_ns(l)) : 0;
}

void hold_recheck_at(struct engine *e, uint64_t at_ns)
{
	/* Before that, the answer is the one we had. */
	if (at_ns < e->count_until_ns)
		at_ns = e->count_until_ns;
	if (at_ns >= e->recheck_ns)
		return;
	e->recheck_ns = at_ns;
	schedule_set(e->schedule, e->slots, at_ns);
}

/* One count answers for all that are held. Those that beat again are released by their own looks. */
void hold_recheck(struct engine *e, uint64_t now_ns)
{
	bool any = false;

	e->recheck_ns = UINT64_MAX;
	for (uint32_t i = 0; i < e->used && !any; i++)
		any = e->slot[i].correlated;
	if (!any)
		return;
	if (hold_correlated(e, now_ns)) {
		hold_recheck_at(e, now_ns + ENGINE_RECHECK_NS);
		return;
	}
	for (uint32_t i = 0; i < e->used; i++)
		if (e->slot[i].correlated)
			engine_look(e, i, now_ns);
}
