/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The HTTP server, a child process that is looked after: started again when it has died, after pauses that
 * double, and ended with us, however we end. Nothing that becomes of it is more to the daemon than an event
 * of type `web`, and no cause is told over and over.
 */
#ifndef KPHI_RUN_WEB_CHILD_H
#define KPHI_RUN_WEB_CHILD_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "core/event.h"

struct web_child;

/* How long things take; tests are in a hurry. */
struct web_pace {
	uint64_t began_ns; /* it has begun when it has lived for so long (a wrong address ends it at once) ...
			    */
	uint64_t steady_ns; /* ... or, after a failure, for so long; what comes after that is news again */
	uint64_t pause_ns, pause_max_ns; /* before it is started again: at first, at most */
	uint64_t kill_ns; /* from SIGTERM to SIGKILL */
};
extern const struct web_pace web_pace_default;

/* `program` is executed; `pace` must outlive the child. NULL if there is no memory. */
struct web_child *web_child_new(sd_event *loop, const char *program, const struct web_pace *pace,
				void (*event)(void *context, const struct event *event), void *context);

/*
 * These are its arguments from now on (a copy is made), `where` is what it listens to, for the events.
 * Another one than that which runs is ended first. argv NULL: none is to run. 0 or -ENOMEM: then all stays as
 * it is.
 */
int web_child_set(struct web_child *w, const char *where, char *const argv[]);

/* Ends it, and waits for that as long as it takes to kill it. NULL is fine. */
void web_child_free(struct web_child *w);

#endif
