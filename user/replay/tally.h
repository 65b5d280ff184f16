/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The quality of service of a failure detector, with the names of Chen, Toueg and Aguilera (On the Quality of
 * Service of Failure Detectors, IEEE Transactions on Computers 51(5), 2002):
 *
 *   T_D       detection time: from a crash to the moment from which on the peer is suspected
 *   T_MR      mistake recurrence time: from one mistake to the next
 *   T_M       mistake duration
 *   lambda_M  mistake rate, 1 / E(T_MR)
 *   P_A       query accuracy probability: that a peer that lives is trusted at a random time
 *   T_G       good period: from the end of a mistake to the next one
 *
 * A trace shows no crashes, so T_D is measured on crashes that replay invents; the others are read from how
 * long the peer was silent between two arrivals, and how long a silence it would have been granted.
 */
#ifndef KPHI_REPLAY_TALLY_H
#define KPHI_REPLAY_TALLY_H

#include <stdint.h>

/* What one detector, with one parameter, has made of one peer, or of many. */
struct tally {
	uint64_t deadline_ns; /* the silence it grants after the last arrival; UINT64_MAX: any */
	uint64_t mistakes;
	uint64_t mistaken_ns; /* all mistakes together */
	uint64_t longest_ns;
};

/*
 * An interval has ended: a beat came after this silence. Later than the deadline, it ends a mistake - unless
 * the detector grants the next silence no time at all: then the peer stays suspected, and it is one mistake.
 * *mistake_ns is how long the one that may still go on has lasted; 0: there is none.
 */
static inline void tally_interval(struct tally *t, uint64_t *mistake_ns, uint64_t silence_ns)
{
	if (silence_ns <= t->deadline_ns) {
		if (t->deadline_ns)
			*mistake_ns = 0;
		return;
	}
	if (t->deadline_ns || !*mistake_ns) {
		t->mistakes++;
		*mistake_ns = 0;
	}
	*mistake_ns += silence_ns - t->deadline_ns;
	t->mistaken_ns += silence_ns - t->deadline_ns;
	if (*mistake_ns > t->longest_ns)
		t->longest_ns = *mistake_ns;
}

/* What is known of a detector, over one peer or many. */
struct qos {
	uint64_t intervals; /* that were judged */
	uint64_t alive_ns; /* how long they took together */
	uint64_t mistakes; /* false suspicions */
	uint64_t mistaken_ns;
	uint64_t longest_ns; /* T_M, the greatest */
	uint64_t crashes; /* how many were injected */
	uint64_t detect_p50_ns, detect_p99_ns, detect_max_ns; /* T_D; UINT64_MAX: never */
};

/*
 * What follows from it. Where there was no mistake, the times between mistakes are unknown, and 0 here; P_A
 * is 1 over no time at all.
 */
double qos_mistakes_per_day(const struct qos *q); /* false suspicions per peer-day: lambda_M */
double qos_mistakes_per_beat(const struct qos *q);
double qos_recurrence_ns(const struct qos *q); /* E(T_MR) */
double qos_mistake_ns(const struct qos *q); /* E(T_M) */
double qos_good_ns(const struct qos *q); /* E(T_G) = E(T_MR) - E(T_M) */
double qos_accuracy(const struct qos *q); /* P_A = E(T_G) / E(T_MR) */

/*
 * What the trace does not exclude: the mistakes per peer-day that would still, with a chance of 5 %, have
 * shown no more mistakes than it has, if they come independently (Poisson). Without any seen it is 3 over the
 * time. Mistakes come in clusters, so it is rather more than this.
 */
double qos_mistakes_per_day_at_most(const struct qos *q);

#endif
