/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/pace.h"

#include <string.h>

/*
 * splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). Its second
 * half alone is a good hash of 64 bits.
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15U;
	return mix(*state);
}

/* Uniform in 0 to limit, both included: the high half of a product needs no division and has no visible bias.
 */
static uint64_t random_up_to(uint64_t *state, uint64_t limit)
{
	return (uint64_t)(((unsigned __int128)next_random(state) * ((unsigned __int128)limit + 1)) >> 64);
}

uint64_t pace_phase_ns(const uint8_t id[16], uint64_t interval_ns)
{
	uint64_t half[2];

	/* An id may be made of a counter or of a time, so its bits are mixed before they are reduced. */
	memcpy(half, id, sizeof(half));
	return mix(mix(half[0]) + half[1]) % interval_ns;
}

void pace_start(struct pace *pace, const uint8_t id[16], uint64_t interval_ns, uint32_t jitter_ppm,
		uint64_t seed, uint64_t now_ns)
{
	uint64_t phase_ns = pace_phase_ns(id, interval_ns);
	uint64_t into_slot_ns = (now_ns % interval_ns + interval_ns - phase_ns) % interval_ns;

	*pace = (struct pace){
		.interval_ns = interval_ns,
		.jitter_ns = (uint64_t)((unsigned __int128)interval_ns * jitter_ppm / 1000000),
		.random = seed,
		.slot_ns = into_slot_ns ? now_ns - into_slot_ns + interval_ns : now_ns,
	};
	pace->due_ns = pace->slot_ns + random_up_to(&pace->random, pace->jitter_ns);
}

void pace_next(struct pace *pace, uint64_t now_ns)
{
	uint64_t after_slot_ns = random_up_to(&pace->random, pace->jitter_ns);
	uint64_t earliest_ns = now_ns + pace->interval_ns / PACE_GAP_DIVISOR;
	int64_t short_by_ns;

	pace->slot_ns += pace->interval_ns;
	pace->due_ns = pace->slot_ns + after_slot_ns;

	short_by_ns = (int64_t)(earliest_ns - pace->due_ns);
	if (short_by_ns > 0) {
		uint64_t passed = ((uint64_t)short_by_ns + pace->interval_ns - 1) / pace->interval_ns;

		pace->skipped += passed;
		pace->slot_ns += passed * pace->interval_ns;
		pace->due_ns += passed * pace->interval_ns;
	}
}
