/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed hash for short messages, and the tag of a heartbeat by
 * it. Straight-line arithmetic: it takes the same time whatever the key, the message and the tag are. The
 * kernel, the sender and the tests run this same text.
 */
#ifndef KPHI_SIPHASH_H
#define KPHI_SIPHASH_H

#include "types.h"
#include "wire.h"

struct kphi_siphash {
	uint64_t v0, v1, v2, v3;
};

KPHI_INLINE uint64_t kphi_rotate(uint64_t x, uint32_t bits)
{
	return x << bits | x >> (64 - bits);
}

KPHI_INLINE void kphi_siphash_round(struct kphi_siphash *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = kphi_rotate(s->v1, 13) ^ s->v0;
	s->v3 = kphi_rotate(s->v3, 16) ^ s->v2;
	s->v0 = kphi_rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = kphi_rotate(s->v1, 17) ^ s->v2;
	s->v3 = kphi_rotate(s->v3, 21) ^ s->v0;
	s->v2 = kphi_rotate(s->v2, 32);
}

/* The key's bytes as two numbers, the least significant byte first. */
KPHI_INLINE void kphi_siphash_begin(struct kphi_siphash *s, const uint64_t key[2])
{
	s->v0 = key[0] ^ 0x736f6d6570736575ULL; /* "somepseudorandomlygeneratedbytes" */
	s->v1 = key[1] ^ 0x646f72616e646f6dULL;
	s->v2 = key[0] ^ 0x6c7967656e657261ULL;
	s->v3 = key[1] ^ 0x7465646279746573ULL;
}

/* Eight bytes of the message, the least significant first. */
KPHI_INLINE void kphi_siphash_word(struct kphi_siphash *s, uint64_t word)
{
	s->v3 ^= word;
	kphi_siphash_round(s);
	kphi_siphash_round(s);
	s->v0 ^= word;
}

/* `rest` are the last bytes of a message of `length`, fewer than eight. */
KPHI_INLINE uint64_t kphi_siphash_end(struct kphi_siphash *s, uint64_t rest, uint64_t length)
{
	kphi_siphash_word(s, length << 56 | rest);
	s->v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		kphi_siphash_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

#define KPHI_TAGGED 80 /* bytes of a message that its tag is over: all before it */

KPHI_ASSERT_OFFSET(struct kphi_wire, tag, KPHI_TAGGED);

/* The tag of a message as a number of the host's; w->tag is not looked at. */
KPHI_INLINE uint64_t kphi_wire_tag(const struct kphi_wire *w, const uint64_t key[2])
{
	const uint64_t *word = (const uint64_t *)w;
	struct kphi_siphash s;

	kphi_siphash_begin(&s, key);
	kphi_siphash_word(&s, kphi_le64(word[0]));
	kphi_siphash_word(&s, kphi_le64(word[1]));
	kphi_siphash_word(&s, kphi_le64(word[2]));
	kphi_siphash_word(&s, kphi_le64(word[3]));
	kphi_siphash_word(&s, kphi_le64(word[4]));
	kphi_siphash_word(&s, kphi_le64(word[5]));
	kphi_siphash_word(&s, kphi_le64(word[6]));
	kphi_siphash_word(&s, kphi_le64(word[7]));
	kphi_siphash_word(&s, kphi_le64(word[8]));
	kphi_siphash_word(&s, kphi_le64(word[9]));
	return kphi_siphash_end(&s, 0, KPHI_TAGGED);
}

#endif
