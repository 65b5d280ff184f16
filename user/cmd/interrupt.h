/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For commands that go on until somebody ends them, and then have something to say. */
#ifndef KPHI_CMD_INTERRUPT_H
#define KPHI_CMD_INTERRUPT_H

/*
 * SIGINT, SIGTERM and SIGHUP, which end nothing from now on, as a descriptor that can be polled; SIGHUP only
 * if the command was not started to outlive its terminal. Or a negative errno.
 */
int interrupt_open(void);

#endif
