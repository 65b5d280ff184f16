// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sweeps over several threads, and the choice of a setting on curves that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "replay/calibrate.h"
#include "unit/random.h"
#include "unit/replay_stream.h"

#define MS  1000000ULL
#define SEC (1000 * MS)
#define DAY (86400 * SEC)

/* A day of one peer: mistakes and detection times in seconds, at the thresholds 1, 2, 3, ... */
static struct sweep_curve curve_of(int model, uint32_t n, const uint64_t *mistakes, const uint64_t *detect_s)
{
	struct sweep_curve c = {.model = model, .n = n};

	for (uint32_t i = 0; i < n; i++) {
		c.point[i].threshold = (i + 1) * Q32_ONE;
		c.point[i].qos = (struct qos){.intervals = 86400,
					      .alive_ns = DAY,
					      .mistakes = mistakes[i],
					      .detect_p50_ns = detect_s[i] * SEC,
					      .detect_p99_ns = detect_s[i] * SEC,
					      .detect_max_ns = detect_s[i] * SEC};
	}
	return c;
}

static struct sweep_curve quick(void)
{
	static const uint64_t mistakes[] = {10000, 1000, 100, 10, 8, 2, 2, 2};
	static const uint64_t detect[] = {1, 2, 3, 4, 8, 16, 32, 64};

	return curve_of(KPHI_MODEL_NORMAL, 8, mistakes, detect);
}

static struct sweep_curve slow(void)
{
	static const uint64_t mistakes[] = {10000, 1000, 100, 10, 4, 0, 0, 0};
	static const uint64_t detect[] = {2, 4, 6, 8, 16, 32, 64, 128};

	return curve_of(KPHI_MODEL_EXPONENTIAL, 8, mistakes, detect);
}

static int choose(const struct sweep_curve *c, double max_false, uint64_t max_detect_s)
{
	struct target t = {.max_false_per_day = max_false, .max_detect_ns = max_detect_s * SEC};

	return calibrate_choose(c, &t);
}

static void targets_choose_a_point(void **state)
{
	struct sweep_curve c = quick();

	(void)state;
	assert_int_equal(choose(&c, 100, 0), 2);
	assert_int_equal(choose(&c, 99, 0), 3);
	assert_int_equal(choose(&c, 2, 0), 5);
	assert_int_equal(choose(&c, 1, 0), -1);
	assert_int_equal(choose(&c, 0, 9), 4);
	assert_int_equal(choose(&c, 0, 1000), 5); /* later ones make no fewer mistakes */
	assert_int_equal(choose(&c, 100, 3), 2);
	assert_int_equal(choose(&c, 99, 3), -1);
	c.n = 0;
	assert_int_equal(choose(&c, 0, 0), -1);
}

/* Up to the fourth point, a second more makes ten times fewer mistakes; after it, hardly any. */
static void the_knee_is_where_it_bends(void **state)
{
	static const uint64_t none[] = {0, 0, 0}, detect[] = {1, 2, 3};
	struct sweep_curve c = quick();

	(void)state;
	assert_int_equal(choose(&c, 0, 0), 3);
	c = curve_of(KPHI_MODEL_NORMAL, 3, none, detect);
	assert_int_equal(choose(&c, 0, 0), 0);
}

static void one_model_for_all(void **state)
{
	struct sweep_curve curves[] = {slow(), quick()};
	struct target targets[] = {{.max_false_per_day = 100}, {.max_false_per_day = 1}};

	(void)state;
	assert_int_equal(calibrate_model(curves, 2, targets, 1), 1); /* both meet it, one is quicker */
	assert_int_equal(calibrate_model(curves, 2, targets, 2), 0); /* only one meets both */
	assert_int_equal(calibrate_model(curves + 1, 1, targets, 2), 0);
}

static void thresholds_ascend(void **state)
{
	struct sweep_curve c;
	uint32_t n = sweep_thresholds(&c);

	(void)state;
	assert_in_range(n, 50, SWEEP_POINTS_MAX);
	assert_int_equal(c.point[0].threshold, Q32_ONE / 2);
	for (uint32_t i = 1; i < n; i++)
		assert_true(c.point[i].threshold > c.point[i - 1].threshold);
	assert_true(c.point[n - 1].threshold >= 100000 * Q32_ONE);
}

static void parameters_ascend(void **state)
{
	(void)state;
	for (size_t k = 0; detectors[k]; k++) {
		struct sweep_curve c = {.detector = detectors[k]};
		uint32_t n = sweep_parameters(&c, 100 * MS, SEC);

		assert_in_range(n, 15, SWEEP_POINTS_MAX);
		assert_true(c.point[0].parameter > 0);
		for (uint32_t i = 1; i < n; i++)
			assert_true(c.point[i].parameter > c.point[i - 1].parameter);
		if (detectors[k]->unit == DETECTOR_TIME)
			assert_true(c.point[n - 1].parameter == 40e9);
	}
}

/* Each setting once, each peer's own first; and a model without settings has no others. */
static void settings_are_tried(void **state)
{
	static struct sweep_curve c[32];
	uint32_t n = sweep_model(c, 32, KPHI_MODEL_NORMAL, false), defaults = 0;

	(void)state;
	assert_int_equal(n, 13);
	assert_false(c[0].tuning.pause || c[0].tuning.min_std);
	for (uint32_t i = 1; i < n; i++) {
		assert_true(c[i].tuning.pause && c[i].tuning.min_std);
		defaults += c[i].tuning.pause_permille == 3000 && c[i].tuning.min_std_permille == 100;
		for (uint32_t k = 1; k < i; k++)
			assert_memory_not_equal(&c[i].tuning, &c[k].tuning, sizeof(c[i].tuning));
	}
	assert_int_equal(defaults, 1);
	assert_int_equal(sweep_model(c, 32, KPHI_MODEL_AKKA, true), 12);
	assert_int_equal(sweep_model(c, 5, KPHI_MODEL_AKKA, true), 5);
	assert_int_equal(sweep_model(c, 32, KPHI_MODEL_EXPONENTIAL, false), 1);
}

/* Of two that are as good, the one that nobody has to write; of one that is clearly better, that one. */
static void settings_are_worth_writing(void **state)
{
	struct sweep_curve curves[] = {quick(), quick()};
	struct target target = {.max_false_per_day = 100};

	(void)state;
	curves[0].tuning.pause = true;
	curves[0].point[2].qos.detect_p99_ns -= SEC / 10;
	assert_int_equal(calibrate_model(curves, 2, &target, 1), 1);
	curves[0].point[2].qos.detect_p99_ns -= SEC / 10;
	assert_int_equal(calibrate_model(curves, 2, &target, 1), 0);
}

/* --- sweeps */

struct opened {
	const struct stream *stream;
	uint32_t opened, closed, progress, errors; /* by whichever thread */
	uint32_t passes; /* as many as each was told, added up */
	int fails;
};

static int open_copy(void *context, struct replay_source *source, uint32_t pass, uint32_t passes)
{
	struct opened *o = context;
	struct stream *copy = malloc(sizeof(*copy));

	__atomic_add_fetch(&o->passes, pass >= 1 && pass <= passes ? passes : UINT32_MAX / 2,
			   __ATOMIC_RELAXED);
	__atomic_add_fetch(&o->opened, 1, __ATOMIC_RELAXED);
	*copy = *o->stream;
	copy->at = 0;
	*source = (struct replay_source){.next = stream_next, .settings = stream_settings};
	source->context = copy;
	return 0;
}

static void close_copy(void *context, struct replay_source *source, int err)
{
	struct opened *o = context;

	__atomic_add_fetch(&o->closed, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&o->errors, err != 0, __ATOMIC_RELAXED);
	free(source->context);
}

static void count_progress(void *context, const struct replay_source *source)
{
	(void)source;
	((struct opened *)context)->progress++;
}

/* A sweep over a stream that is known by now. */
static struct sweep sweep_of(const struct survey *survey, uint32_t threads,
			     int (*open)(void *, struct replay_source *, uint32_t, uint32_t),
			     struct opened *opened)
{
	return (struct sweep){
		.survey = survey,
		.window = 100,
		.crashes = 50,
		.seed = 1,
		.threads = threads,
		.open = open,
		.close = close_copy,
		.progress = count_progress,
		.context = opened,
	};
}

static void look_at(struct survey *survey, struct stream *s)
{
	struct replay_source source = {.next = stream_next, .settings = stream_settings, .context = s};

	s->at = 0;
	assert_int_equal(survey_begin(survey, 100), 0);
	assert_int_equal(survey_run(survey, &source, UINT64_MAX), 0);
}

static void some_stream(struct stream *s, uint32_t n)
{
	uint64_t random = 3, now = SEC;

	s->settings[0].interval_ns = 100 * MS;
	for (uint32_t i = 0; i < n; i++) {
		now += 90 * MS + random_below(&random, 20 * MS) +
		       (random_below(&random, 50) ? 0 : random_below(&random, 2000 * MS));
		stream_beat(s, 0, now, i);
	}
}

static uint32_t some_curves(struct sweep_curve *curves)
{
	uint32_t n = sweep_model(curves, 2, KPHI_MODEL_NORMAL, true);

	n += sweep_model(curves + n, 1, KPHI_MODEL_EXPONENTIAL, true);
	for (size_t i = 0; detectors[i]; i++) {
		curves[n].detector = detectors[i];
		sweep_parameters(&curves[n++], 100 * MS, 100 * MS);
	}
	return n;
}

/* The curve as a group of a plan. */
static int plan_curve(struct replay_plan *plan, const struct sweep_curve *c)
{
	q32_t thresholds[SWEEP_POINTS_MAX];
	double parameters[SWEEP_POINTS_MAX];

	for (uint32_t i = 0; i < c->n; i++) {
		thresholds[i] = c->point[i].threshold;
		parameters[i] = c->point[i].parameter;
	}
	if (c->detector)
		return replay_plan_detector(plan, c->detector, parameters, c->n);
	return replay_plan_tuned(plan, c->model, &c->tuning, thresholds, c->n);
}

/* However many threads share the work, the curves are the same; and they are curves. */
static void threads_make_no_difference(void **state)
{
	static struct sweep_curve one[16], many[16];
	struct stream s = {0};
	struct opened opened = {.stream = &s};
	static struct survey survey;
	struct sweep sweep = sweep_of(&survey, 1, open_copy, &opened);
	uint32_t n = some_curves(one);

	(void)state;
	assert_int_equal(some_curves(many), n);
	some_stream(&s, 1 << 19);
	look_at(&survey, &s);
	assert_int_equal(sweep_run(&sweep, one, n), 0);
	sweep.threads = 3;
	assert_int_equal(sweep_run(&sweep, many, n), 0);
	assert_memory_equal(one, many, sizeof(one));
	assert_int_equal(opened.opened, 4);
	assert_int_equal(opened.closed, 4);
	assert_in_range(opened.progress, 4, 8); /* by one thread of each sweep */
	assert_int_equal(opened.passes, 4); /* one each */
	for (uint32_t k = 0; k < n; k++) {
		assert_true(one[k].point[0].qos.intervals > 1 << 18);
		assert_true(one[k].point[0].qos.mistakes > one[k].point[one[k].n - 1].qos.mistakes);
		/* What is learned by verdict may be led astray. */
		for (uint32_t i = 1; i < one[k].n && !(one[k].detector && one[k].detector->learns_by_verdict);
		     i++)
			assert_true(one[k].point[i].qos.detect_max_ns >=
				    one[k].point[i - 1].qos.detect_max_ns);
	}
	survey_end(&survey);
	stream_free(&s);
}

/* The same, and of the models that are dear. */
static uint32_t all_curves(struct sweep_curve *curves)
{
	uint32_t n = some_curves(curves);

	n += sweep_model(curves + n, 1, KPHI_MODEL_LOSS, true);
	n += sweep_model(curves + n, 1, KPHI_MODEL_EMPIRICAL, true);
	return n;
}

/* Peers that beat each in its own way, so that none can stand for another. */
static void some_peers(struct stream *s, uint32_t n)
{
	uint64_t random = 5, now[STREAM_PEERS];

	for (uint32_t p = 0; p < STREAM_PEERS; p++) {
		s->settings[p].interval_ns = 100 * MS;
		now[p] = SEC + p * MS;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t p = 0; p < STREAM_PEERS; p++) {
			if (p == 3 && i < n / 2) /* comes late */
				continue;
			now[p] += 90 * MS + random_below(&random, 20 * MS) +
				  (random_below(&random, 30 + p) ? 0
								 : random_below(&random, (1 + p) * 300 * MS));
			stream_beat(s, p, now[p], i);
		}
}

/* However peers are dealt out, over however many passes, it is what one replay of all of them finds. */
static void peers_may_be_dealt_out(void **state)
{
	static const struct {
		uint32_t threads;
		uint64_t state_max;
		uint32_t opened;
	} ways[] = {{1, 1ULL << 40, 1}, {3, 1ULL << 40, 3}, {1, 1, 8}, {3, 1, 6}, {8, 1, 8}};
	static struct sweep_curve curves[16];
	static struct survey survey;
	struct replay_plan *plan = calloc(1, sizeof(*plan));
	struct stream s = {0};
	uint32_t n = all_curves(curves);
	struct replay *r;

	(void)state;
	some_peers(&s, 1000);
	look_at(&survey, &s);
	*plan = (struct replay_plan){.window = 100, .crashes = 50, .seed = 1};
	for (uint32_t k = 0; k < n; k++)
		assert_int_equal(plan_curve(plan, &curves[k]), 0);
	r = stream_replay(&s, plan);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct opened opened = {.stream = &s};
		struct sweep sweep = sweep_of(&survey, ways[i].threads, open_copy, &opened);
		uint32_t contender = 0;

		sweep.state_max = ways[i].state_max;
		all_curves(curves); /* nothing is left of the last one */
		assert_int_equal(sweep_run(&sweep, curves, n), 0);
		assert_int_equal(opened.opened, ways[i].opened);
		assert_int_equal(opened.closed, ways[i].opened);
		assert_int_equal(opened.passes, ways[i].opened * (ways[i].opened / ways[i].threads));
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t p = 0; p < curves[k].n; p++) {
				struct qos expected;

				assert_int_equal(replay_qos_all(r, contender++, &expected), 0);
				assert_memory_equal(&curves[k].point[p].qos, &expected, sizeof(expected));
			}
	}
	assert_int_equal(curves[0].point[0].qos.crashes, 50 * STREAM_PEERS);
	replay_free(r);
	survey_end(&survey);
	stream_free(&s);
	free(plan);
}

/* As many crashes as there is room for: for all, or for some of the peers. */
static void crashes_are_afforded(void **state)
{
	static struct sweep_curve curves[16];
	static struct survey survey;
	uint32_t n = some_curves(curves);
	uint64_t each = 0;

	(void)state;
	for (uint32_t k = 0; k < n; k++)
		each += curves[k].n * sizeof(uint64_t);
	for (uint32_t heard = 1; heard < 100000000; heard *= 7) {
		struct sweep sweep = {.survey = &survey};
		uint64_t crashing;

		survey.heard = heard;
		sweep_afford(&sweep, curves, n, 100);
		crashing = (heard + sweep.crash_every - 1) / sweep.crash_every;
		assert_in_range(sweep.crashes, 1, 100);
		assert_in_range(each * crashing * sweep.crashes, 0, SWEEP_DETECTIONS_MAX * 3 / 2);
		if (sweep.crashes < 100) /* no more than need be are given up */
			assert_true(each * crashing * sweep.crashes > SWEEP_DETECTIONS_MAX / 3);
	}
}

/* A peer judged with a tuning is the same as one that was given these settings. */
static void tuning_is_as_given(void **state)
{
	static struct sweep_curve tuned = {.model = KPHI_MODEL_NORMAL}, given = {.model = KPHI_MODEL_NORMAL};
	struct stream s = {0};
	struct opened opened = {.stream = &s};
	static struct survey survey;
	struct sweep sweep = sweep_of(&survey, 1, open_copy, &opened);

	(void)state;
	tuned.tuning = (struct replay_tuning){true, true, 1000, 20};
	sweep_thresholds(&tuned);
	sweep_thresholds(&given);
	some_stream(&s, 20000);
	look_at(&survey, &s);
	assert_int_equal(sweep_run(&sweep, &tuned, 1), 0);
	s.settings[0].set = KPHI_SET_PAUSE | KPHI_SET_MIN_STD;
	s.settings[0].pause_ns = 100 * MS;
	s.settings[0].min_std_ns = 2 * MS;
	assert_int_equal(sweep_run(&sweep, &given, 1), 0);
	assert_memory_equal(tuned.point, given.point, sizeof(given.point));
	s.settings[0].pause_ns++; /* the witness */
	assert_int_equal(sweep_run(&sweep, &given, 1), 0);
	assert_memory_not_equal(tuned.point, given.point, sizeof(given.point));
	survey_end(&survey);
	stream_free(&s);
}

static int next_breaks(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct stream *s = context;

	return s->at == 100 ? -EBADMSG : stream_next(context, peer, beat);
}

static int open_broken(void *context, struct replay_source *source, uint32_t pass, uint32_t passes)
{
	int err = open_copy(context, source, pass, passes);

	source->next = next_breaks;
	return err;
}

static int open_nothing(void *context, struct replay_source *source, uint32_t pass, uint32_t passes)
{
	(void)context;
	(void)source;
	(void)pass;
	(void)passes;
	return -ENOENT;
}

static void errors_come_back(void **state)
{
	static struct sweep_curve c[2]; /* a thread each */
	struct stream s = {0};
	struct opened opened = {.stream = &s};
	static struct survey survey;
	struct sweep sweep = sweep_of(&survey, 2, open_broken, &opened);

	(void)state;
	some_stream(&s, 200);
	look_at(&survey, &s);
	sweep_thresholds(&c[0]);
	sweep_thresholds(&c[1]);
	assert_int_equal(sweep_run(&sweep, c, 2), -EBADMSG);
	assert_int_equal(opened.errors, 2);
	sweep.open = open_nothing;
	assert_int_equal(sweep_run(&sweep, c, 2), -ENOENT);
	survey_end(&survey);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_choose_a_point),     cmocka_unit_test(the_knee_is_where_it_bends),
		cmocka_unit_test(one_model_for_all),          cmocka_unit_test(thresholds_ascend),
		cmocka_unit_test(threads_make_no_difference), cmocka_unit_test(errors_come_back),
		cmocka_unit_test(parameters_ascend),          cmocka_unit_test(settings_are_tried),
		cmocka_unit_test(tuning_is_as_given),         cmocka_unit_test(settings_are_worth_writing),
		cmocka_unit_test(peers_may_be_dealt_out),     cmocka_unit_test(crashes_are_afforded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
