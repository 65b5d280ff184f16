// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What has become of a peer since the last look, whoever suspects it. */
#include <kphi/wire.h>

#include "core/engine_state.h"

/*
 * Nothing that was thought of the old life is said of the new one. A first life after an add or a reset is no
 * restart, whatever epoch the slot began with.
 */
static void new_life(struct look *l)
{
	struct slot *s = l->slot;

	if (l->record.epoch > s->epoch && l->record.restarts) {
		tell(l, EVENT_restart, CAUSE_NONE);
		look_release(l, UINT32_MAX, CAUSE_RESTART);
		look_trust(l, UINT32_MAX, CAUSE_RESTART);
		s->state = KPHI_UP; /* if it has left or is down, that is this life's news */
	}
	s->epoch = l->record.epoch;
}

void look_speaker(const struct look *l, uint64_t speaker[2])
{
	bool bfd = l->rule && l->rule->decoder == KPHI_DECODER_BFD;

	speaker[0] = bfd ? l->record.bfd.desired_tx_us : l->rule ? l->record.speaker[0] : 0;
	speaker[1] = l->rule && !bfd ? l->record.speaker[1] : 0;
}

/* A handover is no restart: the peer, which is the address that is served, or the group, was there all along.
 */
static void speech(struct look *l, bool restarted)
{
	struct slot *s = l->slot;
	uint64_t now[2];
	bool known;
	struct event *event;

	look_speaker(l, now);
	if (now[0] == s->speaker[0] && now[1] == s->speaker[1])
		return;
	known = (s->speaker[0] || s->speaker[1]) && (now[0] || now[1]);
	if (known && l->rule->decoder == KPHI_DECODER_BFD && !restarted) {
		event = tell(l, EVENT_renegotiated, CAUSE_NONE);
		event->interval_ns =
			l->record.window.interval_ns ? l->record.window.interval_ns : now[0] * 1000;
	} else if (known && l->rule->any_source) {
		event = tell(l, EVENT_handover, CAUSE_NONE);
		event->speaker[0] = now[0];
		event->speaker[1] = now[1];
	}
	s->speaker[0] = now[0];
	s->speaker[1] = now[1];
}

/* Suspicions older than the reset; one of a peer that was never heard stands until a beat or a reset. */
static void reset(struct look *l)
{
	uint32_t older = 0;

	FOR_EACH_BIT(c, l->slot->suspects)
	{
		if (l->record.since_ns > look_suspicion(l, c)->from_ns)
			older |= 1U << c;
	}
	look_trust(l, older, CAUSE_RESET);
}

static void state(struct look *l)
{
	struct slot *s = l->slot;
	uint8_t now = l->record.state;

	if (now != s->state && now == KPHI_LEFT)
		tell(l, EVENT_leave, CAUSE_NONE);
	if (now != s->state && now == KPHI_DOWN)
		tell(l, EVENT_down, CAUSE_NONE);
	s->state = now;
	if (now == KPHI_LEFT) {
		look_release(l, UINT32_MAX, CAUSE_LEAVE);
		look_trust(l, UINT32_MAX, CAUSE_LEAVE);
	}
	if (now == KPHI_DOWN)
		look_release(l, UINT32_MAX, CAUSE_DECLARED_DOWN);
	if (now == KPHI_WAITING)
		reset(l);
}

static void health(struct look *l)
{
	struct slot *s = l->slot;
	bool degraded = l->record.flags & KPHI_WIRE_DEGRADED;

	if (degraded != !!(s->flags & SLOT_DEGRADED)) {
		tell(l, EVENT_degraded, degraded ? CAUSE_BEGUN : CAUSE_ENDED);
		s->flags ^= SLOT_DEGRADED;
	}
	if (l->record.retuned > s->retuned)
		tell(l, EVENT_retuned, CAUSE_NONE);
	s->retuned = l->record.retuned;
}

/* A silence that was held has ended: by a beat, by a reset. */
static void held_silence(struct look *l)
{
	if (look_held(l) && l->from_ns != l->slot->hold_from_ns)
		look_release(l, UINT32_MAX, l->record.state == KPHI_WAITING ? CAUSE_RESET : CAUSE_BEAT);
}

static void mute(struct look *l)
{
	struct slot *s = l->slot;
	struct event *event;

	if (l->muted != !!(s->flags & SLOT_MUTED)) {
		event = tell(l, EVENT_mute, l->muted ? CAUSE_BEGUN : CAUSE_ENDED);
		event->detail = l->peer.mute_reason[0] ? l->peer.mute_reason : NULL;
		s->flags ^= SLOT_MUTED;
	}
	if (l->muted) {
		look_release(l, UINT32_MAX, CAUSE_MUTE);
		look_again_at(l, l->peer.mute_until_ns);
	}
}

/* Of a peer that has left or is down nothing is expected, so there is nothing that could not be heard. */
static void blindness(struct look *l)
{
	struct slot *s = l->slot;
	bool expected = l->record.state == KPHI_UP || l->record.state == KPHI_WAITING;
	enum event_cause blind = expected ? l->hearing.blind : CAUSE_NONE;

	if (blind && !s->blind) {
		look_release(l, UINT32_MAX, blind);
		tell(l, EVENT_blind, blind);
	}
	if (!blind && s->blind)
		tell(l, EVENT_sighted, (enum event_cause)s->blind);
	s->blind = (uint8_t)blind;
}

void look_facts(struct look *l)
{
	bool another = l->record.epoch != l->slot->epoch;

	if (another)
		new_life(l);
	speech(l, another);
	state(l);
	health(l);
	held_silence(l);
	mute(l);
	blindness(l);
	look_release(l, ~l->slot->cares, CAUSE_RESET);
	look_trust(l, ~l->slot->cares, CAUSE_RESET);
}
