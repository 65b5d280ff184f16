// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a process that must not wait asks the kernel for, and what it says when it does not get it. */
#include "io/realtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY   65534
#define ORDINARY 10 /* exit status: its own child has an ordinary priority */

static char said[1024];

/* realtime_enter() in a child; what it said is in `said`, its exit status is that of `then`. */
static int enter(unsigned int priority, void (*before)(void), int (*then)(void))
{
	int fd = memfd_create("stderr", 0), status;
	ssize_t got;
	pid_t child = fork();

	if (!child) {
		dup2(fd, STDERR_FILENO);
		if (before)
			before();
		realtime_enter(priority, "what is tested");
		_exit(then ? then() : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	got = pread(fd, said, sizeof(said) - 1, 0);
	close(fd);
	assert_true(got >= 0);
	said[got] = '\0';
	return WEXITSTATUS(status);
}

static void give_up_privileges(void)
{
	static const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_MEMLOCK, &none);
	if (!geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		_exit(1);
}

/* Of itself and of a child. */
static int schedulers(void)
{
	int status;
	pid_t child;

	if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO)
		return 0;
	child = fork();
	if (!child)
		_exit(sched_getscheduler(0) == SCHED_OTHER ? ORDINARY : 1);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Memory is not mentioned here: under a sanitizer, locking it does nothing and always succeeds. */
static void what_is_refused_is_told_with_what_it_means(void **state)
{
	(void)state;
	assert_int_equal(enter(10, give_up_privileges, NULL), 0);
	assert_non_null(strstr(said, "Warning: "));
	assert_non_null(strstr(said, "real-time priority (Operation not permitted)"));
	assert_non_null(strstr(said, "what is tested may be late under load"));
	assert_non_null(strstr(said, "CAP_SYS_NICE"));
}

static void what_is_not_asked_for_is_not_missed(void **state)
{
	(void)state;
	assert_int_equal(enter(0, give_up_privileges, schedulers), 0);
	assert_null(strstr(said, "priority"));
}

/* What a daemon starts is not what must never wait. */
static void a_child_has_an_ordinary_priority(void **state)
{
	int status;

	(void)state;
	status = enter(1, NULL, schedulers);
	if (!status && strstr(said, "priority")) {
		print_message("no real-time priority could be had here\n");
		skip();
	}
	assert_int_equal(status, ORDINARY);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_is_told_with_what_it_means),
		cmocka_unit_test(what_is_not_asked_for_is_not_missed),
		cmocka_unit_test(a_child_has_an_ordinary_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
