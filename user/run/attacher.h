/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching while the loop goes on. To load the program takes the kernel's verifier 0.2 s, in which verdicts
 * would be late, so a child does it: `kphi net attach`.
 */
#ifndef KPHI_RUN_ATTACHER_H
#define KPHI_RUN_ATTACHER_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "kernel/attach.h"

struct attacher;

/* `done` is told what came of it; `said` is what the command wrote on standard error. `root`: of the pins. */
struct attacher *
attacher_new(sd_event *loop, const char *root,
	     void (*done)(void *context, const char *device, bool attached, const char *said), void *context);
void attacher_free(struct attacher *a); /* NULL is fine; a child that is at it goes on */

/* Begins, unless it is at this device already. `port` 0: none is opened. 0 or -errno. */
int attacher_start(struct attacher *a, const char *device, enum attach_mode mode, uint16_t port);

#endif
