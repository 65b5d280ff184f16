// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a replay has found. */
#include <errno.h>
#include <stdlib.h>

#include "replay/replay_peer.h"

uint64_t replay_arrivals(const struct replay *r)
{
	return r->arrivals;
}

uint32_t replay_peers(const struct replay *r)
{
	return r->peers;
}

bool replay_heard(const struct replay *r, uint32_t peer)
{
	return replay_known(r, peer) && r->peer[peer]->heard;
}

bool replay_known(const struct replay *r, uint32_t peer)
{
	return peer < r->peers && r->peer[peer];
}

const struct kphi_peer *replay_settings(const struct replay *r, uint32_t peer)
{
	return &r->peer[peer]->settings;
}

const struct kphi_record *replay_record(const struct replay *r, uint32_t peer)
{
	return &r->peer[peer]->record;
}

const uint64_t *replay_ring(const struct replay *r, uint32_t peer)
{
	return r->peer[peer]->ring;
}

static void add_tally(struct qos *q, const struct tally *t)
{
	q->mistakes += t->mistakes;
	q->mistaken_ns += t->mistaken_ns;
	if (t->longest_ns > q->longest_ns)
		q->longest_ns = t->longest_ns;
}

static void add(struct qos *q, const struct replay_peer *p, const struct tally *t)
{
	q->intervals += p->intervals;
	q->alive_ns += p->alive_ns;
	q->crashes += p->crashes.n;
	add_tally(q, t);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The smallest that `percent` of them do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint64_t n, uint64_t percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

/* Of all crashes, in any order. */
static void sum_up_detections(struct qos *q, uint64_t *all)
{
	qsort(all, q->crashes, sizeof(*all), ascending);
	q->detect_p50_ns = percentile(all, q->crashes, 50);
	q->detect_p99_ns = percentile(all, q->crashes, 99);
	q->detect_max_ns = all[q->crashes - 1];
	free(all);
}

static int detections(const struct replay *r, uint32_t from, uint32_t to, uint32_t contender, struct qos *q)
{
	uint64_t *all = malloc(q->crashes * sizeof(*all)), n = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++) {
		const struct replay_peer *p = r->peer[i];

		if (!p)
			continue;
		for (uint32_t k = 0; k < p->crashes.n; k++)
			all[n++] = p->detections[(size_t)k * r->plan->contenders + contender];
	}
	sum_up_detections(q, all);
	return 0;
}

static int sum_up(const struct replay *r, uint32_t from, uint32_t to, uint32_t contender, struct qos *q)
{
	*q = (struct qos){0};
	for (uint32_t i = from; i < to; i++)
		if (r->peer[i])
			add(q, r->peer[i], &r->peer[i]->tallies[contender]);
	return q->crashes ? detections(r, from, to, contender, q) : 0;
}

int replay_qos(const struct replay *r, uint32_t peer, uint32_t contender, struct qos *q)
{
	return sum_up(r, peer, peer + 1, contender, q);
}

int replay_qos_all(const struct replay *r, uint32_t contender, struct qos *q)
{
	return sum_up(r, 0, r->peers, contender, q);
}

int replay_qos_pools(const struct replay_pool *pools, uint32_t n, uint32_t contender, struct qos *q)
{
	uint64_t *all, at = 0;

	*q = (struct qos){0};
	for (uint32_t i = 0; i < n; i++) {
		q->intervals += pools[i].intervals;
		q->alive_ns += pools[i].alive_ns;
		q->crashes += pools[i].crashes;
		if (pools[i].tallies)
			add_tally(q, &pools[i].tallies[contender]);
	}
	if (!q->crashes)
		return 0;
	all = malloc(q->crashes * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < pools[i].crashes; k++)
			all[at++] = pools[i].detections[k * pools[i].contenders + contender];
	sum_up_detections(q, all);
	return 0;
}
