// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* A kernel without time namespaces has no such file, and one clock. */
int clock_check(struct why *w)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds = 0, ns = 0;
	int got = file ? fscanf(file, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) : 2;

	if (file)
		fclose(file);
	if (got != 2 || (!seconds && !ns))
		return 0;
	return why(
		w, -EXDEV,
		"this process is in a time namespace, whose monotonic clock is %" PRId64
		" s off the one that beats are stamped with, so every silence would be wrong by that. Run it "
		"outside (`nsenter --time=/proc/1/ns/time`)",
		seconds);
}
