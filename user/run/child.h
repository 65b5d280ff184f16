/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starting another program from within the loop, without waiting for it. */
#ifndef KPHI_RUN_CHILD_H
#define KPHI_RUN_CHILD_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Starts `path` with signals as a shell would have them, in a process group of its own, with `in` (-1:
 * nothing to read), `out` and `err` as its standard descriptors and no other one of ours. The child is reaped
 * by the caller. Returns a descriptor that can be read when it has ended (pidfd_open(2)), or -errno.
 */
int child_start(const char *path, char *const argv[], int in, int out, int err, pid_t *pid);

/*
 * The same for a servant of ours that others talk to, with nothing to read and its standard output where
 * `err` is: it is killed when we die, has an ordinary priority and is the first of us to go when memory is
 * short, keeps the capabilities in `keep` (bits by number) that we have, and can gain no others.
 */
int child_start_tame(const char *path, char *const argv[], int err, uint64_t keep, pid_t *pid);

/* One line of a child's standard error without its newline and the head that is for people at a terminal. */
void child_sentence(char *line);

#endif
