/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_IO_REALTIME_H
#define KPHI_IO_REALTIME_H

/*
 * Keeps what is allocated in memory and, unless `priority` is 0, runs ahead of everything that has no
 * real-time priority (SCHED_FIFO, 1 to 99). Children do not inherit it. What is not allowed is said in one
 * line on stderr: `what`
 * ("beats", "verdicts") may then be late. To be called when everything is allocated.
 */
void realtime_enter(unsigned int priority, const char *what);

#endif
