// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/drivers.h"

#include <stddef.h>
#include <string.h>

/* The docs of the eBPF project; multi-buffer support of ice and veth from the drivers themselves. */
static const struct driver drivers[] = {
	{"atlantic", KERNEL(5, 19), KERNEL(5, 19), 2048, 0},
	{"bonding", KERNEL(5, 15), 0, 0, 0}, /* as its ports */
	{"bnxt_en", KERNEL(4, 11), KERNEL(5, 19), 3502, 0},
	{"ena", KERNEL(5, 6), 0, 3498, 0},
	{"gve", KERNEL(6, 4), 0, 2032, 0},
	{"hv_netvsc", KERNEL(5, 6), 0, 3506, 0},
	{"i40e", KERNEL(4, 13), KERNEL(6, 4), 3046, 9702},
	{"ice", KERNEL(5, 5), KERNEL(6, 3), 3046, 0},
	{"igb", KERNEL(5, 10), 0, 3046, 0},
	{"igc", KERNEL(5, 13), 0, 1500, 0},
	{"ixgbe", KERNEL(4, 12), 0, 3050, 0},
	{"ixgbevf", KERNEL(4, 17), 0, 3050, 0},
	{"mana", KERNEL(5, 17), 0, 3506, 0},
	{"mlx4_en", KERNEL(4, 8), 0, 3498, 0},
	{"mlx5_core", KERNEL(4, 9), KERNEL(5, 18), 3498, 0},
	{"tun", KERNEL(4, 14), 0, 1500, 0},
	{"veth", KERNEL(4, 19), KERNEL(5, 18), 3520, 73152},
	{"virtio_net", KERNEL(4, 10), KERNEL(6, 3), 3506, 0},
	{"vmxnet3", KERNEL(6, 6), 0, 3494, 0},
};

const struct driver *driver_find(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		if (!strcmp(drivers[i].name, name))
			return &drivers[i];
	return NULL;
}
