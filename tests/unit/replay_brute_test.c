// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Replay against a timeline walked through nanosecond by nanosecond, asking at each whether the peer is
 * suspected: over small streams of unruly senders, with every model and with yardsticks, mistakes and their
 * durations must come out the same. So must the records, bit for bit, and each peer's figures must not depend
 * on who else is in the stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/random.h"
#include "unit/replay_stream.h"

#define WINDOW   16
#define INTERVAL 1000 /* ns: the least that a peer may have, so that a nanosecond is a large step */
#define PEERS    3
#define STREAMS  18
#define ARRIVED  250
#define GO_ON    (KPHI_NOTE(restart) | KPHI_NOTE(handover))

/* A contender, and its life on the timeline of one peer. */
struct walker {
	int model; /* or -2: a yardstick */
	const struct detector *detector;
	q32_t threshold;
	double parameter;
	void *state;
	bool suspected;
	uint64_t mistakes, mistaken, current, longest;
};

#define YARDSTICK (-2)

static struct walker walkers[96];
static uint32_t walkers_count;

static void add_model(struct replay_plan *plan, int model, const q32_t *thresholds, uint32_t n)
{
	assert_int_equal(replay_plan_model(plan, model, thresholds, n), 0);
	for (uint32_t i = 0; i < n; i++)
		walkers[walkers_count++] = (struct walker){.model = model, .threshold = thresholds[i]};
}

static void add_yardstick(struct replay_plan *plan, const struct detector *d, const double *parameters,
			  uint32_t n)
{
	assert_int_equal(replay_plan_detector(plan, d, parameters, n), 0);
	for (uint32_t i = 0; i < n; i++)
		walkers[walkers_count++] =
			(struct walker){.model = YARDSTICK, .detector = d, .parameter = parameters[i]};
}

/*
 * Thresholds that are reached all the time, now and then, and hardly ever. Replay takes different short cuts
 * where all of them lie above the mean, where some lie below, and where yardsticks take part.
 */
enum plan_kind { ABOVE_THE_MEAN, BELOW_IT, WITH_YARDSTICKS, KINDS };

static bool judges_by_z(int model)
{
	return model == KPHI_MODEL_NORMAL || model == KPHI_MODEL_AKKA;
}

static struct replay_plan *plan_new(enum plan_kind kind)
{
	static const q32_t above[] = {3 * Q32_ONE, Q32_ONE, 8 * Q32_ONE, 30 * Q32_ONE};
	static const q32_t below[] = {Q32_ONE / 1000, Q32_ONE / 4, Q32_ONE};
	static const double times[] = {900, 1500, 0}, numbers[] = {0.2, 2, 6};
	struct replay_plan *plan = calloc(1, sizeof(*plan));

	walkers_count = 0;
	plan->window = WINDOW;
	plan->crashes = 20;
	for (int model = REPLAY_OWN_MODEL; model < KPHI_MODELS; model++) {
		add_model(plan, model, above, 4);
		/* The exponential model would reach these at once, and nothing would be left to cut short. */
		if (kind == WITH_YARDSTICKS || (kind == BELOW_IT && judges_by_z(model)))
			add_model(plan, model, below, 3);
	}
	for (size_t i = 0; kind == WITH_YARDSTICKS && detectors[i]; i++)
		add_yardstick(plan, detectors[i], detectors[i]->unit == DETECTOR_TIME ? times : numbers, 3);
	return plan;
}

static bool suspects(const struct walker *w, const struct kphi_estimate *e, uint64_t silence)
{
	if (w->detector)
		return (double)silence >= w->detector->deadline(w->state, w->parameter);
	return estimate_phi(e, silence) >= w->threshold;
}

/* One interval of a live peer, a nanosecond at a time. */
static void walk_interval(struct walker *w, const struct kphi_estimate *e, uint64_t silence)
{
	if (!silence && !suspects(w, e, 0))
		w->suspected = false;
	for (uint64_t t = 0; t < silence; t++) {
		bool now = suspects(w, e, t);

		if (!now) {
			w->suspected = false;
			continue;
		}
		if (!w->suspected) {
			w->mistakes++;
			w->current = 0;
		}
		w->suspected = true;
		w->mistaken++;
		w->current++;
		if (w->current > w->longest)
			w->longest = w->current;
	}
}

/* What the yardsticks are told about an arrival. */
static void tell(struct walker *w, const struct kphi_record *r, struct kphi_peer *peer, bool afresh,
		 const struct detector_arrival *a)
{
	struct detector_settings settings = {.window = WINDOW, .interval_ns = r->window.interval_ns};

	peer->model = KPHI_MODEL_NORMAL;
	settings.min_std_ns = effective_min_std_ns(&r->window, peer);
	settings.pause_ns = effective_pause_ns(&r->window, peer);
	if (afresh)
		w->detector->init(w->state, &settings);
	else
		w->detector->arrive(w->state, a, w->parameter);
}

struct timeline {
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)], intervals, alive;
	bool open;
};

static void estimate(const struct walker *w, const struct timeline *t, struct kphi_peer peer,
		     struct kphi_estimate *e)
{
	if (w->model >= 0)
		peer.model = (uint8_t)w->model;
	if (w->model != YARDSTICK)
		assert_true(estimate_from_window(e, &t->record.window, &peer, t->ring));
}

static void walk_arrival(struct timeline *t, struct kphi_peer peer, struct kphi_beat beat)
{
	struct timeline before = *t;
	struct detector_arrival a = {.silence_ns = beat.now_ns - before.record.last_ns};
	uint32_t notes;
	enum kphi_counter outcome = kphi_record_take(&t->record, &peer, t->ring, WINDOW, &beat, &notes);
	bool counts;

	if (outcome != KPHI_COUNT_beat && outcome != KPHI_COUNT_leave && outcome != KPHI_COUNT_down)
		return;
	if (notes & KPHI_NOTE(stamp_inverted))
		return;
	counts = before.open && !(notes & GO_ON);
	t->open = t->record.state == KPHI_UP && t->record.window.interval_ns;
	t->intervals += counts;
	t->alive += counts ? a.silence_ns : 0;
	a.steps = t->record.sequence.highest - before.record.sequence.highest;
	a.interval_ns = t->record.window.interval_ns;
	for (uint32_t i = 0; i < walkers_count; i++) {
		struct kphi_estimate e;

		if (counts) {
			estimate(&walkers[i], &before, peer, &e);
			walk_interval(&walkers[i], &e, a.silence_ns);
		} else {
			walkers[i].suspected = false;
		}
		if (t->open && walkers[i].detector)
			tell(&walkers[i], &t->record, &peer, !counts, &a);
	}
}

/* A timeline over one peer's arrivals of the stream. */
static void walk(struct timeline *t, const struct stream *s, uint32_t peer)
{
	struct detector_settings settings = {.window = WINDOW};

	*t = (struct timeline){.record.state = KPHI_WAITING};
	kphi_window_begin(&t->record.window, &s->settings[peer]);
	for (uint32_t i = 0; i < walkers_count; i++) {
		struct walker *w = &walkers[i];

		w->mistakes = w->mistaken = w->longest = 0;
		w->suspected = false;
		if (w->detector)
			w->state = malloc(w->detector->size(&settings) + 1);
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].peer == peer)
			walk_arrival(t, s->settings[peer], s->list[i].beat);
	for (uint32_t i = 0; i < walkers_count; i++) {
		free(walkers[i].state);
		walkers[i].state = NULL;
	}
}

/* --- streams */

/* One sender's clock: mostly around the interval, sometimes late, sometimes at once. */
static uint64_t some_gap(uint64_t *random)
{
	switch (random_below(random, 20)) {
	case 0:
		return random_below(random, 15 * INTERVAL);
	case 1:
		return 0;
	default:
		return INTERVAL - 200 + random_below(random, 400);
	}
}

static void some_stream(struct stream *s, uint64_t *random)
{
	uint64_t now[PEERS], number[PEERS] = {0}, epoch[PEERS] = {1, 1, 1};

	for (uint32_t p = 0; p < PEERS; p++) {
		now[p] = 1000000 + random_below(random, INTERVAL);
		s->settings[p] = (struct kphi_peer){
			.interval_ns = random_below(random, 3) ? INTERVAL : 0,
			.set = (uint8_t)random_below(random, 4),
			.min_std_ns = random_below(random, 2) * INTERVAL / 10,
			.pause_ns = random_below(random, 2) * INTERVAL,
			.model = (uint8_t)random_below(random, KPHI_MODELS),
		};
	}
	for (int i = 0; i < ARRIVED; i++) {
		uint32_t p = (uint32_t)random_below(random, PEERS);
		struct kphi_beat *b;

		number[p] += 1 + (random_below(random, 15) ? 0 : random_below(random, 4));
		if (!random_below(random, 100))
			epoch[p]++;
		now[p] += some_gap(random);
		b = stream_beat(s, p, now[p], number[p]);
		b->epoch = epoch[p];
		if (!random_below(random, 20))
			b->sequence -= random_below(random, 3); /* late or double */
		if (!random_below(random, 40))
			b->now_ns -= random_below(random, 3 * INTERVAL); /* stamped out of order */
		if (!random_below(random, 60))
			b->type = random_below(random, 4) ? KPHI_WIRE_LEAVE : KPHI_WIRE_DOWN;
	}
}

static uint64_t compare(const struct replay *r, const struct stream *s, uint32_t peer)
{
	uint64_t mistakes = 0;
	struct timeline t;
	struct qos q;

	if (!replay_heard(r, peer))
		return 0;
	walk(&t, s, peer);
	assert_memory_equal(&t.record, replay_record(r, peer), sizeof(t.record));
	assert_memory_equal(t.ring, replay_ring(r, peer), t.record.window.n * sizeof(*t.ring));
	for (uint32_t c = 0; c < walkers_count; c++) {
		const struct walker *w = &walkers[c];

		assert_int_equal(replay_qos(r, peer, c, &q), 0);
		if (q.mistakes != w->mistakes || q.mistaken_ns != w->mistaken || q.longest_ns != w->longest)
			fail_msg("contender %u (%s): %llu mistakes of %llu ns, and %llu of %llu by walking",
				 c, w->detector ? w->detector->name : "model", (unsigned long long)q.mistakes,
				 (unsigned long long)q.mistaken_ns, (unsigned long long)w->mistakes,
				 (unsigned long long)w->mistaken);
		assert_int_equal(q.intervals, t.intervals);
		assert_int_equal(q.alive_ns, t.alive);
		mistakes += q.mistakes;
	}
	return mistakes;
}

static void as_by_walking(void **state)
{
	uint64_t random = 2024, mistakes[KINDS] = {0};

	(void)state;
	for (int i = 0; i < STREAMS; i++) {
		enum plan_kind kind = i % KINDS;
		struct replay_plan *plan = plan_new(kind);
		struct stream s = {0};
		struct replay *r;

		some_stream(&s, &random);
		r = stream_replay(&s, plan);
		for (uint32_t p = 0; p < PEERS; p++)
			mistakes[kind] += compare(r, &s, p);
		replay_free(r);
		stream_free(&s);
		free(plan);
	}
	for (int kind = 0; kind < KINDS; kind++)
		assert_true(mistakes[kind] > 300);
}

/* The figures of all are the sums of each, and each is the same alone. */
static void peers_do_not_mix(void **state)
{
	struct replay_plan *plan = plan_new(WITH_YARDSTICKS);
	uint64_t random = 77;
	struct stream s = {0};
	struct replay *r;
	struct qos q, all;

	(void)state;
	some_stream(&s, &random);
	r = stream_replay(&s, plan);
	for (uint32_t c = 0; c < plan->contenders; c++) {
		uint64_t intervals = 0, mistakes = 0, longest = 0, detect = 0;

		for (uint32_t p = 0; p < PEERS; p++) {
			replay_qos(r, p, c, &q);
			intervals += q.intervals;
			mistakes += q.mistakes;
			longest = q.longest_ns > longest ? q.longest_ns : longest;
			detect = q.detect_max_ns > detect ? q.detect_max_ns : detect;
		}
		assert_int_equal(replay_qos_all(r, c, &all), 0);
		assert_int_equal(all.intervals, intervals);
		assert_int_equal(all.mistakes, mistakes);
		assert_int_equal(all.longest_ns, longest);
		assert_int_equal(all.detect_max_ns, detect);
	}
	for (uint32_t p = 0; p < PEERS; p++) {
		struct stream alone = {0};
		struct replay *single;
		struct qos other;

		memcpy(alone.settings, s.settings, sizeof(s.settings));
		for (size_t i = 0; i < s.n; i++)
			if (s.list[i].peer == p)
				stream_add(&alone, p, &s.list[i].beat);
		single = stream_replay(&alone, plan);
		for (uint32_t c = 0; c < plan->contenders; c++) {
			replay_qos(r, p, c, &q);
			replay_qos(single, p, c, &other);
			assert_memory_equal(&q, &other, sizeof(q));
		}
		replay_free(single);
		stream_free(&alone);
	}
	replay_free(r);
	stream_free(&s);
	free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_by_walking),
		cmocka_unit_test(peers_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
