/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The suspicion level: phi = -log10 of the probability that a live peer would be silent for longer, in
 * integers. Each function is non-decreasing over its whole domain, defined everywhere, and within
 * 2e-9 + 1e-9 * phi of the true value up to PHI_MAX.
 */
#ifndef KPHI_CORE_PHI_H
#define KPHI_CORE_PHI_H

#include <stdint.h>

typedef uint64_t q32_t; /* unsigned Q32.32: a phi */

#define Q32_ONE (1ULL << 32)

/* Phi is capped here: 2147483647, one chance in ten to the power of that. It also fits an int64_t. */
#define PHI_MAX 0x7FFFFFFF00000000ULL

/* Standard deviations are Q23.40 ("z40"). Phi is 0 up to the least, and PHI_MAX from the greatest. */
#define Z40_FRACTION 40
#define Z40_ONE      (1LL << Z40_FRACTION)
#define Z40_LEAST    (-8 * Z40_ONE)
#define Z40_MAX      (Z40_ONE << 20)

/* -log10 Q(z), Q the upper tail of the normal distribution (Abramowitz & Stegun 26.2.3). 0 below z = -7. */
q32_t phi_normal(int64_t z40);

/*
 * log10(1 + e^(y (1.5976 + 0.070566 y^2))): the same with the logistic that Akka and Pekko put in place of Q
 * (PhiAccrualFailureDetector.scala). Both branches of theirs are this one function, and it does not overflow.
 */
q32_t phi_akka(int64_t y40);

/*
 * t / (mean ln 10) for exponentially distributed intervals, the mean being sum_ns / n: Cassandra's phi,
 * scaled (FailureDetector.java). n in [1, 4096], sum_ns < 2^63 (0 counts as 1).
 */
q32_t phi_exponential(uint64_t t_ns, uint64_t n, uint64_t sum_ns);

/* The smallest argument whose phi is at least the threshold, itself in (0, PHI_MAX]. Exact. */
int64_t phi_normal_inverse(q32_t threshold);
int64_t phi_akka_inverse(q32_t threshold);

/* The same for a time; UINT64_MAX if no time below that reaches the threshold. */
uint64_t phi_exponential_inverse(q32_t threshold, uint64_t n, uint64_t sum_ns);

#endif
