/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The suspicion level of a path that loses beats: phi = -log10 P(a live peer would be silent for longer), when
 * some of its beats never arrive.
 *
 * Sequence numbers tell delay from loss, so the two are learned apart. Of the delays there are the mean m and
 * the standard deviation s of the clean intervals, those between two beats in a row that both arrived. Of the
 * losses there are p, the chance that the next beat is lost, and q, the chance that a lost beat is followed by
 * another lost one: a two-state Markov chain, the simplest process that has bursts (Gilbert, Bell System
 * Technical Journal 39, 1960). A silence longer than t means that for some k, k beats were lost and the one
 * after them took longer than t:
 *
 *   P_later(t) = sum over k >= 0 of P(k) Q((t - (k + 1) m) / (s sqrt(k + 1)))
 *   P(0) = 1 - p, P(k) = p q^(k - 1) (1 - q)
 *
 * Q is the upper tail of the normal distribution. With p = 0 this is the normal model without a pause; with
 * q = p losses are independent.
 */
#ifndef KPHI_CORE_PHI_LOSS_H
#define KPHI_CORE_PHI_LOSS_H

#include <stdint.h>

#include "fixed.h"
#include "phi.h"

/* What a window has heard of its losses. beats <= 4096, runs <= beats, runs <= lost < 2^32. */
struct loss_counts {
	uint64_t beats; /* that arrived and could have been followed by a loss: intervals of known steps */
	uint64_t runs; /* of those intervals, the ones in which beats were lost */
	uint64_t lost; /* beats lost in them, together */
};

/* Two chances as fractions of integers: 0 < lost < beats and 0 < again < losses, all below 2^53. */
struct loss_process {
	uint64_t lost, beats; /* p */
	uint64_t again, losses; /* q; at most LOSS_AGAIN_MAX */
};

/* q is at most 15/16: a mean burst of 16 beats. What lasts longer is an outage and not a loss. */
#define LOSS_AGAIN_MAX_OF 16

/* Made ready to judge by: 16 words, nothing in them is for others than phi_loss.c. */
struct loss_curve {
	u128 ratio_q64; /* m / s */
	uint64_t n, sum_ns, scale_ns; /* of the clean intervals; scale is n s */
	uint64_t sigma_q32; /* s / m */
	uint64_t none_q32, end_q32; /* -log10 of 1 - p and of 1 - q */
	uint64_t first_q58, again_q58; /* -log10 of p and of q */
	uint64_t slope_q60; /* of phi, where it is a line: decades per s */
	uint64_t steps_q61, peak_q61; /* beats per s: see last_term() */
	uint64_t margin; /* beats */
	uint64_t linear_ns; /* from here on it is one */
};

/*
 * The chances after what was heard, with a prior so that a spotless history is not certainty: see phi_loss.c.
 */
void loss_process_learn(struct loss_process *process, const struct loss_counts *counts);

/*
 * The curve of n clean intervals (1..4096) whose sum is sum_ns (< 2^63), with scale_ns, n times their standard
 * deviation (< 2^63), and of a loss process. Neither of mean and standard deviation counts as less than a
 * millionth (2^-20) of the other.
 */
void loss_curve_fit(struct loss_curve *c, uint64_t n, uint64_t sum_ns, uint64_t scale_ns,
		    const struct loss_process *process);

/*
 * The suspicion level after a silence of any length: non-decreasing over all of it, capped at PHI_MAX.
 */
q32_t phi_loss(const struct loss_curve *c, uint64_t silence_ns);

/*
 * The smallest silence whose phi is at least the threshold. Exact. 0 for threshold 0; UINT64_MAX if no time
 * below that reaches it.
 */
uint64_t phi_loss_inverse(const struct loss_curve *c, q32_t threshold);

#endif
