/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The phi of a path that loses beats: against MPFR, at its limits, never a step back, its inverse, and what
 * its priors make of little evidence. Floating point computes what to ask, never what kphi answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/phi_loss.h"
#include "phi_random.h"
#include "vectors.h"

#define VECTORS "tests/unit/data/loss_vectors.txt" /* phi-vectors loss 20240229 400 */
#define MS      1000000ULL
#define Q32(x)  ((q32_t)((x) * (double)Q32_ONE))

/* --- values
 * ---------------------------------------------------------------------------------------------------- */

/* The numbers of a line behind its first word: decimal ones, and two hexadecimal ones at the end. */
static void read_numbers(const char *line, uint64_t *number, int decimals)
{
	const char *at = strchr(line, ' ');

	assert_non_null(at);
	for (int i = 0; i < decimals + 2; i++) {
		char *end;

		number[i] = strtoull(at, &end, i < decimals ? 10 : 16);
		assert_true(end != at);
		at = end;
	}
}

/* The error may be 2e-9 + 1e-9 * phi. */
static void check_loss(const char *line)
{
	uint64_t a[10];
	struct loss_process process;
	struct loss_curve curve;
	u128 phi, truth, error;

	read_numbers(line, a, 8);
	process = (struct loss_process){a[3], a[4], a[5], a[6]};
	loss_curve_fit(&curve, a[0], a[1], a[2], &process);
	phi = (u128)phi_loss(&curve, a[7]) << 32;
	truth = (u128)a[8] << 64 | a[9];
	error = phi > truth ? phi - truth : truth - phi;
	if (error > (((u128)2 << 64) + truth) / 1000000000)
		fail_msg("phi is %.12g for: %s", (double)phi / (double)Q32_ONE / (double)Q32_ONE, line);
}

/* The error may be 2^-53. */
static void check_log10(const char *line)
{
	uint64_t a[3];
	u128 logarithm, truth;

	read_numbers(line, a, 1);
	logarithm = (u128)log10_q58(a[0]) << 6;
	truth = (u128)a[1] << 64 | a[2];
	if ((logarithm > truth ? logarithm - truth : truth - logarithm) > 1U << 11)
		fail_msg("the logarithm is %" PRIu64 " / 2^58 for: %s", log10_q58(a[0]), line);
}

static void check_vectors(FILE *vectors)
{
	unsigned losses = 0, logarithms = 0;
	char line[240];

	assert_non_null(vectors);
	while (fgets(line, sizeof(line), vectors)) {
		if (!strncmp(line, "loss ", 5)) {
			check_loss(line);
			losses++;
		} else {
			assert_memory_equal(line, "log10 ", 6);
			check_log10(line);
			logarithms++;
		}
	}
	assert_true(losses >= 800 && logarithms >= 500);
}

static void committed_vectors_are_met(void **state)
{
	(void)state;
	vectors_committed(VECTORS, check_vectors);
}

static void fresh_vectors_are_met(void **state)
{
	(void)state;
	vectors_fresh("loss", 400, check_vectors);
}

/* --- limits
 * ---------------------------------------------------------------------------------------------------- */

/* Of 100 ms beats with a standard deviation of 10 ms. */
static void fit(struct loss_curve *curve, uint64_t lost, uint64_t beats, uint64_t again, uint64_t losses)
{
	struct loss_process process = {lost, beats, again, losses};

	loss_curve_fit(curve, 1000, 100000 * MS, 10000 * MS, &process);
}

static void assert_near(q32_t a, q32_t b, q32_t within)
{
	if ((a > b ? a - b : b - a) > within)
		fail_msg("phi is %.12g and not %.12g", (double)a / (double)Q32_ONE,
			 (double)b / (double)Q32_ONE);
}

static void without_loss_it_is_the_normal_model(void **state)
{
	struct loss_curve curve;

	(void)state;
	fit(&curve, 1, 1ULL << 52, 1, 1000);
	for (int64_t hundredth = -500; hundredth <= 530; hundredth++)
		assert_near(phi_loss(&curve, (uint64_t)(1000 + hundredth) * MS / 10),
			    phi_normal(hundredth * Z40_ONE / 100), Q32(4e-9));
}

/* In the middle between two beats, far from both, only the losses count. */
static void losses_are_independent_if_q_is_p(void **state)
{
	struct loss_process process = {1, 100, 1, 100};
	struct loss_curve curve;

	(void)state;
	loss_curve_fit(&curve, 1000, 100000 * MS, 1000 * MS, &process);
	for (uint64_t k = 1; k <= 20; k++)
		assert_near(phi_loss(&curve, k * 100 * MS + 50 * MS), 2 * k * Q32_ONE,
			    Q32(1e-9 * (2 + 2.0 * (double)k)));
}

static void bursts_are_waited_for(void **state)
{
	struct loss_curve single, burst;

	(void)state;
	fit(&single, 10, 1000, 10, 1000);
	fit(&burst, 10, 1000, 500, 1000);
	assert_in_range(phi_loss_inverse(&single, 8 * Q32_ONE), 400 * MS, 500 * MS);
	assert_in_range(phi_loss_inverse(&burst, 8 * Q32_ONE), 2000 * MS, 2200 * MS);
}

/* 10^6 lost beats, and silences and windows at the end of what 64 bits hold. */
static void nothing_overflows(void **state)
{
	uint64_t random = 1;
	struct loss_curve curve;

	(void)state;
	fit(&curve, 10, 1000, 10, 1000);
	/* 10^6 * 4 / (1 + sqrt(1 + 2 ln(100) / 100)), for the jitter of a million beats adds up */
	assert_near(phi_loss(&curve, 1000000 * 100 * MS), 1955954 * Q32_ONE, 2 * Q32_ONE);
	assert_true(phi_loss(&curve, UINT64_MAX) > 3000000000U);
	for (int i = 0; i < 20000; i++) {
		struct loss_process process = {1, 2, 1, 2};
		q32_t before = 0;

		process.beats = 1 + random_positive(&random, 52);
		process.lost = 1 + random_bits(&random) % (process.beats - 1);
		process.losses = 2 + random_positive(&random, 52);
		process.again = 1 + random_bits(&random) % (process.losses - process.losses / 16 - 1);
		loss_curve_fit(&curve, random_positive(&random, 12), random_positive(&random, 63) - 1,
			       random_positive(&random, 63) - 1, &process);
		for (uint64_t t = 1; t; t <<= 1) {
			q32_t phi = phi_loss(&curve, t);

			assert_true(phi >= before && phi <= PHI_MAX);
			before = phi;
		}
		assert_true(phi_loss(&curve, UINT64_MAX) >= before);
	}
	loss_curve_fit(&curve, 1, 1, 1, &(struct loss_process){1, 2, 15, 16});
	assert_true(phi_loss(&curve, UINT64_MAX) == PHI_MAX);
}

/* --- never a step back
 * ----------------------------------------------------------------------------------------- */

/* A process of a path that may be, from spotless to hopeless, and a standard deviation from 1/1000 of the
 * mean. */
static void random_curve(struct loss_curve *curve, uint64_t *random, uint64_t mean_ns)
{
	struct loss_process process = {.beats = 1U << 30, .losses = 1U << 30};
	uint64_t n = random_positive(random, 12);

	process.lost = random_positive(random, 29);
	process.again = random_positive(random, 30);
	if (process.again > process.losses / 16 * 15)
		process.again = process.losses / 16 * 15;
	loss_curve_fit(curve, n, n * mean_ns + random_bits(random) % n,
		       n * mean_ns * 3 / random_positive(random, 11), &process);
}

/* Every nanosecond of so many steps of so much. */
static void walk(const struct loss_curve *curve, uint64_t from, uint64_t steps, uint64_t step)
{
	q32_t before = phi_loss(curve, from);

	for (uint64_t i = 1; i <= steps; i++) {
		q32_t now = phi_loss(curve, from + i * step);

		if (now < before)
			fail_msg("phi falls at %" PRIu64 " from %" PRIx64 " to %" PRIx64 ": sd %" PRIu64
				 " of %" PRIu64,
				 from + i * step, before, now, curve->scale_ns, curve->sum_ns);
		before = now;
	}
}

/* With beats of 500 ns there are no joints but between two of the nanoseconds walked over. */
static void it_never_falls(void **state)
{
	uint64_t random = 3;
	struct loss_curve curve;

	(void)state;
	for (int i = 0; i < 150; i++) {
		random_curve(&curve, &random, 500);
		walk(&curve, 0, 8000, 1);
		walk(&curve, curve.linear_ns - 300, 600, 1);
	}
	for (int i = 0; i < 1500; i++) {
		random_curve(&curve, &random, random_positive(&random, 40));
		walk(&curve, random_bits(&random) % (10 * curve.sum_ns / curve.n + 1), 100, 1);
		walk(&curve, curve.linear_ns < 50 ? 0 : curve.linear_ns - 50, 100, 1);
		walk(&curve, 0, 200, curve.sum_ns / curve.n / 10 + 1);
	}
}

/* --- inverse
 * --------------------------------------------------------------------------------------------------- */

static void assert_inverse(const struct loss_curve *curve, q32_t threshold)
{
	uint64_t t = phi_loss_inverse(curve, threshold);

	if (t == UINT64_MAX && phi_loss(curve, UINT64_MAX) < threshold)
		return;
	if (phi_loss(curve, t) < threshold || (t && phi_loss(curve, t - 1) >= threshold))
		fail_msg("%" PRIu64 " ns is not the first to reach %.12g", t,
			 (double)threshold / (double)Q32_ONE);
}

static void inverses_are_exact(void **state)
{
	uint64_t random = 4;
	struct loss_curve curve;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		random_curve(&curve, &random, random_positive(&random, 40));
		assert_inverse(&curve, random_positive(&random, 36));
		assert_inverse(&curve, random_positive(&random, 63) % PHI_MAX + 1);
		assert_inverse(&curve, (1 + random_bits(&random) % 16) * Q32_ONE);
		/* on a stair, where the next step begins */
		assert_inverse(&curve, curve.first_q58 >> 26);
	}
	assert_true(phi_loss_inverse(&curve, 0) == 0);
	assert_true(phi_loss_inverse(&curve, PHI_MAX + 1) == UINT64_MAX);
}

/* --- what little evidence says
 * ----------------------------------------------------------------------------------- */

static uint64_t convicts_after(uint32_t beats, uint32_t runs, uint32_t lost, uint32_t lost_long,
			       q32_t threshold)
{
	struct kphi_losses counts = {beats, runs, lost, lost_long, 0, 0};
	struct loss_process process;
	struct loss_curve curve;

	loss_process_learn(&process, &counts);
	loss_curve_fit(&curve, 1000, 100000 * MS, 10000 * MS, &process);
	return phi_loss_inverse(&curve, threshold);
}

static void a_clean_path_is_convicted_soon(void **state)
{
	(void)state;
	assert_in_range(convicts_after(1000, 0, 0, 0, 8 * Q32_ONE), 300 * MS, 345 * MS);
	assert_in_range(convicts_after(20, 0, 0, 0, 8 * Q32_ONE), 500 * MS, 800 * MS);
	assert_in_range(convicts_after(0, 0, 0, 0, 8 * Q32_ONE), 1000 * MS, 30000 * MS);
}

static void a_path_with_losses_is_waited_for(void **state)
{
	(void)state;
	/* one beat, now or lately, is enough to expect a burst */
	assert_in_range(convicts_after(1000, 0, 0, 1, 8 * Q32_ONE), 700 * MS, 800 * MS);
	assert_in_range(convicts_after(1000, 1, 1, 1, 8 * Q32_ONE), 700 * MS, 800 * MS);
	/* 5 % independent, 5 % in bursts of two */
	assert_in_range(convicts_after(1000, 50, 53, 53, 8 * Q32_ONE), 700 * MS, 900 * MS);
	assert_in_range(convicts_after(1000, 26, 52, 52, 8 * Q32_ONE), 2000 * MS, 2300 * MS);
}

static void chances_stay_chances(void **state)
{
	static const uint32_t beats[] = {0, 1, 2, 1000, 65536};

	(void)state;
	for (int i = 0; i < 5; i++)
		for (uint32_t runs = 0; runs <= beats[i]; runs += 1 + beats[i] / 7)
			for (uint32_t lost = runs; lost < 1U << 28; lost = 2 * lost + 1) {
				/* in the long memory, from nothing to all that it can hold */
				uint32_t lost_long = lost < 1U << 12 ? lost << 20 : UINT32_MAX;
				struct kphi_losses counts = {beats[i], runs, lost, lost_long, 0, 0};
				struct loss_process p;

				if (!runs && lost)
					break;
				loss_process_learn(&p, &counts);
				assert_true(p.lost > 0 && p.lost < p.beats);
				assert_true(p.again > 0 && p.losses < 1ULL << 62);
				assert_true((u128)p.again * LOSS_AGAIN_MAX_OF <=
					    (u128)p.losses * LOSS_AGAIN_MAX);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(committed_vectors_are_met),
		cmocka_unit_test(fresh_vectors_are_met),
		cmocka_unit_test(without_loss_it_is_the_normal_model),
		cmocka_unit_test(losses_are_independent_if_q_is_p),
		cmocka_unit_test(bursts_are_waited_for),
		cmocka_unit_test(nothing_overflows),
		cmocka_unit_test(it_never_falls),
		cmocka_unit_test(inverses_are_exact),
		cmocka_unit_test(a_clean_path_is_convicted_soon),
		cmocka_unit_test(a_path_with_losses_is_waited_for),
		cmocka_unit_test(chances_stay_chances),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("phi_loss", tests, NULL, NULL);
}
