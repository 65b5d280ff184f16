// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Buckets that double: nothing is lost at either end, and a quantile is never less than the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/histogram.h"
#include "unit/random.h"

#define MANY 1000

static struct kphi_histogram h;

static int begin(void **state)
{
	(void)state;
	memset(&h, 0, sizeof(h));
	return 0;
}

static void each_goes_where_its_bits_say(void **state)
{
	static const struct {
		uint64_t ns;
		unsigned int bucket;
	} table[] = {
		{0, 0},
		{1, 0},
		{2, 1},
		{3, 1},
		{4, 2},
		{1023, 9},
		{1024, 10},
		{1ULL << (KPHI_LATENESS_BUCKETS - 1), KPHI_LATENESS_BUCKETS - 1},
		{1ULL << KPHI_LATENESS_BUCKETS, KPHI_LATENESS_BUCKETS - 1},
		{UINT64_MAX, KPHI_LATENESS_BUCKETS - 1},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin(state);
		histogram_add(&h, table[i].ns);
		assert_int_equal(h.bucket[table[i].bucket], 1);
		assert_int_equal(histogram_count(&h), 1);
		assert_int_equal(h.sum_ns, table[i].ns);
		assert_int_equal(h.worst_ns, table[i].ns);
	}
}

static void of_nothing_everything_is_zero(void **state)
{
	(void)state;
	assert_int_equal(histogram_count(&h), 0);
	assert_int_equal(histogram_quantile_ns(&h, 0), 0);
	assert_int_equal(histogram_quantile_ns(&h, 999000), 0);
	assert_int_equal(histogram_quantile_ns(&h, 1000000), 0);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Between the true quantile and twice that, and never beyond the worst. */
static void a_quantile_is_the_upper_limit_of_its_bucket(void **state)
{
	static const uint32_t shares[] = {0, 1000, 250000, 500000, 900000, 990000, 999000};
	uint64_t ns[MANY], chance = 7;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		ns[i] = 1 + random_below(&chance, 1ULL << (1 + random_below(&chance, 30)));
		histogram_add(&h, ns[i]);
	}
	qsort(ns, MANY, sizeof(*ns), by_size);
	assert_int_equal(histogram_count(&h), MANY);
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		uint64_t truth = ns[(uint64_t)MANY * shares[i] / 1000000];
		uint64_t told = histogram_quantile_ns(&h, shares[i]);

		assert_true(told >= truth);
		assert_true(told <= 2 * truth);
		assert_true(told <= ns[MANY - 1]);
	}
	assert_int_equal(histogram_quantile_ns(&h, 1000000), ns[MANY - 1]);
}

/* The last bucket has no upper limit. */
static void what_is_beyond_all_buckets_is_told_by_the_worst(void **state)
{
	(void)state;
	histogram_add(&h, 5);
	histogram_add(&h, 1ULL << 50);
	assert_int_equal(histogram_quantile_ns(&h, 0), 8);
	assert_int_equal(histogram_quantile_ns(&h, 500000), 1ULL << 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_goes_where_its_bits_say, begin),
		cmocka_unit_test_setup(of_nothing_everything_is_zero, begin),
		cmocka_unit_test_setup(a_quantile_is_the_upper_limit_of_its_bucket, begin),
		cmocka_unit_test_setup(what_is_beyond_all_buckets_is_told_by_the_worst, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
