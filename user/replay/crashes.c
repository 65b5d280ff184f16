// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/crashes.h"

#include <math.h>

#include "core/fixed.h"

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t draw(struct crashes *c)
{
	uint64_t z = c->random += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

/* Uniform in (0, 1). */
static double draw_share(struct crashes *c)
{
	return ((double)(draw(c) >> 12) + 0.5) * 0x1p-52;
}

void crashes_begin(struct crashes *c, uint32_t size, uint64_t seed)
{
	*c = (struct crashes){.random = seed, .size = size, .share = 1};
	if (!size)
		c->skip = UINT64_MAX;
}

static void skip_on(struct crashes *c)
{
	double skip;

	c->share *= exp(log(draw_share(c)) / c->size);
	skip = floor(log(draw_share(c)) / log1p(-c->share));
	c->skip = skip < 0x1p62 ? (uint64_t)skip : UINT64_MAX;
}

void crashes_choose(struct crashes *c, uint64_t interval_ns, struct crash *crash)
{
	bool filling = c->n < c->size;

	crash->place = filling ? c->n++ : (uint32_t)mul_high(draw(c), c->size);
	crash->silence_ns = mul_high(draw(c), interval_ns);
	if (c->n == c->size)
		skip_on(c);
}
