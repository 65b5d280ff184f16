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

KPHI_INLINE void kphi_squares_add(uint64_t *high, uint64_t *low, uint64_t x)
{
	uint64_t more_high, more_low;

	kphi_square(x, &more_high, &more_low);
	*low += more_low;
	*high += more_high + (*low < more_low);
}

KPHI_INLINE void kphi_squares_take(uint64_t *high, uint64_t *low, uint64_t x)
{
	uint64_t less_high, less_low;

	kphi_square(x, &less_high, &less_low);
	*high -= less_high + (*low < less_low);
	*low -= less_low;
}

KPHI_INLINE uint64_t kphi_ring_entry(uint64_t interval_ns, uint64_t steps)
{
	return (steps < KPHI_STEPS_MAX ? steps : KPHI_STEPS_MAX) << KPHI_RING_STEPS_SHIFT | interval_ns;
}

KPHI_INLINE void kphi_window_count(struct kphi_window *w, uint64_t entry)
{
	uint64_t x = entry & KPHI_RING_NS;

	w->n++;
	w->sum_ns += x;
	kphi_squares_add(&w->squares_high, &w->squares_low, x);
	if (entry >> KPHI_RING_STEPS_SHIFT != 1)
		return;
	w->clean_n++;
	w->clean_sum_ns += x;
	kphi_squares_add(&w->clean_squares_high, &w->clean_squares_low, x);
}

KPHI_INLINE void kphi_window_evict(struct kphi_window *w, uint64_t entry)
{
	uint64_t x = entry & KPHI_RING_NS;

	w->n--;
	w->sum_ns -= x;
	kphi_squares_take(&w->squares_high, &w->squares_low, x);
	if (entry >> KPHI_RING_STEPS_SHIFT != 1)
		return;
	w->clean_n--;
	w->clean_sum_ns -= x;
	kphi_squares_take(&w->clean_squares_high, &w->clean_squares_low, x);
}

/* Add an entry, of an interval <= KPHI_INTERVAL_MAX_NS, to a ring of `size` intervals. */
KPHI_INLINE void kphi_window_add(struct kphi_window *w, uint64_t *ring, uint32_t size, uint64_t entry)
{
	uint32_t at = w->next;

	if (at >= size) /* never; but the verifier wants to see the bound */
		at = 0;
	KPHI_BOUNDED(at);
	if (w->n >= size)
		kphi_window_evict(w, ring[at]);
	ring[at] = entry;
	kphi_window_count(w, entry);
	w->next = at + 1 == size ? 0 : at + 1;
}

KPHI_INLINE void kphi_window_empty(struct kphi_window *w)
{
	w->n = 0;
	w->next = 0;
	w->sum_ns = 0;
	w->squares_high = 0;
	w->squares_low = 0;
	w->clean_sum_ns = 0;
	w->clean_squares_high = 0;
	w->clean_squares_low = 0;
	w->clean_n = 0;
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
	w->losses = (struct kphi_losses){0};
	w->interval_ns = peer->interval_ns;
	w->cap_ns = kphi_window_cap(peer->interval_ns, peer->max_interval_ns);
}

/*
 * How many steps an interval spans that no sequence number tells: as many as it has means, if it is near a
 * whole number of them, for then beats were lost; else one, for then it was late.
 */
KPHI_INLINE uint64_t kphi_window_guess_steps(const struct kphi_window *w, uint64_t x)
{
	uint64_t mean = w->clean_n >= KPHI_LEARN_RUN ? w->clean_sum_ns / w->clean_n : w->interval_ns;
	uint64_t steps, off;

	if (!mean)
		return 1;
	steps = x / mean;
	off = x - steps * mean;
	if (off > mean / 2) {
		steps++;
		off = mean - off;
	}
	return steps > 1 && off <= mean / 4 ? steps : 1;
}

/* An interval of a known number of steps has been learned. */
KPHI_INLINE void kphi_losses_take(struct kphi_losses *l, uint64_t steps)
{
	uint32_t lost = (uint32_t)(steps < KPHI_STEPS_MAX ? steps : KPHI_STEPS_MAX) - 1;

	if (l->beats >= KPHI_LOSS_MEMORY) {
		l->beats /= 2;
		l->runs /= 2;
		l->lost /= 2;
	}
	if (l->beats_long >= KPHI_LOSS_MEMORY_LONG) {
		l->beats_long = 0;
		l->lost_long /= 2;
	}
	l->beats++;
	l->beats_long++;
	l->runs += lost > 0;
	l->lost += lost;
	l->lost_long += lost;
}

/* Eight capped intervals in a row say that the setting is wrong, not the sender: begin again from them. */
KPHI_INLINE void kphi_window_retune(struct kphi_window *w, uint64_t *ring, uint32_t size)
{
	kphi_window_empty(w);
	for (uint32_t i = 0; i < KPHI_RETUNE_RUN; i++) {
		ring[i] = ring[size + i];
		kphi_window_count(w, ring[i]);
	}
	w->next =
		KPHI_RETUNE_RUN; /* beyond the end of the smallest ring: kphi_window_add begins at 0 again */
	w->interval_ns = w->sum_ns / KPHI_RETUNE_RUN;
	w->cap_ns = kphi_window_cap(w->interval_ns, 0);
}

/*
 * Take one interval between two arrivals: count it as capped, or learn it. `ring` holds `size` intervals, and
 * KPHI_RETUNE_RUN more behind them. `steps` of the sequence lie between the two; 0: guess, but not of a
 * capped one, for what it would be guessed by may be the wrong setting. Returns the notes (KPHI_NOTE) of what
 * happened.
 */
KPHI_INLINE uint32_t kphi_window_take(struct kphi_window *w, uint64_t *ring, uint32_t size,
				      uint64_t max_interval_ns, uint64_t x, uint64_t steps)
{
	if (x > w->cap_ns) {
		uint32_t run = w->capped_run & (KPHI_RETUNE_RUN - 1);

		ring[size + run] =
			kphi_ring_entry(x < KPHI_INTERVAL_MAX_NS ? x : KPHI_INTERVAL_MAX_NS, steps);
		w->capped_run = run + 1;
		if (w->capped_run < KPHI_RETUNE_RUN)
			return KPHI_NOTE(capped);
		kphi_window_retune(w, ring, size);
		return KPHI_NOTE(capped) | KPHI_NOTE(retuned);
	}
	w->capped_run = 0;
	if (!steps)
		steps = kphi_window_guess_steps(w, x);
	kphi_window_add(w, ring, size, kphi_ring_entry(x, steps));
	kphi_losses_take(&w->losses, steps);
	if (!w->interval_ns && w->n == KPHI_LEARN_RUN) {
		uint64_t mean = w->sum_ns / KPHI_LEARN_RUN;

		w->interval_ns = mean ? mean : 1;
		w->cap_ns = kphi_window_cap(w->interval_ns, max_interval_ns);
	}
	return 0;
}

#endif
