// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers as people read them: golden tables where rounding turns, and printf as the judge of Q32.32. */
#include "io/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define MS 1000000ULL
#define S  1000000000ULL
#define M  (60 * S)
#define H  (60 * M)
#define D  (24 * H)

static uint64_t random_state = 7441;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static void durations_at_a_glance(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} table[] = {
		{0, "0ns"},
		{1, "1ns"},
		{812, "812ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1004, "1us"},
		{1005, "1.01us"},
		{4210, "4.21us"},
		{9994, "9.99us"},
		{9995, "10us"},
		{10049, "10us"},
		{99949, "99.9us"},
		{99950, "100us"},
		{100000, "100us"},
		{999499, "999us"},
		{999500, "1ms"},
		{100 * MS, "100ms"},
		{100 * MS + 499999, "100ms"},
		{S - 1, "1s"},
		{S, "1s"},
		{1500 * MS, "1.5s"},
		{12345 * MS, "12.3s"},
		{59949 * MS, "59.9s"},
		{59950 * MS, "1m00s"},
		{M, "1m00s"},
		{4 * M + 5 * S, "4m05s"},
		{59 * M + 59 * S + 499 * MS, "59m59s"},
		{59 * M + 59 * S + 500 * MS, "1h00m"},
		{2 * H + 3 * M, "2h03m"},
		{23 * H + 59 * M + 30 * S, "1d00h"},
		{3 * D + 4 * H, "3d04h"},
		{UINT64_MAX, "213504d00h"},
	};
	char text[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_string_equal(format_duration(table[i].ns, text), table[i].text);
}

static void durations_exactly(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} table[] = {
		{0, "0ns"},    {1, "1ns"},      {1500 * MS, "1500ms"}, {90 * S, "90s"},
		{2 * M, "2m"}, {36 * H, "36h"}, {7 * D, "7d"},         {UINT64_MAX, "18446744073709551615ns"},
	};
	char text[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_string_equal(format_duration_exact(table[i].ns, text), table[i].text);
}

static void bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} table[] = {
		{0, "0B"},
		{1023, "1023B"},
		{1024, "1KiB"},
		{1536, "1.5KiB"},
		{1024 * 1024 - 513, "1023KiB"},
		{1024 * 1024 - 512, "1MiB"},
		{64 << 20, "64MiB"},
		{5ULL << 30, "5GiB"},
		{3ULL << 40, "3TiB"},
		{UINT64_MAX, "16777216TiB"},
	};
	char text[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_string_equal(format_bytes(table[i].bytes, text), table[i].text);
}

static void q32_edges(void **state)
{
	static const struct {
		uint64_t q32;
		unsigned int decimals;
		const char *text;
	} table[] = {
		{0, 6, "0.000000"},
		{0, 0, "0"},
		{1, 6, "0.000000"},
		{1, 9, "0.000000000"},
		{1ULL << 32, 6, "1.000000"},
		{UINT64_MAX, 6, "4294967296.000000"},
		{UINT64_MAX, 9, "4294967296.000000000"},
		{UINT64_MAX, 20, "4294967296.000000000"},
		{UINT32_MAX, 6, "1.000000"},
		{1ULL << 25, 6, "0.007812"}, /* 0.0078125: a tie goes to the even digit */
		{3ULL << 25, 6, "0.023438"}, /* 0.0234375 */
		{(3ULL << 25) + 1, 6, "0.023438"},
		{(1ULL << 25) + 1, 6, "0.007813"},
		{1ULL << 31, 0, "0"},
		{3ULL << 31, 0, "2"},
		{1ULL << 28, 3, "0.062"}, /* 0.0625 */
		{3ULL << 28, 3, "0.188"}, /* 0.1875 */
		{(8ULL << 32) - 1, 3, "8.000"},
	};
	char text[FORMAT_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_string_equal(format_q32(table[i].q32, table[i].decimals, text), table[i].text);
}

/* A long double holds a Q32.32 exactly, here and on arm64, and printf rounds it correctly. */
static void q32_as_printf(void **state)
{
	char text[FORMAT_SIZE], expected[FORMAT_SIZE];

	(void)state;
	for (int round = 0; round < 1000000; round++) {
		uint64_t q32 = next_random() >> next_random() % 64;
		unsigned int decimals = next_random() % 10;

		/* Every other one has few bits in its fraction, so that ties are met. */
		if (round & 1)
			q32 &= ~0ULL << (20 + next_random() % 12);
		snprintf(expected, sizeof(expected), "%.*Lf", (int)decimals,
			 (long double)q32 / 4294967296.0L);
		assert_string_equal(format_q32(q32, decimals, text), expected);
	}
}

static void percent(void **state)
{
	char text[FORMAT_SIZE];

	(void)state;
	assert_string_equal(format_percent(0, text), "0%");
	assert_string_equal(format_percent(1, text), "0.0001%");
	assert_string_equal(format_percent(125000, text), "12.5%");
	assert_string_equal(format_percent(1000000, text), "100%");
	assert_string_equal(format_percent(500500, text), "50.05%");
}

/* Whatever the number, the text is short and fits. */
static void any_number_fits(void **state)
{
	char text[FORMAT_SIZE];

	(void)state;
	for (int round = 0; round < 1000000; round++) {
		uint64_t n = next_random() >> next_random() % 64;

		assert_true(strlen(format_duration(n, text)) <= 10);
		assert_true(strlen(format_bytes(n, text)) <= 11);
		assert_true(strlen(format_duration_exact(n, text)) < FORMAT_SIZE - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_at_a_glance),
		cmocka_unit_test(durations_exactly),
		cmocka_unit_test(bytes),
		cmocka_unit_test(q32_edges),
		cmocka_unit_test(q32_as_printf),
		cmocka_unit_test(percent),
		cmocka_unit_test(any_number_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
