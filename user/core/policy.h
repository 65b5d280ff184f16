/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a record to an opinion: the state of a peer at one instant, and why. */
#ifndef KPHI_CORE_POLICY_H
#define KPHI_CORE_POLICY_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/models.h"

#define POLICY_SUSPECT (8 * Q32_ONE) /* the threshold where no consumer names another */
#define POLICY_LEFT_EXPIRES_NS                                                                               \
	3600000000000ULL /* an unsigned goodbye is believed for an hour after it was last said */

enum peer_state {
	PEER_WAITING, /* no beat yet */
	PEER_LEARNING, /* beats, but too few to know the interval */
	PEER_UP,
	PEER_SUSPECT, /* phi has reached the threshold */
	PEER_LEFT,
	PEER_DOWN,
};

enum peer_reason {
	REASON_NONE,
	REASON_NO_BEAT, /* waiting: never heard */
	REASON_LEFT_EXPIRED, /* waiting: said goodbye longer ago than that is believed */
	REASON_LEARNING, /* learning: fewer than KPHI_LEARN_RUN intervals */
	REASON_SEED, /* up: judged by the configured interval, fewer than two were heard */
	REASON_DEGRADED, /* up: its own health check fails */
	REASON_SILENT, /* suspect */
	REASON_STALE, /* suspect: silent, while messages of an older epoch or sequence arrive */
	REASON_LEFT,
	REASON_DOWN,
};

struct opinion {
	enum peer_state state;
	enum peer_reason reason;
	bool judged; /* phi and suspect_in_ns mean something */
	q32_t phi; /* under the peer's own model */
	uint64_t silence_ns; /* 0 while waiting */
	uint64_t suspect_in_ns; /* until phi reaches the threshold if nothing arrives; UINT64_MAX: never */
};

/*
 * `tick` is the element of `ticks` of the CPU that the record names; the record must not be free. `threshold`
 * is prepared once for however many peers are judged.
 */
void policy_judge(struct opinion *o, const struct kphi_record *record, const struct kphi_peer *peer,
		  const uint64_t *ring, const struct kphi_tick *tick, const struct threshold *threshold,
		  uint64_t now_ns);

/* "waiting", "learning", "up", "suspect", "left", "down" */
const char *policy_state_name(enum peer_state state);

#endif
