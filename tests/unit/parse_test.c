// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What people may type, right and wrong. Whatever a parser takes must read the same after it was formatted;
 * whatever it refuses comes with a sentence and leaves the value alone.
 */
#include "io/format.h"
#include "io/parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED     0x5a

static char why[WHY_SIZE];

/* --- numbers --- */

static void whole_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int error;
		uint64_t value;
	} table[] = {
		{"0", 0, UINT64_MAX, 0, 0},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
		{"007", 0, 10, 0, 7},
		{"8", 8, 8, 0, 8},
		{"7", 8, 10, -ERANGE, 0},
		{"11", 8, 10, -ERANGE, 0},
		{"", 0, 10, -EINVAL, 0},
		{"-1", 0, 10, -EINVAL, 0},
		{"+1", 0, 10, -EINVAL, 0},
		{" 1", 0, 10, -EINVAL, 0},
		{"1 ", 0, 10, -EINVAL, 0},
		{"0x1", 0, 10, -EINVAL, 0},
		{"1.5", 0, 10, -EINVAL, 0},
		{"one", 0, 10, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		uint64_t value = UNTOUCHED;

		assert_int_equal(
			parse_u64(table[i].text, table[i].min, table[i].max, &value, why, sizeof(why)),
			table[i].error);
		assert_int_equal(value, table[i].error ? UNTOUCHED : table[i].value);
	}
}

static void ports(void **state)
{
	uint16_t port = UNTOUCHED;

	(void)state;
	assert_int_equal(parse_port("0", &port, why, sizeof(why)), -ERANGE);
	assert_int_equal(parse_port("65536", &port, why, sizeof(why)), -ERANGE);
	assert_int_equal(parse_port("http", &port, why, sizeof(why)), -EINVAL);
	assert_int_equal(parse_port("", &port, why, sizeof(why)), -EINVAL);
	assert_int_equal(port, UNTOUCHED);
	assert_int_equal(parse_port("65535", &port, why, sizeof(why)), 0);
	assert_int_equal(port, 65535);
}

static const struct {
	const char *text;
	int error;
	uint64_t ns;
} typed_durations[] = {
	{"0", 0, 0},
	{"0.000", 0, 0},
	{"0s", 0, 0},
	{"10ns", 0, 10},
	{"250us", 0, 250000},
	{"100ms", 0, 100000000},
	{"1.5s", 0, 1500000000},
	{"1.500000000s", 0, 1500000000},
	{"1.5000000000000000000000000000s", 0, 1500000000},
	{"0.000000001s", 0, 1},
	{"2m", 0, 120000000000},
	{"1h", 0, 3600000000000},
	{"1d", 0, 86400000000000},
	{"0.25d", 0, 21600000000000},
	{"0.0000000000000152587890625d", -EINVAL, 0}, /* 1.318359375 ns */
	{"0.0000152587890625d", 0, 1318359375}, /* a day over 2^16 */
	{"18446744073709551615ns", 0, UINT64_MAX},
	{"18446744073.709551615s", 0, UINT64_MAX},
	{"213503d", 0, 213503 * 86400000000000ULL},
	{"18446744073709551616ns", -ERANGE, 0},
	{"18446744073.709551616s", -ERANGE, 0},
	{"213504d", -ERANGE, 0},
	{"99999999999999999999999d", -ERANGE, 0},
	{"100", -EINVAL, 0},
	{"99999999999999999999999", -EINVAL, 0},
	{"1.5", -EINVAL, 0},
	{"0.0000000001", -EINVAL, 0},
	{"1.5ns", -EINVAL, 0},
	{"0.0000000001s", -EINVAL, 0},
	{"0.0000000000000000000000001d", -EINVAL, 0},
	{"1.s", -EINVAL, 0},
	{".5s", -EINVAL, 0},
	{"1..5s", -EINVAL, 0},
	{"1.5.5s", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"s", -EINVAL, 0},
	{"-1s", -EINVAL, 0},
	{"+1s", -EINVAL, 0},
	{"1 s", -EINVAL, 0},
	{" 1s", -EINVAL, 0},
	{"1s ", -EINVAL, 0},
	{"1S", -EINVAL, 0},
	{"1sec", -EINVAL, 0},
	{"1e3s", -EINVAL, 0},
	{"1,5s", -EINVAL, 0},
	{"1m30s", -EINVAL, 0},
	{"inf", -EINVAL, 0},
	{"nan", -EINVAL, 0},
};

static void durations(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(typed_durations); i++) {
		uint64_t ns = UNTOUCHED;

		assert_int_equal(
			parse_duration(typed_durations[i].text, 0, UINT64_MAX, &ns, why, sizeof(why)),
			typed_durations[i].error);
		assert_int_equal(ns, typed_durations[i].error ? UNTOUCHED : typed_durations[i].ns);
	}
}

static void assert_duration_refused(const char *text, uint64_t min, uint64_t max, const char *sentence)
{
	uint64_t ns;

	assert_true(parse_duration(text, min, max, &ns, why, sizeof(why)) < 0);
	assert_string_equal(why, sentence);
}

static void durations_explain_themselves(void **state)
{
	uint64_t ns;

	(void)state;
	assert_duration_refused("100", 0, 1, "'100' has no unit: use ns, us, ms, s, m, h or d, as in 100ms");
	assert_duration_refused("3w", 0, 1, "'3w' has an unknown unit: use ns, us, ms, s, m, h or d");
	assert_duration_refused("soon", 0, 1,
				"'soon' is not a duration: write a number and a unit, such as 100ms or 1.5s");
	assert_duration_refused("0.5ns", 0, 1,
				"'0.5ns' is not a whole number of nanoseconds: use fewer decimals");
	assert_duration_refused("1us", 1000000, 3600000000000,
				"'1us' is out of range: it must be between 1ms and 1h");
	assert_duration_refused(
		"0", 1000000, KPHI_INTERVAL_MAX_NS,
		"'0' is out of range: it must be between 1ms and 140737488355328ns (about 1d15h)");
	assert_int_equal(parse_duration("1ms", 1000000, 3600000000000, &ns, why, sizeof(why)), 0);
	assert_int_equal(parse_duration("1h", 1000000, 3600000000000, &ns, why, sizeof(why)), 0);
	assert_int_equal(parse_duration("3600.000000001s", 1000000, 3600000000000, &ns, why, sizeof(why)),
			 -ERANGE);
}

static void percentages(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint32_t ppm;
	} table[] = {
		{"0%", 0, 0},
		{"50%", 0, 500000},
		{"12.5%", 0, 125000},
		{"0.0001%", 0, 1},
		{"100%", 0, 1000000},
		{"100.00000000%", 0, 1000000},
		{"100.0001%", -ERANGE, 0},
		{"0.00001%", -EINVAL, 0},
		{"50", -EINVAL, 0},
		{"%", -EINVAL, 0},
		{"-1%", -EINVAL, 0},
		{"50%%", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"99999999999999999999%", -ERANGE, 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		uint32_t ppm = UNTOUCHED;

		assert_int_equal(parse_percent(table[i].text, &ppm, why, sizeof(why)), table[i].error);
		assert_int_equal(ppm, table[i].error ? UNTOUCHED : table[i].ppm);
	}
}

/* --- names --- */

static void names(void **state)
{
	static const char *const good[] = {
		"a",
		"db1",
		"web server 3",
		"Z\xc3\xbcrich",
		"\xf0\x9f\x92\x93",
		"123456789012345678901234567890123456789012345678901234567890123",
		"--",
		"\\x1b",
	};
	static const char *const bad[] = {
		"",
		" a",
		"a ",
		" ",
		"\xc2\xa0"
		"a",
		"a\xe3\x80\x80",
		"a\nb",
		"\x1b[31m",
		"a\x7f",
		"a\xc2\x9b",
		"a\xe2\x80\xae"
		"b",
		"\xff",
		"a\xc3",
		"1234567890123456789012345678901234567890123456789012345678901234",
	};
	char name[KPHI_NAME_SIZE], before[KPHI_NAME_SIZE];

	(void)state;
	memset(before, UNTOUCHED, sizeof(before));
	for (size_t i = 0; i < LENGTH(good); i++) {
		memcpy(name, before, sizeof(name));
		assert_int_equal(parse_name(good[i], name, why, sizeof(why)), 0);
		assert_string_equal(name, good[i]);
		for (size_t j = strlen(good[i]); j < sizeof(name); j++)
			assert_int_equal(name[j], 0);
	}
	memcpy(name, before, sizeof(name));
	for (size_t i = 0; i < LENGTH(bad); i++) {
		assert_true(parse_name(bad[i], name, why, sizeof(why)) < 0);
		assert_memory_equal(name, before, sizeof(name));
	}
}

/* --- identities --- */

static void uuids(void **state)
{
	static const char *const good[] = {
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
		"6ba7b8109dad11d180b400c04fd430c8", "6bA7b8109DAD11d180b400c04fd430c8"};
	static const char *const bad[] = {
		"",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8a",
		"6ba7b8109-dad-11d1-80b4-00c04fd430c8",
		"6ba7b810-9dad-11d1-80b4-00c04fd430cg",
		"6ba7b810-9dad-11d1-80b4 00c04fd430c8",
		"{6ba7b810-9dad-11d1-80b4-00c04fd430c8}",
		"6ba7b8109dad11d180b400c04fd430c",
		"6ba7b8109dad11d180b400c04fd430c ",
		"6ba7b810-9dad11d180b400c04fd430c8",
		"00000000-0000-0000-0000-000000000000",
		"00000000000000000000000000000000",
		"------------------------------------",
	};
	uint8_t uuid[16] = {0}, none[16] = {0};
	char text[UUID_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_int_equal(parse_uuid(bad[i], uuid, why, sizeof(why)), -EINVAL);
	assert_memory_equal(uuid, none, sizeof(uuid));
	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_int_equal(parse_uuid(good[i], uuid, why, sizeof(why)), 0);
		assert_string_equal(format_uuid(uuid, text), good[0]);
	}
}

static void addresses(void **state)
{
	static const struct {
		const char *text, *formatted; /* formatted NULL: refused */
	} table[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.255", "255.255.255.255"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"2001:DB8::1", "2001:db8::1"},
		{"2001:0db8:0:0:0:0:0:1", "2001:db8::1"},
		{"::", "::"},
		{"fe80::1", "fe80::1"},
		{"192.0.2", NULL},
		{"192.0.2.256", NULL},
		{"192.0.02.1", NULL},
		{"192.0.2.1:80", NULL},
		{"[::1]", NULL},
		{"fe80::1%lo", NULL},
		{"2001:db8::1::", NULL},
		{"10.0.0.0/8", NULL},
		{"db1", NULL},
		{"", NULL},
		{" 192.0.2.1", NULL},
	};
	uint8_t address[16];
	char text[ADDRESS_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		int error = parse_address(table[i].text, address, why, sizeof(why));

		assert_int_equal(error, table[i].formatted ? 0 : -EINVAL);
		if (!error)
			assert_string_equal(format_address(address, text), table[i].formatted);
	}
	assert_int_equal(parse_address("192.0.2.1", address, why, sizeof(why)), 0);
	assert_memory_equal(address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01", 16);
	assert_int_equal(parse_address("db1", address, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "host names are not resolved"));
	assert_int_equal(parse_address("cafe", address, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "host names are not resolved"));
}

static void endpoints(void **state)
{
	static const struct {
		const char *text;
		uint16_t port;
		const char *formatted;
	} table[] = {
		{"192.0.2.1", 7441, "192.0.2.1:7441"},
		{"192.0.2.1:80", 7441, "192.0.2.1:80"},
		{"192.0.2.1:80", 0, "192.0.2.1:80"},
		{"2001:db8::1", 7441, "[2001:db8::1]:7441"},
		{"[2001:db8::1]", 7441, "[2001:db8::1]:7441"},
		{"[2001:db8::1]:80", 7441, "[2001:db8::1]:80"},
		{"2001:db8::1:80", 7441, "[2001:db8::1:80]:7441"},
		{"::ffff:192.0.2.1", 7441, "192.0.2.1:7441"},
		{"[::ffff:192.0.2.1]:80", 7441, "192.0.2.1:80"},
		{"fe80::1%lo", 7441, "[fe80::1%lo]:7441"},
		{"[fe80::1%lo]:80", 7441, "[fe80::1%lo]:80"},
		{"fe80::1%1", 7441, "[fe80::1%lo]:7441"},
		{"fe80::1%4294967295", 7441, "[fe80::1%4294967295]:7441"},
		{"ff02::1%lo", 7441, "[ff02::1%lo]:7441"},
		{"192.0.2.1", 0, NULL},
		{"[2001:db8::1]", 0, NULL},
		{"192.0.2.1:", 7441, NULL},
		{"192.0.2.1:0", 7441, NULL},
		{"192.0.2.1:65536", 7441, NULL},
		{"192.0.2.1:80:80", 7441, NULL},
		{"[192.0.2.1]:80", 7441, NULL},
		{"[2001:db8::1", 7441, NULL},
		{"[2001:db8::1]80", 7441, NULL},
		{"[2001:db8::1]:", 7441, NULL},
		{"[]:80", 7441, NULL},
		{"[", 7441, NULL},
		{":80", 7441, NULL},
		{"", 7441, NULL},
		{"db1:80", 7441, NULL},
		{"fe80::1", 7441, NULL},
		{"fe80::1%", 7441, NULL},
		{"fe80::1%nosuchdev", 7441, NULL},
		{"fe80::1%0", 7441, NULL},
		{"fe80::1%4294967296", 7441, NULL},
		{"2001:db8::1%lo", 7441, NULL},
		{"192.0.2.1%lo", 7441, NULL},
		{"1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:4444:5555:6666", 7441, NULL},
	};
	char text[ENDPOINT_SIZE];

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct sockaddr_storage endpoint;
		int error = parse_endpoint(table[i].text, table[i].port, &endpoint, why, sizeof(why));

		if (table[i].formatted) {
			assert_int_equal(error, 0);
			assert_string_equal(format_endpoint(&endpoint, text), table[i].formatted);
		} else {
			assert_true(error < 0);
			assert_true(strlen(why) > 10);
		}
	}
	assert_string_equal(format_endpoint(&(struct sockaddr_storage){.ss_family = AF_UNIX}, text), "?");
}

/* The longest texts that the buffers in format.h promise room for. */
static void the_longest_fit(void **state)
{
	struct sockaddr_storage endpoint = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&endpoint;
	char text[ENDPOINT_SIZE];

	(void)state;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(65535);
	in6->sin6_scope_id = UINT32_MAX;
	memset(&in6->sin6_addr, 0xee, sizeof(in6->sin6_addr));
	assert_string_equal(format_endpoint(&endpoint, text),
			    "[eeee:eeee:eeee:eeee:eeee:eeee:eeee:eeee%4294967295]:65535");
	assert_true(strlen(text) - strlen("4294967295") + IF_NAMESIZE <= sizeof(text));
}

/* A sentence never runs over a buffer that is too small for it, not even over none. */
static void short_buffers_for_the_reason(void **state)
{
	uint64_t value;
	char small[4] = "abc";

	(void)state;
	assert_int_equal(parse_duration("soon", 0, 1, &value, small, 0), -EINVAL);
	assert_string_equal(small, "abc");
	assert_int_equal(parse_duration("soon", 0, 1, &value, small, 3), -EINVAL);
	assert_string_equal(small, "'s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(ports),
		cmocka_unit_test(durations),
		cmocka_unit_test(durations_explain_themselves),
		cmocka_unit_test(percentages),
		cmocka_unit_test(names),
		cmocka_unit_test(uuids),
		cmocka_unit_test(addresses),
		cmocka_unit_test(endpoints),
		cmocka_unit_test(the_longest_fit),
		cmocka_unit_test(short_buffers_for_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
