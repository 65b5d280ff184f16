/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recording a beat: find the peer, stamp, lock, fold in, count. */
#ifndef KPHI_BPF_RECORD_H
#define KPHI_BPF_RECORD_H

#include "identify.h"
#include "maps.h"

static __always_inline void record_read_tick(struct kphi_beat *b)
{
	uint32_t cpu = b->cpu;
	struct kphi_tick *t = bpf_map_lookup_elem(&ticks, &cpu);

	b->stalled_total_ns = t ? t->stalled_total_ns : 0;
	b->stall_end_ns = t ? t->stall_end_ns : 0;
}

/*
 * The wall clock is asked only when a message claims an epoch the record has not reached. The peek is made without the
 * lock: epochs only rise, so what passes here for known is known; a reset in between refuses one message at worst.
 */
static __always_inline uint64_t record_epoch_limit(const struct kphi_record *r, uint64_t epoch)
{
	uint64_t known = *(volatile const uint64_t *) &r->epoch;

	if (epoch <= known)
		return known;
	return bpf_ktime_get_tai_ns() / 1000000000 + KPHI_EPOCH_AHEAD_S;
}

static __always_inline void record_notes(struct kphi_counters *c, uint32_t notes)
{
#define X(name, help) c->count[KPHI_COUNT_##name] += !!(notes & KPHI_NOTE(name));
	KPHI_NOTES(X)
#undef X
}

/* b->now_ns is stamped already, before anything that can wait. */
static __always_inline enum kphi_counter record_beat(const struct kphi_slot *to, struct kphi_beat *b,
						     struct kphi_counters *c)
{
	enum kphi_counter outcome = KPHI_COUNT_unknown_peer;
	uint32_t notes = 0;
	struct place p;

	if (place_find(&p, to->slot))
		return KPHI_COUNT_internal;
	record_read_tick(b);
	b->epoch_limit = record_epoch_limit(p.record, b->epoch);

	bpf_spin_lock(&p.lock->lock);
	if (p.record->generation == to->generation && p.record->state != KPHI_FREE) {
		version_move(p.record);
		outcome = kphi_record_take(p.record, p.peer, p.ring, window_size, b, &notes);
		version_move(p.record);
	}
	bpf_spin_unlock(&p.lock->lock);

	if (notes)
		record_notes(c, notes);
	return outcome;
}

/* A datagram to one of our ports: everything that happens to it. */
static __always_inline enum kphi_counter record_datagram(const struct frame *f, const struct datagram *d,
							 uint32_t bits, struct kphi_counters *c, uint32_t cpu)
{
	struct kphi_beat b = { .now_ns = bpf_ktime_get_ns(), .type = KPHI_WIRE_BEAT, .cpu = cpu };
	enum kphi_counter understood;
	struct kphi_slot *to;
	struct kphi_id id;

	if (bits & KPHI_PORT_RULE) {
		identify_rule(d, &id);
		to = bpf_map_lookup_elem(&ids, &id);
		if (to)
			return record_beat(to, &b, c);
		if (!(bits & KPHI_PORT_NATIVE))
			return KPHI_COUNT_no_rule;
	}
	understood = identify_native(f, d, &id, &b);
	if (understood != KPHI_COUNT_beat)
		return understood;
	to = bpf_map_lookup_elem(&ids, &id);
	return to ? record_beat(to, &b, c) : KPHI_COUNT_unknown_peer;
}

/* The whole packet path: every frame leaves it as it came. */
static __always_inline void record_frame(const struct frame *f)
{
	struct datagram d = {};
	struct kphi_counters *c;
	uint32_t bits, cpu;
	int verdict = parse_frame(f, &d);

	if (verdict == FOREIGN)
		return;
	if (verdict != PARSED) {
		count(verdict);
		return;
	}
	bits = port_bits(d.port);
	if (!bits)
		return;
	cpu = bpf_get_smp_processor_id();
	c = bpf_map_lookup_elem(&counters, &cpu);
	if (!c)
		return;
	verdict = record_datagram(f, &d, bits, c, cpu);
	if (verdict >= 0 && verdict < KPHI_COUNTERS)
		c->count[verdict]++;
}

#endif
