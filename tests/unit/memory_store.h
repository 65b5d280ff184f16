/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A store that is memory of the test's own: what is written there is what its readers see. No daemon has ever
 * told of itself in it. */
#ifndef KPHI_TESTS_MEMORY_STORE_H
#define KPHI_TESTS_MEMORY_STORE_H

#include <string.h>

#include "kernel/store.h"

#define PEERS  8
#define WINDOW 8
#define CPUS   2

static struct memory {
	struct kphi_store header;
	struct kphi_peer peers[PEERS];
	struct kphi_rule rules[PEERS];
	struct kphi_record records[PEERS];
	uint64_t windows[PEERS][KPHI_RING_SIZE(WINDOW)];
	struct kphi_counters counters[CPUS];
	struct kphi_tick ticks[CPUS];
	struct kphi_verdict verdicts[PEERS];
} memory;

static const struct store store = {
	.header = &memory.header,
	.peers = memory.peers,
	.rules = memory.rules,
	.records = memory.records,
	.windows = memory.windows[0],
	.counters = memory.counters,
	.ticks = memory.ticks,
	.verdicts = memory.verdicts,
	.daemon = -1,
};

/* Nobody is in it. Up to CPUS of them. */
static inline void memory_begin(uint32_t cpus)
{
	memset(&memory, 0, sizeof(memory));
	memory.header = (struct kphi_store){.peers = PEERS, .window = WINDOW, .cpus = cpus};
}

#endif
