/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a peer is judged as it is: the figures of `kphi peer explain` that are no record's own. */
#ifndef KPHI_CORE_EXPLAIN_H
#define KPHI_CORE_EXPLAIN_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/models.h"

#define EXPLAIN_THRESHOLDS 6 /* as many as a line has room for */

struct explain_thresholds {
	size_t n; /* 1 .. EXPLAIN_THRESHOLDS */
	struct threshold at[EXPLAIN_THRESHOLDS]; /* ascending */
};

/* One silence under one model. */
struct explain_model {
	q32_t phi;
	uint64_t reach_ns[EXPLAIN_THRESHOLDS]; /* the silence that reaches that threshold; UINT64_MAX: none */
};

/*
 * The same silence and the same window under every model, by enum kphi_model, with the settings of `peer`
 * where a model has such a setting. `ring` has the window's n intervals. False, and nothing is filled in,
 * while the peer is learning its interval.
 */
bool explain_models(struct explain_model models[KPHI_MODELS], const struct kphi_window *w,
		    const struct kphi_peer *peer, const uint64_t *ring, uint64_t silence_ns,
		    const struct explain_thresholds *thresholds);

/* A stall of this host in a silence. */
struct explain_stall {
	uint64_t end_ns; /* `now` if it goes on */
	uint64_t length_ns;
	uint64_t discounted_ns; /* the part of it that is in the silence, and is not counted as such */
	bool open; /* it goes on */
};

/*
 * The stalls behind silence_discount_ns(), newest first; returns how many. They add up to it unless there
 * were more than a tick remembers (KPHI_STALLS) or the discount has met its bound.
 */
size_t explain_stalls(struct explain_stall stalls[KPHI_STALLS + 1], const struct kphi_record *record,
		      const struct kphi_tick *tick, uint64_t now_ns);

/* The window's intervals without loss, as if they were a window: n and the sums. */
struct kphi_window explain_clean(const struct kphi_window *w);

/* The longest interval among the n entries of a ring; 0 if there are none. */
uint64_t explain_largest_ns(const uint64_t *ring, uint32_t n);

/* The chances p and q that the loss model takes from these counts, the prior included: phi_loss.h. */
void explain_chances(const struct kphi_losses *losses, q32_t *lost, q32_t *again);

/* Where a figure in force comes from. */
enum explain_origin {
	ORIGIN_UNKNOWN, /* there is none yet */
	ORIGIN_CONFIGURED,
	ORIGIN_ANNOUNCED, /* the interval: by the peer's BFD */
	ORIGIN_LEARNED, /* the interval: from what was heard */
	ORIGIN_RETUNED, /* the interval: from eight capped ones in a row, against what was said before */
	ORIGIN_INTERVAL, /* follows the interval in force */
};

/* `rule` is NULL for a native sender. */
enum explain_origin explain_interval_origin(const struct kphi_record *record, const struct kphi_peer *peer,
					    const struct kphi_rule *rule);
enum explain_origin explain_cap_origin(const struct kphi_window *w, const struct kphi_peer *peer);

#endif
