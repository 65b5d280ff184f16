/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process gives up once it has started, for good. docs/privileges.md says what each one needs and why.
 *
 * Nothing here ends a process: what cannot be given up is said on stderr, because a monitor that does not run
 * for want of a smaller set of powers is worth less than one that runs with a larger one.
 */
#ifndef KPHI_RUN_PRIVILEGE_H
#define KPHI_RUN_PRIVILEGE_H

#include <stdbool.h>

/*
 * The daemon's: what it and the children that it starts need, and no more. `commands`: consumers run
 * commands. Those are root's, as they fence by whatever means, and a bounding set, no_new_privs or a filter
 * of system calls would be theirs, too. So then only the daemon's own capabilities go; without commands all
 * the rest.
 */
void privilege_settle_daemon(bool commands);

/* The HTTP server's, once it listens: no capability, and few system calls. `unlinks`: it has a socket in the
 * file system, and removes it at its end. */
void privilege_settle_server(bool unlinks);

#endif
