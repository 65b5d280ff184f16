/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recording a beat: find the peer, stamp, lock, fold in, count. */
#ifndef KPHI_BPF_RECORD_H
#define KPHI_BPF_RECORD_H

#include "glance.h"
#include "identify.h"
#include "maps.h"
#include "tick.h"

/* A helper call, so it is asked only of a packet that is longer than the first buffer. */
KPHI_INLINE uint64_t frame_length(const struct frame *f)
{
	return bpf_xdp_get_buff_len(f->context);
}

/*
 * The wall clock is asked only when a message claims an epoch the record has not reached. The peek is made
 * without the lock: epochs only rise, so what passes here for known is known; a reset in between refuses one
 * message at worst.
 */
static __always_inline uint64_t record_epoch_limit(const struct kphi_record *r, uint64_t epoch)
{
	uint64_t known = *(volatile const uint64_t *)&r->epoch;

	if (epoch <= known)
		return known;
	return bpf_ktime_get_tai_ns() / 1000000000 + KPHI_EPOCH_AHEAD_S;
}

static __always_inline void record_notes(uint32_t cpu, uint32_t notes)
{
	struct kphi_counters *c = bpf_map_lookup_elem(&counters, &cpu);

	if (!c)
		return;
#define X(name, help) c->count[KPHI_COUNT_##name] += !!(notes & KPHI_NOTE(name));
	KPHI_NOTES(X)
#undef X
}

/* Tells whoever runs verdicts to look at this peer now. Nobody has to be listening. */
static __always_inline void record_hint(uint32_t slot, uint32_t generation)
{
	struct kphi_hint hint = {.slot = slot, .generation = generation};

	bpf_ringbuf_output(&hints, &hint, sizeof(hint), 0);
}

/* What such a listener has to hear of at once when it changes. */
static __always_inline uint32_t record_face(const struct kphi_record *r)
{
	return r->state | r->flags << 8;
}

/*
 * Fold *b into the record of the peer in `slot`, if that still has this generation; b->now_ns is stamped
 * already, before anything that can wait. Returns the outcome.
 */
static __always_inline int record_beat(struct kphi_beat *b, uint32_t slot, uint32_t generation)
{
	enum kphi_counter outcome = KPHI_COUNT_unknown_peer;
	uint32_t notes = 0, changed = 0;
	struct kphi_tick *t;
	struct place p;

	t = tick_keep(b->cpu, b->now_ns);
	if (!t || place_find(&p, slot))
		return KPHI_COUNT_internal;
	kphi_beat_meets_tick(b, t);
	if (p.record->window.interval_ns > t->longest_ns)
		t->longest_ns = p.record->window.interval_ns;
	b->epoch_limit = record_epoch_limit(p.record, b->epoch);

	bpf_spin_lock(&p.lock->lock);
	if (p.record->generation == generation && p.record->state != KPHI_FREE) {
		version_move(p.record);
		changed = record_face(p.record);
		outcome = kphi_record_take(p.record, p.peer, p.ring, window_size, b, &notes);
		changed ^= record_face(p.record);
		version_move(p.record);
	}
	bpf_spin_unlock(&p.lock->lock);

	if (notes)
		record_notes(b->cpu, notes);
	if (changed || notes & (KPHI_NOTE(restart) | KPHI_NOTE(retuned)) ||
	    (p.peer->watched && outcome == KPHI_COUNT_beat))
		record_hint(slot, generation);
	return outcome;
}

/* A datagram to one of our ports: whose is it, and what becomes of it? */
static __always_inline int record_datagram(const struct frame *f, const struct datagram *d, uint32_t bits,
					   struct kphi_beat *b)
{
	struct kphi_slot *to = 0;
	struct kphi_id id;

	if (bits & KPHI_PORT_RULE) {
		identify_rule(f, d, &id);
		to = bpf_map_lookup_elem(&ids, &id);
		if (!to && !(bits & KPHI_PORT_NATIVE))
			return KPHI_COUNT_no_rule;
	}
	if (!to) {
		enum kphi_counter understood = identify_native(f, d, &id, b);

		if (understood != KPHI_COUNT_beat)
			return understood;
		to = bpf_map_lookup_elem(&ids, &id);
	}
	return to ? record_beat(b, to->slot, to->generation) : KPHI_COUNT_unknown_peer;
}

static __always_inline struct frame frame_of(struct xdp_md *ctx)
{
	return (struct frame){(void *)(long)ctx->data, (void *)(long)ctx->data_end, ctx};
}

/*
 * A frame that may be ours. Not inlined, so that the program that calls it needs none of the registers that
 * would have to be saved, for every packet of the host, first.
 */
__attribute__((noinline)) int record_candidate(struct xdp_md *ctx)
{
	struct frame f = frame_of(ctx);
	struct kphi_beat b = {};
	struct datagram d = {};
	int verdict = parse_frame(&f, &d);
	uint32_t bits;

	b.cpu = bpf_get_smp_processor_id();
	if (verdict == PARSED) {
		bits = port_bits(d.port);
		if (!bits)
			return 0;
		b.now_ns = bpf_ktime_get_ns();
		b.type = KPHI_WIRE_BEAT;
		b.device = ctx->ingress_ifindex;
		verdict = record_datagram(&f, &d, bits, &b);
	}
	if (verdict != FOREIGN)
		count(b.cpu, verdict);
	return 0;
}

/* The whole packet path: every frame leaves it as it came. */
static __always_inline void record_frame(struct xdp_md *ctx)
{
	if (!glance_foreign(ctx))
		record_candidate(ctx);
}

#endif
