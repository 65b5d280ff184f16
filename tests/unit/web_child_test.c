// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The HTTP server's keeper, with shells in its place: who is started when, with what, and what is told of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/clock.h"
#include "run/web_child.h"
#include "unit/content.h"

#define MS     1000000ULL
#define EVENTS 64

static const struct web_pace quick = {
	.began_ns = 30 * MS,
	.steady_ns = 400 * MS,
	.pause_ns = 10 * MS,
	.pause_max_ns = 40 * MS,
	.kill_ns = 200 * MS,
};
static struct web_pace pace;

/* For those who fail at once, however long that takes on a busy machine: nobody takes them for alive. */
static void be_patient(void)
{
	pace.began_ns = 60000 * MS;
	pace.steady_ns = 3000 * MS;
}

static char directory[64];
static sd_event *loop;
static struct web_child *w;
static struct {
	enum event_cause cause;
	char where[32], detail[256];
} told[EVENTS];
static unsigned int events;

static void on_event(void *context, const struct event *event)
{
	(void)context;
	assert_int_equal(event->type, EVENT_web);
	assert_null(event->peer);
	assert_true(events < EVENTS);
	told[events].cause = event->cause;
	snprintf(told[events].where, sizeof(told[0].where), "%s", event->subject);
	snprintf(told[events].detail, sizeof(told[0].detail), "%s", event->detail ? event->detail : "");
	events++;
}

static int begin(void **state)
{
	(void)state;
	mkdir("build", 0755);
	snprintf(directory, sizeof(directory), "build/web-test-XXXXXX");
	events = 0;
	pace = quick;
	if (!mkdtemp(directory) || sd_event_new(&loop) < 0)
		return -1;
	w = web_child_new(loop, "/bin/sh", &pace, on_event, NULL);
	return w ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	web_child_free(w);
	sd_event_unref(loop);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	return system(command);
}

/* The script has the directory as $1. */
static void serve_at(const char *where, const char *script)
{
	char *argv[] = {(char *)"sh",       (char *)"-c", (char *)(uintptr_t)script,
			(char *)"stand-in", directory,    NULL};

	assert_int_equal(web_child_set(w, where, argv), 0);
}

static void serve(const char *script)
{
	serve_at("here", script);
}

static const char *content(const char *name)
{
	return content_of(directory, name);
}

static size_t lines(const char *name)
{
	size_t n = 0;

	for (const char *at = content(name); *at; at++)
		n += *at == '\n';
	return n;
}

static void make(const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

/* For so long; as long as it takes (but not for ever). */
static void turn_for(uint64_t ns)
{
	uint64_t until_ns = clock_monotonic_ns() + ns, now_ns;

	while ((now_ns = clock_monotonic_ns()) < until_ns)
		assert_true(sd_event_run(loop, (until_ns - now_ns) / 1000 + 1) >= 0);
}

#define TURN_UNTIL(condition)                                                                                \
	for (int turns_ = 0; !(condition); turns_++) {                                                       \
		assert_true(turns_ < 2000);                                                                  \
		turn_for(5 * MS);                                                                            \
	}

/* --- its life --- */

static void one_that_lives_has_begun(void **state)
{
	(void)state;
	serve("echo \"$0 $#\" >> $1/starts; exec sleep 1000");
	assert_int_equal(events, 0); /* whether it can is not known yet */
	TURN_UNTIL(events);
	assert_int_equal(told[0].cause, CAUSE_BEGUN);
	assert_string_equal(told[0].where, "here");
	assert_string_equal(content("starts"), "stand-in 1\n");
	turn_for(100 * MS);
	assert_int_equal(events, 1);
	serve("echo \"$0 $#\" >> $1/starts; exec sleep 1000"); /* a reload without news */
	turn_for(100 * MS);
	assert_int_equal(events, 1);
	assert_int_equal(lines("starts"), 1);
}

/* Tried again and again, told once; and told when it is well at last. */
static void a_failure_is_told_once(void **state)
{
	(void)state;
	be_patient();
	serve("echo start >> $1/starts; [ -e $1/fine ] && exec sleep 1000; echo first >&2; "
	      "echo 'Error: somebody listens there already' >&2; exit 1");
	TURN_UNTIL(lines("starts") >= 6);
	assert_int_equal(events, 1);
	assert_int_equal(told[0].cause, CAUSE_NONE);
	assert_string_equal(told[0].where, "here");
	assert_string_equal(told[0].detail, "somebody listens there already");
	make("fine");
	TURN_UNTIL(events == 2);
	assert_int_equal(told[1].cause, CAUSE_BEGUN);
}

static void another_cause_is_another_event(void **state)
{
	(void)state;
	be_patient();
	serve("echo start >> $1/starts; echo \"cause $(($(wc -l < $1/starts) > 3))\" >&2; exit 1");
	TURN_UNTIL(lines("starts") >= 8);
	assert_int_equal(events, 2);
	assert_string_equal(told[0].detail, "cause 0");
	assert_string_equal(told[1].detail, "cause 1");
}

static void pauses_double(void **state)
{
	uint64_t ms[8];
	char *at;

	(void)state;
	be_patient();
	serve("date +%s%3N >> $1/starts; exit 3");
	TURN_UNTIL(lines("starts") >= 8);
	at = (char *)(uintptr_t)content("starts");
	for (int i = 0; i < 8; i++)
		ms[i] = strtoull(at, &at, 10);
	/* 10, 20, 40, 40, ... and what it takes to run it: no longer pauses can be told from a busy machine.
	 */
	for (int i = 1; i < 8; i++)
		assert_true(ms[i] - ms[i - 1] + 1 >= (i == 1 ? 10U : i == 2 ? 20U : 40U));
	assert_string_equal(told[0].detail, "ended with exit status 3");
}

/* Crashes of one that had been well are news each time; of one that begins and crashes, they are not. */
static void who_was_steady_is_told_again(void **state)
{
	(void)state;
	serve("echo start >> $1/starts; sleep 0.6; exit 1");
	TURN_UNTIL(events >= 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(told[i].cause, i % 2 ? CAUSE_NONE : CAUSE_BEGUN);
}

static void who_begins_and_crashes_is_told_once(void **state)
{
	(void)state;
	pace.steady_ns = 3000 * MS;
	serve("echo start >> $1/starts; sleep 0.1; kill -SEGV $$");
	TURN_UNTIL(lines("starts") >= 6);
	assert_int_equal(events, 2);
	assert_int_equal(told[0].cause, CAUSE_BEGUN);
	assert_int_equal(told[1].cause, CAUSE_NONE);
	assert_string_equal(told[1].detail, "ended by signal 11 (Segmentation fault)");
}

static void what_is_not_there_is_told(void **state)
{
	char *argv[] = {(char *)"kphi", NULL};

	(void)state;
	web_child_free(w);
	w = web_child_new(loop, "build/there-is-no-such-program", &pace, on_event, NULL);
	assert_int_equal(web_child_set(w, "here", argv), 0);
	turn_for(200 * MS);
	assert_int_equal(events, 1);
	assert_int_equal(told[0].cause, CAUSE_NONE);
	assert_string_equal(told[0].detail, "cannot be started: No such file or directory");
}

/* --- other settings --- */

/* The next one is not started before the last has ended: they may want the same address. */
static void another_replaces_it(void **state)
{
	(void)state;
	serve("trap 'sleep 0.1; rmdir $1/address; exit' TERM; mkdir $1/address || exit; while :; do sleep "
	      "0.02; done");
	TURN_UNTIL(events);
	serve_at("there", "mkdir $1/address || exit; exec sleep 1000");
	TURN_UNTIL(events == 2);
	assert_int_equal(told[1].cause, CAUSE_BEGUN);
	assert_string_equal(told[1].where, "there");
}

static void who_does_not_go_is_killed(void **state)
{
	(void)state;
	serve("trap '' TERM; echo $$ > $1/pid; while :; do sleep 0.02; done");
	TURN_UNTIL(events);
	serve_at("there", "exec sleep 1000");
	TURN_UNTIL(events == 2);
	assert_string_equal(told[1].where, "there");
	assert_int_equal(kill((pid_t)atoi(content("pid")), 0), -1);
}

static void none_is_none(void **state)
{
	(void)state;
	serve("echo $$ >> $1/pid; exec sleep 1000");
	TURN_UNTIL(events);
	assert_int_equal(web_child_set(w, NULL, NULL), 0);
	assert_int_equal(events, 2);
	assert_int_equal(told[1].cause, CAUSE_ENDED);
	assert_string_equal(told[1].where, "here");
	TURN_UNTIL(kill((pid_t)atoi(content("pid")), 0));
	turn_for(100 * MS);
	assert_int_equal(lines("pid"), 1);
	assert_int_equal(events, 2);
	/* One that waits for its next start is not started, either. */
	be_patient();
	serve("echo start >> $1/starts; exit 1");
	TURN_UNTIL(events == 3);
	assert_int_equal(web_child_set(w, NULL, NULL), 0);
	turn_for(100 * MS);
	assert_int_equal(lines("starts"), 1);
}

/* --- what it is, and is not --- */

/* The number behind `key` in the file that the child has written of itself. */
static unsigned long long status(const char *key, int base)
{
	const char *at = strstr(content("status"), key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, base);
}

static void it_is_tame(void **state)
{
	unsigned long long ours;
	sigset_t term, before;
	struct sched_param param = {.sched_priority = 1};
	bool real_time;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	signal(SIGPIPE, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, 5);
	real_time = !sched_setscheduler(0, SCHED_FIFO, &param);
	serve("cat /proc/self/status > $1/status; ls /proc/self/fd | tr '\\n' ' ' > $1/files; "
	      "cut -d ' ' -f 19,41 /proc/self/stat > $1/stat; cat /proc/self/oom_score_adj > $1/oom; "
	      "readlink /proc/$$/fd/0 > $1/input; ps -o pgid= -p $$ > $1/group; echo $$ > $1/pid; exec sleep "
	      "1000");
	param.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &param);
	setpriority(PRIO_PROCESS, 0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	TURN_UNTIL(lines("pid"));
	assert_int_equal(status("NoNewPrivs:\t", 10), 1);
	assert_int_equal(status("SigBlk:\t", 16), 0);
	/* Two are the C library's own: it lets nobody change them, so they are as our parent had them. */
	assert_int_equal(status("SigIgn:\t", 16) & ~(1ULL << 31 | 1ULL << 32), 0);
	/* 0 is CAP_CHOWN, 10 is CAP_NET_BIND_SERVICE: those of them that we have, and no others. */
	ours = geteuid() ? 0 : 1ULL << 0 | 1ULL << 10;
	assert_int_equal(status("CapPrm:\t", 16) & ~ours, 0);
	assert_int_equal(status("CapEff:\t", 16) & ~ours, 0);
	assert_int_equal(status("CapInh:\t", 16), 0);
	assert_string_equal(content("files"), "0 1 2 3 "); /* 3 is what ls has open */
	assert_string_equal(content("input"), "/dev/null\n");
	assert_string_equal(content("oom"), "0\n");
	if (!geteuid())
		assert_string_equal(content("stat"), "0 0\n"); /* nice, policy */
	assert_int_equal(atoi(content("group")), atoi(content("pid")));
	if (!real_time)
		print_message("no real-time priority could be had here\n");
}

/* Whatever it says: it is not held up, and neither are we. */
static void a_talker_delays_nobody(void **state)
{
	uint64_t turns = 0;

	(void)state;
	serve("i=0; while [ $i -lt 40000 ]; do echo 'a line of forty bytes, said over and over' >&2; "
	      "i=$((i+1)); "
	      "done; echo done > $1/done; exec sleep 1000");
	while (!lines("done")) {
		assert_true(sd_event_run(loop, 20000) >= 0);
		assert_true(turns++ < 20000);
	}
	TURN_UNTIL(events);
	assert_int_equal(told[0].cause, CAUSE_BEGUN);
}

/* --- its end is bound to ours --- */

static void it_ends_when_we_end(void **state)
{
	pid_t child;

	(void)state;
	serve("trap 'echo goodbye > $1/goodbye; exit' TERM; echo $$ > $1/pid; while :; do sleep 0.02; done");
	TURN_UNTIL(lines("pid"));
	child = (pid_t)atoi(content("pid"));
	web_child_free(w);
	w = NULL;
	assert_int_equal(kill(child, 0), -1);
	assert_int_equal(lines("goodbye"), 1); /* it was asked first */
}

static void who_does_not_end_with_us_is_killed(void **state)
{
	pid_t child;

	(void)state;
	serve("trap '' TERM; echo $$ > $1/pid; while :; do sleep 0.02; done");
	TURN_UNTIL(lines("pid"));
	child = (pid_t)atoi(content("pid"));
	web_child_free(w);
	w = NULL;
	assert_int_equal(kill(child, 0), -1);
}

/* An orphan may wait for whoever reaps it here. */
static bool is_gone(pid_t pid)
{
	char path[64], stat[512];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	got = file_read(path, stat, sizeof(stat) - 1);
	stat[got > 0 ? got : 0] = '\0';
	return got <= 0 || strstr(stat, ") Z ");
}

/* A daemon that is killed has no time to end anybody. */
static void it_dies_when_we_are_killed(void **state)
{
	pid_t keeper = fork(), child;

	(void)state;
	assert_true(keeper >= 0);
	if (!keeper) {
		if (sd_event_new(&loop) < 0 || !(w = web_child_new(loop, "/bin/sh", &pace, on_event, NULL)))
			_exit(1);
		serve("trap '' TERM; echo $$ > $1/pid; while :; do sleep 0.02; done");
		for (;;)
			sd_event_run(loop, UINT64_MAX);
	}
	TURN_UNTIL(lines("pid"));
	child = (pid_t)atoi(content("pid"));
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_int_equal(waitpid(keeper, NULL, 0), keeper);
	TURN_UNTIL(is_gone(child));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(one_that_lives_has_begun),
		TEST(a_failure_is_told_once),
		TEST(another_cause_is_another_event),
		TEST(pauses_double),
		TEST(who_was_steady_is_told_again),
		TEST(who_begins_and_crashes_is_told_once),
		TEST(what_is_not_there_is_told),
		TEST(another_replaces_it),
		TEST(who_does_not_go_is_killed),
		TEST(none_is_none),
		TEST(it_is_tame),
		TEST(a_talker_delays_nobody),
		TEST(it_ends_when_we_end),
		TEST(who_does_not_end_with_us_is_killed),
		TEST(it_dies_when_we_are_killed),
	};

	return cmocka_run_group_tests_name("web_child", tests, NULL, NULL);
}
