/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Network namespaces by their inode. What hangs on a filter in one can be changed only from within it. */
#ifndef KPHI_KERNEL_NETNS_H
#define KPHI_KERNEL_NETNS_H

#include <stdint.h>

/* Inode of this process's, or 0. */
uint64_t netns_here(void);

/*
 * Moves this thread into the namespace of that inode: one that has a name or a process. Returns what
 * netns_return() takes to go back, or a negative errno: -ENOENT if there is none to be found.
 */
int netns_enter(uint64_t inode);
void netns_return(int from);

#endif
