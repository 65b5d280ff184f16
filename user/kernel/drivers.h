/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of network drivers beforehand, where the kernel itself gives nothing but an errno. */
#ifndef KPHI_KERNEL_DRIVERS_H
#define KPHI_KERNEL_DRIVERS_H

#include <stdint.h>

#define KERNEL(major, minor) ((uint32_t)(major) << 16 | (minor)) /* versions that compare */

struct driver {
	const char *name; /* as ethtool says it */
	uint32_t native; /* the kernel since which it has native XDP */
	uint32_t frags; /* and takes multi-buffer programs; 0: it does not */
	/* Largest MTU for a program without multi-buffer support (0: not known), and for one with it (0: no
	 * limit). x86, 4 KiB pages. */
	uint32_t mtu, mtu_frags;
};

/* NULL if nothing is known of it. */
const struct driver *driver_find(const char *name);

#endif
