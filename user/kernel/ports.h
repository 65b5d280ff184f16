/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which packets are for somebody here, as it is in the kernel. */
#ifndef KPHI_KERNEL_PORTS_H
#define KPHI_KERNEL_PORTS_H

#include <kphi/maps.h>

#include "kernel/pin.h"

/* Root's to read. 0 or a negative errno, having said why. */
int ports_read(const struct pin *p, struct kphi_ports *ports, struct why *w);

#endif
