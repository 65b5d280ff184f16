// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/look.h"

#include <errno.h>
#include <stdlib.h>

#include "core/silence.h"
#include "kernel/clock.h"
#include "show/verdict.h"

#define SECOND_NS 1000000000ULL
#define PHI_STEPS 8 /* cells for a phi of 1 */

static uint8_t cell_of_phi(q32_t phi)
{
	uint64_t step = phi / (Q32_ONE / PHI_STEPS);

	return step < CELL_PHI_MAX - CELL_PHI ? (uint8_t)(CELL_PHI + step) : CELL_PHI_MAX;
}

/* What this host cannot know goes before what it would make of it. */
uint8_t cell_of(const struct view *v)
{
	uint8_t verdict = v->daemon ? v->verdict.state : KPHI_VERDICT_UNKNOWN;

	if (v->muted)
		return CELL_MUTED;
	if (v->opinion.state == PEER_DOWN)
		return CELL_DOWN;
	if (v->opinion.state == PEER_LEFT)
		return CELL_LEFT;
	if (verdict == KPHI_VERDICT_BLIND)
		return CELL_BLIND;
	if (view_state(v) == VIEW_HELD || verdict == KPHI_VERDICT_HELD)
		return CELL_HELD;
	return v->opinion.judged ? cell_of_phi(v->opinion.phi) : CELL_NOT_JUDGED;
}

void look_init(struct look *l, uint64_t now_ns)
{
	*l = (struct look){.roster = now_ns / SECOND_NS + 1};
	threshold_prepare(&l->threshold, POLICY_SUSPECT);
}

void look_free(struct look *l)
{
	free(l->peer);
	free(l->cell);
	l->peer = NULL;
	l->cell = NULL;
	l->n = l->room = 0;
}

/* The peer in the slot, judged as `kphi peer show` does it, and by what the daemon knows besides. */
static enum view_found judge(struct view *v, uint8_t *cell, const struct store *s, uint32_t slot,
			     const struct look *l)
{
	enum view_found found =
		view_take(v, s, l->daemon_lives ? &l->daemon : NULL, &l->threshold, slot, l->now_ns);

	if (found == VIEW_PEER)
		*cell = cell_of(v);
	return found;
}

static int make_room(struct look *l, uint32_t n)
{
	struct look_peer *peer;
	uint8_t *cell;

	if (n <= l->room)
		return 0;
	n = n < 64 ? 64 : n + n / 2;
	peer = realloc(l->peer, n * sizeof(*peer));
	if (peer)
		l->peer = peer;
	cell = peer ? realloc(l->cell, n) : NULL;
	if (!cell)
		return -ENOMEM;
	l->cell = cell;
	l->room = n;
	return 0;
}

static bool is_stalled(const struct store *s, uint64_t now_ns)
{
	for (uint32_t cpu = 0; cpu < s->header->cpus; cpu++)
		if (silence_open_stall_ns(&s->ticks[cpu], now_ns))
			return true;
	return false;
}

static void count(struct look *l, const struct view *v, uint8_t cell)
{
	l->held += cell == CELL_HELD;
	l->blind += cell == CELL_BLIND;
	l->suspect += view_is_suspect(v) && cell != CELL_HELD && cell != CELL_BLIND;
}

/* Row `at` of the roster, over what the last look had there. True: that was somebody else. */
static bool place(struct look *l, uint32_t at, uint32_t before, const struct look_peer *peer)
{
	bool is_same =
		at < before && l->peer[at].slot == peer->slot && l->peer[at].generation == peer->generation;

	l->peer[at] = *peer;
	return !is_same;
}

static int look_at_slots(struct look *l, const struct store *s, struct history *h, bool *changed)
{
	uint32_t before = l->n, at = 0;
	int err = 0;

	for (uint32_t slot = 0; !err && slot < s->header->peers; slot++) {
		struct view v;
		uint8_t cell = CELL_NOTHING;
		enum view_found got = judge(&v, &cell, s, slot, l);
		struct look_peer peer = {slot, got == VIEW_PEER ? v.record.generation
								: s->records[slot].generation};

		if (got == VIEW_NOBODY)
			continue;
		err = make_room(l, at + 1);
		if (err)
			break;
		*changed |= place(l, at, before, &peer);
		history_put(h, slot, peer.generation, cell);
		if (got == VIEW_PEER)
			count(l, &v, cell);
		/* One that is busy looks as it did, if that is known. */
		if (got == VIEW_PEER || *changed)
			l->cell[at] = cell;
		at++;
	}
	*changed |= at != before;
	l->n = at;
	return err;
}

static void begin(struct look *l, const struct store *s)
{
	struct timespec t;

	l->now_ns = clock_monotonic_ns();
	clock_gettime(CLOCK_REALTIME, &t);
	l->realtime_ns = (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
	l->has_store = s;
	l->daemon_lives = s && store_daemon(s, l->now_ns, &l->daemon);
}

int look_at_all(struct look *l, const struct store *s, struct history *h)
{
	bool changed = l->has_store != (s != NULL);
	int err = 0;

	begin(l, s);
	l->held = l->blind = l->suspect = 0;
	l->stalled = s && is_stalled(s, l->now_ns);
	if (s) {
		history_begin(h, l->now_ns / SECOND_NS);
		err = look_at_slots(l, s, h, &changed);
		history_end(h);
	} else {
		l->n = 0;
	}
	l->roster += changed;
	return err;
}

void look_for_history(struct look *l, const struct store *s, struct history *h)
{
	begin(l, s);
	history_begin(h, l->now_ns / SECOND_NS);
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		struct view v;
		uint8_t cell = CELL_NOTHING;
		enum view_found got;

		if (!history_has_room(h, slot))
			continue;
		got = judge(&v, &cell, s, slot, l);
		if (got != VIEW_NOBODY)
			history_put(h, slot,
				    got == VIEW_PEER ? v.record.generation : s->records[slot].generation,
				    cell);
	}
	history_end(h);
}
