// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The health check beside the beats: real commands, a clock that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beat/check.h"

#define S 1000000000ULL

static struct check check;
static uint64_t now;
static char folder[] = "/tmp/kphi-check-XXXXXX";

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void set_up(const char *command, uint64_t fails)
{
	check_init(&check);
	check.command = command;
	check.every_ns = 10 * S;
	check.fails = fails;
	now = 1000 * S;
}

/* The running check ends by itself. Did `degraded` change? */
static bool ends(void)
{
	struct pollfd p = {.fd = check.pidfd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 10000), 1);
	return check_reap(&check, now);
}

/* One whole run, at its time. */
static bool run(void)
{
	now = check_due_ns(&check) > now ? check_due_ns(&check) : now;
	assert_false(check_step(&check, now));
	return ends();
}

static bool is_there(const char *file)
{
	return access(file, F_OK) == 0;
}

static bool alive(const char *file)
{
	FILE *from = fopen(file, "r");
	int pid = 0;

	assert_non_null(from);
	assert_int_equal(fscanf(from, "%d", &pid), 1);
	fclose(from);
	for (int i = 0; i < 100 && kill(pid, 0) == 0; i++) { /* init reaps it when it gets to it */
		char path[64], state = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		from = fopen(path, "r");
		if (from) {
			if (fscanf(from, "%*d (%*[^)]) %c", &state) != 1)
				state = 'Z';
			fclose(from);
		}
		if (!from || state == 'Z')
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return kill(pid, 0) == 0;
}

static void no_check(void **state)
{
	(void)state;
	check_init(&check);
	assert_int_equal(check_due_ns(&check), UINT64_MAX);
	assert_false(check_step(&check, UINT64_MAX));
	check_close(&check);
}

static void success(void **state)
{
	(void)state;
	set_up("true", 1);
	assert_int_equal(check_due_ns(&check), 0); /* at once */
	for (uint64_t i = 1; i <= 3; i++) {
		assert_false(run());
		assert_int_equal(check.end, CHECK_SUCCEEDED);
		assert_int_equal(check.runs, i);
		assert_int_equal(check_due_ns(&check), now + 10 * S);
		assert_false(check_step(&check, now + 10 * S - 1)); /* not yet */
		assert_int_equal(check.pidfd, -1);
	}
	assert_int_equal(check.failures, 0);
}

static void so_many_in_a_row(void **state)
{
	char how[64];

	(void)state;
	set_up("test -e well || exit 7", 3);
	assert_false(run());
	assert_false(run());
	assert_false(check.degraded);
	fclose(fopen("well", "w"));
	assert_false(run()); /* the row begins anew */
	remove("well");
	assert_false(run());
	assert_false(run());
	assert_true(run());
	assert_true(check.degraded);
	assert_string_equal(check_describe(&check, how, sizeof(how)), "exit status 7");
	assert_false(run()); /* nothing new */
	fclose(fopen("well", "w"));
	assert_true(run());
	assert_false(check.degraded);
	remove("well");
	assert_int_equal(check.failures, 6);
	assert_int_equal(check.runs, 8);
}

static void ended_by_a_signal(void **state)
{
	char how[64];

	(void)state;
	set_up("kill -SEGV $$", 1);
	assert_true(run());
	assert_string_equal(check_describe(&check, how, sizeof(how)), "ended by signal 11");
	set_up("/no/such/command", 1);
	assert_true(run());
	assert_string_equal(check_describe(&check, how, sizeof(how)), "exit status 127");
}

/* A check that hangs, with a child that hangs: both go when its time is over, and its successor begins then.
 */
static void hung(void **state)
{
	struct pollfd p = {.events = POLLIN};
	char how[64];

	(void)state;
	set_up("echo $$ > parent; sleep 1000 & echo $! > child; touch up; wait", 1);
	assert_false(check_step(&check, now));
	while (!is_there("up"))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	assert_false(check_step(&check, now + 10 * S - 1));
	assert_true(alive("parent"));
	now += 10 * S;
	assert_true(check_step(&check, now));
	assert_true(check.degraded);
	assert_string_equal(check_describe(&check, how, sizeof(how)), "no answer within 10s");
	p.fd = check.pidfd;
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_false(check_reap(&check, now));
	assert_int_equal(check.pidfd, -1);
	assert_false(alive("parent"));
	assert_false(alive("child"));
	assert_int_equal(check_due_ns(&check), now);
	check.command = "true";
	assert_true(run());
	assert_false(check.degraded);
	assert_int_equal(check.failures, 1);
}

/* One that cannot even be killed is a failure each time, and is not joined by others. */
static void stuck(void **state)
{
	(void)state;
	set_up("sleep 1000", 3);
	assert_false(check_step(&check, now));
	for (int i = 1; i <= 3; i++)
		assert_int_equal(check_step(&check, now += 10 * S), i == 3); /* not reaped meanwhile */
	assert_int_equal(check.runs, 1);
	assert_int_equal(check.failures, 3);
	assert_true(check.degraded);
	ends();
	check_close(&check);
}

static void nothing_is_left_behind(void **state)
{
	(void)state;
	set_up("sleep 1000 & echo $! > straggler", 1);
	assert_false(run());
	assert_int_equal(check.end, CHECK_SUCCEEDED);
	assert_false(alive("straggler"));

	set_up("echo $$ > closed; touch ready; sleep 1000", 1);
	assert_false(check_step(&check, now));
	while (!is_there("ready"))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	check_close(&check);
	assert_int_equal(check.pidfd, -1);
}

/* The sender blocks signals, ignores SIGPIPE and holds descriptors; the command shall not notice. */
static void a_clean_start(void **state)
{
	sigset_t signals;

	(void)state;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	set_up("grep -q '^SigBlk:.0*$' /proc/self/status", 1);
	run();
	assert_int_equal(check.end, CHECK_SUCCEEDED);
	set_up("grep '^SigIgn:' /proc/self/status | grep -q '[13579bdf]...$'", 1); /* bit 12: SIGPIPE */
	run();
	assert_int_equal(check.code, 1);
	set_up("test $(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | uniq) = /dev/null", 1);
	run();
	assert_int_equal(check.end, CHECK_SUCCEEDED);
	set_up("test $(cut -d' ' -f5 /proc/self/stat) = $$", 1);
	run();
	assert_int_equal(check.end, CHECK_SUCCEEDED);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_DFL);
}

/* A thousand of them cost no descriptor. */
static void no_descriptor_is_lost(void **state)
{
	int before = dup(0), after;

	(void)state;
	close(before);
	set_up("false", 2);
	for (int i = 0; i < 100; i++)
		run();
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
	assert_int_equal(check.failures, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_check),
		cmocka_unit_test(success),
		cmocka_unit_test(so_many_in_a_row),
		cmocka_unit_test(ended_by_a_signal),
		cmocka_unit_test(hung),
		cmocka_unit_test(stuck),
		cmocka_unit_test(nothing_is_left_behind),
		cmocka_unit_test(a_clean_start),
		cmocka_unit_test(no_descriptor_is_lost),
	};

	return cmocka_run_group_tests_name("check", tests, begin, end);
}
