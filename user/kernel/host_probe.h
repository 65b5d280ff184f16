/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The half of host_facts.h that asks what this kernel can do. Nobody else includes this. */
#ifndef KPHI_KERNEL_HOST_PROBE_H
#define KPHI_KERNEL_HOST_PROBE_H

#include "kernel/host_facts.h"

/* Fills in the features, and the JIT if it is not known yet; the rest has been read. */
void host_probe(struct host_facts *facts);

#endif
