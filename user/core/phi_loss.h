/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The suspicion level of a path that loses beats: phi = -log10 P(a live peer would be silent for longer),
 * when some of its beats never arrive.
 *
 * Sequence numbers tell delay from loss, so the two are learned apart. Of the delays there are the mean m and
 * the standard deviation s of the clean intervals, those between two beats in a row that both arrived. Of the
 * losses there are p, the chance that the next beat is lost, and q, the chance that a lost beat is followed
 * by another lost one: a two-state Markov chain, the simplest process that has bursts (Gilbert, Bell System
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

#include <kphi/maps.h>
#include <stdint.h>

#include "fixed.h"
#include "phi.h"

/*
 * Two chances, as fractions whose terms are below 2^62: p = lost / beats and q = again / losses, with
 * 0 < lost < beats, 0 < again and q <= 15/16.
 */
struct loss_process {
	uint64_t lost, beats;
	uint64_t again, losses;
};

/* q is not above this: a mean burst of 16 beats. What lasts longer is an outage and not a loss. */
#define LOSS_AGAIN_MAX    15
#define LOSS_AGAIN_MAX_OF 16

/* Made ready to judge by, in 0.2 us; nothing in it is for others than phi_loss.c. */
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
 * The chances, with a prior so that a spotless history is not certainty. Of the counts, beats is at most
 * 65536 and runs <= lost < 2^28. Losses are too rare to be learned from one window of 1000 beats, which is
 * why theirs is a longer memory that fades; a window's own would do no harm, but then phi is less often
 * right. Whatever the memory is, the counts are worth no more than 1000 beats: they are scaled down to that,
 * so that the priors keep some weight.
 *
 * p = (runs + 1) / (beats + 2): Laplace's rule of succession, every p being as likely as any other before
 * anything was heard.
 *
 * q = (lost - runs + 4 q0) / (lost + 4), as if four losses had been followed by another one at the rate q0 =
 * p + L / (4 (L + 1)), L being lost_long. A path that has not lost a beat for long has no bursts to fear: its
 * losses, if there will be any, are taken to be independent, and phi 8 comes after 3.4 intervals. On one that
 * did lose some, a quarter of the losses are expected to go on, until it is known better: it is the burst
 * nobody has seen yet that makes the mistakes. tests/unit/quality_test.c prints what this gives.
 */
void loss_process_learn(struct loss_process *process, const struct kphi_losses *counts);

/*
 * The curve of n clean intervals (1..4096) whose sum is sum_ns (< 2^63), with scale_ns, n times their
 * standard deviation (< 2^63), and of a loss process. Neither of mean and standard deviation counts as less
 * than a millionth (2^-20) of the other.
 */
void loss_curve_fit(struct loss_curve *c, uint64_t n, uint64_t sum_ns, uint64_t scale_ns,
		    const struct loss_process *process);

/*
 * The suspicion level after a silence of any length: non-decreasing over all of it, capped at PHI_MAX. Within
 * 2e-9 + 1e-9 * phi of the sum above if s <= m or q <= 1/2. Otherwise no more than 64 lost beats beyond the
 * likeliest number are told apart, and phi may be low by up to 3 %.
 *
 * It takes 50 to 100 ns if s is a tenth of m, more with s and q, for it is a sum over all numbers of lost
 * beats that explain the silence: 1 us if both are as large as can be.
 */
q32_t phi_loss(const struct loss_curve *c, uint64_t silence_ns);

/*
 * The smallest silence whose phi is at least the threshold. Exact. 0 for threshold 0; UINT64_MAX if no time
 * below that reaches it. About 15 times the work of phi, 1 to 2 us with phi 8; 50 times at worst, where a
 * threshold is just that of a number of lost beats.
 */
uint64_t phi_loss_inverse(const struct loss_curve *c, q32_t threshold);

#endif
