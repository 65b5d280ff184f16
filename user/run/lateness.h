/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How late the loop woke, in buckets that double: bucket i counts from 2^i up to 2^(i+1) nanoseconds. */
#ifndef KPHI_RUN_LATENESS_H
#define KPHI_RUN_LATENESS_H

#include <stdint.h>

#define LATENESS_BUCKETS 40 /* the last one is open: from 9 minutes */

struct lateness {
	uint64_t bucket[LATENESS_BUCKETS];
	uint64_t count, worst_ns;
};

static inline void lateness_add(struct lateness *l, uint64_t late_ns)
{
	unsigned int i = late_ns ? 63 - (unsigned int)__builtin_clzll(late_ns) : 0;

	l->bucket[i < LATENESS_BUCKETS ? i : LATENESS_BUCKETS - 1]++;
	l->count++;
	if (late_ns > l->worst_ns)
		l->worst_ns = late_ns;
}

#endif
