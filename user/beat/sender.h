/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop that sends: it waits for the next slot, for a signal, for the death of a watched process and for
 * what the health check is about, and does nothing that could block or allocate.
 */
#ifndef KPHI_BEAT_SENDER_H
#define KPHI_BEAT_SENDER_H

#include <stdint.h>

#include "beat/check.h"
#include "beat/emitter.h"
#include "core/pace.h"

enum sender_end {
	SENDER_RUNS,
	SENDER_COUNTED, /* all beats of `count` are sent */
	SENDER_STOPPED, /* SIGTERM or SIGINT */
	SENDER_BEREFT, /* the watched process died */
};

struct sender {
	struct emitter emitter;
	struct pace pace;
	struct check check; /* while it is degraded, the beats say so */
	const char *key_file; /* read again at SIGHUP; NULL: nothing is signed */
	uint64_t beats; /* slots served; goodbyes are not among them */
	uint64_t count; /* ends after so many beats; 0: never */
	uint64_t latest_ns; /* the longest that a beat was late */
	enum sender_end end;
	int timer_fd, signal_fd, reload_fd;
	int watch_fd; /* pidfd of the watched process, or -1 */
};

/* Nothing open, nothing sent, nobody watched: sender_close() is allowed from here on. */
void sender_init(struct sender *sender);

/*
 * Opens the sockets and the timer and blocks SIGTERM and SIGINT, which from now on end the loop, and SIGHUP
 * if there is a key_file. 0 or -errno.
 */
int sender_open(struct sender *sender);

/*
 * Beats until one of the ends, then says goodbye: `leave`, or `down` for the watched process. 0 or -errno
 * from the waiting; what a send meets never ends it. `pace` has been started.
 */
int sender_run(struct sender *sender);

/* Closes all, watch_fd included, and kills a check that runs. */
void sender_close(struct sender *sender);

#endif
