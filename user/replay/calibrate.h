/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the curves of a sweep to the settings that consumers want. What a consumer asks for is what Chen,
 * Toueg and Aguilera call a QoS requirement: a bound on the mistake rate, a bound on the detection time. It
 * gets the best of the one that meets its bound on the other.
 */
#ifndef KPHI_REPLAY_CALIBRATE_H
#define KPHI_REPLAY_CALIBRATE_H

#include "replay/sweep.h"

struct target {
	char name[KPHI_NAME_SIZE];
	double max_false_per_day; /* false suspicions of one peer; 0: any number */
	uint64_t max_detect_ns; /* the greatest T_D; 0: any */
};

/*
 * The point of the curve that serves the target: with a bound on mistakes the quickest one within it (and
 * within the bound on detection, if there is one), with a bound on detection only the one of fewest mistakes
 * within that, with none of both the knee. -1 if no point meets the bounds.
 */
int calibrate_choose(const struct sweep_curve *c, const struct target *t);

/*
 * Where waiting longer begins to buy little: the point farthest below the straight line from the hastiest
 * point to the first that makes no fewer mistakes than all after it, both axes being logarithms. (The
 * "kneedle" of Satopaa, Albrecht, Irwin and Raghavan, ICDCSW 2011, without its smoothing.)
 */
uint32_t calibrate_knee(const struct sweep_curve *c);

/*
 * A peer has one model and one set of settings, whoever acts on it: the curve that meets most of the targets,
 * and of those the one that serves them best. Settings other than the peers' own have to be better by 5 %.
 */
uint32_t calibrate_model(const struct sweep_curve *curves, uint32_t n, const struct target *targets,
			 uint32_t targets_count);

#endif
