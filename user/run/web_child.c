// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/web_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/error.h"
#include "kernel/clock.h"
#include "run/child.h"

#define SECOND_NS 1000000000ULL
#define LINE_SIZE 1024

/* To bind a port below 1024, and to give a Unix socket to the store's group. */
#define KEEP (1ULL << CAP_NET_BIND_SERVICE | 1ULL << CAP_CHOWN)

/* What it says costs us a wake-up: no more than this of a second, 4 KiB each. It may lose the rest. */
#define READS_A_SECOND 10
#define READ_SIZE      4096

const struct web_pace web_pace_default = {
	.began_ns = SECOND_NS,
	.steady_ns = 10 * SECOND_NS,
	.pause_ns = SECOND_NS,
	.pause_max_ns = 60 * SECOND_NS,
	.kill_ns = 2 * SECOND_NS,
};

struct web_child {
	sd_event *loop;
	const char *program;
	const struct web_pace *pace;
	void (*event)(void *context, const struct event *event);
	void *context;

	char **argv; /* NULL: none is to run */
	char *where;

	/* The one that runs; pidfd -1: none does. */
	pid_t pid;
	int pidfd, text;
	sd_event_source *on_end, *on_text;
	uint64_t started_ns;
	bool ending; /* we want it to */
	char line[LINE_SIZE], last[LINE_SIZE]; /* of its standard error: the one that is not whole yet, and
						  the one before */
	size_t used;

	sd_event_source *timer; /* it has begun; start it again; kill it: whichever is next */
	uint64_t pause_ns; /* before the next start */
	char failure[LINE_SIZE]; /* as it was told; "": nothing is wrong */
};

static void start(struct web_child *w);

static void say(struct web_child *w, enum event_cause cause, const char *detail)
{
	const struct event event = {
		.type = EVENT_web,
		.cause = cause,
		.now_ns = clock_monotonic_ns(),
		.subject = w->where,
		.detail = detail,
	};

	w->event(w->context, &event);
}

/* --- what it says --- */

static void take_line(struct web_child *w)
{
	w->line[w->used] = '\0';
	w->used = 0;
	child_sentence(w->line);
	if (!*w->line)
		return;
	error_debug("web serve: %s", w->line);
	memcpy(w->last, w->line, sizeof(w->last));
}

/* False: there is no more now. */
static bool read_text(struct web_child *w)
{
	char text[READ_SIZE];
	ssize_t got = read(w->text, text, sizeof(text));

	for (ssize_t i = 0; i < got; i++) {
		if (text[i] == '\n')
			take_line(w);
		else if (w->used < sizeof(w->line) - 1)
			w->line[w->used++] = text[i];
	}
	return got == sizeof(text);
}

static int on_text(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)fd;
	read_text(context);
	/* Whoever closes its standard error may live on. */
	return events & (EPOLLHUP | EPOLLERR) ? sd_event_source_set_enabled(source, SD_EVENT_OFF) : 0;
}

/* --- its end --- */

static void set_timer(struct web_child *w, uint64_t in_ns)
{
	sd_event_source_set_time_relative(w->timer, in_ns / 1000);
	sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static void forget(struct web_child *w)
{
	w->on_end = sd_event_source_disable_unref(w->on_end);
	w->on_text = sd_event_source_disable_unref(w->on_text);
	if (w->pidfd >= 0)
		close(w->pidfd);
	if (w->text >= 0)
		close(w->text);
	w->pidfd = w->text = -1;
	w->used = 0;
	*w->line = *w->last = '\0';
	w->ending = false;
	sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
}

/* The same failure is told again only of one that had been well meanwhile. */
static void failed(struct web_child *w, const char *sentence, bool steady)
{
	if (steady) {
		w->pause_ns = w->pace->pause_ns;
		*w->failure = '\0';
	}
	if (strcmp(w->failure, sentence) != 0) {
		snprintf(w->failure, sizeof(w->failure), "%s", sentence);
		say(w, CAUSE_NONE, w->failure);
	}
	set_timer(w, w->pause_ns);
	w->pause_ns = 2 * w->pause_ns < w->pace->pause_max_ns ? 2 * w->pause_ns : w->pace->pause_max_ns;
}

static void describe_end(const struct web_child *w, const siginfo_t *end, char *text, size_t size)
{
	if (end->si_code != CLD_EXITED)
		snprintf(text, size, "ended by signal %d (%s)", end->si_status, strsignal(end->si_status));
	else if (*w->last)
		snprintf(text, size, "%s", w->last);
	else
		snprintf(text, size, "ended with exit status %d", end->si_status);
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct web_child *w = context;
	bool wanted = !w->ending, steady = clock_monotonic_ns() - w->started_ns >= w->pace->steady_ns;
	char sentence[LINE_SIZE];
	siginfo_t end = {0};

	(void)source;
	(void)events;
	if (waitid(P_PIDFD, (id_t)fd, &end, WEXITED | WNOHANG) < 0 || !end.si_pid)
		return 0;
	for (int i = 0; i < 16 && read_text(w); i++)
		;
	take_line(w);
	describe_end(w, &end, sentence, sizeof(sentence));
	forget(w);
	if (wanted)
		failed(w, sentence, steady);
	else if (w->argv)
		start(w);
	return 0;
}

static void end(struct web_child *w)
{
	if (w->ending)
		return;
	w->ending = true;
	kill(-w->pid, SIGTERM);
	set_timer(w, w->pace->kill_ns);
}

/* --- its beginning --- */

static int watch(struct web_child *w)
{
	int err = sd_event_add_io(w->loop, &w->on_end, w->pidfd, EPOLLIN, on_end, w);

	if (err >= 0)
		err = sd_event_add_io(w->loop, &w->on_text, w->text, EPOLLIN, on_text, w);
	if (err >= 0)
		err = sd_event_source_set_ratelimit(w->on_text, SECOND_NS / 1000, READS_A_SECOND);
	if (err >= 0)
		return 0;
	kill(-w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	return err;
}

/* Its end of the pipe never makes it wait, either. */
static int launch(struct web_child *w)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	w->text = ends[0];
	w->pidfd = child_start_tame(w->program, w->argv, ends[1], KEEP, &w->pid);
	close(ends[1]);
	err = w->pidfd < 0 ? w->pidfd : watch(w);
	if (err)
		forget(w);
	return err;
}

static void start(struct web_child *w)
{
	char sentence[128];
	int err = launch(w);

	w->started_ns = clock_monotonic_ns();
	if (!err) {
		set_timer(w, *w->failure ? w->pace->steady_ns : w->pace->began_ns);
		return;
	}
	snprintf(sentence, sizeof(sentence), "cannot be started: %s", strerror(-err));
	failed(w, sentence, false);
}

static int on_time(sd_event_source *source, uint64_t usec, void *context)
{
	struct web_child *w = context;

	(void)source;
	(void)usec;
	if (w->pidfd < 0) {
		if (w->argv)
			start(w);
	} else if (w->ending) {
		kill(-w->pid, SIGKILL);
	} else {
		*w->failure = '\0';
		say(w, CAUSE_BEGUN, NULL);
	}
	return 0;
}

/* --- what is asked of us --- */

/* One block, pointers first. */
static char **copy_words(char *const argv[])
{
	size_t n = 0, bytes = 0;
	char **copy, *end;

	for (; argv[n]; n++)
		bytes += strlen(argv[n]) + 1;
	copy = malloc((n + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	end = (char *)&copy[n + 1];
	for (size_t i = 0; i < n; i++) {
		copy[i] = end;
		end = stpcpy(end, argv[i]) + 1;
	}
	copy[n] = NULL;
	return copy;
}

static bool same_words(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	while (*a && *b && !strcmp(*a, *b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

int web_child_set(struct web_child *w, const char *where, char *const argv[])
{
	char **copy = argv ? copy_words(argv) : NULL;
	char *place = argv ? strdup(where) : NULL;
	bool had = w->argv;

	if ((argv && (!copy || !place)) || same_words(w->argv, argv)) {
		int err = argv && (!copy || !place) ? -ENOMEM : 0;

		free(copy);
		free(place);
		return err;
	}
	if (had && !argv)
		say(w, CAUSE_ENDED, NULL);
	free(w->argv);
	free(w->where);
	w->argv = copy;
	w->where = place;
	w->pause_ns = w->pace->pause_ns;
	*w->failure = '\0';
	if (w->pidfd >= 0)
		end(w);
	else if (w->argv)
		start(w);
	else
		sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	return 0;
}

struct web_child *web_child_new(sd_event *loop, const char *program, const struct web_pace *pace,
				void (*event)(void *context, const struct event *event), void *context)
{
	struct web_child *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct web_child){.loop = loop,
				.program = program,
				.pace = pace,
				.event = event,
				.context = context,
				.pidfd = -1,
				.text = -1};
	if (sd_event_add_time(loop, &w->timer, CLOCK_MONOTONIC, UINT64_MAX, 1000, on_time, w) < 0) {
		free(w);
		return NULL;
	}
	return w;
}

void web_child_free(struct web_child *w)
{
	struct pollfd ended = {.events = POLLIN};

	if (!w)
		return;
	if (w->pidfd >= 0) {
		ended.fd = w->pidfd;
		kill(-w->pid, SIGTERM);
		if (poll(&ended, 1, (int)(w->pace->kill_ns / 1000000)) <= 0)
			kill(-w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	forget(w);
	sd_event_source_disable_unref(w->timer);
	free(w->argv);
	free(w->where);
	free(w);
}
