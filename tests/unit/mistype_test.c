// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Millions of mistyped words. Whatever a parser takes must read the same after it was formatted; whatever it
 * refuses comes with a sentence and leaves the value alone.
 */
#include "io/format.h"
#include "io/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED     0x5a
#define MISTAKES      600000
#define TYPED_MAX     96

static char why[WHY_SIZE];

static uint64_t random_state = 7441;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* A good word with up to four slips in it; now and then any bytes at all. */
static void mistype(char *typed, const char *const *words, size_t n)
{
	static const char keys[] = "0123456789abcdefABCDEFnumshd.:%[]-+ /xX\x7f\xc3\xbc\xff";
	size_t length = (size_t)snprintf(typed, TYPED_MAX - 8, "%s", words[next_random() % n]);
	unsigned int slips = next_random() % 5;

	for (unsigned int i = 0; i < slips; i++) {
		size_t at = next_random() % (length + 1);
		char key = next_random() % 8 ? keys[next_random() % (sizeof(keys) - 1)] : (char)next_random();

		switch (next_random() % 3) {
		case 0: /* one more */
			memmove(typed + at + 1, typed + at, length + 1 - at);
			typed[at] = key;
			length++;
			break;
		case 1: /* one less */
			memmove(typed + at, typed + at + 1, length - at);
			length -= at < length;
			break;
		default:
			typed[at < length ? at : 0] = key;
		}
	}
	typed[length] = '\0';
}

/*
 * A parser and its way back. The value is anything up to 128 bytes; `parse` gives -EINVAL or -ERANGE, or
 * fills it.
 */
struct trip {
	int (*parse)(const char *typed, void *value);
	void (*format)(const void *value, char *text);
	size_t size;
};

static void round_trips(const struct trip *trip, const char *const *words, size_t n)
{
	uint8_t value[128], again[128], untouched[128];
	char typed[TYPED_MAX], text[TYPED_MAX];
	unsigned int accepted = 0;

	assert_true(trip->size <= sizeof(value));
	memset(untouched, UNTOUCHED, sizeof(untouched));
	for (int i = 0; i < MISTAKES; i++) {
		int error;

		mistype(typed, words, n);
		memcpy(value, untouched, sizeof(value));
		*why = '\0';
		error = trip->parse(typed, value);
		if (error) {
			assert_true(error == -EINVAL || error == -ERANGE);
			assert_memory_equal(value, untouched, sizeof(value));
			assert_true(strlen(why) > 10);
			continue;
		}
		accepted++;
		trip->format(value, text);
		memset(again, 0, sizeof(again));
		assert_int_equal(trip->parse(text, again), 0);
		assert_memory_equal(value, again, trip->size);
	}
	/* Neither all right nor all wrong, or the slips would show nothing. */
	assert_true(accepted > MISTAKES / 10 && accepted < MISTAKES);
}

static int trip_duration(const char *typed, void *value)
{
	return parse_duration(typed, 0, UINT64_MAX, value, why, sizeof(why));
}

static void back_duration(const void *value, char *text)
{
	format_duration_exact(*(const uint64_t *)value, text);
}

static void mistyped_durations(void **state)
{
	static const char *const words[] = {"100ms",
					    "1.5s",
					    "250us",
					    "10ns",
					    "2m",
					    "1h",
					    "1d",
					    "0",
					    "213503d",
					    "18446744073709551615ns",
					    "18446744073.709551615s",
					    "0.000000001s"};

	(void)state;
	round_trips(&(struct trip){trip_duration, back_duration, sizeof(uint64_t)}, words, LENGTH(words));
}

static int trip_percent(const char *typed, void *value)
{
	return parse_percent(typed, value, why, sizeof(why));
}

static void back_percent(const void *value, char *text)
{
	format_percent(*(const uint32_t *)value, text);
}

static void mistyped_percentages(void **state)
{
	static const char *const words[] = {"0%", "12.5%", "100%", "0.0001%", "99.9999%"};

	(void)state;
	round_trips(&(struct trip){trip_percent, back_percent, sizeof(uint32_t)}, words, LENGTH(words));
}

static int trip_u64(const char *typed, void *value)
{
	return parse_u64(typed, 3, UINT64_MAX - 3, value, why, sizeof(why));
}

static void back_u64(const void *value, char *text)
{
	snprintf(text, TYPED_MAX, "%llu", (unsigned long long)*(const uint64_t *)value);
}

static void mistyped_numbers(void **state)
{
	static const char *const words[] = {"3", "1000", "18446744073709551610", "4294967296"};

	(void)state;
	round_trips(&(struct trip){trip_u64, back_u64, sizeof(uint64_t)}, words, LENGTH(words));
}

static int trip_uuid(const char *typed, void *value)
{
	return parse_uuid(typed, value, why, sizeof(why));
}

static void back_uuid(const void *value, char *text)
{
	format_uuid(value, text);
}

static void mistyped_uuids(void **state)
{
	static const char *const words[] = {"6ba7b810-9dad-11d1-80b4-00c04fd430c8",
					    "6BA7B8109DAD11D180B400C04FD430C8"};

	(void)state;
	round_trips(&(struct trip){trip_uuid, back_uuid, 16}, words, LENGTH(words));
}

static int trip_address(const char *typed, void *value)
{
	return parse_address(typed, value, why, sizeof(why));
}

static void back_address(const void *value, char *text)
{
	format_address(value, text);
}

static void mistyped_addresses(void **state)
{
	static const char *const words[] = {
		"192.0.2.1", "2001:db8::1", "::", "::ffff:192.0.2.1", "fe80::1:2:3:4", "1:2:3:4:5:6:7:8"};

	(void)state;
	round_trips(&(struct trip){trip_address, back_address, 16}, words, LENGTH(words));
}

static int trip_endpoint(const char *typed, void *value)
{
	return parse_endpoint(typed, 7441, value, why, sizeof(why));
}

static void back_endpoint(const void *value, char *text)
{
	format_endpoint(value, text);
}

static void mistyped_endpoints(void **state)
{
	static const char *const words[] = {"192.0.2.1",   "192.0.2.1:7441",        "[2001:db8::1]:80",
					    "2001:db8::1", "[::ffff:192.0.2.1]:80", "[fe80::1%lo]:7441"};

	(void)state;
	round_trips(&(struct trip){trip_endpoint, back_endpoint, sizeof(struct sockaddr_storage)}, words,
		    LENGTH(words));
}

static int trip_name(const char *typed, void *value)
{
	return parse_name(typed, value, why, sizeof(why));
}

static void back_name(const void *value, char *text)
{
	snprintf(text, TYPED_MAX, "%s", (const char *)value);
}

static void mistyped_names(void **state)
{
	static const char *const words[] = {"db1", "web server", "Z\xc3\xbcrich", "\xe6\x97\xa5\xe6\x9c\xac",
					    "12345678901234567890123456789012345678901234567890123456789012"};

	(void)state;
	round_trips(&(struct trip){trip_name, back_name, KPHI_NAME_SIZE}, words, LENGTH(words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistyped_durations), cmocka_unit_test(mistyped_percentages),
		cmocka_unit_test(mistyped_numbers),   cmocka_unit_test(mistyped_uuids),
		cmocka_unit_test(mistyped_addresses), cmocka_unit_test(mistyped_endpoints),
		cmocka_unit_test(mistyped_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
