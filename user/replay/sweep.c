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

/* One thread's: some curves, and some of the shares of peers. */
struct worker {
	const struct sweep *sweep;
	bool leads; /* shows the progress */
	uint32_t weight, pieces_count;
	struct piece pieces[REPLAY_GROUPS_MAX];
	struct replay_plan plan;
	uint32_t share, step, shares; /* the first one, how far it is to the next, and how many there are */
	struct replay_pool pool;
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

static int plan_all(struct worker *w)
{
	int err = 0;

	w->plan.window = w->sweep->window;
	w->plan.crashes = w->sweep->crashes;
	w->plan.crash_every = w->sweep->crash_every;
	w->plan.seed = w->sweep->seed;
	for (uint32_t i = 0; i < w->pieces_count && !err; i++)
		err = plan_piece(&w->plan, &w->pieces[i]);
	return err;
}

static int replay_all(struct worker *w, struct replay *r, uint32_t pass, uint32_t passes)
{
	const struct sweep *sweep = w->sweep;
	struct replay_source source;
	int got = sweep->open(sweep->context, &source, pass, passes);

	if (got)
		return got;
	while ((got = replay_run(r, &source, CHUNK)) > 0)
		if (w->leads && sweep->progress)
			sweep->progress(sweep->context, &source);
	sweep->close(sweep->context, &source, got);
	return got;
}

static uint64_t intervals_of(void *context, uint32_t peer)
{
	const struct survey *s = context;

	return peer < s->peers_room ? s->peers[peer].intervals : 0;
}

static int replay_share(struct worker *w, uint32_t share, uint32_t pass, uint32_t passes)
{
	struct replay_share s = {share, w->shares, &w->pool, intervals_of, (void *)w->sweep->survey};
	struct replay *r = replay_new_share(&w->plan, &s);
	int err = r ? replay_all(w, r, pass, passes) : -ENOMEM;

	replay_free(r);
	return err;
}

static void *work(void *worker)
{
	struct worker *w = worker;
	uint32_t passes = w->shares / w->step;

	for (uint32_t i = 0; i < passes && !w->err; i++)
		w->err = replay_share(w, w->share + i * w->step, i + 1, passes);
	return NULL;
}

/* To whom has least to do so far. */
static int deal(struct worker *workers, uint32_t n, const struct piece *piece, uint32_t weight)
{
	struct worker *w = workers;

	for (uint32_t i = 1; i < n; i++)
		if (workers[i].weight < w->weight)
			w = &workers[i];
	if (w->pieces_count == REPLAY_GROUPS_MAX)
		return -ENOSPC;
	w->pieces[w->pieces_count++] = *piece;
	w->weight += weight;
	return 0;
}

/* The dear ones first, so that the others even it out. */
static int deal_all(struct worker *workers, uint32_t workers_count, struct sweep_curve *curves, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		for (uint32_t k = 0; curves[i].detector && k < curves[i].n && !err; k++) {
			bool each = curves[i].detector->learns_by_verdict;

			err = deal(workers, workers_count,
				   &(struct piece){&curves[i], k, each ? 1 : curves[i].n}, WEIGHT_YARDSTICK);
			if (!each)
				break;
		}
	for (uint32_t i = 0; i < n && !err; i++)
		if (!curves[i].detector)
			err = deal(workers, workers_count, &(struct piece){&curves[i], 0, curves[i].n},
				   WEIGHT_MODEL);
	return err;
}

/* --- who does what */

/* Each has all the curves, and every so manieth share of the peers. */
static int deal_peers(const struct sweep *s, struct worker *workers, struct sweep_curve *curves, uint32_t n)
{
	uint64_t peers = s->survey->heard, size, shares;
	int err = 0;

	for (uint32_t i = 0; i < s->threads && !err; i++) {
		err = deal_all(&workers[i], 1, curves, n);
		if (!err)
			err = plan_all(&workers[i]);
	}
	if (err)
		return err;
	size = replay_peer_size(&workers->plan);
	shares = 1 + size * peers / (s->state_max ? s->state_max : SWEEP_STATE_MAX);
	shares = shares < peers / s->threads ? shares : peers / s->threads;
	for (uint32_t i = 0; i < s->threads; i++) {
		workers[i].share = i;
		workers[i].step = s->threads;
		workers[i].shares = (uint32_t)shares * s->threads;
	}
	return 0;
}

/* Each has all the peers, and some of the curves. */
static int deal_curves(const struct sweep *s, struct worker *workers, struct sweep_curve *curves, uint32_t n)
{
	int err = deal_all(workers, s->threads, curves, n);

	for (uint32_t i = 0; i < s->threads && !err; i++) {
		workers[i].step = workers[i].shares = 1;
		err = plan_all(&workers[i]);
	}
	return err;
}

/* Who got nothing is not started. */
static int run_workers(struct worker *workers, uint32_t n)
{
	uint32_t started = 1;
	int err = 0;

	while (started < n && workers[started].pieces_count && !err) {
		err = -pthread_create(&workers[started].thread, NULL, work, &workers[started]);
		started += !err;
	}
	if (!err)
		work(&workers[0]);
	for (uint32_t i = 0; i < started; i++) {
		if (i)
			pthread_join(workers[i].thread, NULL);
		if (!err)
			err = workers[i].err;
	}
	return err;
}

/* --- what was found */

/* The contenders of a worker were planned in the order of its pieces. */
static int read_piece(const struct replay_pool *pools, uint32_t n, const struct piece *p, uint32_t contender)
{
	int err = 0;

	for (uint32_t k = 0; k < p->n && !err; k++)
		err = replay_qos_pools(pools, n, contender + k, &p->curve->point[p->from + k].qos);
	return err;
}

static int read_all(const struct worker *w, const struct replay_pool *pools, uint32_t n)
{
	uint32_t contender = 0;
	int err = 0;

	for (uint32_t i = 0; i < w->pieces_count && !err; i++) {
		err = read_piece(pools, n, &w->pieces[i], contender);
		contender += w->pieces[i].n;
	}
	return err;
}

/* Peers that were dealt out are pooled; where the curves were, each has its own. */
static int read_workers(const struct worker *workers, uint32_t n, bool by_peers)
{
	struct replay_pool pools[SWEEP_THREADS_MAX];
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		pools[i] = workers[i].pool;
	if (by_peers)
		return read_all(workers, pools, n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = read_all(&workers[i], &pools[i], 1);
	return err;
}

void sweep_afford(struct sweep *s, const struct sweep_curve *curves, uint32_t n, uint32_t crashes)
{
	uint64_t each = 0, all;

	for (uint32_t i = 0; i < n; i++)
		each += curves[i].n * sizeof(uint64_t);
	all = SWEEP_DETECTIONS_MAX / (each ? each : 1);
	s->crash_every = 1 + (uint32_t)(s->survey->heard / (all + 1));
	s->crashes = (uint32_t)(all * s->crash_every / (s->survey->heard + 1ULL));
	if (s->crashes > crashes)
		s->crashes = crashes;
	if (!s->crashes)
		s->crashes = 1;
}

int sweep_run(const struct sweep *s, struct sweep_curve *curves, uint32_t n)
{
	struct worker *workers = calloc(s->threads, sizeof(*workers));
	bool by_peers = s->survey->heard >= 2 * s->threads;
	int err;

	if (!workers)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->threads; i++) {
		workers[i].sweep = s;
		workers[i].leads = !i;
	}
	err = by_peers ? deal_peers(s, workers, curves, n) : deal_curves(s, workers, curves, n);
	if (!err)
		err = run_workers(workers, s->threads);
	if (!err)
		err = read_workers(workers, s->threads, by_peers);
	for (uint32_t i = 0; i < s->threads; i++)
		replay_pool_free(&workers[i].pool);
	free(workers);
	return err;
}
