/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The store: the pinned maps as a whole. Making it, reading it without a system call, and what it costs. */
#ifndef KPHI_KERNEL_STORE_H
#define KPHI_KERNEL_STORE_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel/pin.h"
#include "kernel/why.h"

#define STORE_GROUP_DEFAULT "kphi" /* if there is such a group; root otherwise */

struct store_size {
	uint32_t peers, window;
	bool keyed; /* every native peer must have a key */
};

/* A store mapped for reading. Needs no privilege beyond membership in the store's group. */
struct store {
	const struct kphi_store *header;
	const struct kphi_peer *peers;
	const struct kphi_rule *rules; /* as it was added; the same for as long as the generation is */
	const struct kphi_record *records;
	const uint64_t *windows; /* peers x KPHI_RING_SIZE(window) */
	const struct kphi_seal *seals; /* peers */
	const struct kphi_ring *rings; /* KPHI_RINGS */
	const struct kphi_counters *counters; /* cpus */
	const struct kphi_tick *ticks; /* cpus */
	const struct kphi_verdict *verdicts; /* the daemon's */
	int daemon; /* descriptor of what it tells of itself */
};

/* Under the lock. `group` NULL: the default. -EEXIST if there is one. */
int store_create(struct pin *p, const struct store_size *size, const char *group, struct why *w);

/* Under the lock: make a store of default size if there is none; refuse if only one of another ABI is there.
 */
int store_ensure(struct pin *p, struct why *w);

/* Says that the store here is of another ABI, and what can be done about it. Returns `err`. */
int store_refuse_abi(const struct pin *p, int err, const char *abi, struct why *w);

int store_open(struct store *s, const struct pin *p, struct why *w);
void store_close(struct store *s);

/* Bytes of kernel memory that the maps take; none of it can be swapped out. */
uint64_t store_memory(const struct kphi_store *header);

/*
 * A consistent copy of one slot: the record, and (unless NULL) what was configured. Both were true at one
 * instant. Returns 0, or -EBUSY if writers kept moving it for 1,000 tries. A free slot is copied like any
 * other.
 */
int store_read(const struct store *s, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer);

/* The same for the window's ring entries: copies `record->window.n` of them, oldest first, into `ring` (room
 * for W). */
int store_read_ring(const struct store *s, uint32_t slot, struct kphi_record *record, uint64_t *ring);

/* Record, settings and ring as they are: KPHI_RING_SIZE(W) entries, those that do not count included. */
int store_read_whole(const struct store *s, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer,
		     uint64_t *ring);

/*
 * The daemon's verdict on the slot, if there is one and it is still valid. Whether it is about the present
 * life is told by its generation and epoch.
 */
bool store_verdict(const struct store *s, uint32_t slot, uint64_t now_ns, struct kphi_verdict *verdict);

/* What the daemon tells of itself. False: it does not live, and then only what is counted means something. */
bool store_daemon(const struct store *s, uint64_t now_ns, struct kphi_daemon *daemon);

/* The guard's ticks on the CPU that a record names; on the first one if the record names none that there is.
 */
const struct kphi_tick *store_tick(const struct store *s, uint32_t cpu);

/* How many slots have a peer. */
uint32_t store_used(const struct store *s);

/* The sum of one counter over all CPUs. */
uint64_t store_count(const struct store *s, enum kphi_counter which);

/* The slot of the peer with this name, or -1. One that is busy is found by a glance. */
int64_t store_find(const struct store *s, const char *name);

#endif
