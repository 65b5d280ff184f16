/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each model would have done at each of many thresholds: for every model a curve, from many false
 * suspicions and a quick detection to few and a slow one. Every thread replays the stream for its share of
 * the points, so all cores work and none waits for another.
 */
#ifndef KPHI_REPLAY_SWEEP_H
#define KPHI_REPLAY_SWEEP_H

#include "replay/replay.h"

#define SWEEP_POINTS_MAX  96
#define SWEEP_THREADS_MAX 64

struct sweep_point {
	q32_t threshold;
	struct qos qos; /* over all peers */
};

struct sweep_curve {
	int model; /* enum kphi_model */
	uint32_t n;
	struct sweep_point point[SWEEP_POINTS_MAX]; /* thresholds ascend */
};

/* From 0.5 to 100,000, halves first, then in steps of a quarter or so. Returns how many. */
uint32_t sweep_thresholds(struct sweep_curve *c);

struct sweep {
	uint32_t window, crashes;
	uint64_t seed;
	uint32_t threads; /* at most SWEEP_THREADS_MAX */
	/* A stream of its own for each thread, from the beginning; 0 or -errno. */
	int (*open)(void *context, struct replay_source *source);
	/* Ends it, with the sentence about what went wrong if `err`. */
	void (*close)(void *context, struct replay_source *source, int err);
	void (*progress)(void *context, const struct replay_source *source); /* one thread's; may be NULL */
	void *context;
};

/*
 * Fills the points' qos; the thresholds are there. 0, or the first error of any thread: close() was told of
 * it.
 */
int sweep_run(const struct sweep *s, struct sweep_curve *curves, uint32_t n);

#endif
