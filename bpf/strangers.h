/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For who asks who knocks: native messages of a node id that is nobody's, as they came. They go to a ring
 * buffer that user space empties, for as long as somebody says that he asks; nothing is kept here, so nobody
 * can fill or create anything by sending.
 */
#ifndef KPHI_BPF_STRANGERS_H
#define KPHI_BPF_STRANGERS_H

#include "identify.h"
#include "maps.h"

static __always_inline void stranger_fill(struct kphi_stranger *s, const struct frame *f,
					  const struct datagram *d, const struct kphi_id *id,
					  const struct kphi_beat *b)
{
	const struct kphi_wire *w = frame_at(f, d->payload, sizeof(*w));

	__builtin_memset(s, 0, sizeof(*s));
	s->now_ns = b->now_ns;
	s->epoch = b->epoch;
	s->sequence = b->sequence;
	__builtin_memcpy(s->node_id, id->bytes, sizeof(s->node_id));
	identify_source(f, d, s->source);
	s->device = b->device;
	if (w && w->flags & bpf_htons(KPHI_WIRE_SIGNED))
		s->key_id = bpf_ntohl(w->key_id);
	s->port = d->port;
	s->ttl = d->ttl;
	s->type = b->type;
}

/* Whoever reads comes by himself, many times a second: a flood must not wake him for every message. */
static __always_inline void stranger_tell(const struct frame *f, const struct datagram *d,
					  const struct kphi_id *id, const struct kphi_beat *b)
{
	struct kphi_stranger *s;

	if (b->now_ns >= ports.discover_until_ns)
		return;
	s = bpf_ringbuf_reserve(&strangers, sizeof(*s), 0);
	if (!s) {
		count(b->cpu, KPHI_COUNT_undiscovered);
		return;
	}
	stranger_fill(s, f, d, id, b);
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

#endif
