// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What of `kphi top` fits where: columns, texts of any bytes, pages, and phi as characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/utf8.h"
#include "show/window.h"
#include "top/layout.h"
#include "top/model.h"
#include "top/page.h"
#include "top/spark.h"
#include "unit/random.h"

static bool has(const struct layout *l, enum top_column column)
{
	return l->width[column] > 0;
}

static void no_screen_is_too_small_or_overrun(void **state)
{
	struct layout_wish wish = {.name = 40, .host = 12, .consumers = true};
	uint32_t most = 0;

	(void)state;
	for (uint32_t width = 1; width <= 400; width++) {
		struct layout l = layout_columns(width, &wish);
		uint32_t sum = 0, n = 0;

		for (int c = 0; c < COLUMNS; c++) {
			sum += l.width[c];
			n += l.width[c] > 0;
		}
		assert_int_equal(l.used, sum + n - 1);
		assert_in_range(l.used, 1, width);
		assert_true(has(&l, COLUMN_PEER));
		most = n > most ? n : most;
	}
	assert_int_equal(most, COLUMNS);
}

static void the_two_sizes_that_matter(void **state)
{
	struct layout_wish wish = {.name = 8, .host = 0};
	struct layout l = layout_columns(80, &wish);

	(void)state;
	assert_true(has(&l, COLUMN_STATE) && l.width[COLUMN_STATE] == 8);
	assert_true(has(&l, COLUMN_HISTORY) && has(&l, COLUMN_SILENCE) && has(&l, COLUMN_MEAN));
	assert_false(has(&l, COLUMN_HOST)); /* nobody has a label */
	assert_false(has(&l, COLUMN_CONSUMERS));
	l = layout_columns(40, &wish);
	assert_int_equal(l.width[COLUMN_STATE], 1); /* a letter */
	assert_true(has(&l, COLUMN_PHI) && has(&l, COLUMN_MODEL) && has(&l, COLUMN_HISTORY));
	wish.host = 8;
	l = layout_columns(120, &wish);
	assert_true(has(&l, COLUMN_HOST) && has(&l, COLUMN_REASON));
}

static void phi_never_stands_without_its_model(void **state)
{
	struct layout_wish wish = {.name = 8};

	(void)state;
	for (uint32_t width = 1; width < 200; width++) {
		struct layout l = layout_columns(width, &wish);

		assert_true(!has(&l, COLUMN_PHI) || has(&l, COLUMN_MODEL));
	}
}

/* is(TEXT, WIDTH, RIGHT, UTF8, EXPECTED) */
static void is(const char *text, uint32_t width, bool right, bool utf8, const char *expected)
{
	char *cell = layout_cell(text, width, right, utf8);

	assert_string_equal(cell, expected);
	free(cell);
}

static void cells(void **state)
{
	(void)state;
	is("db1", 5, false, true, "db1  ");
	is("db1", 5, true, true, "  db1");
	is("database", 5, false, true, "data\u2026");
	is("database", 5, true, true, "data\u2026");
	is("database", 5, false, false, "data~");
	is("database", 8, false, true, "database");
	is("database", 1, false, true, "\u2026");
	is("database", 0, false, true, "");
	is("", 3, false, true, "   ");
	is("日本語", 6, false, true, "日本語");
	is("日本語", 5, false, true, "日本\u2026");
	is("日本語", 4, false, true, "日\u2026 "); /* half a character cannot be shown */
	is("äöü", 12, false, false, "\\xc3\\xa4\\xc~"); /* a terminal without UTF-8 */
	is("a\x1b[2Jb", 12, false, true, "a\\x1b[2Jb   ");
	is("a\nb\tc", 10, false, true, "a b\\x09c  ");
	is("\xff\xfe", 10, false, true, "\\xff\\xfe  ");
	is("e\u0301e\u0301e\u0301", 2, false, true, "e\u0301\u2026"); /* marks stay with their letter */
}

/* Whatever the bytes, a cell is as wide as it says and has nothing that drives a terminal. */
static void any_bytes(void **state)
{
	uint64_t random = 7;
	char text[40];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = random_below(&random, sizeof(text));
		uint32_t width = (uint32_t)random_below(&random, 50), code;
		bool utf8 = random_below(&random, 2);
		char *cell;

		for (size_t i = 0; i < n; i++)
			text[i] = (char)(1 + random_below(&random, 255));
		text[n] = '\0';
		cell = layout_cell(text, width, random_below(&random, 2), utf8);
		assert_int_equal(utf8_width(cell, strlen(cell)), width);
		for (const char *c = cell; *c;) {
			size_t length = utf8_decode(c, strlen(c), &code);

			assert_true(length && !utf8_is_control(code) && (utf8 || code < 0x80));
			c += length;
		}
		free(cell);
	}
}

static void what_fits_is_joined(void **state)
{
	const char *const texts[] = {"1 suspect", "", NULL, "12 of 1024 peers", "on db"};
	char *line = layout_join(texts, 5, 34, true);

	(void)state;
	assert_string_equal(line, "1 suspect  12 of 1024 peers  on db");
	free(line);
	line = layout_join(texts, 5, 18, true);
	assert_string_equal(line, "1 suspect  on db  ");
	free(line);
	line = layout_join(texts, 5, 5, true);
	assert_string_equal(line, "1 su\u2026");
	free(line);
}

static void pages(void **state)
{
	struct page p, left, right;

	(void)state;
	page_begin(&p, 12, true);
	page_wrap(&p, "silent for a while: unimaginably so");
	assert_int_equal(p.lines, 4);
	assert_string_equal(p.line[0], "silent for a");
	assert_string_equal(p.line[1], "while:      ");
	assert_string_equal(p.line[2], "unimaginably");
	assert_string_equal(p.line[3], "so          ");
	page_free(&p);
	page_begin(&p, 4, true);
	page_wrap(&p, "unimaginably so");
	assert_string_equal(p.line[0], "uni\u2026");
	page_free(&p);

	page_begin(&p, 10, true);
	page_begin(&left, 4, true);
	page_begin(&right, 4, true);
	page_add(&left, "a");
	page_add(&right, "x");
	page_add(&right, "y");
	page_beside(&p, &left, &right);
	assert_string_equal(p.line[0], "a     x   ");
	assert_string_equal(p.line[1], "      y   ");
	page_free(&left);
	page_free(&right);
	for (int i = 0; i < 2 * PAGE_LINES; i++)
		page_add(&p, "%d", i);
	assert_int_equal(p.lines, PAGE_LINES);
	page_free(&p);
}

static void sparks(void **state)
{
	/* phi:        -  0  1  2   4   7   7.9 8   30 */
	const uint8_t past[] = {0, 1, 9, 17, 33, 57, 64, 65, 240};
	char text[SPARK_SIZE(9)];

	(void)state;
	assert_string_equal(spark_line(past, 9, true, text), " ▁▁▂▄▇▇██");
	assert_string_equal(spark_line(past, 9, false, text), " __.~**##");
	assert_string_equal(spark_line(past, 0, true, text), "");
}

static void charts(void **state)
{
	const uint8_t past[] = {TOP_NOTHING, 1, 33, 65}; /* nothing, 0, 4, 8 */
	const uint8_t high[] = {TOP_PHI_LAST, 121}; /* 30 or more, 15 */
	char text[SPARK_SIZE(4)];

	(void)state;
	assert_int_equal(spark_chart_top(past, 4), 8);
	assert_string_equal(spark_chart_line(past, 4, 8, 0, 2, true, text), "   █");
	assert_string_equal(spark_chart_line(past, 4, 8, 1, 2, true, text), " ▁██");
	assert_string_equal(spark_chart_line(past, 4, 8, 1, 2, false, text), " _##");
	assert_int_equal(spark_chart_top(high, 2), 30);
	assert_string_equal(spark_chart_line(high, 2, 30, 0, 4, true, text), "█ ");
	assert_string_equal(spark_chart_line(high, 2, 30, 2, 4, true, text), "██");
}

static void histograms(void **state)
{
	uint64_t ring[] = {100, 2ULL << KPHI_RING_STEPS_SHIFT | 110, 120, 120, 129};
	struct histogram h = window_histogram(ring, 5, 3);

	(void)state;
	assert_int_equal(h.low_ns, 100);
	assert_int_equal(h.step_ns, 10);
	assert_int_equal(h.bars, 3);
	assert_memory_equal(h.count, ((uint32_t[]){1, 1, 3}), sizeof(uint32_t) * 3);
	assert_int_equal(histogram_bar(&h, 2, 50), 50);
	assert_int_equal(histogram_bar(&h, 0, 2), 1); /* seen, however few */
	assert_int_equal(window_histogram(ring, 0, 3).bars, 0);
	assert_int_equal(window_histogram(ring, 1, 3).bars, 1);
	ring[0] = 0;
	ring[1] = KPHI_RING_NS;
	assert_in_range(window_histogram(ring, 5, HISTOGRAM_BARS).bars, 1, HISTOGRAM_BARS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_screen_is_too_small_or_overrun),
		cmocka_unit_test(the_two_sizes_that_matter),
		cmocka_unit_test(phi_never_stands_without_its_model),
		cmocka_unit_test(cells),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(what_fits_is_joined),
		cmocka_unit_test(pages),
		cmocka_unit_test(sparks),
		cmocka_unit_test(charts),
		cmocka_unit_test(histograms),
	};

	return cmocka_run_group_tests_name("top_layout", tests, NULL, NULL);
}
