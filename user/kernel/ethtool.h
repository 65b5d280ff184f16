/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ethtool(8) shows of a device, as far as heartbeats are concerned. Reading needs no privilege. */
#ifndef KPHI_KERNEL_ETHTOOL_H
#define KPHI_KERNEL_ETHTOOL_H

#include <stdbool.h>
#include <stdint.h>

struct ethtool_switch {
	bool on;
	bool fixed; /* nobody can change it from here */
};

struct ethtool_facts {
	char driver[32]; /* "" if it does not say */
	uint32_t speed_mbps; /* 0: unknown */
	bool has_channels;
	struct {
		uint32_t rx, tx, combined;
	} channels, channels_max;
	bool has_coalescing;
	bool adaptive; /* the driver chooses rx_usecs by itself, up to rx_usecs_high if it says so */
	uint32_t rx_usecs, rx_usecs_high, rx_frames;
	struct ethtool_switch lro, gro_hw, rx_checksum, rx_vlan;
};

/* What cannot be had stays zero. */
void ethtool_read(const char *device, struct ethtool_facts *facts);

#endif
