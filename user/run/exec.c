// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/format.h"
#include "kernel/clock.h"
#include "run/bucket.h"
#include "run/child.h"

#define MINUTE_NS 60000000000ULL

struct job {
	struct exec *exec;
	struct job *next;
	pid_t pid; /* and its process group */
	int pidfd;
	sd_event_source *io, *timer;
	uint64_t timeout_ns;
	int signals; /* sent because its time was over */
	char *command, *consumer, *peer;
};

struct exec {
	sd_event *loop;
	void (*event)(void *context, const struct event *event);
	void *context;
	struct job *jobs;
	uint32_t running;
};

static void report(const struct exec *x, const char *command, const char *consumer, const char *peer,
		   const char *format, ...) __attribute__((format(printf, 5, 6)));

static void report(const struct exec *x, const char *command, const char *consumer, const char *peer,
		   const char *format, ...)
{
	char detail[256];
	struct event e = {
		.type = EVENT_exec,
		.now_ns = clock_monotonic_ns(),
		.subject = command,
		.consumer = consumer,
		.peer = peer,
		.detail = detail,
	};
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	x->event(x->context, &e);
}

static void job_free(struct job *j)
{
	sd_event_source_disable_unref(j->io);
	sd_event_source_disable_unref(j->timer);
	if (j->pidfd >= 0)
		close(j->pidfd);
	free(j->command);
	free(j->consumer);
	free(j->peer);
	free(j);
}

static void job_remove(struct job *j)
{
	struct job **at = &j->exec->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	j->exec->running--;
	job_free(j);
}

static void judge_end(const struct job *j, const siginfo_t *end)
{
	char limit[FORMAT_SIZE];

	if (j->signals)
		report(j->exec, j->command, j->consumer, j->peer, "ended by us: it had not finished after %s",
		       format_duration_exact(j->timeout_ns, limit));
	else if (end->si_code != CLD_EXITED)
		report(j->exec, j->command, j->consumer, j->peer, "ended by signal %d (%s)", end->si_status,
		       strsignal(end->si_status));
	else if (end->si_status)
		report(j->exec, j->command, j->consumer, j->peer, "failed with exit status %d",
		       end->si_status);
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct job *j = context;
	siginfo_t end = {0};

	(void)source;
	(void)events;
	/* What it leaves behind is ended before it is reaped: until then its number belongs to nobody else.
	 */
	if (j->signals)
		kill(-j->pid, SIGKILL);
	if (waitid(P_PIDFD, (id_t)fd, &end, WEXITED | WNOHANG) < 0 || !end.si_pid)
		return 0;
	judge_end(j, &end);
	job_remove(j);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *context)
{
	struct job *j = context;

	(void)usec;
	kill(-j->pid, j->signals++ ? SIGKILL : SIGTERM);
	if (j->signals < 2) {
		sd_event_source_set_time_relative(source, EXEC_KILL_AFTER_NS / 1000);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	return 0;
}

/* The line in a file in memory: whoever reads none of it, or not all, breaks no pipe. */
static int make_input(const char *line, size_t length)
{
	int fd = memfd_create("kphi-event", MFD_CLOEXEC);
	ssize_t put;

	if (fd < 0)
		return -errno;
	put = write(fd, line, length);
	if (put != (ssize_t)length || lseek(fd, 0, SEEK_SET) < 0) {
		int err = put < 0 ? -errno : -EIO;

		close(fd);
		return err;
	}
	return fd;
}

/* The descriptor that tells of its end, or -errno. */
static int spawn(const char *command, const char *line, size_t length, pid_t *pid)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL};
	int fd, input = make_input(line, length);

	if (input < 0)
		return input;
	fd = child_start("/bin/sh", argv, input, STDERR_FILENO, STDERR_FILENO, pid);
	close(input);
	return fd;
}

static struct job *job_new(struct exec *x, const struct exec_order *order)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->exec = x;
	j->pidfd = -1;
	j->timeout_ns = order->timeout_ns;
	j->command = strdup(order->command);
	j->consumer = strdup(order->consumer);
	j->peer = strdup(order->peer);
	if (j->command && j->consumer && j->peer)
		return j;
	job_free(j);
	return NULL;
}

static int job_watch(struct job *j)
{
	sd_event *loop = j->exec->loop;
	int err = sd_event_add_io(loop, &j->io, j->pidfd, EPOLLIN, on_end, j);

	if (err < 0)
		return err;
	err = sd_event_add_time_relative(loop, &j->timer, CLOCK_MONOTONIC, j->timeout_ns / 1000, 1000,
					 on_timeout, j);
	return err < 0 ? err : 0;
}

static int start(struct exec *x, const struct exec_order *order)
{
	struct job *j = job_new(x, order);
	int err;

	if (!j)
		return -ENOMEM;
	j->pidfd = spawn(order->command, order->line, order->length, &j->pid);
	err = j->pidfd < 0 ? j->pidfd : job_watch(j);
	if (err) {
		job_free(j);
		return err;
	}
	j->next = x->jobs;
	x->jobs = j;
	x->running++;
	return 0;
}

bool exec_run(struct exec *x, const struct exec_order *order)
{
	uint64_t period_ns = MINUTE_NS / order->per_minute;
	int err;

	if (!bucket_take(order->bucket, clock_monotonic_ns(), period_ns, order->burst)) {
		report(x, order->command, order->consumer, order->peer,
		       "not run: more than %llu a minute after a burst of %llu",
		       (unsigned long long)order->per_minute, (unsigned long long)order->burst);
		return false;
	}
	err = start(x, order);
	if (err)
		report(x, order->command, order->consumer, order->peer, "cannot be run: %s", strerror(-err));
	return !err;
}

struct exec *exec_new(sd_event *loop, void (*event)(void *context, const struct event *event), void *context)
{
	struct exec *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->loop = loop;
	x->event = event;
	x->context = context;
	return x;
}

void exec_free(struct exec *x)
{
	if (!x)
		return;
	for (struct job *j = x->jobs, *next; j; j = next) {
		next = j->next;
		job_free(j);
	}
	free(x);
}

uint32_t exec_running(const struct exec *x)
{
	return x->running;
}
