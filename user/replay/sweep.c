// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define CHUNK (1U << 18) /* arrivals between two looks at the progress */

/*
 * What a piece of work takes of each arrival, roughly: a model does nothing as long as a silence is short, a
 * yardstick learns every arrival, and one that learns by its verdict does so for each of its parameters.
 */
#define WEIGHT_MODEL     1
#define WEIGHT_YARDSTICK 2

/* Points of a curve that one thread judges. */
struct piece {
	struct sweep_curve *curve;
	uint32_t from, n;
};

/* One thread's. */
struct share {
	const struct sweep *sweep;
	bool leads; /* shows the progress */
	uint32_t weight, pieces_count;
	struct piece pieces[REPLAY_GROUPS_MAX];
	struct replay_plan plan;
	int err;
	pthread_t thread;
};

static int plan_piece(struct replay_plan *plan, const struct piece *p)
{
	const struct sweep_curve *c = p->curve;
	q32_t thresholds[SWEEP_POINTS_MAX];
	double parameters[SWEEP_POINTS_MAX];

	for (uint32_t i = 0; i < p->n; i++) {
		thresholds[i] = c->point[p->from + i].threshold;
		parameters[i] = c->point[p->from + i].parameter;
	}
	if (c->detector)
		return replay_plan_detector(plan, c->detector, parameters, p->n);
	return replay_plan_tuned(plan, c->model, &c->tuning, thresholds, p->n);
}

static int plan_all(struct share *s)
{
	int err = 0;

	s->plan.window = s->sweep->window;
	s->plan.crashes = s->sweep->crashes;
	s->plan.seed = s->sweep->seed;
	for (uint32_t i = 0; i < s->pieces_count && !err; i++)
		err = plan_piece(&s->plan, &s->pieces[i]);
	return err;
}

/* The contenders were planned in the same order. */
static int read_all(const struct share *s, const struct replay *r)
{
	uint32_t contender = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->pieces_count; i++) {
		const struct piece *p = &s->pieces[i];

		for (uint32_t k = 0; k < p->n && !err; k++)
			err = replay_qos_all(r, contender++, &p->curve->point[p->from + k].qos);
	}
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
	struct replay *r = replay_new(&s->plan);

	s->err = r ? plan_all(s) : -ENOMEM;
	if (!s->err)
		s->err = replay_all(s, r);
	if (!s->err)
		s->err = read_all(s, r);
	replay_free(r);
	return NULL;
}

/* To whom has least to do so far. */
static int deal(struct share *shares, uint32_t n, const struct piece *piece, uint32_t weight)
{
	struct share *s = shares;

	for (uint32_t i = 1; i < n; i++)
		if (shares[i].weight < s->weight)
			s = &shares[i];
	if (s->pieces_count == REPLAY_GROUPS_MAX)
		return -ENOSPC;
	s->pieces[s->pieces_count++] = *piece;
	s->weight += weight;
	return 0;
}

/* The dear ones first, so that the others even it out. */
static int deal_all(const struct sweep *sweep, struct share *shares, struct sweep_curve *curves, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		for (uint32_t k = 0; curves[i].detector && k < curves[i].n && !err; k++) {
			bool each = curves[i].detector->learns_by_verdict;

			err = deal(shares, sweep->threads,
				   &(struct piece){&curves[i], k, each ? 1 : curves[i].n}, WEIGHT_YARDSTICK);
			if (!each)
				break;
		}
	for (uint32_t i = 0; i < n && !err; i++)
		if (!curves[i].detector)
			err = deal(shares, sweep->threads, &(struct piece){&curves[i], 0, curves[i].n},
				   WEIGHT_MODEL);
	return err;
}

/* Who got nothing is not started. */
static int run_shares(struct share *shares, uint32_t n)
{
	uint32_t started = 1;
	int err = 0;

	while (started < n && shares[started].pieces_count && !err) {
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
	return err;
}

int sweep_run(const struct sweep *s, struct sweep_curve *curves, uint32_t n)
{
	struct share *shares = calloc(s->threads, sizeof(*shares));
	int err;

	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->threads; i++) {
		shares[i].sweep = s;
		shares[i].leads = !i;
	}
	err = deal_all(s, shares, curves, n);
	if (!err)
		err = run_shares(shares, s->threads);
	free(shares);
	return err;
}
