/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few words that gcc (user space) and clang -target bpf (kernel side) must agree on before anything else.
 * Nothing here needs a libc.
 */
#ifndef KPHI_TYPES_H
#define KPHI_TYPES_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;
#else
#include <stdint.h>
#endif

/* The kernel's verifier follows no calls while a bpf_spin_lock is held, so all shared arithmetic is inlined.
 */
#define KPHI_INLINE static inline __attribute__((__always_inline__))

/*
 * The verifier knows a bound of the register that was compared, and before 6.7 of no copy of it: what follows
 * has to go on with this one.
 */
#ifdef __bpf__
#define KPHI_BOUNDED(x) asm volatile("" : "+r"(x))
#else
#define KPHI_BOUNDED(x) ((void)(x))
#endif

/* Network order to the host's, and back. */
KPHI_INLINE uint32_t kphi_be32(uint32_t x)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(x) : x;
}

KPHI_INLINE uint64_t kphi_be64(uint64_t x)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(x) : x;
}

/* The order of bytes in which the least significant one comes first, to the host's, and back. */
KPHI_INLINE uint64_t kphi_le64(uint64_t x)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

#define KPHI_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " is part of the contract")
#define KPHI_ASSERT_OFFSET(type, member, offset)                                                             \
	_Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member " moved")

#endif
