/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two opinions of one stream over time: when they part, when they meet again, and who knew first. Pure: the
 * times are the caller's, UTC in nanoseconds.
 */
#ifndef KPHI_CHECK_TRACK_H
#define KPHI_CHECK_TRACK_H

#include "check/verdict.h"

/* What one side thinks, and since when. */
struct track_side {
	bool known; /* it has thought something */
	bool gone; /* suspect, down or left, rather than up */
	bool dated; /* since_ns is when that began, and not only when it was first looked at */
	uint64_t since_ns; /* of that */
	uint64_t left_ns; /* when it first thought otherwise than at the last agreement */
	uint32_t turns; /* how often it changed its mind since the last agreement */
};

struct track {
	struct track_side ours, theirs;
	enum check_verdict verdict;
	bool begun; /* verdict means something */
	q32_t worst_phi; /* the highest seen of ours since the last agreement */
};

enum track_end {
	TRACK_NONE, /* no agreement was reached */
	TRACK_WE_FIRST, /* both changed their minds; we were the earlier, by length_ns */
	TRACK_THEY_FIRST,
	TRACK_THEY_RETURNED, /* they changed theirs for length_ns and then took it back; we did not */
	TRACK_WE_RETURNED,
};

struct track_change {
	bool changed; /* the verdict did */
	bool first; /* there was none before */
	enum check_verdict before;
	enum track_end end;
	uint64_t length_ns;
	bool gone; /* what they now agree on */
	q32_t worst_phi; /* the highest of ours since the last agreement */
};

/* A side thinks so since then. What it thought already is no change, whenever it is said. */
void track_think(struct track_side *side, bool gone, uint64_t since_ns);

/* The verdict is now this one; `phi` is ours, 0 if there is none. After an agreement both sides begin anew.
 */
struct track_change track_decide(struct track *t, enum check_verdict verdict, q32_t phi);

/* One sentence on how it ended, or "". */
#define TRACK_WHY 256
void track_explain(const struct track_change *change, const char *called, char *text, size_t size);

#endif
