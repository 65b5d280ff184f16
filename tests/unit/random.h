/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chance with a seed, so that what fails once fails again. */
#ifndef KPHI_TESTS_RANDOM_H
#define KPHI_TESTS_RANDOM_H

#include <stdint.h>

/* splitmix64: Steele, Lea and Flood 2014. */
static inline uint64_t random_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_bits(state) % n;
}

/* As likely small as large: uniform in the number of bits, at most `bits` of them. */
static inline uint64_t random_magnitude(uint64_t *state, uint32_t bits)
{
	uint64_t n = random_below(state, bits + 1);

	return n ? random_bits(state) >> (64 - n) : 0;
}

#endif
