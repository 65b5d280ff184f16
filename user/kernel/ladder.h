/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which hook a device gets: native XDP; where the driver has none or the place is somebody else's, a TCX
 * link, or where the kernel has none (before 6.6) a clsact filter; generic XDP last.
 */
#ifndef KPHI_KERNEL_LADDER_H
#define KPHI_KERNEL_LADDER_H

#include "kernel/attach.h"
#include "kernel/load.h"

/*
 * Attaches a device that is not attached yet (*a: device, netns, ifindex, wanted, here); the rest of *a
 * follows. On success `w` is the reason for less than native XDP, if nobody asked for less, else "". On
 * failure it says why, and nothing has changed.
 */
int ladder_climb(struct programs *g, struct attachment *a, struct why *w);

#endif
