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

/* So late, at most, was this share of them (parts per million): the upper limit of its bucket, or the worst.
 */
static inline uint64_t lateness_quantile_ns(const struct lateness *l, uint32_t ppm)
{
	uint64_t wanted = l->count * ppm / 1000000, seen = 0;

	for (unsigned int i = 0; i < LATENESS_BUCKETS - 1; i++) {
		seen += l->bucket[i];
		if (seen > wanted)
			return 2ULL << i < l->worst_ns ? 2ULL << i : l->worst_ns;
	}
	return l->worst_ns;
}

#endif
