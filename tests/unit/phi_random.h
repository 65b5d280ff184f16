/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers for the tests of the arithmetic: the same ones in each run, so that a failure can be repeated. */
#ifndef KPHI_TESTS_PHI_RANDOM_H
#define KPHI_TESTS_PHI_RANDOM_H

#include "random.h"

/* From low up to, but not including, high. */
static inline int64_t random_between(uint64_t *state, int64_t low, int64_t high)
{
	return low + (int64_t)(random_bits(state) % (uint64_t)(high - low));
}

/* In [1, 2^bits], of a random magnitude: small ones are as likely as large ones. bits in [1, 63]. */
static inline uint64_t random_positive(uint64_t *state, unsigned bits)
{
	uint64_t x = random_bits(state) >> (64 - bits);

	return (x >> random_bits(state) % bits) + 1;
}

#endif
