// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "phi_empirical.h"

#include <kphi/maps.h>

#include "fixed.h"

#define LN10_Q32              9889527671ULL
#define SEED_STD_PER_INTERVAL 4

/* -log10 of (longer + 1) / (n + 1). Two counts up to 4096 differ by 2^18 units of it at least. */
static q32_t level(uint64_t n, uint64_t longer)
{
	return (log10_q58(n + 1) - log10_q58(longer + 1)) >> (58 - 32);
}

/* excess_ns is n times what the largest interval is above the mean. */
static void set_tail(struct empirical_summary *s, uint64_t excess_ns, uint64_t min_std_ns)
{
	uint64_t line_ns, floor_ns;

	s->base = level(s->n, 0);
	line_ns = div_ceil((u128)excess_ns << 32, s->n * s->base);
	floor_ns = (uint64_t)((u128)min_std_ns * LN10_Q32 >> 32) + 1;
	s->decade_ns = line_ns > floor_ns ? line_ns : floor_ns;
}

void empirical_summarise(struct empirical_summary *s, const uint64_t *ring, uint64_t n, uint64_t min_std_ns)
{
	uint64_t sum_ns = 0, largest_ns = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t interval_ns = ring[i] & KPHI_RING_NS;

		sum_ns += interval_ns;
		largest_ns = interval_ns > largest_ns ? interval_ns : largest_ns;
	}
	s->n = n;
	s->sorted = false;
	s->largest_ns = largest_ns;
	set_tail(s, n * largest_ns - sum_ns, min_std_ns);
}

void empirical_summarise_sorted(struct empirical_summary *s, const uint64_t *ring, uint64_t n,
				uint64_t sum_ns, uint64_t min_std_ns)
{
	s->n = n;
	s->sorted = true;
	s->largest_ns = ring[n - 1];
	set_tail(s, n * s->largest_ns - sum_ns, min_std_ns);
}

void empirical_seed(struct empirical_summary *s, uint64_t interval_ns, uint64_t min_std_ns)
{
	uint64_t seed_ns = interval_ns / SEED_STD_PER_INTERVAL;

	s->n = 1;
	s->sorted = false;
	s->largest_ns = interval_ns;
	set_tail(s, 0, seed_ns > min_std_ns ? seed_ns : min_std_ns);
}

uint64_t empirical_rank(const uint64_t *ring, uint64_t n, uint64_t silence_ns)
{
	uint64_t from = 0;

	while (n) { /* those before `from` are not longer; the n from there on are not known */
		uint64_t half = n / 2;

		if (ring[from + half] <= silence_ns) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

static uint64_t count_longer(const struct empirical_summary *s, const uint64_t *ring, uint64_t silence_ns)
{
	uint64_t longer = 0;

	if (s->n == 1)
		return 1;
	if (s->sorted)
		return s->n - empirical_rank(ring, s->n, silence_ns);
	for (uint64_t i = 0; i < s->n; i++)
		longer += (ring[i] & KPHI_RING_NS) > silence_ns;
	return longer;
}

q32_t phi_empirical(const struct empirical_summary *s, const uint64_t *ring, uint64_t silence_ns)
{
	uint64_t beyond;

	if (silence_ns < s->largest_ns)
		return level(s->n, count_longer(s, ring, silence_ns));
	beyond = div_floor((u128)(silence_ns - s->largest_ns) << 32, s->decade_ns);
	return beyond < PHI_MAX - s->base ? s->base + beyond : PHI_MAX;
}

/* The heap's root, its least, moves down to where it belongs. */
static void sift(uint64_t *heap, uint64_t size, uint64_t at)
{
	uint64_t moved = heap[at];

	for (uint64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
		if (child + 1 < size && heap[child + 1] < heap[child])
			child++;
		if (moved <= heap[child])
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* The rank-th largest interval, 1 being the largest: of a heap of the largest so many, the least. */
static uint64_t largest_of_rank(const struct empirical_summary *s, const uint64_t *ring, uint64_t rank)
{
	uint64_t heap[KPHI_WINDOW_MAX];

	if (s->sorted)
		return ring[s->n - rank];
	if (rank <= 1)
		return s->largest_ns;
	for (uint64_t i = 0; i < rank; i++)
		heap[i] = ring[i] & KPHI_RING_NS;
	for (uint64_t i = rank / 2; i-- > 0;)
		sift(heap, rank, i);
	for (uint64_t i = rank; i < s->n; i++) {
		uint64_t interval_ns = ring[i] & KPHI_RING_NS;

		if (interval_ns > heap[0]) {
			heap[0] = interval_ns;
			sift(heap, rank, 0);
		}
	}
	return heap[0];
}

uint64_t empirical_reached_at(uint64_t n, q32_t threshold)
{
	uint64_t few = 0, many = n;

	if (threshold > level(n, 0))
		return 0;
	while (many - few > 1) { /* so few longer ones are enough, so many are not */
		uint64_t middle = few + (many - few) / 2;

		if (level(n, middle) >= threshold)
			few = middle;
		else
			many = middle;
	}
	return few + 1;
}

uint64_t phi_empirical_inverse(const struct empirical_summary *s, const uint64_t *ring, q32_t threshold)
{
	uint64_t beyond_ns;

	if (!threshold)
		return 0;
	if (threshold > PHI_MAX)
		return UINT64_MAX;
	if (threshold > s->base) {
		u128 units = (u128)(threshold - s->base) * s->decade_ns;

		beyond_ns = div_ceil(units, Q32_ONE);
		return beyond_ns < UINT64_MAX - s->largest_ns ? s->largest_ns + beyond_ns : UINT64_MAX;
	}
	return largest_of_rank(s, ring, empirical_reached_at(s->n, threshold));
}
