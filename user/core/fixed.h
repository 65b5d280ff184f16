/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wide integers: what the numbers of this program are made of. A window's sums need 128 bits, their root and
 * every quotient need 64.
 */
#ifndef KPHI_CORE_FIXED_H
#define KPHI_CORE_FIXED_H

#include <stdint.h>

__extension__ typedef unsigned __int128 u128;

/* The upper half of a product: a * b / 2^64, rounded down. With one factor a fraction of 2^64, it scales. */
static inline uint64_t mul_high(uint64_t a, uint64_t b)
{
	return (uint64_t)((u128)a * b >> 64);
}

/*
 * dividend / divisor, rounded down, with the remainder. The quotient must fit: dividend >> 64 < divisor.
 *
 * The compiler would call a 128-by-128 division, though the machine has just this one.
 */
static inline uint64_t div_wide(u128 dividend, uint64_t divisor, uint64_t *remainder)
{
#if defined(__x86_64__)
	uint64_t quotient, rest;

	__asm__("divq %[divisor]"
		: "=a"(quotient), "=d"(rest)
		: "a"((uint64_t)dividend), "d"((uint64_t)(dividend >> 64)), [divisor] "r"(divisor)
		: "cc");
	*remainder = rest;
	return quotient;
#else
	*remainder = (uint64_t)(dividend % divisor);
	return (uint64_t)(dividend / divisor);
#endif
}

/* dividend / divisor, rounded down; UINT64_MAX if the quotient does not fit. divisor >= 1. */
static inline uint64_t div_floor(u128 dividend, uint64_t divisor)
{
	uint64_t remainder;

	if (dividend >> 64 >= divisor)
		return UINT64_MAX;
	return div_wide(dividend, divisor, &remainder);
}

/* dividend / divisor, rounded up; UINT64_MAX if the quotient does not fit. divisor >= 1. */
static inline uint64_t div_ceil(u128 dividend, uint64_t divisor)
{
	uint64_t quotient, remainder;

	if (dividend >> 64 >= divisor)
		return UINT64_MAX;
	quotient = div_wide(dividend, divisor, &remainder);
	return quotient + (remainder && quotient != UINT64_MAX);
}

/* The integer square root: the largest r with r * r <= d. Exact for every d. */
uint64_t isqrt128(u128 d);

/* The common logarithm of x >= 1 in Q5.58, within 2^-53, so that up to 2^50 no two are alike. */
uint64_t log10_q58(uint64_t x);

#endif
