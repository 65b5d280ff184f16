/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader tells the programs: behind which addresses there is which peer. */
#ifndef BREAKER_H
#define BREAKER_H

#include <kphi.h>

#define BREAKER_TARGETS  1024
#define BREAKER_PROBE_NS 1000000000ULL /* one connection a second is let through to a suspected peer */

struct breaker_address {
	uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
};

struct breaker_target {
	uint32_t slot, generation; /* struct kphi_ref */
	uint32_t consumers; /* whose suspicion counts: bit i for consumer i */
	uint32_t reserved;
	uint64_t probe_ns; /* when the next probe may pass */
	uint64_t refused, probes; /* connections */
	uint64_t looked; /* version of the verdict that was looked at last */
};

#endif
