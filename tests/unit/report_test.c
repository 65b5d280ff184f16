// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the daemon tells of itself: what is kept over lives, configurations and deaths in the middle of a
 * write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/histogram.h"
#include "run/report.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

static struct kphi_daemon map;
static struct report report;

static int begin(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	report = (struct report){.map = &map};
	return 0;
}

static struct engine_config config_of(const char *const *names, uint32_t n)
{
	struct engine_config config = {.consumers = n};

	for (uint32_t i = 0; i < n; i++) {
		snprintf(config.consumer[i].name, KPHI_NAME_SIZE, "%s", names[i]);
		config.consumer[i].suspect = (8 + i) * Q32_ONE;
		config.consumer[i].clear = 4 * Q32_ONE;
		config.consumer[i].shadow = i == 1;
	}
	return config;
}

static void suspect(const char *consumer, uint64_t crossed_ns, uint64_t token, uint64_t said_ns)
{
	const struct event event = {
		.type = EVENT_suspect,
		.cause = CAUSE_SILENCE,
		.consumer = consumer,
		.crossed_ns = crossed_ns,
		.token = token,
	};

	report_event(&report, &event, said_ns);
}

/* --- lives --- */

static void a_life_is_told(void **state)
{
	(void)state;
	map.clients = 7; /* of one that was killed */
	report_begin(&report, 3, 5 * SEC, 8 * SEC);
	assert_int_equal(map.starts, 3);
	assert_int_equal(map.started_ns, 5 * SEC);
	assert_int_equal(map.pid, getpid());
	assert_int_equal(map.alive_until_ns, 8 * SEC);
	assert_int_equal(map.clients, 0);
	assert_int_equal(map.version % 2, 0);
	report_alive(&report, 9 * SEC);
	assert_int_equal(map.alive_until_ns, 9 * SEC);
}

static void what_is_counted_goes_on(void **state)
{
	static const char *const names[] = {"page", "trial"};
	struct engine_config config = config_of(names, 2);

	(void)state;
	report_begin(&report, 1, 0, SEC);
	report_consumers(&report, &config);
	suspect("page", 10 * SEC, 1, 10 * SEC + 3);
	report_lateness(&report, 5);
	report_config(&report, true);
	report_config(&report, false);
	report_command(&report);
	report_clients(&report, 2, 10);
	report_clients(&report, 3, 12);

	report = (struct report){.map = &map}; /* another process */
	report_begin(&report, 2, 20 * SEC, 21 * SEC);
	report_consumers(&report, &config);
	assert_int_equal(map.events[EVENT_suspect][CAUSE_SILENCE], 1);
	assert_int_equal(map.consumer[0].suspicions, 1);
	assert_int_equal(histogram_count(&map.latency), 1);
	assert_int_equal(histogram_count(&map.lateness), 1);
	assert_int_equal(map.configs, 1);
	assert_int_equal(map.configs_refused, 1);
	assert_int_equal(map.commands, 1);
	assert_int_equal(map.events_dropped, 12);
	report_clients(&report, 1, 5); /* of this life */
	assert_int_equal(map.events_dropped, 17);
	assert_int_equal(map.clients, 1);
}

/* --- events --- */

static void events_are_counted_by_type_and_cause(void **state)
{
	struct event event = {.type = EVENT_exec};

	(void)state;
	report_event(&report, &event, 0);
	event = (struct event){.type = EVENT_web, .cause = CAUSES - 1};
	report_event(&report, &event, 0);
	report_event(&report, &event, 0);
	event.cause = CAUSES; /* of a version that is not this one */
	report_event(&report, &event, 0);
	assert_int_equal(map.events[EVENT_exec][CAUSE_NONE], 1);
	assert_int_equal(map.commands_failed, 1);
	assert_int_equal(map.events[EVENT_web][CAUSES - 1], 2);
}

static void latency_is_of_verdicts_alone(void **state)
{
	static const char *const names[] = {"page", "trial"};
	struct engine_config config = config_of(names, 2);

	(void)state;
	report_consumers(&report, &config);
	suspect("page", 10 * SEC, 1, 10 * SEC + 1500);
	suspect("page", 10 * SEC, 2, 10 * SEC - 1); /* a clock that was read the other way round */
	suspect("page", 0, 3, 10 * SEC); /* it had to wait */
	suspect("trial", 10 * SEC, 0, 20 * SEC); /* a shadow */
	assert_int_equal(histogram_count(&map.latency), 2);
	assert_int_equal(map.latency.bucket[10], 1);
	assert_int_equal(map.latency.bucket[0], 1);
	assert_int_equal(map.latency.sum_ns, 1500);
	assert_int_equal(map.latency.worst_ns, 1500);
	assert_int_equal(map.consumer[0].suspicions, 3);
	assert_int_equal(map.consumer[1].suspicions, 1);
}

/* --- consumers --- */

static void a_consumer_keeps_its_count_at_its_place(void **state)
{
	static const char *const before[] = {"page", "trial", "gone"}, *const after[] = {"page", "other"};
	struct engine_config config = config_of(before, 3);
	uint64_t version;

	(void)state;
	report_consumers(&report, &config);
	for (uint32_t i = 0; i < 3; i++)
		suspect(before[i], 0, 1, 0);
	version = map.version;
	config = config_of(after, 2);
	config.consumer[0].suspect = 9 * Q32_ONE;
	report_consumers(&report, &config);
	assert_int_equal(map.version, version + 2);
	assert_int_equal(map.consumers, 2);
	assert_string_equal(map.consumer[0].name, "page");
	assert_true(map.consumer[0].suspect == 9 * Q32_ONE && map.consumer[0].clear == 4 * Q32_ONE);
	assert_int_equal(map.consumer[0].suspicions, 1);
	assert_string_equal(map.consumer[1].name, "other");
	assert_int_equal(map.consumer[1].suspicions, 0);
	assert_int_equal(map.consumer[1].shadow, 1);
	/* Of one that has left nothing stands there. */
	assert_memory_equal(&map.consumer[2], &(struct kphi_consumer){0}, sizeof(struct kphi_consumer));
}

/* Names of the greatest length, with and without a rest of the former behind them. */
static void names_are_whole(void **state)
{
	char longest[KPHI_NAME_SIZE];
	const char *const before[] = {longest}, *const after[] = {"a"};
	struct engine_config config;

	(void)state;
	memset(longest, 'n', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	config = config_of(before, 1);
	report_consumers(&report, &config);
	assert_string_equal(map.consumer[0].name, longest);
	config = config_of(after, 1);
	report_consumers(&report, &config);
	for (size_t i = 1; i < KPHI_NAME_SIZE; i++)
		assert_int_equal(map.consumer[0].name[i], 0);
}

/* Killed while it wrote: the number is odd, and a name may be half of one and half of another. */
static void a_torn_report_is_made_whole(void **state)
{
	static const char *const names[] = {"page", "trial"};
	struct engine_config config = config_of(names, 2);

	(void)state;
	report_consumers(&report, &config);
	suspect("page", 0, 1, 0);
	suspect("trial", 0, 1, 0);
	map.version++;
	memcpy(map.consumer[1].name, "backs", 5);
	map.consumers = 31;
	report_begin(&report, 2, 0, SEC);
	assert_int_equal(map.version % 2, 0);
	report_consumers(&report, &config);
	assert_int_equal(map.version % 2, 0);
	assert_int_equal(map.consumers, 2);
	assert_string_equal(map.consumer[1].name, "trial");
	assert_int_equal(map.consumer[0].suspicions, 1);
	assert_int_equal(map.consumer[1].suspicions, 0);
}

/* --- the histogram --- */

static void buckets_double(void **state)
{
	static const struct {
		uint64_t ns;
		uint32_t bucket;
	} cases[] = {{0, 0},           {1, 0},           {2, 1},
		     {3, 1},           {4, 2},           {1023, 9},
		     {1024, 10},       {1ULL << 38, 38}, {(1ULL << 39) - 1, 38},
		     {1ULL << 39, 39}, {1ULL << 62, 39}};
	struct kphi_histogram h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		h = (struct kphi_histogram){.worst_ns = 0};
		histogram_add(&h, cases[i].ns);
		assert_int_equal(h.bucket[cases[i].bucket], 1);
		assert_int_equal(histogram_count(&h), 1);
		assert_true(h.sum_ns == cases[i].ns && h.worst_ns == cases[i].ns);
	}
}

static void quantiles_are_upper_limits(void **state)
{
	struct kphi_histogram h = {.worst_ns = 0};

	(void)state;
	assert_int_equal(histogram_quantile_ns(&h, 500000), 0);
	for (uint64_t i = 0; i < 99; i++)
		histogram_add(&h, 100);
	histogram_add(&h, 70000);
	assert_int_equal(histogram_quantile_ns(&h, 500000), 128);
	assert_int_equal(histogram_quantile_ns(&h, 980000), 128);
	assert_int_equal(histogram_quantile_ns(&h, 999999), 70000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_life_is_told, begin),
		cmocka_unit_test_setup(what_is_counted_goes_on, begin),
		cmocka_unit_test_setup(events_are_counted_by_type_and_cause, begin),
		cmocka_unit_test_setup(latency_is_of_verdicts_alone, begin),
		cmocka_unit_test_setup(a_consumer_keeps_its_count_at_its_place, begin),
		cmocka_unit_test_setup(names_are_whole, begin),
		cmocka_unit_test_setup(a_torn_report_is_made_whole, begin),
		cmocka_unit_test(buckets_double),
		cmocka_unit_test(quantiles_are_upper_limits),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
