// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text of OpenMetrics to the letter: names, escaping, exact decimals, buckets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/openmetrics.h"
#include "unit/random.h"

/* What is written between om_begin() and om_end(). */
static struct page {
	struct om om;
	FILE *stream;
	char *text;
	size_t size;
} page;

static struct om *open_page(enum metrics_format format)
{
	page.stream = open_memstream(&page.text, &page.size);
	om_begin(&page.om, page.stream, format);
	return &page.om;
}

static void assert_page(const char *expected)
{
	assert_int_equal(om_end(&page.om), 0);
	fclose(page.stream);
	assert_string_equal(page.text, expected);
	free(page.text);
}

static void a_counter_bears_total_in_its_samples_only(void **state)
{
	struct om_labels l = {.size = 0};
	struct om *m = open_page(METRICS_OPENMETRICS);

	(void)state;
	om_family(m, "x_seconds", OM_COUNTER, "seconds", "Help.");
	om_label(&l, "a", "b");
	om_seconds(m, &l, 1);
	assert_page("# TYPE x_seconds counter\n"
		    "# UNIT x_seconds seconds\n"
		    "# HELP x_seconds Help.\n"
		    "x_seconds_total{a=\"b\"} 0.000000001\n"
		    "# EOF\n");
}

/* Which knows no units, no end, and takes the name of the family for that of the samples. */
static void the_older_format_names_the_samples(void **state)
{
	struct om *m = open_page(METRICS_PROMETHEUS);

	(void)state;
	om_family(m, "x_seconds", OM_COUNTER, "seconds", "Help.");
	om_seconds(m, NULL, 1500000000);
	om_single(m, "y", OM_GAUGE, 7, "More.");
	assert_page("# TYPE x_seconds_total counter\n"
		    "# HELP x_seconds_total Help.\n"
		    "x_seconds_total 1.5\n"
		    "# TYPE y gauge\n"
		    "# HELP y More.\n"
		    "y 7\n");
}

static void assert_label(const char *value, const char *expected)
{
	struct om_labels l = {.size = 0};
	char text[256];

	om_label(&l, "l", value);
	snprintf(text, sizeof(text), "l=\"%s\"", expected);
	assert_int_equal(l.size, strlen(text));
	assert_memory_equal(l.text, text, l.size);
}

static void labels_are_escaped(void **state)
{
	(void)state;
	assert_label("", "");
	assert_label("db1", "db1");
	assert_label("a\"b", "a\\\"b");
	assert_label("a\\b", "a\\\\b");
	assert_label("a\nb", "a\\nb");
	assert_label("\\n", "\\\\n");
	assert_label("caf\u00e9 \u5fc3 \U0001f493", "caf\u00e9 \u5fc3 \U0001f493");
	assert_label("tab\tand=,{}", "tab\tand=,{}");
	/* Bytes that are no UTF-8 would spoil the whole page: cut short, alone, overlong, a surrogate. */
	assert_label("a\xc3", "a\ufffd");
	assert_label("\x80z", "\ufffdz");
	assert_label("\xc0\xaf", "\ufffd\ufffd");
	assert_label("\xed\xa0\x80", "\ufffd\ufffd\ufffd");
}

static void labels_stand_side_by_side(void **state)
{
	struct om_labels l = {.size = 0};
	struct om *m = open_page(METRICS_OPENMETRICS);

	(void)state;
	om_label(&l, "peer", "db1");
	om_label(&l, "host", "rack 1");
	om_label_u64(&l, "cpu", UINT64_MAX);
	om_family(m, "x", OM_GAUGE, NULL, "H.");
	om_u64(m, &l, 0);
	assert_page("# TYPE x gauge\n# HELP x H.\n"
		    "x{peer=\"db1\",host=\"rack 1\",cpu=\"18446744073709551615\"} 0\n# EOF\n");
}

/* What does not fit goes as a whole: half a label would spoil the page. */
static void a_label_without_room_is_left_out(void **state)
{
	struct om_labels l = {.size = 0};
	char value[OM_LABELS], expected[OM_LABELS + 64];
	struct om *m = open_page(METRICS_OPENMETRICS);

	(void)state;
	memset(value, '"', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	om_label(&l, "first", "1");
	om_label(&l, "long", value);
	om_label(&l, "last", "2");
	om_family(m, "x", OM_GAUGE, NULL, "H.");
	om_u64(m, &l, 1);
	assert_page("# TYPE x gauge\n# HELP x H.\nx{first=\"1\",last=\"2\"} 1\n# EOF\n");

	/* The longest that does fit. */
	memset(value, 'v', sizeof(value));
	value[OM_LABELS - strlen("l=\"\"")] = '\0';
	l.size = 0;
	om_label(&l, "l", value);
	assert_int_equal(l.size, OM_LABELS);
	m = open_page(METRICS_OPENMETRICS);
	om_family(m, "x", OM_GAUGE, NULL, "H.");
	om_u64(m, &l, 1);
	snprintf(expected, sizeof(expected), "# TYPE x gauge\n# HELP x H.\nx{l=\"%s\"} 1\n# EOF\n", value);
	assert_page(expected);
}

static void assert_value(void (*put)(struct om *m, const struct om_labels *l, uint64_t value), uint64_t value,
			 const char *expected)
{
	struct om *m = open_page(METRICS_OPENMETRICS);
	char text[128];

	om_family(m, "x", OM_GAUGE, NULL, "H.");
	put(m, NULL, value);
	snprintf(text, sizeof(text), "# TYPE x gauge\n# HELP x H.\nx %s\n# EOF\n", expected);
	assert_page(text);
}

static void numbers_are_exact_decimals(void **state)
{
	(void)state;
	assert_value(om_u64, 0, "0");
	assert_value(om_u64, UINT64_MAX, "18446744073709551615");
	assert_value(om_seconds, 0, "0");
	assert_value(om_seconds, 1, "0.000000001");
	assert_value(om_seconds, 10, "0.00000001");
	assert_value(om_seconds, 100000000, "0.1");
	assert_value(om_seconds, 1000000000, "1");
	assert_value(om_seconds, 1000000001, "1.000000001");
	assert_value(om_seconds, 60050000000, "60.05");
	assert_value(om_seconds, UINT64_MAX, "18446744073.709551615");
	assert_value(om_q32, 0, "0.000000");
	assert_value(om_q32, 8ULL << 32 | 1ULL << 31, "8.500000");
	assert_value(om_q32, 2147483647ULL << 32, "2147483647.000000");
}

/* The text between `key` and the end of its line, from the first place where it stands. */
static const char *after(const char *text, const char *key, char value[64])
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	snprintf(value, 64, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
	return value;
}

/* Every duration falls into the first bucket whose bound is not below it, and into all after that one. */
static void buckets_hold_what_their_bounds_say(void **state)
{
	uint64_t random = 7;
	char value[64];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint64_t ns = random_magnitude(&random, 45);
		unsigned int i = ns < 2 ? 0 : 63 - (unsigned int)__builtin_clzll(ns);
		struct kphi_histogram h = {.sum_ns = ns};
		struct om *m = open_page(METRICS_OPENMETRICS);
		const char *at;

		h.bucket[i < KPHI_LATENESS_BUCKETS ? i : KPHI_LATENESS_BUCKETS - 1] = 1;
		om_family(m, "x", OM_HISTOGRAM, NULL, "H.");
		om_histogram(m, &h);
		assert_int_equal(om_end(m), 0);
		fclose(page.stream);
		at = page.text;
		for (int buckets = 0; buckets < 24; buckets++) {
			double le;
			int inside;

			at = strstr(at, "le=\"");
			assert_non_null(at);
			at += strlen("le=\"");
			le = strtod(at, NULL);
			inside = atoi(strstr(at, "} ") + 2);
			assert_int_equal(inside, (double)ns <= le * 1e9 + 0.5);
		}
		assert_string_equal(after(page.text, "le=\"+Inf\"} ", value), "1");
		assert_string_equal(after(page.text, "x_count ", value), "1");
		assert_true(strtod(after(page.text, "x_sum ", value), NULL) == (double)ns / 1e9);
		free(page.text);
	}
}

/* Bounds are compared as text, so they are the shortest decimals, as everybody writes them. */
static void bounds_are_written_as_everybody_does(void **state)
{
	struct kphi_histogram h = {.sum_ns = 0};
	struct om *m = open_page(METRICS_OPENMETRICS);
	unsigned int buckets = 0;

	(void)state;
	om_family(m, "x", OM_HISTOGRAM, NULL, "H.");
	om_histogram(m, &h);
	assert_int_equal(om_end(m), 0);
	fclose(page.stream);
	for (const char *at = page.text; (at = strstr(at, "le=\""));) {
		char bound[32], shortest[40];

		at += strlen("le=\"");
		snprintf(bound, sizeof(bound), "%.*s", (int)strcspn(at, "\""), at);
		if (!strcmp(bound, "+Inf"))
			break;
		for (int digits = 1; digits < 18; digits++) {
			snprintf(shortest, sizeof(shortest), "%.*g", digits, strtod(bound, NULL));
			if (strtod(shortest, NULL) == strtod(bound, NULL))
				break;
		}
		assert_string_equal(bound, shortest);
		buckets++;
	}
	assert_int_equal(buckets, 24);
	free(page.text);
}

static void a_full_disk_is_told(void **state)
{
	struct om m;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	om_begin(&m, full, METRICS_OPENMETRICS);
	om_single(&m, "x", OM_GAUGE, 1, "H.");
	assert_int_equal(om_end(&m), -EIO);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_bears_total_in_its_samples_only),
		cmocka_unit_test(the_older_format_names_the_samples),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(labels_stand_side_by_side),
		cmocka_unit_test(a_label_without_room_is_left_out),
		cmocka_unit_test(numbers_are_exact_decimals),
		cmocka_unit_test(buckets_hold_what_their_bounds_say),
		cmocka_unit_test(bounds_are_written_as_everybody_does),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
