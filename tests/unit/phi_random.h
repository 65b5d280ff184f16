/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers for the tests of the arithmetic: the same ones in each run, so that a failure can be repeated. */
#ifndef KPHI_TESTS_PHI_RANDOM_H
#define KPHI_TESTS_PHI_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random64(uint64_t *state)
{
	uint64_t x = *state += 0x9E3779B97F4A7C15U;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
	x = (x ^ x >> 27) * 0x94D049BB133111EBU;
	return x ^ x >> 31;
}

/* From low up to, but not including, high. */
static inline int64_t random_between(uint64_t *state, int64_t low, int64_t high)
{
	return low + (int64_t)(random64(state) % (uint64_t)(high - low));
}

/* In [1, 2^bits], of a random magnitude: small ones are as likely as large ones. bits in [1, 63]. */
static inline uint64_t random_magnitude(uint64_t *state, unsigned bits)
{
	uint64_t x = random64(state) >> (64 - bits);

	return (x >> random64(state) % bits) + 1;
}

#endif
