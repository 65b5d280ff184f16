// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How fast recorded arrivals are judged again: native beats of many peers, with jitter and some loss, through
 * the record, the window and the model. Beside it, what it costs only to read the same memory and add it up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernel/clock.h"
#include "replay/replay.h"

#define ROUNDS   31
#define ARRIVALS 1000000
#define WINDOW   1000

#define INTERVAL_NS 100000000ULL
#define JITTER_NS   10000000ULL
#define LOSS_EVERY  1000 /* one beat in so many is lost */

/* An arrival as a trace holds it, roughly. */
struct recorded {
	uint64_t now_ns;
	uint32_t peer, sequence;
};

struct stream {
	struct recorded *arrivals;
	uint32_t at, peers;
	struct kphi_peer settings;
};

static int next(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct stream *s = context;
	const struct recorded *a = &s->arrivals[s->at];

	if (s->at == ARRIVALS)
		return 0;
	s->at++;
	*peer = a->peer;
	memset(beat, 0, sizeof(*beat));
	beat->now_ns = a->now_ns;
	beat->epoch = 1;
	beat->epoch_limit = 1;
	beat->sequence = a->sequence;
	beat->type = KPHI_WIRE_BEAT;
	beat->native = 1;
	return 1;
}

static const struct kphi_peer *settings(void *context, uint32_t peer)
{
	(void)peer;
	return &((struct stream *)context)->settings;
}

static void fill(struct stream *s)
{
	uint64_t random = 7;

	for (uint32_t i = 0; i < ARRIVALS; i++) {
		uint32_t beat = i / s->peers;

		if (!random_below(&random, LOSS_EVERY) && i >= s->peers)
			beat++; /* comes twice, then: the first is news, the second a duplicate */
		s->arrivals[i] = (struct recorded){
			.now_ns = (beat + 1) * INTERVAL_NS + i % s->peers * (INTERVAL_NS / s->peers) +
				  random_below(&random, JITTER_NS),
			.peer = i % s->peers,
			.sequence = beat,
		};
	}
}

static double replay_ns(struct stream *s, const struct replay_plan *plan)
{
	struct replay_source source = {.next = next, .settings = settings, .context = s};
	struct replay *r = replay_new(plan);
	struct qos q;
	uint64_t begin;

	s->at = 0;
	rest();
	begin = clock_monotonic_ns();
	if (!r || replay_run(r, &source, UINT64_MAX))
		die("replay: no memory");
	begin = clock_monotonic_ns() - begin;
	if (replay_qos_all(r, 0, &q) || q.intervals < ARRIVALS - ARRIVALS / 100 - 2 * s->peers)
		die("replay: only %llu of %d arrivals were judged", (unsigned long long)q.intervals,
		    ARRIVALS);
	replay_free(r);
	return (double)begin / ARRIVALS;
}

static __attribute__((noinline)) uint64_t add_up(const struct recorded *a)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ARRIVALS; i++)
		sum += a[i].now_ns + a[i].peer + a[i].sequence;
	return sum;
}

static double read_ns(const struct stream *s)
{
	uint64_t begin = clock_monotonic_ns();
	volatile uint64_t sink = add_up(s->arrivals);

	(void)sink;
	return (double)(clock_monotonic_ns() - begin) / ARRIVALS;
}

static void measure(const char *name, struct stream *s, const struct replay_plan *plan)
{
	struct series ns = {0}, read = {0};
	double median;

	fill(s);
	for (int round = 0; round < ROUNDS; round++) {
		series_add(&ns, replay_ns(s, plan));
		series_add(&read, read_ns(s));
	}
	median = series_at(&ns, 0.5);
	printf("{\"bench\":\"replay\",\"contenders\":\"%s\",\"peers\":%u,\"ns\":%.2f,\"read_ns\":%.2f,"
	       "\"ratio_to_reading\":%.0f,\"arrivals_per_second\":%.0f,\"min_ns\":%.2f,\"max_ns\":%.2f,"
	       "\"arrivals\":%d,\"rounds\":%d}\n",
	       name, s->peers, median, series_at(&read, 0.5), median / series_at(&read, 0.5), 1e9 / median,
	       series_at(&ns, 0), series_at(&ns, 1), ARRIVALS, ROUNDS);
}

void bench_replay(void)
{
	static struct replay_plan one = {.window = WINDOW, .crashes = 1000},
				  all = {.window = WINDOW, .crashes = 1000};
	struct stream s = {.settings = {.interval_ns = INTERVAL_NS}};
	q32_t thresholds[10];

	for (uint32_t i = 0; i < COUNT(thresholds); i++)
		thresholds[i] = (i + 1) * Q32_ONE;
	s.arrivals = malloc(ARRIVALS * sizeof(*s.arrivals));
	if (!s.arrivals || replay_plan_model(&one, KPHI_MODEL_NORMAL, &thresholds[7], 1))
		die("replay: no memory");
	/* Not the empirical model: below log10(n + 1) its thresholds take a sort of the ring each. */
	for (int model = 0; model < KPHI_MODEL_EMPIRICAL; model++)
		replay_plan_model(&all, model, thresholds, COUNT(thresholds));
	s.peers = 10;
	measure("normal at 8", &s, &one);
	measure("four models at 1 to 10", &s, &all);
	s.peers = 1000; /* whose records and windows fit no near cache; a hundredth of the arrivals each */
	one.crashes /= 100;
	measure("normal at 8", &s, &one);
	free(s.arrivals);
}
