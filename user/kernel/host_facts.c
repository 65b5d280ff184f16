// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/host_facts.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"
#include "kernel/clock.h"
#include "kernel/drivers.h"
#include "kernel/host_probe.h"

#define USER_NAMESPACE_INITIAL 0xEFFFFFFDU /* PROC_USER_INIT_INO */
#define CLOCK_READINGS         1000

/* One line without its end; "" if it cannot be read. */
static void read_line(const char *path, char *text, size_t size)
{
	ssize_t got = file_read(path, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static int read_number(const char *path)
{
	char text[16], *end;
	long value;

	read_line(path, text, sizeof(text));
	value = strtol(text, &end, 10);
	return end == text ? -1 : (int)value;
}

static void read_kernel(struct host_facts *f)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;
	int cpus = libbpf_num_possible_cpus();

	if (!uname(&name)) {
		snprintf(f->release, sizeof(f->release), "%.64s", name.release);
		if (sscanf(name.release, "%u.%u", &major, &minor) == 2)
			f->kernel = KERNEL(major, minor);
	}
	f->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	f->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	f->btf = !access("/sys/kernel/btf/vmlinux", R_OK);
}

static bool same_namespace(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) || stat(b, &other) || one.st_ino == other.st_ino;
}

static void read_permissions(struct host_facts *f)
{
	FILE *status = fopen("/proc/self/status", "re");
	struct rlimit limit;
	struct stat user;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "CapEff: %" SCNx64, &f->capabilities) == 1)
			break;
	if (status)
		fclose(status);
	f->own_user_namespace = !stat("/proc/self/ns/user", &user) && user.st_ino != USER_NAMESPACE_INITIAL;
	f->own_mount_namespace = !same_namespace("/proc/self/ns/mnt", "/proc/1/ns/mnt");
	f->memlock_bytes = UINT64_MAX;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		f->memlock_bytes = limit.rlim_cur;
}

/* "[none] integrity confidentiality": the one in brackets is in force. */
static void read_lockdown(struct host_facts *f)
{
	char line[64], *begin;

	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	begin = strchr(line, '[');
	if (begin)
		snprintf(f->lockdown, sizeof(f->lockdown), "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
}

static uint64_t clock_step(void)
{
	uint64_t least = 0, last = clock_monotonic_ns();

	for (int i = 0; i < CLOCK_READINGS; i++) {
		uint64_t now = clock_monotonic_ns();

		if (now > last && (!least || now - last < least))
			least = now - last;
		last = now;
	}
	return least;
}

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

static void read_clock(struct host_facts *f)
{
	struct timespec boot;
	uint64_t now = clock_monotonic_ns(), slept;

	read_line(CLOCKSOURCE "current_clocksource", f->clocksource, sizeof(f->clocksource));
	read_line(CLOCKSOURCE "available_clocksource", f->clocksources, sizeof(f->clocksources));
	f->clock_step_ns = clock_step();
	if (clock_gettime(CLOCK_BOOTTIME, &boot))
		return;
	slept = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec - now;
	/* Between the two readings this process may have waited for a CPU. */
	f->suspended_ns = slept < UINT64_MAX / 2 && slept > 1000000000 ? slept : 0;
}

bool host_may(const struct host_facts *f, unsigned int cap)
{
	return !f->own_user_namespace && f->capabilities >> cap & 1;
}

void host_facts_read(struct host_facts *f)
{
	*f = (struct host_facts){.jit = -1};
	read_kernel(f);
	read_permissions(f);
	read_lockdown(f);
	read_clock(f);
	f->unprivileged_bpf_disabled = read_number("/proc/sys/kernel/unprivileged_bpf_disabled");
	f->jit = read_number("/proc/sys/net/core/bpf_jit_enable");
	host_probe(f);
}
