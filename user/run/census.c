// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/census.h"

#include <errno.h>
#include <stdlib.h>

int census_open(struct census *c, uint32_t slots)
{
	*c = (struct census){.slots = slots, .seen = calloc(slots, sizeof(*c->seen))};
	return c->seen ? 0 : -ENOMEM;
}

void census_close(struct census *c)
{
	free(c->seen);
	*c = (struct census){0};
}

/* The finaliser of SplitMix64: different words rarely look alike, and a mistake costs a second's delay at
 * most, because the engine looks at every deadline anyway. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/*
 * What only control requests change: the generation (delete), free or not (add), the time of an add or a
 * reset while nothing was heard since, the mute. Read without the version: what is torn differs, and is
 * looked at again.
 */
static uint64_t digest(const struct store *s, uint32_t slot)
{
	const struct kphi_record *r = &s->records[slot];
	uint8_t state = __atomic_load_n(&r->state, __ATOMIC_RELAXED);
	uint64_t x = __atomic_load_n(&r->generation, __ATOMIC_RELAXED);

	x = x << 1 | (state == KPHI_FREE);
	if (state == KPHI_FREE)
		return mix(x);
	if (state == KPHI_WAITING)
		x ^= mix(__atomic_load_n(&r->since_ns, __ATOMIC_RELAXED));
	return mix(x ^ mix(~__atomic_load_n(&s->peers[slot].mute_until_ns, __ATOMIC_RELAXED)));
}

void census_take(struct census *c, const struct store *s, uint32_t first, uint32_t end,
		 void (*changed)(void *context, uint32_t slot), void *context)
{
	if (!first)
		c->counting = 0;
	for (uint32_t i = first; i < end; i++) {
		uint64_t now = digest(s, i);

		c->counting += s->records[i].state != KPHI_FREE;
		if (now == c->seen[i])
			continue;
		c->seen[i] = now;
		changed(context, i);
	}
	if (end == c->slots)
		c->peers = c->counting;
}
