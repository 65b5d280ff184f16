/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The curves of phi against MPFR and the literature, and the promise that they never step back. Floating
 * point is at home here: it computes what to ask, never what kphi answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fixed.h"
#include "core/phi.h"
#include "core/phi_table.h"
#include "phi_facts.h"
#include "phi_random.h"
#include "vectors.h"

#define VECTORS  "tests/unit/data/phi_vectors.txt" /* phi-vectors vectors 20240229 700 */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef q32_t phi_fn(int64_t z40);

static double from_q32(q32_t phi)
{
	return (double)phi / (double)Q32_ONE;
}

static int64_t to_z40(double z)
{
	return llround(z * (double)Z40_ONE);
}

/* --- values
 * ---------------------------------------------------------------------------------------------------- */

/* The true phi is whole + fraction / 2^64. The error may be 2e-9 + 1e-9 * phi. */
static void assert_close(q32_t got, uint64_t whole, uint64_t fraction, const char *line)
{
	u128 truth = (u128)whole << 64 | fraction, phi = (u128)got << 32;
	u128 error = phi > truth ? phi - truth : truth - phi;
	u128 allowed = (((u128)2 << 64) + truth) / 1000000000;

	if (whole >= PHI_MAX >> 32 ? got != PHI_MAX : error > allowed)
		fail_msg("phi is %.12g for: %s", from_q32(got), line);
}

static uint64_t next_number(const char **at, int base)
{
	char *end;
	uint64_t number = strtoull(*at, &end, base); /* "-1" is 2^64 - 1, as an int64_t it is -1 again */

	assert_true(end != *at);
	*at = end;
	return number;
}

/* One line: the model, its arguments, the true phi. Says which model it was, for counting. */
static enum kphi_model check_vector(const char *line)
{
	enum kphi_model model = KPHI_MODEL_EXPONENTIAL;
	const char *at = strchr(line, ' ');
	uint64_t first, n, whole;
	q32_t phi;

	assert_non_null(at);
	first = next_number(&at, 10);
	if (!strncmp(line, "normal ", 7)) {
		model = KPHI_MODEL_NORMAL;
		phi = phi_normal((int64_t)first);
	} else if (!strncmp(line, "akka ", 5)) {
		model = KPHI_MODEL_AKKA;
		phi = phi_akka((int64_t)first);
	} else {
		assert_memory_equal(line, "exponential ", 12);
		n = next_number(&at, 10);
		phi = phi_exponential(first, n, next_number(&at, 10));
	}
	whole = next_number(&at, 16);
	assert_close(phi, whole, next_number(&at, 16), line);
	return model;
}

static void check_vectors(FILE *vectors)
{
	unsigned seen[KPHI_MODEL_EXPONENTIAL + 1] = {0};
	char line[160];

	assert_non_null(vectors);
	while (fgets(line, sizeof(line), vectors))
		seen[check_vector(line)]++;
	for (int model = 0; model <= KPHI_MODEL_EXPONENTIAL; model++)
		assert_true(seen[model] >= 500);
}

static void committed_vectors_are_met(void **state)
{
	(void)state;
	vectors_committed(VECTORS, check_vectors);
}

static void fresh_vectors_are_met(void **state)
{
	(void)state;
	vectors_fresh("vectors", 5000, check_vectors);
}

static void the_table_is_what_mpfr_prints(void **state)
{
	(void)state;
	if (access(GENERATOR, X_OK))
		skip();
	/* NOLINTNEXTLINE(cert-env33-c): a constant command */
	assert_int_equal(system(GENERATOR " table | cmp - user/core/phi_table.h"), 0);
}

static void scores_for_a_threshold(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(threshold_facts); i++) {
		q32_t threshold = (q32_t)(threshold_facts[i].phi * (double)Q32_ONE);
		double z = (double)phi_normal_inverse(threshold) / (double)Z40_ONE;
		double y = (double)phi_akka_inverse(threshold) / (double)Z40_ONE;
		double normal_at_y = from_q32(phi_normal(to_z40(threshold_facts[i].akka_y)));

		assert_true(fabs(z - threshold_facts[i].normal_z) <= 5.1e-7);
		assert_true(fabs(y - threshold_facts[i].akka_y) <= 5.1e-7);
		assert_true(fabs(normal_at_y - threshold_facts[i].normal_at_akka_y) <= 5.1e-5);
	}
}

/* Where doubles end: Akka's formula overflows from y = 21.595, 1 - CDF is 0 from z = 8.3, erfc from z = 38.6.
 */
static void finite_where_doubles_are_not(void **state)
{
	(void)state;
	assert_true(fabs(from_q32(phi_akka(to_z40(21.595))) - 323.6141567) < 1e-6);
	assert_true(fabs(from_q32(phi_normal(to_z40(40))) - 349.437) < 1e-3);
	assert_true(phi_normal(to_z40(8.4)) < 18 * Q32_ONE);
	assert_true(phi_normal(1000000 * Z40_ONE) == PHI_MAX);
	assert_true(phi_akka(1000000 * Z40_ONE) == PHI_MAX);
	assert_true(phi_normal(INT64_MAX) == PHI_MAX && phi_akka(INT64_MAX) == PHI_MAX);
	assert_true(phi_normal(INT64_MIN) == 0 && phi_akka(INT64_MIN) == 0);
	assert_true(phi_normal(Z40_LEAST) == 0 && phi_akka(Z40_LEAST) == 0);
	assert_true(phi_normal(Z40_MAX) == PHI_MAX && phi_akka(Z40_MAX) == PHI_MAX);
	assert_true(phi_akka(-25 * Z40_ONE) == 0);
	assert_true(phi_exponential(UINT64_MAX, 4096, 1) == PHI_MAX);
	assert_true(phi_exponential(UINT64_MAX, 1, 0) == PHI_MAX);
	assert_true(phi_exponential(0, 1, 0) == 0);
}

/* --- never a step back
 * ----------------------------------------------------------------------------------------- */

/* What phi.c's reasoning rests on: seen from its near end, a cell has no negative coefficient. */
static void assert_cell_rises(struct phi_node near, struct phi_node far, uint64_t total)
{
	int64_t cubic = (int64_t)(near.rise + far.rise - 2 * total);
	int64_t square = (int64_t)(total - near.rise) - cubic;

	assert_true((int64_t)total > 0 && (int64_t)near.rise >= 0 && square >= 0 && cubic >= 0);
}

static void no_cell_has_a_negative_coefficient(void **state)
{
	const struct phi_node *node;
	unsigned cells = 0;

	(void)state;
	for (node = normal_nodes; node < normal_nodes + COUNT(normal_nodes) - 1; node++)
		assert_cell_rises(node[0], node[1], node[1].value - node[0].value);
	for (node = logistic_nodes; node < logistic_nodes + COUNT(logistic_nodes) - 1; node++)
		assert_cell_rises(node[0], node[1], node[1].value - node[0].value);
	for (size_t row = 0; row < COUNT(tail_nodes); row++)
		for (node = tail_nodes[row]; node < tail_nodes[row] + 64 && node[1].value; node++, cells++)
			assert_cell_rises(node[1], node[0], node[1].value - node[0].value);
	assert_in_range(cells, 64 * (COUNT(tail_nodes) - 1) + 1, 64 * COUNT(tail_nodes));
}

/* Every single z40 from `steps` before the middle to as many after it. */
static void walk(phi_fn *phi, int64_t middle, int64_t steps)
{
	q32_t before = phi(middle - steps);

	for (int64_t z40 = middle - steps + 1; z40 <= middle + steps; z40++) {
		q32_t now = phi(z40);

		if (now < before)
			fail_msg("phi falls at z40 = %" PRId64, z40);
		before = now;
	}
}

static void normal_never_falls_around_a_knot(void **state)
{
	(void)state;
	for (int64_t knot = -8 * 32; knot <= 8 * 32; knot++)
		walk(phi_normal, knot * Z40_ONE / 32, 1000);
	for (int64_t from = 8; from < 1 << 17; from *= 2)
		for (int64_t knot = 64; knot < 128; knot++)
			walk(phi_normal, knot * from * Z40_ONE / 64, 200);
	walk(phi_normal, -8 * Z40_ONE, 200000);
	walk(phi_normal, -7 * Z40_ONE, 200000);
	walk(phi_normal, 8 * Z40_ONE, 200000);
	walk(phi_normal, NORMAL_CAP_Z40, 200000);
	assert_true(phi_normal(NORMAL_CAP_Z40 - 1) < PHI_MAX);
	assert_true(phi_normal(NORMAL_CAP_Z40 - 1) > PHI_MAX - Q32_ONE / 1000000);
}

/* The y at which |y| (A + B y^2) is so many decades; Newton's method, and a cubic that is all but made for
 * it. */
static double akka_y(double decades)
{
	double y = decades / 2, target = decades * M_LN10;

	for (int i = 0; i < 60; i++)
		y -= (y * (1.5976 + 0.070566 * y * y) - target) / (1.5976 + 3 * 0.070566 * y * y);
	return y;
}

static void akka_never_falls_around_a_knot(void **state)
{
	(void)state;
	for (int knot = 0; knot <= 10 * 64; knot++) {
		walk(phi_akka, to_z40(akka_y(knot / 64.0)), 500);
		walk(phi_akka, -to_z40(akka_y(knot / 64.0)), 500);
	}
	walk(phi_akka, 0, 200000);
	walk(phi_akka, to_z40(akka_y(10)), 200000);
	walk(phi_akka, -to_z40(akka_y(10)), 200000);
	walk(phi_akka, to_z40(akka_y((double)(PHI_MAX >> 32))), 200000);
	walk(phi_akka, 4200 * Z40_ONE, 200000);
	assert_true(phi_akka(4200 * Z40_ONE - 1) == PHI_MAX);
}

static void nothing_falls_between_the_knots(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int stretch = 0; stretch < 2000; stretch++) {
		walk(phi_normal, random_between(&random, -9 * Z40_ONE, 9 * Z40_ONE), 500);
		walk(phi_normal, (int64_t)random_positive(&random, 57), 500);
		walk(phi_akka, random_between(&random, -9 * Z40_ONE, 9 * Z40_ONE), 500);
		walk(phi_akka, (int64_t)random_positive(&random, 53), 500);
	}
	for (int pair = 0; pair < 1000000; pair++) {
		int64_t z40 = random_between(&random, -9 * Z40_ONE, 9 * Z40_ONE);
		int64_t later = z40 + (int64_t)random_positive(&random, 60);

		assert_true(phi_normal(z40) <= phi_normal(later));
		assert_true(phi_akka(z40) <= phi_akka(later));
	}
}

/* --- inverses
 * -------------------------------------------------------------------------------------------------- */

static void assert_smallest(phi_fn *phi, int64_t z40, q32_t threshold)
{
	if (phi(z40) < threshold || phi(z40 - 1) >= threshold)
		fail_msg("z40 = %" PRId64 " is not the first to reach %.12g", z40, from_q32(threshold));
}

static void assert_inverse(q32_t threshold)
{
	assert_smallest(phi_normal, phi_normal_inverse(threshold), threshold);
	assert_smallest(phi_akka, phi_akka_inverse(threshold), threshold);
}

static void inverses_are_exact(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (q32_t threshold = 1; threshold < 2000; threshold++) {
		assert_inverse(threshold);
		assert_inverse(PHI_MAX - threshold + 1);
		assert_inverse(threshold * Q32_ONE / 16);
	}
	for (int i = 0; i < 50000; i++)
		assert_inverse(1 + (random_bits(&random) % PHI_MAX >> random_bits(&random) % 62));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(committed_vectors_are_met),
		cmocka_unit_test(fresh_vectors_are_met),
		cmocka_unit_test(the_table_is_what_mpfr_prints),
		cmocka_unit_test(scores_for_a_threshold),
		cmocka_unit_test(finite_where_doubles_are_not),
		cmocka_unit_test(no_cell_has_a_negative_coefficient),
		cmocka_unit_test(normal_never_falls_around_a_knot),
		cmocka_unit_test(akka_never_falls_around_a_knot),
		cmocka_unit_test(nothing_falls_between_the_knots),
		cmocka_unit_test(inverses_are_exact),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("phi", tests, NULL, NULL);
}
