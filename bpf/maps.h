/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of <kphi/maps.h>, declared. Sizes that depend on the store (peers, window, CPUs) are set by the
 * loader; what the kernel side alone writes is frozen once pinned.
 */
#ifndef KPHI_BPF_MAPS_H
#define KPHI_BPF_MAPS_H

#include <kphi/maps.h>
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Intervals kept per peer: a constant to the verifier, so that ring indices are provably in bounds. */
const volatile uint32_t window_size = KPHI_WINDOW_DEFAULT;

struct lock {
	struct bpf_spin_lock lock;
};
KPHI_ASSERT_SIZE(struct lock, sizeof(struct kphi_lock));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kphi_store);
} store SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct kphi_peer);
} peers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct kphi_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct kphi_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, KPHI_RING_SIZE(KPHI_WINDOW_DEFAULT) * sizeof(uint64_t));
} windows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct lock);
} locks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, struct kphi_id);
	__type(value, struct kphi_slot);
} ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct kphi_seal);
} seals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_RINGS);
	__type(key, uint32_t);
	__type(value, struct kphi_ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KPHI_RINGS);
	__type(key, uint32_t);
	__type(value, struct kphi_keys);
} keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kphi_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kphi_tick);
} ticks SEC(".maps");

struct timer {
	struct bpf_timer timer;
};
KPHI_ASSERT_SIZE(struct timer, sizeof(struct kphi_timer));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct timer);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, KPHI_HINTS_BYTES);
} hints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, KPHI_ARRIVALS_BYTES);
} arrivals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, KPHI_STRANGERS_BYTES);
} strangers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KPHI_PEERS_DEFAULT);
	__type(key, uint32_t);
	__type(value, struct kphi_verdict);
} verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kphi_daemon);
} daemon SEC(".maps");

/* A global, so that the port test is one load from a fixed address and no lookup. */
struct kphi_ports ports SEC(".data.ports");

/*
 * The mask changes nothing, but to verifiers before 6.6 a byte-swapped port is an unbounded number; the asm
 * keeps the compiler, which knows better, from leaving it out.
 */
static __always_inline uint32_t port_bits(uint16_t port)
{
	uint32_t at = port;

	asm volatile("" : "+r"(at));
	return ports.bits[at & (KPHI_PORTS - 1)];
}

static __always_inline uint32_t protocol_bits(uint8_t protocol)
{
	uint32_t at = protocol;

	asm volatile("" : "+r"(at));
	return ports.bits[KPHI_PORTS + (at & 0xff)];
}

/* Everything that belongs to one slot. */
struct place {
	struct kphi_record *record;
	struct kphi_peer *peer;
	struct kphi_rule *rule; /* only for who asks */
	uint64_t *ring;
	struct lock *lock;
};

static __always_inline int place_find(struct place *p, uint32_t slot)
{
	p->record = bpf_map_lookup_elem(&records, &slot);
	p->peer = bpf_map_lookup_elem(&peers, &slot);
	p->ring = bpf_map_lookup_elem(&windows, &slot);
	p->lock = bpf_map_lookup_elem(&locks, &slot);
	return p->record && p->peer && p->ring && p->lock ? 0 : -1;
}

/*
 * Before and after every change of what readers take under this word. The exchange returns a value on
 * purpose: an atomic whose result is ignored may be compiled to an unordered one, and readers rely on the
 * order.
 */
static __always_inline void version_step(uint64_t *version)
{
	__sync_lock_test_and_set(version, *version + 1);
}

/* Around every change of a record, under its lock. */
static __always_inline void version_move(struct kphi_record *r)
{
	version_step(&r->version);
}

static __always_inline void count(uint32_t cpu, uint32_t which)
{
	struct kphi_counters *c = bpf_map_lookup_elem(&counters, &cpu);

	if (c && which < KPHI_COUNTERS)
		c->count[which]++;
}

#endif
