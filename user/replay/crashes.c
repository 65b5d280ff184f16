// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/crashes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

/* The place, and the share of the interval in 2^-64. */
static uint32_t choose(struct crashes *c, uint64_t *share)
{
	bool filling = c->n < c->size;
	uint32_t place = filling ? c->n++ : (uint32_t)mul_high(draw(c), c->size);

	*share = draw(c);
	if (c->n == c->size)
		skip_on(c);
	return place;
}

void crashes_choose(struct crashes *c, uint64_t interval_ns, struct crash *crash)
{
	uint64_t share;

	if (!c->to_come) {
		crash->place = choose(c, &share);
	} else {
		const struct crash_to_come *now = &c->to_come[c->n];

		crash->place = c->n++;
		share = now->share;
		c->skip = c->n < c->size ? now[1].interval - now->interval - 1 : UINT64_MAX;
	}
	crash->silence_ns = mul_high(share, interval_ns);
}

static int earlier(const void *a, const void *b)
{
	const struct crash_to_come *x = a, *y = b;

	return (x->interval > y->interval) - (x->interval < y->interval);
}

int crashes_begin_known(struct crashes *c, uint32_t size, uint64_t seed, uint64_t intervals)
{
	struct crash_to_come *to_come = calloc(size ? size : 1, sizeof(*to_come));
	uint64_t at = 0;

	if (!to_come)
		return -ENOMEM;
	for (crashes_begin(c, size, seed); c->skip < intervals - at; at++) {
		uint64_t share;
		uint32_t place;

		at += c->skip;
		c->skip = 0;
		place = choose(c, &share);
		to_come[place] = (struct crash_to_come){at, share};
	}
	qsort(to_come, c->n, sizeof(*to_come), earlier);
	*c = (struct crashes){.to_come = to_come, .size = c->n};
	c->skip = c->size ? to_come->interval : UINT64_MAX;
	return 0;
}

void crashes_end(struct crashes *c)
{
	free(c->to_come);
}
