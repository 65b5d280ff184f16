// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/track.h"

#include <stdio.h>
#include <string.h>

#include "io/format.h"

void track_think(struct track_side *side, bool gone, uint64_t since_ns)
{
	if (side->known && side->gone == gone)
		return;
	if (side->known && !side->turns++)
		side->left_ns = since_ns;
	side->dated = side->known || gone;
	side->known = true;
	side->gone = gone;
	side->since_ns = since_ns;
}

/* Two that begin by disagreeing had once agreed that the peer was up. */
static void begin(struct track *t)
{
	struct track_side *gone = t->ours.gone ? &t->ours : &t->theirs;

	if (!t->ours.known || !t->theirs.known || t->ours.gone == t->theirs.gone)
		return;
	gone->turns = 1;
	gone->left_ns = gone->since_ns;
}

static uint64_t between(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* They agree again: how did that come? */
static void end(struct track *t, struct track_change *c)
{
	const struct track_side *we = &t->ours, *they = &t->theirs;

	c->gone = we->gone;
	if (we->turns && they->turns) {
		c->end = they->since_ns < we->since_ns ? TRACK_THEY_FIRST : TRACK_WE_FIRST;
		c->length_ns = between(we->since_ns, they->since_ns);
	} else if (they->turns) {
		c->end = TRACK_THEY_RETURNED;
		c->length_ns = between(they->left_ns, they->since_ns);
	} else if (we->turns) {
		c->end = TRACK_WE_RETURNED;
		c->length_ns = between(we->left_ns, we->since_ns);
	}
}

struct track_change track_decide(struct track *t, enum check_verdict verdict, q32_t phi)
{
	struct track_change c = {
		.first = !t->begun, .before = t->verdict, .changed = !t->begun || t->verdict != verdict};

	if (c.first)
		begin(t);
	if (phi > t->worst_phi)
		t->worst_phi = phi;
	t->begun = true;
	t->verdict = verdict;
	c.worst_phi = t->worst_phi;
	if (verdict != CHECK_agree_up && verdict != CHECK_agree_down)
		return c;
	end(t, &c);
	t->ours.turns = t->theirs.turns = 0;
	t->worst_phi = 0;
	return c;
}

void track_explain(const struct track_change *c, const char *called, char *text, size_t size)
{
	const char *what = c->gone ? "it was gone" : "it was back";
	char length[FORMAT_SIZE], phi[FORMAT_SIZE];

	*text = '\0';
	format_duration(c->length_ns, length);
	switch (c->end) {
	case TRACK_NONE:
		break;
	case TRACK_WE_FIRST:
		snprintf(text, size, "kphi knew that %s %s earlier than %s", what, length, called);
		break;
	case TRACK_THEY_FIRST:
		snprintf(text, size, "%s knew that %s %s earlier than kphi", called, what, length);
		break;
	case TRACK_THEY_RETURNED:
		snprintf(text, size,
			 "%s thought otherwise for %s and took it back; phi was at most %s meanwhile", called,
			 length, format_q32(c->worst_phi, 3, phi));
		break;
	case TRACK_WE_RETURNED:
		snprintf(text, size, "kphi thought otherwise for %s, and %s never did", length, called);
		break;
	}
}
