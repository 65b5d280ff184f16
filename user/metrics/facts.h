/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What there is to say of the peers, read once: families are written one after the other, and each wants all
 * peers.
 */
#ifndef KPHI_METRICS_FACTS_H
#define KPHI_METRICS_FACTS_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/fixed.h"
#include "core/phi.h"
#include "kernel/store.h"
#include "metrics/metrics.h"
#include "metrics/openmetrics.h"
#include "show/view.h"

#define FACTS_VERDICTS 5 /* enum kphi_verdict_state */
#define FACTS_CAUSES   9 /* enum kphi_verdict_cause */

/* Why a peer has no series of its own. */
enum facts_omission {
	OMITTED_PER_PEER, /* it was not asked for */
	OMITTED_MAX, /* there would be too many */
	OMITTED_BUSY, /* its record was being written all the time */
	OMISSIONS,
};

struct fact {
	uint32_t labels, labels_size; /* "peer" and "host", where in facts.labels */
	uint8_t state; /* enum view_state */
	uint8_t model;
	bool judged; /* there is a phi */
	bool heard; /* there is a silence */
	bool numbered; /* its beats have sequence numbers, so what is lost is known */
	bool muted;
	uint32_t samples; /* in its window; 0: there is no mean */
	q32_t phi;
	uint64_t silence_ns, mean_ns, stddev_ns;
	uint64_t beats, lost, duplicates, reordered, stale, restarts;
	/* The daemon's; state UNKNOWN if there is none. A consumer that is blind or held has no opinion. */
	uint8_t verdict, cause;
	uint32_t suspects, held; /* bit i: consumer i */
};

struct facts {
	struct fact *list; /* of those that have series */
	uint32_t count;
	uint32_t replaced; /* before this one nobody is simply up: where there is no room, who is not goes
			      first */
	char *labels;
	uint32_t labels_used;
	uint32_t peers, muted;
	uint32_t states[VIEW_STATES];
	uint32_t omitted[OMISSIONS];
	uint32_t verdicts[FACTS_VERDICTS][FACTS_CAUSES];
	uint32_t suspected[KPHI_CONSUMERS], held[KPHI_CONSUMERS];
};

/* Reads and judges everybody; `daemon`: whose verdicts are to be had; NULL: nobody's. 0 or -ENOMEM.
 * facts_free() is owed. */
int facts_read(struct facts *f, const struct store *s, const struct metrics_options *options,
	       const struct kphi_daemon *daemon, uint64_t now_ns);
void facts_free(struct facts *f);

/* The labels of one of the list. */
void facts_labels(const struct facts *f, uint32_t i, struct om_labels *l);

#endif
