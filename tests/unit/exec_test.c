/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of consumers: what they get, what becomes of those that fail, hang or come too often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "run/bucket.h"
#include "run/exec.h"
#include "unit/content.h"

#define SECOND 1000000000ULL

static char directory[64];
static sd_event *loop;
static struct exec *x;
static char details[16][256];
static unsigned int events;
static uint64_t bucket;

static void on_event(void *context, const struct event *event)
{
	(void)context;
	assert_int_equal(event->type, EVENT_exec);
	assert_string_equal(event->consumer, "page");
	assert_string_equal(event->peer, "db1");
	assert_non_null(event->subject);
	assert_true(events < 16);
	snprintf(details[events++], sizeof(details[0]), "%s", event->detail);
}

static int begin(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/exec-test-XXXXXX");
	events = 0;
	bucket = 0;
	if (!mkdtemp(directory) || sd_event_new(&loop) < 0)
		return -1;
	x = exec_new(loop, on_event, NULL);
	return x ? 0 : -1;
}

static int end(void **state)
{
	static const char *const names[] = {"out", "pid"};
	char name[128];

	(void)state;
	exec_free(x);
	sd_event_unref(loop);
	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/%s", directory, names[i]);
		unlink(name);
	}
	return rmdir(directory);
}

static void run(const char *format, uint64_t timeout_ns)
{
	static const char line[] = "{\"type\":\"suspect\"}\n";
	char command[512];
	struct exec_order order = {
		.command = command,
		.consumer = "page",
		.peer = "db1",
		.line = line,
		.length = sizeof(line) - 1,
		.timeout_ns = timeout_ns,
		.per_minute = 10,
		.burst = 5,
		.bucket = &bucket,
	};

	/* Every %s is the directory. */
	snprintf(command, sizeof(command), format, directory, directory);
	exec_run(x, &order);
}

static void wait_for_all(void)
{
	while (exec_running(x))
		assert_true(sd_event_run(loop, 10 * 1000000) > 0);
}

static const char *content(const char *name)
{
	return content_of(directory, name);
}

static void event_is_on_standard_input(void **state)
{
	(void)state;
	run("cat > %s/out", 10 * SECOND);
	assert_int_equal(exec_running(x), 1);
	wait_for_all();
	assert_string_equal(content("out"), "{\"type\":\"suspect\"}\n");
	assert_int_equal(events, 0);
}

/* One that reads nothing, or only a little, is none the worse for it. */
static void input_need_not_be_read(void **state)
{
	(void)state;
	run("true", 10 * SECOND);
	run("head -c 1 > %s/out", 10 * SECOND);
	wait_for_all();
	assert_int_equal(events, 0);
	assert_string_equal(content("out"), "{");
}

static void nothing_of_ours_is_inherited(void **state)
{
	unsigned long long blocked, ignored;

	(void)state;
	/* 3 is what ls itself has open. Standard output is not the event stream but standard error. */
	run("ls /proc/self/fd | tr '\\n' ' ' > %s/out; [ \"$(readlink /proc/$$/fd/1)\" = \"$(readlink "
	    "/proc/$$/fd/2)\" ]",
	    10 * SECOND);
	wait_for_all();
	assert_string_equal(content("out"), "0 1 2 3 ");
	run("sed -En 's/^Sig(Blk|Ign):.//p' /proc/self/status | tr '\\n' ' ' > %s/out", 10 * SECOND);
	wait_for_all();
	assert_int_equal(sscanf(content("out"), "%llx %llx", &blocked, &ignored), 2);
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & 0x7fffffff, 0); /* 32 and 33 are the C library's own */
	assert_int_equal(events, 0);
}

static void failures_are_events(void **state)
{
	(void)state;
	run("exit 3", 10 * SECOND);
	wait_for_all();
	run("kill -SEGV $$", 10 * SECOND);
	wait_for_all();
	run("/no/such/command 2> /dev/null", 10 * SECOND);
	wait_for_all();
	assert_int_equal(events, 3);
	assert_string_equal(details[0], "failed with exit status 3");
	assert_string_equal(details[1], "ended by signal 11 (Segmentation fault)");
	assert_string_equal(details[2], "failed with exit status 127");
}

static void hanging_one_is_ended(void **state)
{
	uint64_t begin_ns = clock_monotonic_ns(), took_ns;

	(void)state;
	run("sleep 100", SECOND / 5);
	wait_for_all();
	took_ns = clock_monotonic_ns() - begin_ns;
	assert_int_equal(events, 1);
	assert_string_equal(details[0], "ended by us: it had not finished after 200ms");
	assert_true(took_ns >= SECOND / 5 && took_ns < 2 * SECOND);
}

/* Its children too, and one that will not hear of it. */
static void stubborn_one_is_killed_with_its_children(void **state)
{
	pid_t child;

	(void)state;
	run("trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > %s/pid; while :; do sleep 0.05; done' & wait; "
	    "wait; wait; sleep 100",
	    SECOND / 5);
	wait_for_all();
	assert_int_equal(events, 1);
	child = atoi(content("pid"));
	assert_true(child > 1);
	for (int i = 0; i < 100 && !kill(child, 0); i++) {
		char stat[64], line[256] = "";

		snprintf(stat, sizeof(stat), "/proc/%d/stat", child);
		if (file_read(stat, line, sizeof(line) - 1) > 0 && strstr(line, ") Z "))
			break;
		usleep(10000);
		assert_true(i < 99);
	}
}

static void too_many_are_not_run(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		run("echo x >> %s/out", 10 * SECOND);
	wait_for_all();
	assert_int_equal(events, 3);
	assert_string_equal(details[0], "not run: more than 10 a minute after a burst of 5");
	assert_int_equal(strlen(content("out")), 10);
}

static void many_run_side_by_side(void **state)
{
	uint64_t begin_ns = clock_monotonic_ns();

	(void)state;
	for (int i = 0; i < 5; i++)
		run("sleep 0.5", 10 * SECOND);
	assert_int_equal(exec_running(x), 5);
	assert_true(clock_monotonic_ns() - begin_ns < SECOND / 2);
	wait_for_all();
	assert_true(clock_monotonic_ns() - begin_ns < 2 * SECOND);
	assert_int_equal(events, 0);
}

static void running_ones_outlive_us(void **state)
{
	(void)state;
	run("sleep 0.2; echo done > %s/out", 10 * SECOND);
	exec_free(x);
	x = NULL;
	for (int i = 0; i < 200 && !*content("out"); i++)
		usleep(10000);
	assert_string_equal(content("out"), "done\n");
}

static void bucket_has_burst_and_rate(void **state)
{
	uint64_t full = 0, now = 100 * SECOND;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(bucket_take(&full, now, 6 * SECOND, 5));
	assert_false(bucket_take(&full, now, 6 * SECOND, 5));
	assert_false(bucket_take(&full, now + 6 * SECOND - 1, 6 * SECOND, 5));
	assert_true(bucket_take(&full, now + 6 * SECOND, 6 * SECOND, 5));
	assert_false(bucket_take(&full, now + 6 * SECOND, 6 * SECOND, 5));
	/* After a long pause no more than the burst. */
	now += 1000 * SECOND;
	for (int i = 0; i < 5; i++)
		assert_true(bucket_take(&full, now, 6 * SECOND, 5));
	assert_false(bucket_take(&full, now, 6 * SECOND, 5));
	full = 0;
	assert_true(bucket_take(&full, now, SECOND, 1));
	assert_false(bucket_take(&full, now + SECOND - 1, SECOND, 1));
	assert_true(bucket_take(&full, now + SECOND, SECOND, 1));
}

#define with_exec(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_exec(event_is_on_standard_input),   with_exec(input_need_not_be_read),
		with_exec(nothing_of_ours_is_inherited), with_exec(failures_are_events),
		with_exec(hanging_one_is_ended),         with_exec(stubborn_one_is_killed_with_its_children),
		with_exec(too_many_are_not_run),         with_exec(many_run_side_by_side),
		with_exec(running_ones_outlive_us),      cmocka_unit_test(bucket_has_burst_and_rate),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
