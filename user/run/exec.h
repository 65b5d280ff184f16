/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that consumers want run for their verdicts: by /bin/sh, the event's line on standard input,
 * standard output where ours is not (it goes to standard error), in a process group of its own that is ended
 * when its time is over. The loop never waits for them.
 */
#ifndef KPHI_RUN_EXEC_H
#define KPHI_RUN_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "core/event.h"

#define EXEC_KILL_AFTER_NS 2000000000ULL /* from SIGTERM to SIGKILL */

struct exec_order {
	const char *command, *consumer, *peer;
	const char *line; /* on standard input */
	size_t length;
	uint64_t timeout_ns;
	uint64_t per_minute, burst;
	uint64_t *bucket; /* the consumer's, see bucket.h */
};

struct exec;

/* What went wrong is an event of type `exec`. NULL if there is no memory. */
struct exec *exec_new(sd_event *loop, void (*event)(void *context, const struct event *event), void *context);

/* Commands that still run are left to themselves. */
void exec_free(struct exec *x); /* NULL is fine */

/* False: it could not be started, or not so often. */
bool exec_run(struct exec *x, const struct exec_order *order);

uint32_t exec_running(const struct exec *x);

#endif
