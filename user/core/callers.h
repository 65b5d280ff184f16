/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who knocks: messages of unknown node ids, gathered by id. Anybody may send any id from any address, so all
 * of it is hearsay, and its size is bounded whatever comes.
 */
#ifndef KPHI_CORE_CALLERS_H
#define KPHI_CORE_CALLERS_H

#include <kphi/maps.h>
#include <stdbool.h>

#define CALLERS_MAX    1024
#define CALLERS_PLACES (2 * CALLERS_MAX) /* a power of two */

struct caller {
	struct kphi_stranger last; /* its last message */
	uint64_t messages;
	uint64_t first_ns; /* arrival of its first message */
	uint8_t source[KPHI_SOURCES][16]; /* where it called from, in the order of their first message */
	uint8_t sources;
	bool more_sources; /* than these */
	/* The first and the last beat of its present epoch, by sequence: what its rhythm is told by. */
	bool beats;
	uint64_t epoch;
	uint64_t from_ns, from_sequence;
	uint64_t to_ns, to_sequence;
};

/* Begins as zeros. */
struct callers {
	struct caller caller[CALLERS_MAX];
	uint32_t n;
	uint16_t place[CALLERS_PLACES]; /* by id: index + 1, or 0 */
	uint64_t messages; /* all that were taken */
	uint64_t not_kept; /* of those, the ones of ids for which there was no room */
};

void callers_take(struct callers *c, const struct kphi_stranger *stranger);

/* Who has called most often comes first, of equals the first to call. callers_take() is over then. */
void callers_sort(struct callers *c);

/* The mean interval between its beats, lost ones counted; 0: it has not shown two that follow one another. */
uint64_t caller_interval_ns(const struct caller *caller);

/* The roundest duration within 2 % of it, as somebody would have set it: 100ms for 99.3ms. 0 for 0. */
uint64_t callers_round_ns(uint64_t ns);

#endif
