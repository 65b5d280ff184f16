// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/verdict.h"

static const struct {
	const char *name;
	bool disagree;
} verdicts[] = {
#define X(name, disagree) {#name, disagree},
	CHECK_VERDICTS(X)
#undef X
};

enum check_doubt check_doubt(enum peer_state state, bool busy, bool muted, bool blind, bool held)
{
	if (busy)
		return DOUBT_BUSY;
	if (muted)
		return DOUBT_MUTED;
	if (state == PEER_WAITING)
		return DOUBT_WAITING;
	if (state == PEER_LEARNING)
		return DOUBT_LEARNING;
	/* Silence is what blindness and holds cast doubt on; a beat that came is a beat. */
	if (state == PEER_SUSPECT && blind)
		return DOUBT_BLIND;
	if (state == PEER_SUSPECT && held)
		return DOUBT_HELD;
	return DOUBT_NONE;
}

enum check_verdict check_decide(const struct check_ours *ours, const struct claim *theirs)
{
	bool gone;

	if (!ours)
		return CHECK_unknown_to_us;
	if (!theirs)
		return CHECK_unknown_to_them;
	if (ours->doubt != DOUBT_NONE || theirs->state == CLAIM_UNKNOWN)
		return CHECK_undecided;
	gone = theirs->state != CLAIM_UP;
	if (ours->state == PEER_UP)
		return gone ? CHECK_they_suspect : CHECK_agree_up;
	return gone ? CHECK_agree_down : CHECK_they_trust;
}

const char *check_verdict_name(enum check_verdict verdict)
{
	return verdicts[verdict].name;
}

bool check_is_disagreement(enum check_verdict verdict)
{
	return verdicts[verdict].disagree;
}
