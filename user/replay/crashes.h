/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Crashes injected into a stream whose length nobody knows beforehand: a fixed number of intervals, each as
 * likely as any other, and in each a moment between its two arrivals, uniformly. Nothing is drawn for the
 * intervals in between: Li's algorithm L (ACM Transactions on Mathematical Software 20(4), 1994) says how
 * many to skip. The same seed over the same stream gives the same crashes, whoever judges them.
 */
#ifndef KPHI_REPLAY_CRASHES_H
#define KPHI_REPLAY_CRASHES_H

#include <stdbool.h>
#include <stdint.h>

struct crashes {
	uint64_t random;
	uint64_t skip; /* intervals that go by before the next one is chosen */
	double share; /* algorithm L's W */
	uint32_t n, size;
};

void crashes_begin(struct crashes *c, uint32_t size, uint64_t seed);

/* A crash: which of the `size` places it takes, from one that has it so far perhaps, and when it happens. */
struct crash {
	uint32_t place;
	uint64_t silence_ns; /* so long after the arrival that begins the interval */
};

/* The slow part of crashes_meet(). */
void crashes_choose(struct crashes *c, uint64_t interval_ns, struct crash *crash);

/* An interval goes by: does the peer crash in it? */
static inline bool crashes_meet(struct crashes *c, uint64_t interval_ns, struct crash *crash)
{
	if (c->skip) {
		c->skip--;
		return false;
	}
	crashes_choose(c, interval_ns, crash);
	return true;
}

#endif
