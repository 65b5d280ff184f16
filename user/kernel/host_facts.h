/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this host offers to kphi: kernel, permissions, clock. Everything here is read, nothing is judged. */
#ifndef KPHI_KERNEL_HOST_FACTS_H
#define KPHI_KERNEL_HOST_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* A feature of the kernel, and how that was found out. */
enum feature_source { FEATURE_BY_VERSION, FEATURE_BY_BTF, FEATURE_BY_PROBE };

struct feature {
	bool there;
	enum feature_source source;
};

enum host_feature {
	HOST_XDP, /* programs of type XDP can be loaded */
	HOST_XDP_LINK, /* and attached by a bpf_link: 5.9 */
	HOST_XDP_FRAGS, /* and take frames of several buffers: 5.18 */
	HOST_TIMER, /* bpf_timer: 5.15 */
	HOST_TAI, /* bpf_ktime_get_tai_ns(): 6.1 */
	HOST_GROUP_READING, /* pinned maps can be opened without privilege: 6.0 */
	HOST_TCX, /* TCX links: 6.6 */
	HOST_TIMER_PIN, /* a bpf_timer that stays on its CPU: 6.7 */
	HOST_FEATURES,
};

struct host_facts {
	char release[65];
	uint32_t kernel; /* KERNEL(major, minor) */
	uint32_t cpus; /* that it may ever have */
	uint32_t page_size;
	struct feature features[HOST_FEATURES];
	bool btf; /* /sys/kernel/btf/vmlinux */
	int jit; /* 1, 0, or -1: cannot be told */
	uint64_t capabilities; /* in effect, a bit each */
	bool own_user_namespace; /* not the initial one: they are worth little in it */
	bool own_mount_namespace; /* not that of process 1, as far as can be seen */
	int unprivileged_bpf_disabled; /* the sysctl, or -1 */
	char lockdown[24]; /* "none", "integrity", "confidentiality"; "": cannot be told */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: none */
	char clocksource[32]; /* "": cannot be told */
	char clocksources[128]; /* the ones to choose from */
	uint64_t clock_step_ns; /* least difference between two readings of CLOCK_MONOTONIC; 0: none was seen
				 */
	uint64_t suspended_ns; /* since boot: CLOCK_BOOTTIME - CLOCK_MONOTONIC */
};

/* Never fails: what cannot be had is left as "cannot be told". Loads a few tiny programs, if it may. */
void host_facts_read(struct host_facts *facts);

/* Is capability number `cap` (CAP_BPF ...) in effect, where it counts? */
bool host_may(const struct host_facts *facts, unsigned int cap);

#endif
