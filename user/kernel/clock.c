// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "io/file.h"

/* A kernel without time namespaces has no such file, and one clock. Opening a store allocates nothing for
 * this. */
int clock_check(struct why *w)
{
	char text[256];
	int64_t seconds = 0, ns = 0;
	ssize_t length = file_read("/proc/self/timens_offsets", text, sizeof(text) - 1);

	if (length <= 0)
		return 0;
	text[length] = '\0';
	if (sscanf(text, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) != 2 || (!seconds && !ns))
		return 0;
	return why(
		w, -EXDEV,
		"this process is in a time namespace, whose monotonic clock is %" PRId64
		" s off the one that beats are stamped with, so every silence would be wrong by that. Run it "
		"outside (`nsenter --time=/proc/1/ns/time`)",
		seconds);
}
