/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SipHash-2-4 a second time, byte by byte as the paper describes it, for whoever must not trust the first:
 * nothing here includes include/kphi. tests/prog/keys_test.c holds it against the paper's own vector.
 */
#ifndef KPHI_TESTS_SIPHASH_H
#define KPHI_TESTS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sip_turn(uint64_t x, int by)
{
	return (x << by) | (x >> (64 - by));
}

static inline void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = sip_turn(v[1], 13);
		v[1] ^= v[0];
		v[0] = sip_turn(v[0], 32);
		v[2] += v[3];
		v[3] = sip_turn(v[3], 16);
		v[3] ^= v[2];
		v[0] += v[3];
		v[3] = sip_turn(v[3], 21);
		v[3] ^= v[0];
		v[2] += v[1];
		v[1] = sip_turn(v[1], 17);
		v[1] ^= v[2];
		v[2] = sip_turn(v[2], 32);
	}
}

static inline uint64_t sip_number(const uint8_t *at)
{
	uint64_t x = 0;

	for (int i = 7; i >= 0; i--)
		x = x << 8 | at[i];
	return x;
}

static inline uint64_t sip_hash(const uint8_t *bytes, size_t length, const uint8_t key[16])
{
	static const char constants[] =
		"uespemosmodnarodarenegylsetybdet"; /* of each eight, the last first */
	uint64_t v[4], word = 0;

	for (int i = 0; i < 4; i++)
		v[i] = sip_number((const uint8_t *)constants + 8 * i) ^ sip_number(key + 8 * (i % 2));
	for (size_t i = 0; i <= length; i++) {
		uint64_t byte = i < length ? bytes[i] : 0;

		word |= byte << 8 * (i % 8);
		if (i == length)
			word |= (uint64_t)(length & 0xff) << 56;
		if (i % 8 != 7 && i != length)
			continue;
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
		word = 0;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
