/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device's driver says it can do for XDP, before anything is attached (Linux 6.3). */
#ifndef KPHI_KERNEL_XDP_FEATURES_H
#define KPHI_KERNEL_XDP_FEATURES_H

#include <stdint.h>

#define XDP_FEATURE_BASIC (1ULL << 0) /* native XDP with XDP_PASS and XDP_DROP */
#define XDP_FEATURE_FRAGS (1ULL << 5) /* and frames of several buffers */

/* 0, -ENOENT if this kernel does not tell, or another negative errno. */
int xdp_features_read(uint32_t ifindex, uint64_t *features);

#endif
