/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window of inter-arrival intervals: add one, evict the oldest, in exact integers. The kernel, replay and
 * the tests run this same text. Sums of squares are 128 bits in two words because BPF has no wider type.
 */
#ifndef KPHI_WINDOW_H
#define KPHI_WINDOW_H

#include "maps.h"

/* x * x in 128 bits, for x <= KPHI_INTERVAL_MAX_NS: from the halves of x, with no carry between the partial
 * products. */
KPHI_INLINE void kphi_square(uint64_t x, uint64_t *high, uint64_t *low)
{
	uint64_t a = x >> 32, b = x & 0xffffffff;
	uint64_t middle = 2 * a * b;
	uint64_t bottom = b * b;

	*low = bottom + (middle << 32);
	*high = a * a + (middle >> 32) + (*low < bottom);
}

KPHI_INLINE void kphi_window_count(struct kphi_window *w, uint64_t x)
{
	uint64_t high, low;

	kphi_square(x, &high, &low);
	w->n++;
	w->sum_ns += x;
	w->squares_low += low;
	w->squares_high += high + (w->squares_low < low);
}

KPHI_INLINE void kphi_window_evict(struct kphi_window *w, uint64_t x)
{
	uint64_t high, low;

	kphi_square(x, &high, &low);
	w->n--;
	w->sum_ns -= x;
	w->squares_high -= high + (w->squares_low < low);
	w->squares_low -= low;
}

/* Add interval x (<= KPHI_INTERVAL_MAX_NS) to a ring of `size` intervals. */
KPHI_INLINE void kphi_window_add(struct kphi_window *w, uint64_t *ring, uint32_t size, uint64_t x)
{
	uint32_t at = w->next;

	if (at >= size) /* never; but the verifier wants to see the bound */
		at = 0;
	if (w->n >= size)
		kphi_window_evict(w, ring[at]);
	ring[at] = x;
	kphi_window_count(w, x);
	w->next = at + 1 == size ? 0 : at + 1;
}

KPHI_INLINE void kphi_window_empty(struct kphi_window *w)
{
	w->n = 0;
	w->next = 0;
	w->sum_ns = 0;
	w->squares_high = 0;
	w->squares_low = 0;
	w->capped_run = 0;
}

KPHI_INLINE uint64_t kphi_window_cap(uint64_t interval_ns, uint64_t max_interval_ns)
{
	uint64_t cap = max_interval_ns ? max_interval_ns : KPHI_CAP_INTERVALS * interval_ns;

	return cap && cap < KPHI_INTERVAL_MAX_NS ? cap : KPHI_INTERVAL_MAX_NS;
}

/* An empty window that judges by what was configured. */
KPHI_INLINE void kphi_window_begin(struct kphi_window *w, const struct kphi_peer *peer)
{
	kphi_window_empty(w);
	w->interval_ns = peer->interval_ns;
	w->cap_ns = kphi_window_cap(peer->interval_ns, peer->max_interval_ns);
}

/* Eight capped intervals in a row say that the setting is wrong, not the sender: begin again from them. */
KPHI_INLINE void kphi_window_retune(struct kphi_window *w, uint64_t *ring)
{
	kphi_window_empty(w);
	for (uint32_t i = 0; i < KPHI_RETUNE_RUN; i++) {
		ring[i] = w->capped_ns[i];
		kphi_window_count(w, w->capped_ns[i]);
	}
	w->next =
		KPHI_RETUNE_RUN; /* beyond the end of the smallest ring: kphi_window_add begins at 0 again */
	w->interval_ns = w->sum_ns / KPHI_RETUNE_RUN;
	w->cap_ns = kphi_window_cap(w->interval_ns, 0);
}

/*
 * Take one interval between two arrivals: count it as capped, or learn it. `ring` holds `size` intervals.
 * Returns the notes (KPHI_NOTE) of what happened.
 */
KPHI_INLINE uint32_t kphi_window_take(struct kphi_window *w, uint64_t *ring, uint32_t size,
				      uint64_t max_interval_ns, uint64_t x)
{
	if (x > w->cap_ns) {
		uint32_t run = w->capped_run & (KPHI_RETUNE_RUN - 1);

		w->capped_ns[run] = x < KPHI_INTERVAL_MAX_NS ? x : KPHI_INTERVAL_MAX_NS;
		w->capped_run = run + 1;
		if (w->capped_run < KPHI_RETUNE_RUN)
			return KPHI_NOTE(capped);
		kphi_window_retune(w, ring);
		return KPHI_NOTE(capped) | KPHI_NOTE(retuned);
	}
	w->capped_run = 0;
	kphi_window_add(w, ring, size, x);
	if (!w->interval_ns && w->n == KPHI_LEARN_RUN) {
		uint64_t mean = w->sum_ns / KPHI_LEARN_RUN;

		w->interval_ns = mean ? mean : 1;
		w->cap_ns = kphi_window_cap(w->interval_ns, max_interval_ns);
	}
	return 0;
}

#endif
