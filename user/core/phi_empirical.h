/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The suspicion level of a peer by nothing but what it did: how many intervals of its window were longer than
 * the silence (Satzger, Pietzowski, Trumler and Ungerer, ACM SAC 2007). No bell curve is laid over a sender
 * that has two kinds of intervals, because it collects garbage now and then:
 *
 *   P_later(t) = (intervals longer than t, and one more) / (n + 1)
 *
 * The one more is the next interval, which nobody has seen. At the largest interval this comes to 1 / (n +
 * 1), phi 3 for a window of 1000, and there it would stay. From there on phi is a straight line, an
 * exponential tail: the line from phi = 0 at the mean to log10(n + 1) at the largest interval is drawn on. So
 * with 1000 intervals phi 8 is reached 8/3 as far above the mean as the largest one: for 100 ms beats with
 * pauses of 800 ms after 2 s. A window whose intervals are all alike has no such line; there, phi rises by
 * one decade in no less than ln 10 of the least standard deviation, which is a tail as thin as that floor
 * allows: with a floor of a tenth of the interval, phi 8 after 2.2 intervals.
 */
#ifndef KPHI_CORE_PHI_EMPIRICAL_H
#define KPHI_CORE_PHI_EMPIRICAL_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stdint.h>

#include "phi.h"

/* What one pass over a ring finds: all that a threshold of log10(n + 1) or more needs. */
struct empirical_summary {
	uint64_t n;
	uint64_t largest_ns;
	uint64_t decade_ns; /* beyond the largest: the time in which phi rises by 1; >= 1 */
	q32_t base; /* phi at the largest: log10(n + 1) */
	bool sorted; /* the ring ascends */
};

/* The ring's first n entries (2..4096; as in `windows`), with the least standard deviation, min_std_ns <=
 * 2^47. */
void empirical_summarise(struct empirical_summary *s, const uint64_t *ring, uint64_t n, uint64_t min_std_ns);

/*
 * The same of a ring that the caller keeps in ascending order, without steps, and whose sum it knows: phi and
 * its inverse then take no more than a search. Who judges one window again and again has use for that.
 */
void empirical_summarise_sorted(struct empirical_summary *s, const uint64_t *ring, uint64_t n,
				uint64_t sum_ns, uint64_t min_std_ns);

/* How many of the first n entries of such a ring are not longer than this: where one more belongs. */
uint64_t empirical_rank(const uint64_t *ring, uint64_t n, uint64_t silence_ns);

/*
 * A peer of which fewer than two intervals are known: as if it had one, of this length (>= 1), and a quarter
 * of it were the least standard deviation.
 */
void empirical_seed(struct empirical_summary *s, uint64_t interval_ns, uint64_t min_std_ns);

/*
 * Where n intervals reach a threshold: at the how manieth longest of them, 1 being the longest. 0 if only
 * beyond all of them.
 */
uint64_t empirical_reached_at(uint64_t n, q32_t threshold);

/*
 * The suspicion level after a silence of any length: non-decreasing, capped at PHI_MAX, within 2e-9 of the
 * formula. The ring is read only for a silence below the largest interval, and not at all after a seed.
 */
q32_t phi_empirical(const struct empirical_summary *s, const uint64_t *ring, uint64_t silence_ns);

/*
 * The smallest silence whose phi is at least the threshold. Exact. 0 for threshold 0; UINT64_MAX if no time
 * below that reaches it. The ring is read only for a threshold up to log10(n + 1), and then in time
 * proportional to n log n, unless it is sorted.
 */
uint64_t phi_empirical_inverse(const struct empirical_summary *s, const uint64_t *ring, q32_t threshold);

#endif
