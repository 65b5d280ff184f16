/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose beat is it? From a datagram to an identity, and for a native heartbeat to what it says. */
#ifndef KPHI_BPF_IDENTIFY_H
#define KPHI_BPF_IDENTIFY_H

#include <kphi/maps.h>
#include <kphi/record.h>
#include <kphi/wire.h>

#include "parse.h"

/* Source addresses are kept as IPv6 has them: IPv4 as ::ffff:a.b.c.d. 16 bytes to `to`. */
static __always_inline void identify_source(const struct frame *f, const struct datagram *d, uint8_t *to)
{
	void *source;

	if (d->ipv6) {
		source = frame_at(f, d->source, 16);
		if (source)
			__builtin_memcpy(to, source, 16);
		return;
	}
	__builtin_memset(to, 0, 10);
	to[10] = 0xff;
	to[11] = 0xff;
	source = frame_at(f, d->source, 4);
	if (source)
		__builtin_memcpy(to + 12, source, 4);
}

/* `width` bytes of the payload as a number in network order. 0, or below if the payload has not so many. */
static __always_inline long identify_bytes(const struct frame *f, const struct datagram *d, uint32_t offset,
					   uint32_t width, uint64_t *value)
{
	uint64_t bytes = 0;

	width = ((width - 1) & 7) + 1; /* as it is; but the verifier wants to see the bound */
	if (offset + width > d->length || frame_copy(f, d->payload + offset, &bytes, width) < 0)
		return -1;
	*value = bpf_be64_to_cpu(bytes) >> (8 - width) * 8;
	return 0;
}

/* 1 if the payload has what a rule asks for there. */
static __always_inline int identify_match(const struct frame *f, const struct datagram *d,
					  const struct kphi_match *m)
{
	uint64_t value;

	return m->width && !identify_bytes(f, d, m->offset, m->width, &value) &&
	       (value & m->mask) == m->value;
}

/*
 * A packet as rules see it: by numbers and copies, so that looking one up needs nothing of the frame but its
 * bytes.
 */
struct probe {
	uint8_t source[16];
	uint32_t device;
	uint32_t payload, length;
	uint16_t port;
	uint8_t protocol;
	uint8_t found; /* a rule, and ... */
	uint32_t rank; /* ... how much it asks for */
	struct kphi_slot to;
};

/* As which a rule of shape number `n` would know this packet. Below 0: no rule of that shape could. */
static __always_inline long identify_shape(const struct frame *f, const struct probe *p,
					   const struct kphi_shape *s, uint32_t n, struct kphi_id *id)
{
	const struct datagram d = {.payload = p->payload, .length = p->length};

	__builtin_memset(id, 0, sizeof(*id));
	id->kind = KPHI_ID_RULE;
	id->protocol = p->protocol;
	id->port = p->port;
	id->shape = n;
	if (s->flags & KPHI_SHAPE_DEVICE)
		id->device = p->device;
	if (s->flags & KPHI_SHAPE_SOURCE)
		__builtin_memcpy(id->bytes, p->source, sizeof(id->bytes));
	for (int i = 0; i < KPHI_MATCHES; i++) {
		if (!s->width[i])
			continue;
		if (identify_bytes(f, &d, s->offset[i], s->width[i], &id->match[i]))
			return -1;
		id->match[i] &= s->mask[i];
	}
	return 0;
}

/*
 * What else a rule says of a packet that has its identity: KPHI_COUNT_beat, with *b filled, or why it does
 * not count after all. A tag that the network card has taken off cannot be held against the packet.
 */
static __always_inline enum kphi_counter identify_rule(const struct frame *f, const struct datagram *d,
						       const struct kphi_rule *r, struct kphi_beat *b)
{
	struct kphi_bfd_wire *w;
	enum kphi_counter sound;

	if (d->ttl < r->min_ttl)
		return KPHI_COUNT_rule_ttl;
	if (r->vlan && d->vlan && d->vlan != r->vlan)
		return KPHI_COUNT_rule_vlan;
	b->type = KPHI_WIRE_BEAT;
	b->decoder = r->decoder;
	if (r->decoder == KPHI_DECODER_BFD) {
		w = frame_at(f, d->payload, sizeof(*w));
		if (!w || d->length < sizeof(*w))
			return KPHI_COUNT_bfd_short;
		sound = kphi_bfd_read(w, d->length, &b->bfd);
		b->local_rx_ns = r->local_rx_ns;
		if (kphi_bfd_is_quiet(&b->bfd))
			b->type = KPHI_WIRE_LEAVE;
		return sound;
	}
	b->any_source = r->any_source;
	identify_source(f, d, (uint8_t *)b->speaker);
	b->sequence_bits = r->sequence_bits;
	if (r->sequence_bits) {
		if (identify_bytes(f, d, r->sequence_offset, r->sequence_bits / 8, &b->sequence))
			return KPHI_COUNT_rule_short;
		if (r->sequence_little)
			b->sequence = bpf_cpu_to_be64(b->sequence) >> (64 - r->sequence_bits);
	}
	if (identify_match(f, d, &r->leave))
		b->type = KPHI_WIRE_LEAVE;
	return KPHI_COUNT_beat;
}

/* KPHI_COUNT_beat if the payload is a native message that may be recorded, with *id and *b filled; else why
 * not. */
static __always_inline enum kphi_counter identify_native(const struct frame *f, const struct datagram *d,
							 struct kphi_id *id, struct kphi_beat *b)
{
	struct kphi_wire *w = frame_at(f, d->payload, sizeof(*w));
	uint32_t length;

	if (d->length < sizeof(*w) || !w)
		return KPHI_COUNT_wire_short;
	if (w->magic != bpf_htonl(KPHI_WIRE_MAGIC))
		return KPHI_COUNT_wire_magic;
	if (w->version != KPHI_WIRE_VERSION)
		return KPHI_COUNT_wire_version;
	if (w->type < KPHI_WIRE_BEAT || w->type > KPHI_WIRE_DOWN)
		return KPHI_COUNT_wire_type;
	length = bpf_ntohs(w->length);
	if (length < sizeof(*w) || length > d->length)
		return KPHI_COUNT_wire_length;

	__builtin_memset(id, 0, sizeof(*id));
	id->kind = KPHI_ID_NATIVE;
	__builtin_memcpy(id->bytes, w->node_id, sizeof(id->bytes));
	b->native = 1;
	b->sequence_bits = 64;
	b->type = w->type;
	b->flags = bpf_ntohs(w->flags) & 0xff & ~KPHI_WIRE_SIGNED; /* which is yet to be verified */
	b->epoch = bpf_be64_to_cpu(w->epoch);
	b->sequence = bpf_be64_to_cpu(w->sequence);
	b->cluster_version = bpf_be64_to_cpu(w->cluster_version);
	b->load_average = bpf_ntohl(w->load_average);
	b->available_capacity = bpf_ntohl(w->available_capacity);
	return KPHI_COUNT_beat;
}

#endif
