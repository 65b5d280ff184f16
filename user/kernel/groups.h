/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which multicast groups a device has been told to receive. */
#ifndef KPHI_KERNEL_GROUPS_H
#define KPHI_KERNEL_GROUPS_H

#include <stdint.h>

/* Is this Ethernet address in the device's receive filter? 1, 0, or a negative errno if it cannot be told. */
int group_joined(uint32_t ifindex, const uint8_t mac[6]);

#endif
