/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `kphi run` and whatever else runs beside the bench: processes of their own, on any CPU, at no real-time
 * priority unless they take one. */
#ifndef KPHI_BENCH_WATCHER_H
#define KPHI_BENCH_WATCHER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	int pidfd; /* can be read when it has ended */
};

/* `out` is its standard output. */
void process_begin(struct process *p, const char *path, char *const argv[], int out);

bool process_lives(const struct process *p);

/* Asks it to end, kills it and its children if it does not; returns its status as waitpid(2) gives it. */
int process_end(struct process *p);

/* Allows the calling thread every CPU. */
void roam(void);

/* `kphi run` over the place's store, hearing by `lo`. */
struct watcher {
	struct process process;
	int events; /* a file in memory, so that it never waits for a reader */
};

/* Returns when it is ready. `consumer`: how the configuration names its only one; priority as there. */
void watcher_begin(struct watcher *w, unsigned int priority, const char *consumer);

/* User and system time it has taken so far. */
uint64_t watcher_cpu_ns(const struct watcher *w);

/* Ends it, then calls `each` for every event it has said. */
void watcher_end(struct watcher *w, void (*each)(void *context, struct json_object *event), void *context);

/* A string of an event; "" if it has none of this key. */
const char *event_text(struct json_object *event, const char *key);

#endif
