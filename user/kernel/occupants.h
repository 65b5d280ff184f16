/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BPF programs at a device's tc ingress: TCX links (6.6) and clsact filters. */
#ifndef KPHI_KERNEL_OCCUPANTS_H
#define KPHI_KERNEL_OCCUPANTS_H

#include <stdint.h>

#define OCCUPANTS_MAX 16

struct occupant {
	uint32_t program_id;
	char name[64]; /* "?" if it cannot be had (CAP_SYS_ADMIN) */
	const char *hook; /* "tcx" or "clsact" */
};

struct occupants {
	struct occupant list[OCCUPANTS_MAX];
	uint32_t n;
	int tcx_error; /* TCX could not be asked: -EPERM, or -EINVAL from a kernel without it */
};

void occupants_read(uint32_t ifindex, struct occupants *o);

#endif
