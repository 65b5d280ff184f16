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

/* --- sweeps */

struct opened {
	const struct stream *stream;
	uint32_t opened, closed, progress, errors; /* by whichever thread */
	int fails;
};

static int open_copy(void *context, struct replay_source *source)
{
	struct opened *o = context;
	struct stream *copy = malloc(sizeof(*copy));

	__atomic_add_fetch(&o->opened, 1, __ATOMIC_RELAXED);
	*copy = *o->stream;
	copy->at = 0;
	*source = (struct replay_source){stream_next, stream_settings, NULL, NULL};
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

/* However many threads share the work, the curves are the same; and they are curves. */
static void threads_make_no_difference(void **state)
{
	static struct sweep_curve one[2], many[2];
	struct stream s = {0};
	struct opened opened = {.stream = &s};
	struct sweep sweep = {100, 50, 1, 1, open_copy, close_copy, count_progress, &opened};

	(void)state;
	some_stream(&s, 1 << 19);
	for (uint32_t i = 0; i < 2; i++) {
		one[i].model = i ? KPHI_MODEL_EXPONENTIAL : KPHI_MODEL_NORMAL;
		sweep_thresholds(&one[i]);
		many[i] = one[i];
	}
	assert_int_equal(sweep_run(&sweep, one, 2), 0);
	sweep.threads = 3;
	assert_int_equal(sweep_run(&sweep, many, 2), 0);
	assert_memory_equal(one, many, sizeof(one));
	assert_int_equal(opened.opened, 4);
	assert_int_equal(opened.closed, 4);
	assert_in_range(opened.progress, 4, 8); /* by one thread of each sweep */
	for (uint32_t i = 1; i < one[0].n; i++) {
		assert_true(one[0].point[i].qos.mistakes <= one[0].point[i - 1].qos.mistakes);
		assert_true(one[0].point[i].qos.detect_max_ns >= one[0].point[i - 1].qos.detect_max_ns);
	}
	assert_true(one[0].point[0].qos.mistakes > 1000);
	stream_free(&s);
}

static int next_breaks(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct stream *s = context;

	return s->at == 100 ? -EBADMSG : stream_next(context, peer, beat);
}

static int open_broken(void *context, struct replay_source *source)
{
	int err = open_copy(context, source);

	source->next = next_breaks;
	return err;
}

static int open_nothing(void *context, struct replay_source *source)
{
	(void)context;
	(void)source;
	return -ENOENT;
}

static void errors_come_back(void **state)
{
	static struct sweep_curve c = {.model = KPHI_MODEL_NORMAL};
	struct stream s = {0};
	struct opened opened = {.stream = &s};
	struct sweep sweep = {100, 50, 1, 2, open_broken, close_copy, NULL, &opened};

	(void)state;
	some_stream(&s, 200);
	sweep_thresholds(&c);
	assert_int_equal(sweep_run(&sweep, &c, 1), -EBADMSG);
	assert_int_equal(opened.errors, 2);
	sweep.open = open_nothing;
	assert_int_equal(sweep_run(&sweep, &c, 1), -ENOENT);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_choose_a_point),     cmocka_unit_test(the_knee_is_where_it_bends),
		cmocka_unit_test(one_model_for_all),          cmocka_unit_test(thresholds_ascend),
		cmocka_unit_test(threads_make_no_difference), cmocka_unit_test(errors_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
