// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define HALVES_UP_TO 20
#define UP_TO        100000 /* Akka's curve is steep: this is some 150 deviations */
#define CHUNK        (1U << 18) /* arrivals between two looks at the progress */

uint32_t sweep_thresholds(struct sweep_curve *c)
{
	uint64_t threshold = HALVES_UP_TO;

	c->n = 0;
	for (uint32_t halves = 1; halves <= 2 * HALVES_UP_TO; halves++)
		c->point[c->n++].threshold = halves * (Q32_ONE / 2);
	while (threshold < UP_TO) {
		threshold += threshold / 4;
		c->point[c->n++].threshold = threshold * Q32_ONE;
	}
	return c->n;
}

/* One thread's share: the points from .. to - 1, counted through all curves. */
struct share {
	const struct sweep *sweep;
	struct sweep_curve *curves;
	uint32_t curves_count, from, to;
	uint32_t read; /* contenders whose figures were taken */
	bool leads; /* shows the progress */
	struct replay_plan plan;
	int err;
	pthread_t thread;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Calls `act` for each curve and the part of it that is in this share. */
static int for_each_part(struct share *s,
			 int (*act)(struct share *s, struct sweep_curve *c, uint32_t from, uint32_t to,
				    const struct replay *r),
			 const struct replay *r)
{
	uint32_t first = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->curves_count && !err; i++) {
		uint32_t from = larger(s->from, first), to = smaller(s->to, first + s->curves[i].n);

		if (from < to)
			err = act(s, &s->curves[i], from - first, to - first, r);
		first += s->curves[i].n;
	}
	return err;
}

static int plan_part(struct share *s, struct sweep_curve *c, uint32_t from, uint32_t to,
		     const struct replay *r)
{
	q32_t thresholds[SWEEP_POINTS_MAX];

	(void)r;
	for (uint32_t i = from; i < to; i++)
		thresholds[i - from] = c->point[i].threshold;
	return replay_plan_model(&s->plan, c->model, thresholds, to - from);
}

/* The contenders were planned in the same order. */
static int read_part(struct share *s, struct sweep_curve *c, uint32_t from, uint32_t to,
		     const struct replay *r)
{
	int err = 0;

	for (uint32_t i = from; i < to && !err; i++)
		err = replay_qos_all(r, s->read++, &c->point[i].qos);
	return err;
}

static int replay_all(struct share *s, struct replay *r)
{
	const struct sweep *sweep = s->sweep;
	struct replay_source source;
	int got = sweep->open(sweep->context, &source);

	if (got)
		return got;
	while ((got = replay_run(r, &source, CHUNK)) > 0)
		if (s->leads && sweep->progress)
			sweep->progress(sweep->context, &source);
	sweep->close(sweep->context, &source, got);
	return got;
}

static void *work(void *share)
{
	struct share *s = share;
	struct replay *r;

	s->plan.window = s->sweep->window;
	s->plan.crashes = s->sweep->crashes;
	s->plan.seed = s->sweep->seed;
	s->err = for_each_part(s, plan_part, NULL);
	r = replay_new(&s->plan);
	if (!s->err)
		s->err = r ? replay_all(s, r) : -ENOMEM;
	if (!s->err)
		s->err = for_each_part(s, read_part, r);
	replay_free(r);
	return NULL;
}

int sweep_run(const struct sweep *s, struct sweep_curve *curves, uint32_t n)
{
	struct share *shares = calloc(s->threads, sizeof(*shares));
	uint32_t points = 0, started = 1;
	int err = 0;

	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		points += curves[i].n;
	for (uint32_t i = 0; i < s->threads; i++) {
		shares[i].sweep = s;
		shares[i].curves = curves;
		shares[i].curves_count = n;
		shares[i].from = points * i / s->threads;
		shares[i].to = points * (i + 1) / s->threads;
		shares[i].leads = !i;
	}
	while (started < s->threads && !err) {
		err = -pthread_create(&shares[started].thread, NULL, work, &shares[started]);
		started += !err;
	}
	if (!err)
		work(&shares[0]);
	for (uint32_t i = 0; i < started; i++) {
		if (i)
			pthread_join(shares[i].thread, NULL);
		if (!err)
			err = shares[i].err;
	}
	free(shares);
	return err;
}
