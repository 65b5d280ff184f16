/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For who records arrivals: each message before it is folded in, and each other change of a record. The place
 * in the ring is reserved before the record's lock is taken and filled under it, so whoever has seen one
 * change finds all those before it reserved already; in which order they were made is told by the version.
 */
#ifndef KPHI_BPF_ARRIVALS_H
#define KPHI_BPF_ARRIVALS_H

#include <kphi/record.h>

#include "maps.h"

struct telling {
	struct kphi_arrival *arrival; /* only if `on`: */
	uint64_t on; /* verifiers before 6.3 do not know a pointer that was compared with NULL from one that
			was not, but they do know a number */
};

static __always_inline struct telling arrival_begin(uint32_t slot, uint32_t generation, uint32_t what,
						    uint64_t now_ns)
{
	struct telling t = {};

	if (now_ns >= ports.record_until_ns)
		return t;
	t.arrival = bpf_ringbuf_reserve(&arrivals, sizeof(*t.arrival), 0);
	if (!t.arrival) {
		count(bpf_get_smp_processor_id(), KPHI_COUNT_unrecorded);
		return t;
	}
	t.arrival->slot = slot;
	t.arrival->generation = generation;
	t.arrival->version = 0;
	t.arrival->what = what;
	t.arrival->unused = 0;
	t.on = 1;
	asm volatile("" : "+r"(t.on)); /* lest the compiler looks at the pointer instead */
	return t;
}

/* Under the lock, when all is done. */
static __always_inline void arrival_order(const struct telling *t, const struct kphi_record *r)
{
	if (t->on)
		t->arrival->version = r->version;
}

/* The same of a record that was emptied: from which moment on, and what is too old for it. */
static __always_inline void arrival_cleared(const struct telling *t, const struct kphi_record *r)
{
	if (!t->on)
		return;
	t->arrival->beat.now_ns = r->since_ns;
	t->arrival->beat.epoch = r->epoch;
	t->arrival->beat.sequence = r->sequence.highest;
	t->arrival->version = r->version;
}

static __always_inline void arrival_end(const struct telling *t)
{
	if (t->on)
		bpf_ringbuf_submit(t->arrival, 0);
}

#endif
