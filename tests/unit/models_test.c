/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From windows to suspicion and back: worked numbers of others, the degenerate cases, and the exactness of
 * the inverse over whatever a window can hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>

#include "core/fixed.h"
#include "core/models.h"
#include "phi_facts.h"
#include "phi_random.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MS       1000000ULL
#define SEC      (1000 * MS)

static double from_q32(q32_t phi)
{
	return (double)phi / (double)Q32_ONE;
}

static void window_add(struct kphi_window *w, uint64_t interval_ns)
{
	u128 squares = (u128)w->squares_high << 64 | w->squares_low;

	squares += (u128)interval_ns * interval_ns;
	w->squares_high = (uint64_t)(squares >> 64);
	w->squares_low = (uint64_t)squares;
	w->sum_ns += interval_ns;
	w->n++;
}

/* A thousand samples with this mean and standard deviation. */
static struct kphi_estimate estimate_of(enum kphi_model model, double mean_ms, double sd_ms, double pause_ms)
{
	return (struct kphi_estimate){
		.n = 1000,
		.sum_ns = (uint64_t)llround(mean_ms * 1e9),
		.scale_ns = (uint64_t)llround(sd_ms * 1e9) + !sd_ms,
		.pause_ns = (uint64_t)llround(pause_ms * 1e6),
		.model = (uint8_t)model,
	};
}

/* --- worked numbers
 * -------------------------------------------------------------------------------------------- */

static void judgements(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(judgement_facts); i++) {
		struct kphi_estimate e = estimate_of(judgement_facts[i].model, judgement_facts[i].mean,
						     judgement_facts[i].sd, judgement_facts[i].pause);
		double phi = from_q32(estimate_phi(&e, (uint64_t)llround(judgement_facts[i].t * 1e6)));

		if (fabs(phi - judgement_facts[i].phi) > judgement_facts[i].within)
			fail_msg("judgement %zu: phi is %.9f", i, phi);
	}
}

static void deadlines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(deadline_facts); i++) {
		struct kphi_estimate e = estimate_of(deadline_facts[i].model, deadline_facts[i].mean,
						     deadline_facts[i].sd, deadline_facts[i].pause);
		q32_t threshold = (q32_t)(deadline_facts[i].phi * (double)Q32_ONE);
		double t = (double)estimate_silence(&e, threshold) / 1e6;

		if (fabs(t - deadline_facts[i].t) > deadline_facts[i].within)
			fail_msg("deadline %zu: %.6f ms", i, t);
	}
}

static void akkas_own_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(akka_facts); i++) {
		struct kphi_estimate e =
			estimate_of(KPHI_MODEL_AKKA, akka_facts[i].mean, akka_facts[i].sd, 0);
		double phi = from_q32(estimate_phi(&e, (uint64_t)akka_facts[i].t * MS));

		assert_true(fabs(phi - akka_facts[i].akka) <= 1e-9 + 1e-9 * phi);
		if (!akka_facts[i].normal)
			continue;
		e.model = KPHI_MODEL_NORMAL;
		phi = from_q32(estimate_phi(&e, (uint64_t)akka_facts[i].t * MS));
		assert_true(fabs(phi - akka_facts[i].normal) <= 1e-9 + 1e-9 * phi);
	}
}

/* {100, 200, 125, 340, 130}: mean 179, variance 7584; and a window of three as it slides. */
static void statistics_of_a_window(void **state)
{
	static const unsigned samples[] = {100, 200, 125, 340, 130};
	static const unsigned slide[3][3] = {{100, 110, 90}, {110, 90, 140}, {90, 140, 80}};
	static const double mean[3] = {100, 113.333333, 103.333333};
	static const double variance[3] = {66.666667, 422.222222, 688.888889};
	struct kphi_window w = {0};

	(void)state;
	assert_int_equal(window_mean_ns(&w), 0);
	assert_int_equal(window_stddev_ns(&w), 0);
	for (size_t i = 0; i < COUNT(samples); i++) {
		window_add(&w, samples[i] * MS);
		if (!i)
			assert_int_equal(window_stddev_ns(&w), 0);
	}
	assert_int_equal(window_mean_ns(&w), 179 * MS);
	assert_int_equal(window_stddev_ns(&w), (uint64_t)(sqrt(7584) * 1e6));
	for (size_t i = 0; i < COUNT(slide); i++) {
		w = (struct kphi_window){0};
		for (size_t j = 0; j < 3; j++)
			window_add(&w, slide[i][j] * MS);
		assert_true(fabs((double)window_mean_ns(&w) / 1e6 - mean[i]) < 1e-6);
		assert_true(fabs((double)window_stddev_ns(&w) / 1e6 - sqrt(variance[i])) < 1e-6);
	}
}

/* --- settings
 * -------------------------------------------------------------------------------------------------- */

static void a_learning_peer_is_not_judged(void **state)
{
	struct kphi_estimate e = {.n = 77};
	struct kphi_window w = {0};
	struct kphi_peer p = {.model = KPHI_MODEL_NORMAL};

	(void)state;
	assert_false(estimate_from_window(&e, &w, &p, NULL));
	window_add(&w, SEC);
	window_add(&w, SEC);
	assert_false(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.n, 77);
}

static void defaults_follow_the_interval(void **state)
{
	struct kphi_window w = {.interval_ns = SEC};
	struct kphi_peer p = {.model = KPHI_MODEL_AKKA};

	(void)state;
	assert_int_equal(effective_min_std_ns(&w, &p), 100 * MS);
	assert_int_equal(effective_pause_ns(&w, &p), 3 * SEC);
	p.min_std_ns = 5 * MS; /* not in force until it is said to be set */
	p.pause_ns = 7 * MS;
	assert_int_equal(effective_min_std_ns(&w, &p), 100 * MS);
	assert_int_equal(effective_pause_ns(&w, &p), 3 * SEC);
	p.set = KPHI_SET_MIN_STD | KPHI_SET_PAUSE;
	assert_int_equal(effective_min_std_ns(&w, &p), 5 * MS);
	assert_int_equal(effective_pause_ns(&w, &p), 7 * MS);
	p.min_std_ns = UINT64_MAX;
	assert_int_equal(effective_min_std_ns(&w, &p), KPHI_INTERVAL_MAX_NS);
	p.min_std_ns = p.pause_ns = 0; /* set to nothing is not the same as not set */
	assert_int_equal(effective_min_std_ns(&w, &p), 0);
	assert_int_equal(effective_pause_ns(&w, &p), 0);
	p.model = KPHI_MODEL_EXPONENTIAL;
	p.set = 0;
	assert_int_equal(effective_min_std_ns(&w, &p), 0);
	assert_int_equal(effective_pause_ns(&w, &p), 0);
}

/* None and one sample: the interval in force speaks, the sample does not. */
static void seeds_are_virtual(void **state)
{
	struct kphi_window w = {.interval_ns = SEC};
	struct kphi_peer p = {.model = KPHI_MODEL_AKKA};
	struct kphi_estimate e;

	(void)state;
	for (int samples = 0; samples < 2; samples++) {
		assert_true(estimate_from_window(&e, &w, &p, NULL));
		assert_int_equal(e.n, 1);
		assert_int_equal(e.sum_ns, SEC);
		assert_int_equal(e.scale_ns, 250 * MS);
		assert_int_equal(e.pause_ns, 3 * SEC);
		window_add(&w, 123 * SEC);
	}
	w.n = 0;
	p.set = KPHI_SET_MIN_STD;
	p.min_std_ns = 400 * MS;
	assert_true(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.scale_ns, 400 * MS);
	w.interval_ns = 1;
	p.min_std_ns = 0;
	assert_true(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.scale_ns, 1);
}

static void two_samples_are_enough(void **state)
{
	struct kphi_window w = {.interval_ns = 5 * SEC};
	struct kphi_peer p = {.model = KPHI_MODEL_NORMAL, .set = KPHI_SET_MIN_STD | KPHI_SET_PAUSE};
	struct kphi_estimate e;

	(void)state;
	window_add(&w, 900 * MS);
	window_add(&w, 1100 * MS);
	assert_true(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.n, 2);
	assert_int_equal(e.sum_ns, 2 * SEC);
	assert_int_equal(e.scale_ns, 2 * 100 * MS);
	assert_true(fabs(from_q32(estimate_phi(&e, 1200 * MS)) - 1.643016) < 1e-6); /* z = 2 */
}

/* Metronomes have no deviation at all: the floor answers, or one nanosecond does. */
static void identical_samples(void **state)
{
	struct kphi_window w = {.interval_ns = SEC};
	struct kphi_peer p = {.model = KPHI_MODEL_NORMAL, .set = KPHI_SET_PAUSE};
	struct kphi_estimate e;

	(void)state;
	for (int i = 0; i < 4096; i++)
		window_add(&w, SEC);
	assert_true(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.scale_ns, 4096 * 100 * MS);
	assert_true(fabs(from_q32(estimate_phi(&e, 1060 * MS)) - 0.5618) < 5e-5);
	p.set |= KPHI_SET_MIN_STD;
	assert_true(estimate_from_window(&e, &w, &p, NULL));
	assert_int_equal(e.scale_ns, 1);
	assert_true(estimate_phi(&e, SEC) == 1292913986); /* log10 2 * 2^32 */
	assert_true(estimate_phi(&e, SEC - 1) == 0);
	assert_true(estimate_phi(&e, SEC + 1) > 1000000 * Q32_ONE);
	assert_int_equal(estimate_silence(&e, 8 * Q32_ONE), SEC + 1);
}

/* Equal stamps are legal, so a window may hold nothing but zeros. */
static void intervals_of_zero(void **state)
{
	struct kphi_window w = {.interval_ns = SEC};
	struct kphi_peer p = {.set = KPHI_SET_MIN_STD | KPHI_SET_PAUSE};
	struct kphi_estimate e;

	(void)state;
	window_add(&w, 0);
	window_add(&w, 0);
	for (int model = 0; model < KPHI_MODELS; model++) {
		p.model = (uint8_t)model;
		assert_true(estimate_from_window(&e, &w, &p, NULL));
		assert_true(estimate_phi(&e, 0) <= Q32_ONE / 2);
		assert_true(estimate_phi(&e, UINT64_MAX) == PHI_MAX);
		assert_true(estimate_silence(&e, PHI_MAX) < UINT64_MAX);
	}
}

static void names_of_models(void **state)
{
	(void)state;
	for (int model = 0; model < KPHI_MODELS; model++)
		assert_int_equal(model_by_name(model_name((uint8_t)model)), model);
	assert_string_equal(model_name(KPHI_MODEL_NORMAL), "normal");
	assert_string_equal(model_name(KPHI_MODELS), "unknown");
	assert_int_equal(model_by_name("unknown"), -1);
	assert_int_equal(model_by_name("norm"), -1);
	assert_int_equal(model_by_name(""), -1);
}

/* --- the inverse
 * ----------------------------------------------------------------------------------------------- */

static void assert_exact(const struct kphi_estimate *e, q32_t threshold)
{
	uint64_t t = estimate_silence(e, threshold);

	if (t == UINT64_MAX)
		assert_true(estimate_phi(e, UINT64_MAX - 1) < threshold);
	else if (estimate_phi(e, t) < threshold || (t && estimate_phi(e, t - 1) >= threshold))
		fail_msg("%s, n %" PRIu64 ", sum %" PRIu64 ", scale %" PRIu64 ", pause %" PRIu64 ": %" PRIu64
			 " is not the first to reach %.12g",
			 model_name(e->model), e->n, e->sum_ns, e->scale_ns, e->pause_ns, t,
			 from_q32(threshold));
}

/* Any that estimate_from_window(, NULL) can make, and with it the edges of each field. */
static struct kphi_estimate random_estimate(uint64_t *random)
{
	struct kphi_estimate e = {
		.n = random_positive(random, 12),
		.scale_ns = random_positive(random, 59),
		.pause_ns = random_bits(random) % 3 ? random_positive(random, 49) : 0,
		.model = (uint8_t)(random_bits(random) % (KPHI_MODEL_EXPONENTIAL + 1)),
	};

	e.sum_ns = e.n * random_positive(random, 47);
	switch (random_bits(random) % 8) {
	case 0:
		e.scale_ns = 1; /* identical samples, no floor */
		break;
	case 1:
		e.sum_ns = e.n; /* intervals of 1 ns */
		break;
	case 2:
		e.sum_ns = e.n * 600 * SEC;
		e.scale_ns = e.n * 60 * SEC;
		break;
	case 3:
		e.sum_ns = e.n * KPHI_INTERVAL_MAX_NS;
		break;
	}
	return e;
}

/* Mostly the thresholds people use; then any, up to the cap and beyond. */
static q32_t random_threshold(uint64_t *random)
{
	switch (random_bits(random) % 4) {
	case 0:
		return (1 + random_bits(random) % 20) * Q32_ONE;
	case 1:
		return random_positive(random, 63);
	case 2:
		return PHI_MAX - Q32_ONE + random_bits(random) % (2 * Q32_ONE);
	default:
		return 1 + random_bits(random) % (32 * Q32_ONE);
	}
}

static void five_million_inverses_are_exact(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 5000000; i++) {
		struct kphi_estimate e = random_estimate(&random);

		assert_exact(&e, random_threshold(&random));
	}
}

static void the_ends_of_the_inverse(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct kphi_estimate e = random_estimate(&random);

		assert_true(estimate_silence(&e, 0) == 0);
		assert_true(estimate_silence(&e, PHI_MAX + 1) == UINT64_MAX);
		assert_true(estimate_silence(&e, UINT64_MAX) == UINT64_MAX);
		assert_exact(&e, 1);
		assert_exact(&e, PHI_MAX);
	}
}

static void phi_never_falls_as_silence_grows(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct kphi_estimate e = random_estimate(&random);
		uint64_t t = random_positive(&random, 63);
		q32_t before = 0;

		for (uint64_t step = 0; step < 8; step++) {
			q32_t phi = estimate_phi(&e, t + step);

			assert_true(phi >= before);
			before = phi;
		}
		assert_true(estimate_phi(&e, 0) <= estimate_phi(&e, t));
		assert_true(estimate_phi(&e, UINT64_MAX) >= before);
	}
}

/* Full windows of the longest and the widest intervals, every setting at its limit: the sanitizer watches. */
static void nothing_overflows(void **state)
{
	static const uint64_t ends[] = {0, 1, KPHI_INTERVAL_MAX_NS, UINT64_MAX};
	struct kphi_window w = {.interval_ns = KPHI_INTERVAL_MAX_NS};
	struct kphi_peer p = {.set = KPHI_SET_MIN_STD | KPHI_SET_PAUSE};
	struct kphi_estimate e;

	(void)state;
	for (int i = 0; i < 4096; i++)
		window_add(&w, i % 2 ? KPHI_INTERVAL_MAX_NS : 0);
	assert_int_equal(window_stddev_ns(&w), KPHI_INTERVAL_MAX_NS / 2);
	for (unsigned i = 0; i < COUNT(ends) * COUNT(ends) * COUNT(ends) * KPHI_MODELS; i++) {
		p.model = (uint8_t)(i / 64);
		p.min_std_ns = ends[i % 4];
		p.pause_ns = ends[i / 4 % 4];
		assert_true(estimate_from_window(&e, &w, &p, NULL));
		assert_true(estimate_phi(&e, ends[i / 16 % 4]) <= PHI_MAX);
		assert_exact(&e, 8 * Q32_ONE);
		assert_exact(&e, PHI_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judgements),
		cmocka_unit_test(deadlines),
		cmocka_unit_test(akkas_own_table),
		cmocka_unit_test(statistics_of_a_window),
		cmocka_unit_test(a_learning_peer_is_not_judged),
		cmocka_unit_test(defaults_follow_the_interval),
		cmocka_unit_test(seeds_are_virtual),
		cmocka_unit_test(two_samples_are_enough),
		cmocka_unit_test(identical_samples),
		cmocka_unit_test(intervals_of_zero),
		cmocka_unit_test(names_of_models),
		cmocka_unit_test(five_million_inverses_are_exact),
		cmocka_unit_test(the_ends_of_the_inverse),
		cmocka_unit_test(phi_never_falls_as_silence_grows),
		cmocka_unit_test(nothing_overflows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
