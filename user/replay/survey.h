/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is in a stream before anybody judges it: its peers and their intervals, how intervals are distributed,
 * and when the recording host stalled. One pass; memory is bounded by the peers.
 */
#ifndef KPHI_REPLAY_SURVEY_H
#define KPHI_REPLAY_SURVEY_H

#include "replay/replay.h"

/* Intervals as multiples of the interval in force: 32 bins an octave, from 2^-10 to 2^22. */
#define SURVEY_OCTAVES_BELOW 10
#define SURVEY_OCTAVES       32
#define SURVEY_BINS          (32 * SURVEY_OCTAVES)

#define SURVEY_EACH_MAX 1024 /* so many peers, the first, have bins of their own */
#define SURVEY_ALL      UINT32_MAX /* in place of one peer */

/* The time line: slots of equal length, two of which become one whenever they are all used. */
#define SURVEY_SLOTS 512

struct survey_slot {
	uint64_t arrivals;
	uint64_t stalled_ns, longest_ns; /* of all CPUs that take beats */
};

struct survey_peer {
	uint64_t intervals, sum_ns, largest_ns;
	uint64_t *bins; /* NULL: it has shown no interval, or is none of the first */
};

struct survey {
	struct replay_plan plan;
	struct replay *replay; /* the records at the end */
	const struct replay_source *source;
	uint64_t arrivals, lost, first_ns, last_ns, intervals, sum_ns;
	uint64_t stalls, stalled_ns, longest_stall_ns;
	uint64_t shortest_interval_ns, longest_interval_ns; /* in force at the end */
	bool default_settings; /* no peer was given a pause or a least deviation */
	uint32_t heard; /* peers */
	uint32_t peers_room;
	struct survey_peer *peers;
	uint64_t bins[SURVEY_BINS];
	uint64_t slot_ns;
	struct survey_slot slots[SURVEY_SLOTS];
	uint64_t *stalled; /* by CPU: the total it showed last */
	bool no_memory;
};

/* 0 or -ENOMEM; survey_end() is due in either case. */
int survey_begin(struct survey *s, uint32_t window);

/* Takes up to `most` arrivals, as replay_run() does; at the end what is known at the end is there. */
int survey_run(struct survey *s, const struct replay_source *source, uint64_t most);

void survey_end(struct survey *s);

/* The lower edge of a bin, in intervals; that of SURVEY_BINS is the upper edge of the last. */
double survey_edge(uint32_t bin);

/* The bins of one peer, or of all together; NULL if that peer has none. */
const uint64_t *survey_bins(const struct survey *s, uint32_t peer);

/*
 * What a model without its pause expects of a peer, by the window that it has at the end, or of all, each
 * weighing as many intervals as it has shown: the chance that an interval is longer than each edge of a bin.
 * False if nobody can be judged.
 */
bool survey_expect(const struct survey *s, uint32_t peer, uint8_t model, double later[SURVEY_BINS + 1]);

#endif
