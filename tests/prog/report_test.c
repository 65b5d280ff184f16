// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The pinned map in which the daemon tells of itself: who writes it, and what a reader gets of it. */
#include "prog/world.h"

#include "run/report.h"

static void a_reader_sees_what_the_daemon_writes(void **state)
{
	struct engine_config config = {.consumers = 1, .consumer = {{.name = "page", .suspect = 8}}};
	struct kphi_daemon seen;
	struct report report;
	struct world world;

	(void)state;
	world_open(&world, "report", 4, 8);
	assert_false(store_daemon(&world.store, 0, &seen)); /* none has ever lived */
	assert_int_equal(seen.alive_until_ns, 0);
	assert_int_equal(report_open(&report, &world.pin, &world.why), 0);
	report_begin(&report, 5, 100, 200);
	report_consumers(&report, &config);
	report_lateness(&report, 1000);
	assert_true(store_daemon(&world.store, 199, &seen));
	assert_int_equal(seen.starts, 5);
	assert_int_equal(seen.consumers, 1);
	assert_string_equal(seen.consumer[0].name, "page");
	assert_int_equal(seen.lateness.worst_ns, 1000);
	assert_false(store_daemon(&world.store, 200, &seen)); /* it has died, and what it counted is there */
	assert_int_equal(seen.lateness.worst_ns, 1000);

	report.map->version++; /* killed while it wrote */
	assert_false(store_daemon(&world.store, 199, &seen));
	report_begin(&report, 6, 300, 400);
	report_consumers(&report, &config);
	assert_true(store_daemon(&world.store, 199, &seen));
	assert_int_equal(seen.starts, 6);

	report_close(&report);
	assert_false(store_daemon(&world.store, 0, &seen)); /* it has ended, and said so */
	assert_int_equal(seen.starts, 6);
	assert_int_equal(seen.lateness.worst_ns, 1000);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_sees_what_the_daemon_writes),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
