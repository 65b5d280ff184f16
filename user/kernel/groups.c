// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int group_joined(uint32_t ifindex, const uint8_t mac[6])
{
	char line[128], text[65], wanted[13];
	FILE *file = fopen("/proc/net/dev_mcast", "re");
	uint32_t index;
	int joined = 0;

	if (!file)
		return -errno;
	snprintf(wanted, sizeof(wanted), "%02x%02x%02x%02x%02x%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
	/* number, name, how many want it, how many of those for good, address */
	while (!joined && fgets(line, sizeof(line), file))
		joined = sscanf(line, "%" SCNu32 " %*s %*d %*d %64s", &index, text) == 2 &&
			 index == ifindex && !strcmp(text, wanted);
	fclose(file);
	return joined;
}
