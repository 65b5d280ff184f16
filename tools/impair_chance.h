/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tools/impair.c does to a frame is drawn here, with a seed. */
#ifndef KPHI_TOOLS_IMPAIR_CHANCE_H
#define KPHI_TOOLS_IMPAIR_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

#define PPM 1000000U

struct impairment {
	uint64_t loss; /* down to reorder: chances, of PPM */
	uint64_t burst_enter;
	uint64_t burst_leave;
	uint64_t duplicate;
	uint64_t corrupt;
	uint64_t reorder;
	uint64_t hold_ns;
	uint64_t delay_ns;
	uint64_t jitter_ns;
};

/* Of one direction. */
struct chance {
	struct impairment impairment;
	uint64_t random;
	bool bursting;
};

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good seed. */
static inline uint64_t next_random(struct chance *chance)
{
	uint64_t z = chance->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline bool happens(struct chance *chance, uint64_t share)
{
	return ((next_random(chance) >> 32) * PPM) >> 32 < share;
}

struct fate {
	bool lost;
	bool duplicated;
	bool held_back;
	bool corrupted;
	uint64_t jitter_ns;
	uint64_t bit; /* which one to flip, modulo the length */
};

/* Every frame draws the same number of times, so that a changed setting changes nothing about the others. */
static inline struct fate draw(struct chance *chance)
{
	const struct impairment *impairment = &chance->impairment;
	bool turns = happens(chance, chance->bursting ? impairment->burst_leave : impairment->burst_enter);
	struct fate fate = {
		.lost = happens(chance, impairment->loss),
		.duplicated = happens(chance, impairment->duplicate),
		.held_back = happens(chance, impairment->reorder),
		.corrupted = happens(chance, impairment->corrupt),
	};

	fate.jitter_ns = (uint64_t)(((__uint128_t)next_random(chance) * impairment->jitter_ns) >> 64);
	fate.bit = next_random(chance);
	chance->bursting ^= turns;
	fate.lost |= chance->bursting;
	return fate;
}

#endif
