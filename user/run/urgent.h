/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_RUN_URGENT_H
#define KPHI_RUN_URGENT_H

/*
 * Keeps what is allocated in memory and, unless `priority` is 0, runs ahead of everything that has no
 * real-time priority (SCHED_FIFO, 1 to 99). Children do not inherit it. What is not allowed is said in one
 * line on stderr; verdicts may then be late under load, never wrong.
 */
void urgent_enter(unsigned int priority);

#endif
