// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/attacher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child.h"

struct work {
	struct attacher *attacher;
	struct work *next;
	char device[IFNAMSIZ];
	int pidfd, said; /* said: a file in memory */
	sd_event_source *io;
};

struct attacher {
	sd_event *loop;
	char root[PIN_PATH];
	void (*done)(void *context, const char *device, bool attached, const char *said);
	void *context;
	struct work *list;
};

static void work_free(struct work *w)
{
	sd_event_source_disable_unref(w->io);
	if (w->pidfd >= 0)
		close(w->pidfd);
	if (w->said >= 0)
		close(w->said);
	free(w);
}

static void work_remove(struct work *w)
{
	struct work **at = &w->attacher->list;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	work_free(w);
}

static void read_said(const struct work *w, char *text, size_t size)
{
	ssize_t got = pread(w->said, text, size - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	child_sentence(text);
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct work *w = context;
	struct attacher *a = w->attacher;
	char said[1024], device[IFNAMSIZ];
	siginfo_t end = {0};

	(void)source;
	(void)events;
	if (waitid(P_PIDFD, (id_t)fd, &end, WEXITED | WNOHANG) < 0 || !end.si_pid)
		return 0;
	read_said(w, said, sizeof(said));
	memcpy(device, w->device, sizeof(device));
	work_remove(w);
	a->done(a->context, device, end.si_code == CLD_EXITED && !end.si_status, said);
	return 0;
}

static int work_start(struct work *w, enum attach_mode mode, uint16_t port)
{
	char number[8];
	char *argv[] = {(char *)"kphi", (char *)"--pin",  w->attacher->root,
			(char *)"net",  (char *)"attach", (char *)"dev",
			w->device,      (char *)"mode",   (char *)(uintptr_t)attach_modes[mode],
			(char *)"port", number,           NULL};
	int null = -1;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", port);
	if (!port)
		argv[9] = NULL;
	w->said = memfd_create("kphi-attach", MFD_CLOEXEC);
	null = memfd_create("kphi-attach-output", MFD_CLOEXEC);
	if (w->said >= 0 && null >= 0)
		w->pidfd = child_start("/proc/self/exe", argv, -1, null, w->said, &pid);
	else
		w->pidfd = -errno;
	if (null >= 0)
		close(null);
	return w->pidfd < 0 ? w->pidfd
			    : sd_event_add_io(w->attacher->loop, &w->io, w->pidfd, EPOLLIN, on_end, w);
}

int attacher_start(struct attacher *a, const char *device, enum attach_mode mode, uint16_t port)
{
	struct work *w;
	int err;

	for (w = a->list; w; w = w->next)
		if (!strcmp(w->device, device))
			return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct work){.attacher = a, .next = a->list, .pidfd = -1, .said = -1};
	snprintf(w->device, sizeof(w->device), "%s", device);
	err = work_start(w, mode, port);
	if (err < 0) {
		work_free(w);
		return err;
	}
	a->list = w;
	return 0;
}

struct attacher *
attacher_new(sd_event *loop, const char *root,
	     void (*done)(void *context, const char *device, bool attached, const char *said), void *context)
{
	struct attacher *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->loop = loop;
	a->done = done;
	a->context = context;
	snprintf(a->root, sizeof(a->root), "%s", root);
	return a;
}

void attacher_free(struct attacher *a)
{
	if (!a)
		return;
	for (struct work *w = a->list, *next; w; w = next) {
		next = w->next;
		work_free(w);
	}
	free(a);
}
