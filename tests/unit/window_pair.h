/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A window and its model, which have to say the same after every interval. To be included after cmocka.h. */
#ifndef KPHI_TESTS_WINDOW_PAIR_H
#define KPHI_TESTS_WINDOW_PAIR_H

#include <stdlib.h>

#include "unit/random.h"
#include "unit/window_model.h"

/* One ring of each size, memory of exactly that size, so that a step beyond it is seen. */
struct pair {
	struct kphi_window w;
	struct window_model *model;
	struct kphi_peer settings;
	uint64_t *ring;
	uint32_t size;
};

static inline void pair_new(struct pair *p, uint32_t size)
{
	size_t bytes = KPHI_RING_SIZE(size) * sizeof(*p->ring);

	*p = (struct pair){.size = size, .ring = malloc(bytes), .model = calloc(1, sizeof(*p->model))};
	memset(p->ring, 0xa5, bytes);
}

static inline void pair_free(struct pair *p)
{
	free(p->ring);
	free(p->model);
}

static inline void pair_begin(struct pair *p, uint64_t interval_ns, uint64_t max_interval_ns)
{
	p->settings.interval_ns = interval_ns;
	p->settings.max_interval_ns = max_interval_ns;
	kphi_window_begin(&p->w, &p->settings);
	window_model_begin(p->model, p->size, &p->settings);
	assert_true(window_model_same(p->model, &p->w, p->ring, 1));
}

/* An interval of so many steps; 0: nobody knows. */
static inline uint32_t pair_step(struct pair *p, uint64_t x, uint64_t steps, int deep)
{
	uint32_t expected = window_model_take(p->model, x, steps);

	assert_int_equal(kphi_window_take(&p->w, p->ring, p->size, p->settings.max_interval_ns, x, steps),
			 expected);
	assert_true(window_model_same(p->model, &p->w, p->ring, deep));
	return expected;
}

static inline uint32_t pair_take(struct pair *p, uint64_t x, int deep)
{
	return pair_step(p, x, 1, deep);
}

/* Mostly one; else a few that were lost, or very many, or unknown. */
static inline uint64_t some_steps(uint64_t *random)
{
	switch (random_below(random, 16)) {
	case 0:
		return 0;
	case 1:
		return 2 + random_below(random, 5);
	case 2:
		return random_below(random, 20) ? 2 : random_magnitude(random, 64);
	default:
		return 1;
	}
}

#endif
