/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The port bitmap as it is in the kernel. */
#ifndef KPHI_KERNEL_PORTS_H
#define KPHI_KERNEL_PORTS_H

#include <kphi/maps.h>

#include "kernel/pin.h"

/* 0 or a negative errno. Root's to read. */
int ports_read(const struct pin *p, uint8_t ports[KPHI_PORT_BYTES]);

#endif
