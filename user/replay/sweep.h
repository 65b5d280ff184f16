/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each model, under several settings, and each yardstick would have done at each of many parameters: a
 * curve each, from many false suspicions and a quick detection to few and a slow one.
 *
 * Peers know nothing of each other, so they are dealt out: each thread replays the stream for some of them,
 * and then again for others, as often as it takes to keep what all threads hold at a time within
 * SWEEP_STATE_MAX. To read a stream again costs little beside judging it. If there are fewer peers than that
 * would take to keep all threads busy, the curves are dealt out instead.
 */
#ifndef KPHI_REPLAY_SWEEP_H
#define KPHI_REPLAY_SWEEP_H

#include "replay/survey.h"

#define SWEEP_POINTS_MAX  96
#define SWEEP_CURVES_MAX  192
#define SWEEP_THREADS_MAX 64

/* Bytes: what the peers that are judged at a time may take, and the detection times of all crashes. */
#define SWEEP_STATE_MAX      (24ULL << 20)
#define SWEEP_DETECTIONS_MAX (96ULL << 20)

struct sweep_point {
	q32_t threshold; /* of a model */
	double parameter; /* of a yardstick */
	struct qos qos; /* over all peers */
};

struct sweep_curve {
	const struct detector *detector; /* NULL: a model */
	int model; /* enum kphi_model */
	struct replay_tuning tuning; /* of a model; zeroed: each peer's own settings */
	uint32_t n;
	struct sweep_point point[SWEEP_POINTS_MAX]; /* parameters ascend */
};

/* From 0.5 to 100,000, halves first, then in steps of a quarter or so. Returns how many. */
uint32_t sweep_thresholds(struct sweep_curve *c);

/*
 * The same for a yardstick, which is in place: from rashness to the patience of some 40 intervals. Times go
 * from the shortest to the longest interval in force among the peers.
 */
uint32_t sweep_parameters(struct sweep_curve *c, uint64_t shortest_ns, uint64_t longest_ns);

/*
 * The curves of a model, as many as fit: with each peer's own settings, and with other pauses and least
 * deviations if it has them. `default_settings`: no peer was given any, so that one of those would be the
 * first again, and is left out. Returns how many.
 */
uint32_t sweep_model(struct sweep_curve *curves, uint32_t room, int model, bool default_settings);

struct sweep {
	const struct survey *survey; /* of the same stream */
	uint32_t window, crashes, crash_every; /* as in a plan */
	uint64_t seed;
	uint32_t threads; /* at most SWEEP_THREADS_MAX */
	uint64_t state_max; /* bytes; 0: SWEEP_STATE_MAX. One peer a thread it is at least */
	/* A stream of its own for each thread, from the beginning; 0 or -errno. The first pass is 1. */
	int (*open)(void *context, struct replay_source *source, uint32_t pass, uint32_t passes);
	/* Ends it, with the sentence about what went wrong if `err`. */
	void (*close)(void *context, struct replay_source *source, int err);
	void (*progress)(void *context, const struct replay_source *source); /* one thread's; may be NULL */
	void *context;
};

/* How many crashes a peer can have, and into each how manieth peer they go, so that all find room. */
void sweep_afford(struct sweep *s, const struct sweep_curve *curves, uint32_t n, uint32_t crashes);

/*
 * Fills the points' qos; all the rest is there. 0, or the first error of any thread: close() was told of it.
 */
int sweep_run(const struct sweep *s, struct sweep_curve *curves, uint32_t n);

#endif
