/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /proc/uptime and not /proc/stat: it holds the idle time summed over the CPUs in one short line, where the
 * kernel writes all CPUs and all interrupts of the machine into /proc/stat, which takes milliseconds on a
 * large one.
 */
#include "beat/vitals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define REFRESH_NS 1000000000ULL

static void read_load(struct vitals *vitals)
{
	struct sysinfo info;

	if (sysinfo(&info) == 0)
		vitals->load_average = (float)info.loads[0] / (float)(1 << SI_LOAD_SHIFT);
}

/* Takes "1666.08" off the front of the text. */
static bool take_hundredths(char **text, uint64_t *hundredths)
{
	char *point, *end;
	uint64_t whole = strtoull(*text, &point, 10);

	if (point == *text || *point != '.')
		return false;
	*hundredths = whole * 100 + strtoull(point + 1, &end, 10);
	*text = end;
	return end == point + 3;
}

static int read_uptime(int fd, uint64_t *up_cs, uint64_t *idle_cs)
{
	char line[64], *at = line;
	ssize_t length = pread(fd, line, sizeof(line) - 1, 0);

	if (length < 0)
		return -errno;
	line[length] = '\0';
	return take_hundredths(&at, up_cs) && take_hundredths(&at, idle_cs) ? 0 : -EBADMSG;
}

/* Both counters are kept by different clocks and a CPU may go offline, so the quotient needs its limits. */
static int read_capacity(struct vitals *vitals)
{
	uint64_t up_cs = 0, idle_cs = 0;
	float share;
	int err = read_uptime(vitals->uptime_fd, &up_cs, &idle_cs);

	if (err)
		return err;
	if (up_cs > vitals->up_cs && idle_cs >= vitals->idle_cs) {
		share = (float)(idle_cs - vitals->idle_cs) /
			((float)(up_cs - vitals->up_cs) * (float)vitals->cpus);
		vitals->available_capacity = share > 1.0f ? 1.0f : share;
	}
	vitals->up_cs = up_cs;
	vitals->idle_cs = idle_cs;
	return 0;
}

int vitals_open(struct vitals *vitals, uint64_t now_ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err;

	*vitals = (struct vitals){
		.uptime_fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC),
		.cpus = cpus > 0 ? cpus : 1,
		.read_ns = now_ns,
	};
	read_load(vitals);
	if (vitals->uptime_fd < 0)
		return -errno;
	err = read_capacity(vitals);
	if (err)
		vitals_close(vitals);
	return err;
}

void vitals_refresh(struct vitals *vitals, uint64_t now_ns)
{
	if (now_ns - vitals->read_ns < REFRESH_NS)
		return;
	vitals->read_ns = now_ns;
	read_load(vitals);
	if (vitals->uptime_fd >= 0)
		read_capacity(vitals);
}

void vitals_close(struct vitals *vitals)
{
	if (vitals->uptime_fd >= 0)
		close(vitals->uptime_fd);
	vitals->uptime_fd = -1;
}
