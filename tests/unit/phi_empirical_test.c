/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The phi of a window by its own counts: against its definition, and what it makes of a sender that pauses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <kphi/maps.h>
#include <math.h>
#include <stdlib.h>

#include "core/phi_empirical.h"
#include "phi_random.h"

#define MS 1000000ULL

static double from_q32(q32_t phi)
{
	return (double)phi / (double)Q32_ONE;
}

/* Intervals of any size, or of a few only so that many are equal, some with steps above them. */
static uint64_t random_ring(uint64_t *ring, uint64_t *random)
{
	uint64_t n = 1 + random_positive(random, 12), kinds = random_positive(random, 12);
	unsigned bits = 1 + (unsigned)(random_bits(random) % 47);

	n = n < KPHI_WINDOW_MAX ? n : KPHI_WINDOW_MAX;
	for (uint64_t i = 0; i < n; i++) {
		ring[i] = random_bits(random) % kinds * ((1ULL << bits) / kinds);
		ring[i] |= random_bits(random) % 4 << 48;
	}
	return n;
}

/* From the definition, in floating point. */
static double expected(const uint64_t *ring, uint64_t n, double min_std, double t)
{
	double sum = 0, largest = 0, longer = 0, base = log10((double)n + 1), decade;

	for (uint64_t i = 0; i < n; i++) {
		double interval = (double)(ring[i] & KPHI_RING_NS);

		sum += interval;
		largest = fmax(largest, interval);
		longer += interval > t;
	}
	if (t < largest)
		return base - log10(longer + 1);
	decade = fmax(ceil((largest - sum / (double)n) / base), floor(min_std * M_LN10) + 1);
	return base + (t - largest) / decade;
}

static void assert_expected(const struct empirical_summary *s, const uint64_t *ring, uint64_t min_std,
			    uint64_t t)
{
	double phi = from_q32(phi_empirical(s, ring, t)),
	       truth = expected(ring, s->n, (double)min_std, (double)t);

	/* The time of a decade is rounded to nanoseconds. */
	truth = fmin(truth, (double)(PHI_MAX >> 32));
	if (fabs(phi - truth) > 2e-9 + truth / (double)s->decade_ns + 1e-9 * truth)
		fail_msg("phi is %.12g and not %.12g at %" PRIu64, phi, truth, t);
}

static void it_is_what_is_counted(void **state)
{
	static uint64_t ring[KPHI_WINDOW_MAX];
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t n = random_ring(ring, &random), min_std = random_positive(&random, 40);
		struct empirical_summary s;

		empirical_summarise(&s, ring, n, min_std);
		assert_expected(&s, ring, min_std, 0);
		for (int j = 0; j < 10; j++) {
			uint64_t interval = ring[random_bits(&random) % n] & KPHI_RING_NS;

			assert_expected(&s, ring, min_std, interval);
			assert_expected(&s, ring, min_std, interval ? interval - 1 : 0);
			assert_expected(&s, ring, min_std, random_positive(&random, 50));
		}
	}
}

static void it_never_falls(void **state)
{
	static uint64_t ring[KPHI_WINDOW_MAX];
	uint64_t random = 2;

	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t n = random_ring(ring, &random), t = 0;
		struct empirical_summary s;
		q32_t before = 0;

		empirical_summarise(&s, ring, n, random_positive(&random, 30) - 1);
		assert_true(phi_empirical(&s, ring, s.largest_ns) == s.base);
		if (s.largest_ns)
			assert_true(phi_empirical(&s, ring, s.largest_ns - 1) < s.base);
		for (int j = 0; j < 200; j++) {
			q32_t phi = phi_empirical(&s, ring, t);

			assert_true(phi >= before);
			before = phi;
			t += random_bits(&random) % (s.largest_ns / 60 + 2);
		}
		assert_true(phi_empirical(&s, ring, UINT64_MAX) >= before);
	}
}

static void assert_inverse(const struct empirical_summary *s, const uint64_t *ring, q32_t threshold)
{
	uint64_t t = phi_empirical_inverse(s, ring, threshold);

	if (t == UINT64_MAX && phi_empirical(s, ring, UINT64_MAX) < threshold)
		return;
	if (phi_empirical(s, ring, t) < threshold || (t && phi_empirical(s, ring, t - 1) >= threshold))
		fail_msg("%" PRIu64 " ns is not the first to reach %.12g", t, from_q32(threshold));
}

static void inverses_are_exact(void **state)
{
	static uint64_t ring[KPHI_WINDOW_MAX];
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 400; i++) {
		uint64_t n = random_ring(ring, &random);
		struct empirical_summary s;

		empirical_summarise(&s, ring, n, random_positive(&random, 47));
		assert_inverse(&s, ring, s.base);
		assert_inverse(&s, ring, s.base + 1);
		assert_inverse(&s, ring, s.base - 1);
		for (int j = 0; j < 6; j++) {
			assert_inverse(&s, ring, random_positive(&random, 33) % s.base + 1);
			assert_inverse(&s, ring, random_positive(&random, 63) % PHI_MAX + 1);
			assert_inverse(
				&s, ring,
				phi_empirical(&s, ring, ring[random_bits(&random) % n] & KPHI_RING_NS));
		}
		assert_true(phi_empirical_inverse(&s, ring, 0) == 0);
		assert_true(phi_empirical_inverse(&s, ring, PHI_MAX + 1) == UINT64_MAX);
	}
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Whoever keeps the ring sorted gets the same. */
static void order_makes_no_difference(void **state)
{
	static uint64_t ring[KPHI_WINDOW_MAX], sorted[KPHI_WINDOW_MAX];
	uint64_t random = 4;

	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t n = random_ring(ring, &random), min_std = random_positive(&random, 40), sum = 0;
		struct empirical_summary s, other;

		for (uint64_t k = 0; k < n; k++)
			sum += sorted[k] = ring[k] & KPHI_RING_NS;
		qsort(sorted, n, sizeof(*sorted), ascending);
		empirical_summarise(&s, ring, n, min_std);
		empirical_summarise_sorted(&other, sorted, n, sum, min_std);
		for (int k = 0; k < 50; k++) {
			uint64_t t = k % 2 ? random_positive(&random, 50)
					   : sorted[random_bits(&random) % 1000 * n / 1000];
			q32_t threshold = random_positive(&random, k % 2 ? 63 : 33) %
						  (1 + (k % 3 ? s.base : PHI_MAX - 1)) +
					  1;
			uint64_t rank = empirical_rank(sorted, n, t);

			assert_true(phi_empirical(&s, ring, t) == phi_empirical(&other, sorted, t));
			assert_true(phi_empirical_inverse(&s, ring, threshold) ==
				    phi_empirical_inverse(&other, sorted, threshold));
			assert_true((!rank || sorted[rank - 1] <= t) && (rank == n || sorted[rank] > t));
		}
	}
}

/* 100 ms beats, and 800 ms instead of every fiftieth. */
static void a_pause_that_is_usual_is_not_suspect(void **state)
{
	uint64_t ring[1000], reached;
	struct empirical_summary s;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		ring[i] = i % 50 ? (99 + i % 3) * MS : 800 * MS;
	empirical_summarise(&s, ring, 1000, 10 * MS);
	assert_true(phi_empirical(&s, ring, 750 * MS) < 2 * Q32_ONE);
	assert_true(phi_empirical(&s, ring, 102 * MS) > Q32_ONE + Q32_ONE / 2);
	reached = phi_empirical_inverse(&s, ring, 8 * Q32_ONE);
	assert_in_range(reached, 1900 * MS, 2000 * MS);
}

/* All alike: the floor of the standard deviation is what there is to go by. */
static void a_steady_sender_is_convicted_soon(void **state)
{
	uint64_t ring[1000];
	struct empirical_summary s;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		ring[i] = 100 * MS;
	empirical_summarise(&s, ring, 1000, 10 * MS);
	assert_true(phi_empirical(&s, ring, 100 * MS - 1) == 0);
	assert_in_range(phi_empirical_inverse(&s, ring, 8 * Q32_ONE), 214 * MS, 216 * MS);
	empirical_summarise(&s, ring, 1000, 0);
	assert_true(phi_empirical_inverse(&s, ring, 8 * Q32_ONE) ==
		    100 * MS + 5); /* a decade takes 1 ns then */
}

static void a_seed_judges_without_a_ring(void **state)
{
	struct empirical_summary s;

	(void)state;
	empirical_seed(&s, 100 * MS, 10 * MS);
	assert_true(phi_empirical(&s, NULL, 99 * MS) == 0);
	assert_true(fabs(from_q32(phi_empirical(&s, NULL, 100 * MS)) - 0.301029996) < 1e-9);
	assert_true(phi_empirical_inverse(&s, NULL, Q32_ONE / 4) == 100 * MS);
	assert_in_range(phi_empirical_inverse(&s, NULL, 8 * Q32_ONE), 540 * MS, 545 * MS);
	empirical_seed(&s, 1, 0);
	assert_true(phi_empirical(&s, NULL, 1000) > 2 * Q32_ONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_is_counted),
		cmocka_unit_test(it_never_falls),
		cmocka_unit_test(inverses_are_exact),
		cmocka_unit_test(order_makes_no_difference),
		cmocka_unit_test(a_pause_that_is_usual_is_not_suspect),
		cmocka_unit_test(a_steady_sender_is_convicted_soon),
		cmocka_unit_test(a_seed_judges_without_a_ring),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("phi_empirical", tests, NULL, NULL);
}
