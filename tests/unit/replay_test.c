// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Replay: what it says of streams whose truth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "replay/crashes.h"
#include "replay/replay_peer.h"
#include "unit/random.h"
#include "unit/replay_stream.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

static const q32_t eight[] = {8 * Q32_ONE};

static struct replay_plan *plan_new(uint32_t crashes)
{
	struct replay_plan *plan = calloc(1, sizeof(*plan));

	plan->window = 100;
	plan->crashes = crashes;
	plan->seed = 1;
	return plan;
}

static void add_detector(struct replay_plan *plan, const char *name, double parameter)
{
	assert_int_equal(replay_plan_detector(plan, detector_by_name(name), &parameter, 1), 0);
}

/* A peer with an interval of 100 ms that beats with `jitter_ns` around it. */
static void add_steady(struct stream *s, uint32_t peer, uint32_t beats, uint64_t jitter_ns)
{
	uint64_t random = peer + 1;

	s->settings[peer].interval_ns = 100 * MS;
	for (uint32_t i = 0; i < beats; i++)
		stream_beat(s, peer, SEC + i * 100 * MS + (jitter_ns ? random_below(&random, jitter_ns) : 0),
			    i);
}

/* --- the figures */

/* Intervals of 10, 10, 30 and 10 s under a timeout of 15: by hand. */
static void figures_by_hand(void **state)
{
	static const uint64_t at_s[] = {100, 110, 120, 150, 160};
	struct replay_plan *plan = plan_new(0);
	struct stream s = {.settings[0].interval_ns = 10 * SEC};
	struct replay *r;
	struct qos q;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		stream_beat(&s, 0, at_s[i] * SEC, i);
	add_detector(plan, "fixed", 15e9);
	add_detector(plan, "fixed", 30e9); /* not late: exactly in time */
	r = stream_replay(&s, plan);
	assert_int_equal(replay_qos_all(r, 0, &q), 0);
	assert_int_equal(q.intervals, 4);
	assert_int_equal(q.alive_ns, 60 * SEC);
	assert_int_equal(q.mistakes, 1);
	assert_int_equal(q.mistaken_ns, 15 * SEC);
	assert_int_equal(q.longest_ns, 15 * SEC);
	assert_true(qos_recurrence_ns(&q) == 60e9 && qos_mistake_ns(&q) == 15e9 && qos_good_ns(&q) == 45e9);
	assert_true(qos_accuracy(&q) == 0.75 && qos_mistakes_per_beat(&q) == 0.25);
	assert_true(fabs(qos_mistakes_per_day(&q) - 1440) < 1e-9);
	assert_int_equal(replay_qos_all(r, 1, &q), 0);
	assert_int_equal(q.mistakes, 0);
	replay_free(r);
	stream_free(&s);
	free(plan);
}

/* Means that show at most k events with a chance of 5 %: tables of the chi-squared distribution, halved. */
static void what_a_trace_does_not_exclude(void **state)
{
	static const struct {
		uint64_t mistakes;
		double most;
	} facts[] = {{0, 2.9957}, {1, 4.7439}, {2, 6.2958}, {5, 10.5130}, {10, 16.9622}, {50, 63.2871}};
	struct qos q = {.alive_ns = 86400 * SEC};

	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		q.mistakes = facts[i].mistakes;
		assert_true(fabs(qos_mistakes_per_day_at_most(&q) - facts[i].most) < 1e-3);
	}
	q.mistakes = 1001;
	assert_true(fabs(qos_mistakes_per_day_at_most(&q) - 1055) < 5);
	q = (struct qos){0};
	assert_true(isinf(qos_mistakes_per_day_at_most(&q)));
	assert_true(qos_accuracy(&q) == 1 && qos_mistakes_per_day(&q) == 0 && qos_recurrence_ns(&q) == 0);
}

/* --- mistakes */

static void nobody_late_no_mistake(void **state)
{
	static const q32_t low[] = {Q32_ONE / 2, Q32_ONE};
	struct replay_plan *plan = plan_new(100);
	struct stream s = {0};
	struct replay *r;
	struct qos q;

	(void)state;
	add_steady(&s, 0, 3000, 20 * MS);
	for (int model = REPLAY_OWN_MODEL; model < KPHI_MODELS; model++)
		assert_int_equal(replay_plan_model(plan, model, eight, 1), 0);
	assert_int_equal(replay_plan_model(plan, KPHI_MODEL_NORMAL, low, 2), 0);
	for (size_t i = 0; detectors[i]; i++)
		add_detector(plan, detectors[i]->name,
			     detectors[i]->unit == DETECTOR_TIME ? 150e6
			     : detectors[i]->usual < 8           ? 2 * detectors[i]->usual
								 : detectors[i]->usual);
	add_detector(plan, "fixed", 110e6); /* the witness */
	r = stream_replay(&s, plan);
	for (uint32_t c = 0; c < plan->contenders - 1; c++) {
		assert_int_equal(replay_qos_all(r, c, &q), 0);
		assert_int_equal(q.mistakes, 0);
		assert_int_equal(q.intervals, 2999);
		assert_true(qos_accuracy(&q) == 1);
		assert_int_equal(q.crashes, 100);
		assert_true(q.detect_p50_ns > 0 && q.detect_p50_ns <= q.detect_p99_ns);
		assert_true(q.detect_p99_ns <= q.detect_max_ns);
	}
	assert_int_equal(replay_qos_all(r, plan->contenders - 1, &q), 0);
	assert_true(q.mistakes > 100);
	replay_free(r);
	stream_free(&s);
	free(plan);
}

/* One gap of 700 ms, 500 of which this host has slept through, or has not. */
static uint64_t mistakes_over_a_gap(uint64_t stalled_ns, uint64_t lost)
{
	struct replay_plan *plan = plan_new(0);
	struct stream s = {0};
	uint64_t mistakes;
	struct replay *r;
	struct qos q;

	add_steady(&s, 0, 100, 0);
	stream_beat(&s, 0, SEC + 99 * 100 * MS + 700 * MS, 100)->stalled_total_ns = stalled_ns;
	s.list[s.n - 1].lost = lost;
	replay_plan_model(plan, KPHI_MODEL_NORMAL, eight, 1);
	r = stream_replay(&s, plan);
	assert_int_equal(replay_qos_all(r, 0, &q), 0);
	mistakes = q.mistakes;
	assert_int_equal(q.intervals, lost ? 99 : 100);
	replay_free(r);
	stream_free(&s);
	free(plan);
	return mistakes;
}

static void own_stalls_are_taken_off(void **state)
{
	(void)state;
	assert_int_equal(mistakes_over_a_gap(0, 0), 1);
	assert_int_equal(mistakes_over_a_gap(500 * MS, 0), 0);
}

static void lost_arrivals_are_no_silence(void **state)
{
	(void)state;
	assert_int_equal(mistakes_over_a_gap(0, 3), 0);
}

/* Nobody suspects falsely who suspects a sender that had gone, or had been restarted. */
static void gone_is_no_mistake(void **state)
{
	struct replay_plan *plan = plan_new(0);
	struct stream s = {0};
	struct replay *r;
	struct qos q;

	(void)state;
	add_steady(&s, 0, 100, 0);
	stream_beat(&s, 0, 20 * SEC, 100)->epoch = 2; /* after nine seconds of silence, another life */
	stream_beat(&s, 0, 20 * SEC + 100 * MS, 101)->epoch = 2;
	s.list[s.n - 1].beat.type = KPHI_WIRE_LEAVE;
	stream_beat(&s, 0, 40 * SEC, 102)->epoch = 2; /* back after a goodbye */
	replay_plan_model(plan, KPHI_MODEL_NORMAL, eight, 1);
	add_detector(plan, "fixed", 300e6);
	r = stream_replay(&s, plan);
	for (uint32_t c = 0; c < 2; c++) {
		assert_int_equal(replay_qos_all(r, c, &q), 0);
		assert_int_equal(q.mistakes, 0);
		assert_int_equal(q.intervals, 100);
	}
	replay_free(r);
	stream_free(&s);
	free(plan);
}

/* A detector that grants no time at all makes one mistake, and never ends it. */
static void a_mistake_goes_on(void **state)
{
	struct replay_plan *plan = plan_new(0);
	struct stream s = {0};
	struct replay *r;
	struct qos q;

	(void)state;
	add_steady(&s, 0, 100, 0);
	add_detector(plan, "fixed", 0);
	r = stream_replay(&s, plan);
	assert_int_equal(replay_qos_all(r, 0, &q), 0);
	assert_int_equal(q.mistakes, 1);
	assert_int_equal(q.longest_ns, 99 * 100 * MS);
	assert_true(qos_accuracy(&q) == 0);
	replay_free(r);
	stream_free(&s);
	free(plan);
}

/* --- crashes */

/* A yardstick with a known timeout tells when each crash was; the model's time to detect it follows. */
static void detection_is_the_rest_of_the_silence(void **state)
{
	static const q32_t thresholds[] = {Q32_ONE / 10, 3 * Q32_ONE, 8 * Q32_ONE};
	const uint64_t timeout = 10 * SEC;
	struct replay_plan *plan = plan_new(1000);
	struct kphi_record record = {.state = KPHI_WAITING};
	struct stream s = {0};
	uint64_t ring[KPHI_RING_SIZE(100)] = {0};
	double sum = 0;
	struct replay *r;
	uint32_t notes;

	(void)state;
	add_steady(&s, 0, 1001, 30 * MS); /* as many intervals as crashes: each is hit, in order */
	replay_plan_model(plan, KPHI_MODEL_NORMAL, thresholds, 3);
	add_detector(plan, "fixed", (double)timeout);
	r = stream_replay(&s, plan);
	kphi_window_begin(&record.window, &s.settings[0]);
	for (uint32_t i = 0; i < 1000; i++) {
		const uint64_t *row = r->peer[0]->detections + i * 4UL;
		uint64_t silence = timeout - row[3];
		uint64_t interval = s.list[i + 1].beat.now_ns - s.list[i].beat.now_ns;
		struct kphi_estimate e;

		kphi_record_take(&record, &s.settings[0], ring, 100, &s.list[i].beat, &notes);
		assert_true(estimate_from_window(&e, &record.window, &s.settings[0], NULL));
		assert_true(silence < interval);
		sum += (double)silence / (double)interval;
		for (uint32_t c = 0; c < 3; c++) {
			uint64_t deadline = estimate_silence(&e, thresholds[c]);

			assert_int_equal(row[c], deadline > silence ? deadline - silence : 0);
		}
	}
	assert_true(fabs(sum / 1000 - 0.5) < 0.03); /* three deviations of 0.29 / sqrt(1000) */
	replay_free(r);
	stream_free(&s);
	free(plan);
}

/* Each interval of a stream of 1,000 is as likely as any other to be among the 50 that are hit. */
static void crashes_are_spread_evenly(void **state)
{
	uint32_t hits[10] = {0};
	double chi_squared = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		uint32_t place[50];
		struct crashes c;
		struct crash crash;

		crashes_begin(&c, 50, seed * 0xd1342543de82ef95U);
		for (uint32_t i = 0; i < 1000; i++) {
			if (!crashes_meet(&c, 1000000, &crash))
				continue;
			assert_true(crash.place < 50 && crash.silence_ns < 1000000);
			place[crash.place] = i;
		}
		assert_int_equal(c.n, 50);
		for (uint32_t i = 0; i < 50; i++)
			hits[place[i] / 100]++;
	}
	for (uint32_t i = 0; i < 10; i++)
		chi_squared += (hits[i] - 2000.0) * (hits[i] - 2000.0) / 2000;
	assert_true(chi_squared < 27.9); /* nine degrees of freedom: one in a thousand */
}

/* Of a stream whose length is known, the crashes are those that the others would have come to. */
static void crashes_that_are_known_are_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		uint32_t size = (uint32_t)(seed % 7) * 10, met = 0;
		uint64_t intervals = seed * seed % 5000, at[60] = {0}, silence[60] = {0};
		struct crashes drawn, known;
		struct crash crash;

		crashes_begin(&drawn, size, seed);
		for (uint64_t i = 0; i < intervals; i++)
			if (crashes_meet(&drawn, 1000000 + i, &crash)) {
				at[crash.place] = i;
				silence[crash.place] = crash.silence_ns;
			}
		assert_int_equal(crashes_begin_known(&known, size, seed, intervals), 0);
		for (uint64_t i = 0; i < intervals + 10; i++) {
			uint32_t place = 0;

			if (!crashes_meet(&known, 1000000 + i, &crash))
				continue;
			assert_int_equal(crash.place, met++);
			while (place < drawn.n && at[place] != i)
				place++;
			assert_true(place < drawn.n);
			assert_int_equal(crash.silence_ns, silence[place]);
		}
		assert_int_equal(met, drawn.n);
		assert_int_equal(known.n, drawn.n);
		crashes_end(&known);
	}
}

static void same_seed_same_crashes(void **state)
{
	struct replay_plan *plan = plan_new(20);
	uint64_t sums[3] = {0};
	struct stream s = {0};

	(void)state;
	add_steady(&s, 0, 2000, 30 * MS);
	add_detector(plan, "fixed", 10e9);
	for (uint32_t run = 0; run < 3; run++) {
		struct replay *r;

		plan->seed = run < 2 ? 7 : 8;
		r = stream_replay(&s, plan);
		for (uint32_t i = 0; i < 20; i++)
			sums[run] = sums[run] * 31 + r->peer[0]->detections[i];
		replay_free(r);
	}
	assert_int_equal(sums[0], sums[1]);
	assert_int_not_equal(sums[0], sums[2]);
	stream_free(&s);
	free(plan);
}

/* --- plans */

static void a_plan_fills(void **state)
{
	struct replay_plan *plan = plan_new(0);
	static q32_t thresholds[REPLAY_CONTENDERS_MAX];
	double parameter = 1e9;

	(void)state;
	assert_int_equal(replay_plan_model(plan, KPHI_MODEL_NORMAL, thresholds, REPLAY_CONTENDERS_MAX - 1),
			 0);
	assert_int_equal(replay_plan_model(plan, KPHI_MODEL_NORMAL, eight, 2), -ENOSPC);
	assert_int_equal(replay_plan_model(plan, KPHI_MODEL_AKKA, eight, 1), 0);
	assert_int_equal(replay_plan_group(plan, REPLAY_CONTENDERS_MAX - 2)->model, KPHI_MODEL_NORMAL);
	assert_int_equal(replay_plan_group(plan, REPLAY_CONTENDERS_MAX - 1)->model, KPHI_MODEL_AKKA);
	assert_int_equal(replay_plan_detector(plan, detector_by_name("fixed"), &parameter, 1), -ENOSPC);
	free(plan);
}

static int next_fails(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	(void)context;
	*peer = 0;
	beat->type = KPHI_WIRE_BEAT;
	return -EBADMSG;
}

static const struct kphi_peer *nobody(void *context, uint32_t peer)
{
	(void)context;
	(void)peer;
	return NULL;
}

static void what_the_source_says(void **state)
{
	struct replay_plan *plan = plan_new(0);
	struct stream s = {0};
	struct replay_source bad = {.next = next_fails, .settings = nobody};
	struct replay_source unknown = {.next = stream_next, .settings = nobody, .context = &s};
	struct replay_source good = {.next = stream_next, .settings = stream_settings, .context = &s};
	struct replay *r = replay_new(plan);

	(void)state;
	add_steady(&s, 2, 10, 0);
	assert_int_equal(replay_run(r, &bad, 5), -EBADMSG);
	assert_int_equal(replay_run(r, &unknown, 5), -EINVAL);
	s.at = 0;
	assert_int_equal(replay_run(r, &good, 9), 1);
	assert_int_equal(replay_run(r, &good, 9), 0);
	assert_int_equal(replay_arrivals(r), 10);
	assert_int_equal(replay_peers(r), 3);
	assert_true(replay_heard(r, 2) && !replay_heard(r, 0) && !replay_heard(r, 3));
	replay_free(r);
	stream_free(&s);
	free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_by_hand),
		cmocka_unit_test(what_a_trace_does_not_exclude),
		cmocka_unit_test(nobody_late_no_mistake),
		cmocka_unit_test(own_stalls_are_taken_off),
		cmocka_unit_test(lost_arrivals_are_no_silence),
		cmocka_unit_test(gone_is_no_mistake),
		cmocka_unit_test(a_mistake_goes_on),
		cmocka_unit_test(detection_is_the_rest_of_the_silence),
		cmocka_unit_test(crashes_are_spread_evenly),
		cmocka_unit_test(same_seed_same_crashes),
		cmocka_unit_test(crashes_that_are_known_are_the_same),
		cmocka_unit_test(a_plan_fills),
		cmocka_unit_test(what_the_source_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
