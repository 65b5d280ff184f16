/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which system calls a process may make from now on, it and its children. Both functions need no_new_privs.
 *
 * What is refused fails with EPERM and is logged by the kernel, where audit is on; nobody is killed. These
 * processes watch others: one that dies because a C library has begun to make a call that nobody thought of
 * sees nothing any more, while one that is told "Operation not permitted" says so like of any other failure.
 * To an intruder it is the same: the call is not made.
 */
#ifndef KPHI_RUN_PRIVILEGE_FILTER_H
#define KPHI_RUN_PRIVILEGE_FILTER_H

#include <stdbool.h>

/*
 * What neither the daemon nor `net attach` nor `web serve` has any use for, and what an intruder has: others'
 * memory, mounts, modules, another kernel, the clock, namespaces, raw sockets, new code. A list of what is
 * refused: the daemon's own calls are too many to be known in advance on every kernel and C library.
 */
int privilege_filter_daemon(void);

/*
 * The HTTP server is what strangers talk to, and it does little: a list of what is allowed. It opens files to
 * read them only, executes and starts nothing, connects to nobody but over Unix sockets, asks bpf(2) for what
 * is pinned and its contents and no more, signals nobody but itself. `unlinks`: it may remove files.
 */
int privilege_filter_server(bool unlinks);

#endif
