/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_BEAT_REALTIME_H
#define KPHI_BEAT_REALTIME_H

/*
 * Keeps the process in memory and, unless `priority` is 0, ahead of everything that has no real-time priority
 * (SCHED_FIFO, 1 to 99). What is not allowed is said in one line on stderr; the sender does without. To be
 * called when everything is allocated.
 */
void realtime_enter(unsigned int priority);

#endif
