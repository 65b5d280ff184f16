// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/policy.h"

#include <kphi/wire.h>

#include "core/silence.h"

const char *policy_state_name(enum peer_state state)
{
	static const char *const names[] = {
		[PEER_WAITING] = "waiting", [PEER_LEARNING] = "learning", [PEER_UP] = "up",
		[PEER_SUSPECT] = "suspect", [PEER_LEFT] = "left",         [PEER_DOWN] = "down",
	};

	return names[state];
}

static void conclude(struct opinion *o, enum peer_state state, enum peer_reason reason)
{
	o->state = state;
	o->reason = reason;
}

/* Is somebody talking under this identity whom the record does not believe? */
static bool stale_talk(const struct kphi_record *r)
{
	return r->stale_ns > r->last_ns;
}

static void judge_up(struct opinion *o, const struct kphi_record *r, const struct kphi_peer *p,
		     const uint64_t *ring, const struct threshold *threshold)
{
	struct kphi_estimate e;
	uint64_t reach;

	if (!estimate_from_window(&e, &r->window, p, ring)) {
		conclude(o, PEER_LEARNING, REASON_LEARNING);
		return;
	}
	reach = estimate_silence_at(&e, threshold);
	o->judged = true;
	o->phi = estimate_phi(&e, o->silence_ns);
	o->suspect_in_ns = reach == UINT64_MAX ? reach : reach > o->silence_ns ? reach - o->silence_ns : 0;
	if (o->phi >= threshold->phi)
		conclude(o, PEER_SUSPECT, stale_talk(r) ? REASON_STALE : REASON_SILENT);
	else if (r->flags & KPHI_WIRE_DEGRADED)
		conclude(o, PEER_UP, REASON_DEGRADED);
	else
		conclude(o, PEER_UP, r->window.n < 2 ? REASON_SEED : REASON_NONE);
}

void policy_judge(struct opinion *o, const struct kphi_record *r, const struct kphi_peer *p,
		  const uint64_t *ring, const struct kphi_tick *tick, const struct threshold *threshold,
		  uint64_t now_ns)
{
	*o = (struct opinion){.suspect_in_ns = UINT64_MAX};
	if (r->state == KPHI_WAITING) {
		conclude(o, PEER_WAITING, REASON_NO_BEAT);
		return;
	}
	o->silence_ns = silence_ns(r, tick, now_ns);
	if (r->state == KPHI_DOWN)
		conclude(o, PEER_DOWN, REASON_DOWN);
	else if (r->state != KPHI_LEFT)
		judge_up(o, r, p, ring, threshold);
	else if (!(r->flags & KPHI_WIRE_SIGNED) && now_ns > r->last_ns &&
		 now_ns - r->last_ns > POLICY_LEFT_EXPIRES_NS)
		conclude(o, PEER_WAITING, REASON_LEFT_EXPIRED);
	else
		conclude(o, PEER_LEFT, REASON_LEFT);
}
