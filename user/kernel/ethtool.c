// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FEATURES_MAX 256 /* there are some 65 of them */

struct asker {
	int fd;
	struct ifreq request;
};

static bool ask(struct asker *a, void *command)
{
	a->request.ifr_data = command;
	return !ioctl(a->fd, SIOCETHTOOL, &a->request);
}

static void read_driver(struct asker *a, struct ethtool_facts *f)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (ask(a, &info))
		snprintf(f->driver, sizeof(f->driver), "%.31s", info.driver);
}

static void read_channels(struct asker *a, struct ethtool_facts *f)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};

	if (!ask(a, &c))
		return;
	f->has_channels = true;
	f->channels.rx = c.rx_count;
	f->channels.tx = c.tx_count;
	f->channels.combined = c.combined_count;
	f->channels_max.rx = c.max_rx;
	f->channels_max.tx = c.max_tx;
	f->channels_max.combined = c.max_combined;
}

static void read_coalescing(struct asker *a, struct ethtool_facts *f)
{
	struct ethtool_coalesce c = {.cmd = ETHTOOL_GCOALESCE};

	if (!ask(a, &c))
		return;
	f->has_coalescing = true;
	f->adaptive = c.use_adaptive_rx_coalesce;
	f->rx_usecs = c.rx_coalesce_usecs;
	f->rx_usecs_high = c.rx_coalesce_usecs_high;
	f->rx_frames = c.rx_max_coalesced_frames;
}

/* The size of the masks is asked for first: the kernel answers with its own, negated. */
static void read_speed(struct asker *a, struct ethtool_facts *f)
{
	struct {
		struct ethtool_link_settings settings;
		uint32_t masks[3 * 127];
	} s = {.settings = {.cmd = ETHTOOL_GLINKSETTINGS}};

	if (!ask(a, &s) || s.settings.link_mode_masks_nwords >= 0)
		return;
	s.settings.cmd = ETHTOOL_GLINKSETTINGS;
	s.settings.link_mode_masks_nwords = (__s8)-s.settings.link_mode_masks_nwords;
	if (ask(a, &s) && s.settings.speed != (uint32_t)SPEED_UNKNOWN)
		f->speed_mbps = s.settings.speed;
}

/* --- features: their numbers are the kernel's own affair, their names are for us --- */

static uint32_t count_features(struct asker *a)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} q = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};

	if (!ask(a, &q) || !q.info.sset_mask)
		return 0;
	return q.count < FEATURES_MAX ? q.count : FEATURES_MAX;
}

static void take_switch(const char *name, const struct ethtool_get_features_block *block, uint32_t bit,
			struct ethtool_facts *f)
{
	static const struct {
		const char *name;
		size_t offset;
	} wanted[] = {
		{"rx-lro", offsetof(struct ethtool_facts, lro)},
		{"rx-gro-hw", offsetof(struct ethtool_facts, gro_hw)},
		{"rx-checksum", offsetof(struct ethtool_facts, rx_checksum)},
		{"rx-vlan-hw-parse", offsetof(struct ethtool_facts, rx_vlan)},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct ethtool_switch *s = (struct ethtool_switch *)((char *)f + wanted[i].offset);

		if (strncmp(name, wanted[i].name, ETH_GSTRING_LEN) != 0)
			continue;
		s->on = block->active & bit;
		s->fixed = !(block->available & bit) || block->never_changed & bit;
	}
}

static void read_features(struct asker *a, struct ethtool_facts *f)
{
	uint32_t n = count_features(a), blocks = (n + 31) / 32;
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	struct ethtool_gfeatures *values = calloc(1, sizeof(*values) + blocks * sizeof(*values->features));

	if (names && values && n) {
		*names = (struct ethtool_gstrings){
			.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = n};
		*values = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
		if (ask(a, names) && ask(a, values))
			for (uint32_t i = 0; i < n && i / 32 < values->size; i++)
				take_switch((const char *)names->data + (size_t)i * ETH_GSTRING_LEN,
					    &values->features[i / 32], 1U << i % 32, f);
	}
	free(names);
	free(values);
}

void ethtool_read(const char *device, struct ethtool_facts *f)
{
	struct asker a = {.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};

	*f = (struct ethtool_facts){0};
	if (a.fd < 0)
		return;
	snprintf(a.request.ifr_name, sizeof(a.request.ifr_name), "%s", device);
	read_driver(&a, f);
	read_channels(&a, f);
	read_coalescing(&a, f);
	read_speed(&a, f);
	read_features(&a, f);
	close(a.fd);
}
