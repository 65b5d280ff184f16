// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "watcher.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define NOTIFY     "kphi-bench" /* an abstract name, of our network namespace */
#define STARTED_MS 20000 /* the first look at 100,000 peers takes a fraction of it */

static const char *need(const char *variable)
{
	const char *value = getenv(variable);

	if (!value || !*value)
		die("%s is not set: start it with tools/bench", variable);
	return value;
}

static void write_config(const char *path, unsigned int priority, const char *consumer)
{
	const char *dir = need("TMPDIR");
	FILE *f = fopen(path, "we");

	if (!f)
		die("%s: cannot be written", path);
	fprintf(f,
		"devices: [{name: lo, mode: generic}]\n"
		"consumers: [%s]\n"
		"outputs: {socket: '%s/event.sock', stdout: yes}\n"
		"web: {listen: no}\n" /* another process, and not what is measured */
		"state: '%s/state'\n"
		"priority: %u\n",
		consumer, dir, dir, priority);
	if (fclose(f))
		die("%s: cannot be written", path);
}

/* --- is it ready? --- */

static int notify_begin(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "\0" NOTIFY};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + sizeof(NOTIFY)))
		die("cannot listen for sd_notify(3)");
	setenv("NOTIFY_SOCKET", "@" NOTIFY, 1);
	return fd;
}

static void wait_until_ready(const struct process *p, int notify)
{
	struct pollfd fds[] = {{.fd = notify, .events = POLLIN}, {.fd = p->pidfd, .events = POLLIN}};
	char text[4096];

	for (;;) {
		ssize_t got;

		if (poll(fds, COUNT(fds), STARTED_MS) <= 0 || fds[1].revents)
			die("`kphi run` did not start");
		got = recv(notify, text, sizeof(text) - 1, 0);
		text[got > 0 ? got : 0] = '\0';
		if (strstr(text, "READY=1"))
			return;
	}
}

void watcher_begin(struct watcher *w, unsigned int priority, const char *consumer)
{
	const char *kphi = need("KPHI"), *pin = need("KPHI_PIN");
	int notify = notify_begin();
	char file[4096];
	char *argv[] = {(char *)"kphi",
			(char *)"--pin",
			(char *)(uintptr_t)pin,
			(char *)"run",
			(char *)"config",
			file,
			NULL};

	snprintf(file, sizeof(file), "%s/kphi.yaml", need("TMPDIR"));
	write_config(file, priority, consumer);
	w->events = memfd_create("events", MFD_CLOEXEC);
	if (w->events < 0)
		die("no file in memory for events");
	process_begin(&w->process, kphi, argv, w->events);
	unsetenv("NOTIFY_SOCKET");
	wait_until_ready(&w->process, notify);
	close(notify); /* what it says of its status from here on is refused, and never waits */
}

uint64_t watcher_cpu_ns(const struct watcher *w)
{
	struct timespec t;
	clockid_t clock;

	/* The sum of utime and stime in /proc/PID/stat, to the nanosecond. */
	if (clock_getcpuclockid(w->process.pid, &clock) || clock_gettime(clock, &t))
		die("cannot tell the CPU time of `kphi run`");
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- what has it said? --- */

const char *event_text(struct json_object *event, const char *key)
{
	struct json_object *value;
	const char *text = NULL;

	if (json_object_object_get_ex(event, key, &value))
		text = json_object_get_string(value);
	return text ? text : "";
}

static void say_events(char *text, void (*each)(void *context, struct json_object *event), void *context)
{
	char *line;

	while ((line = strsep(&text, "\n")) && *line) {
		struct json_object *event = json_tokener_parse(line);

		if (!event)
			die("`kphi run` said what is no JSON: %s", line);
		each(context, event);
		json_object_put(event);
	}
}

void watcher_end(struct watcher *w, void (*each)(void *context, struct json_object *event), void *context)
{
	int status = process_end(&w->process);
	struct stat file;
	char *text;

	if (status)
		die("`kphi run` ended with status %#x", status);
	if (fstat(w->events, &file))
		die("cannot read the events");
	text = calloc(1, (size_t)file.st_size + 1);
	if (!text || pread(w->events, text, (size_t)file.st_size, 0) != file.st_size)
		die("cannot read the events");
	say_events(text, each, context);
	free(text);
	close(w->events);
}
