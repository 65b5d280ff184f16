/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times in buckets that double. Each word is stored at once, so another process may read it at any time. */
#ifndef KPHI_CORE_HISTOGRAM_H
#define KPHI_CORE_HISTOGRAM_H

#include <kphi/maps.h>

static inline void histogram_add(struct kphi_histogram *h, uint64_t ns)
{
	unsigned int i = ns ? 63 - (unsigned int)__builtin_clzll(ns) : 0;

	h->bucket[i < KPHI_LATENESS_BUCKETS ? i : KPHI_LATENESS_BUCKETS - 1]++;
	h->sum_ns += ns;
	if (ns > h->worst_ns)
		h->worst_ns = ns;
}

static inline uint64_t histogram_count(const struct kphi_histogram *h)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < KPHI_LATENESS_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

/* So long, at most, was this share of them (parts per million): the upper limit of its bucket, or the worst.
 */
static inline uint64_t histogram_quantile_ns(const struct kphi_histogram *h, uint32_t ppm)
{
	uint64_t wanted = histogram_count(h) * ppm / 1000000, seen = 0;

	for (unsigned int i = 0; i < KPHI_LATENESS_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen > wanted)
			return 2ULL << i < h->worst_ns ? 2ULL << i : h->worst_ns;
	}
	return h->worst_ns;
}

#endif
