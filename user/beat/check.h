/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A health check beside the beats: a host may beat and yet do no work. The command runs in a process group of
 * its own every so often, and may take as long as it is to the next start; then the group is killed. So many
 * failures in a row, hangs included, make the sender degraded until one success.
 *
 * Nothing here waits. A child is forked and not spawned: posix_spawn() returns only when the command is
 * loaded, and a host whose disk hangs, which is what a check is for, would not beat meanwhile.
 */
#ifndef KPHI_BEAT_CHECK_H
#define KPHI_BEAT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum check_end { CHECK_NONE, CHECK_SUCCEEDED, CHECK_EXITED, CHECK_SIGNALLED, CHECK_HUNG, CHECK_NOT_STARTED };

struct check {
	const char *command; /* for /bin/sh -c; NULL: there is no check */
	uint64_t every_ns;
	uint64_t fails; /* so many failures in a row: degraded */

	uint64_t runs, failures; /* in all */
	uint64_t row; /* failures in a row by now */
	bool degraded;
	enum check_end end; /* of the latest run that has ended */
	int code; /* its exit status, signal or errno */

	int pidfd; /* of the one that runs, to be polled for input; -1: none does */
	pid_t pid;
	bool killed;
	uint64_t due_ns; /* the next start, or the end of its time */
};

/* No check. Set the first three members to have one; it is due at once. */
void check_init(struct check *check);

/* When check_step() has something to do if nothing happens before; UINT64_MAX: never. */
uint64_t check_due_ns(const struct check *check);

/*
 * Starts the check or kills it, if that is due; takes notice of its end, when its pidfd says so. Both return
 * true if `degraded` has changed.
 */
bool check_step(struct check *check, uint64_t now_ns);
bool check_reap(struct check *check, uint64_t now_ns);

/* How the latest run that has ended did so: "exit status 1", "no answer within 10s". Returns `text`. */
char *check_describe(const struct check *check, char *text, size_t size);

/* Kills what runs. */
void check_close(struct check *check);

#endif
