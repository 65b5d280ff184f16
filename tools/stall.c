// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stall MILLISECONDS [CPU]...    no softirq work on these CPUs (all, if none is named) for so long
 *
 * For tests: packets wait, timers are late, and kphi's guard has to notice. Up to 20 s; beyond that the
 * kernel's own watchdogs complain. Each CPU begins within a moment of the others. Needs root.
 */
#include "hog.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 256
#define LONGEST  20000 /* ms */

static struct hog hog;
static uint64_t length_ns;

static void *stall(void *cpu)
{
	static const char packet[64];
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET((size_t)(intptr_t)cpu, &set);
	err = sched_setaffinity(0, sizeof(set), &set) ? -errno
						      : hog_run(&hog, length_ns, packet, sizeof(packet));
	if (err)
		fprintf(stderr, "stall: CPU %d: %s\n", (int)(intptr_t)cpu, strerror(-err));
	return (void *)(intptr_t)err;
}

static int usage(void)
{
	fprintf(stderr, "usage: stall MILLISECONDS [CPU]...   (1 to %d ms)\n", LONGEST);
	return 2;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 0, online = sysconf(_SC_NPROCESSORS_ONLN);
	long cpus = argc > 2 ? argc - 2 : online;
	pthread_t threads[CPUS_MAX];
	int err, failed = 0;

	if (ms < 1 || ms > LONGEST || cpus > CPUS_MAX)
		return usage();
	length_ns = (uint64_t)ms * 1000000;
	err = hog_open(&hog, -1);
	if (err) {
		fprintf(stderr, "stall: cannot load the program: %s\n", strerror(-err));
		return 1;
	}
	for (long i = 0; i < cpus; i++) {
		long cpu = argc > 2 ? atol(argv[i + 2]) : i;

		err = pthread_create(&threads[i], NULL, stall, (void *)(intptr_t)cpu);
		if (err) {
			fprintf(stderr, "stall: %s\n", strerror(err));
			exit(1);
		}
	}
	for (long i = 0; i < cpus; i++) {
		void *result;

		pthread_join(threads[i], &result);
		failed |= result != NULL;
	}
	hog_close(&hog);
	return failed;
}
