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

/* A crash that is known beforehand. */
struct crash_to_come {
	uint64_t interval; /* the how manieth, from 0 */
	uint64_t share; /* of it, in 2^-64, goes by before */
};

struct crashes {
	struct crash_to_come *to_come; /* all of them, as time goes; NULL: drawn as the intervals go by */
	uint64_t random;
	uint64_t skip; /* intervals that go by before the next one is chosen */
	double share; /* algorithm L's W */
	uint32_t n, size;
};

void crashes_begin(struct crashes *c, uint32_t size, uint64_t seed);

/*
 * The same crashes in a stream that is known to have so many intervals: the last in each place are found at
 * once, and no other one is met, which would only be replaced. 0 or -ENOMEM; crashes_end() is due then.
 */
int crashes_begin_known(struct crashes *c, uint32_t size, uint64_t seed, uint64_t intervals);
void crashes_end(struct crashes *c);

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
