/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a beat says about its host: the one-minute load average and the share of the CPUs that was idle.
 */
#ifndef KPHI_BEAT_VITALS_H
#define KPHI_BEAT_VITALS_H

#include <stdint.h>

struct vitals {
	float load_average;
	float available_capacity; /* 0.0 to 1.0; 0.0 when the host does not tell */
	int uptime_fd;
	long cpus;
	uint64_t read_ns; /* when this was read */
	uint64_t up_cs, idle_cs; /* what /proc/uptime said then, in its hundredths of a second */
};

/*
 * Opens /proc/uptime and reads for the first time: until a second has passed the idle share is the one since
 * boot. Always usable afterwards; -errno says why available_capacity stays 0.
 */
int vitals_open(struct vitals *vitals, uint64_t now_ns);

/* Reads again when a second has passed: two system calls, no allocation. */
void vitals_refresh(struct vitals *vitals, uint64_t now_ns);

void vitals_close(struct vitals *vitals);

#endif
