/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose beat is it? From a datagram to an identity, and for a native heartbeat to what it says. */
#ifndef KPHI_BPF_IDENTIFY_H
#define KPHI_BPF_IDENTIFY_H

#include <kphi/maps.h>
#include <kphi/record.h>
#include <kphi/wire.h>

#include "parse.h"

/* The rule "any UDP packet from this source to this port". */
static __always_inline void identify_rule(const struct frame *f, const struct datagram *d, struct kphi_id *id)
{
	void *source;

	__builtin_memset(id, 0, sizeof(*id));
	id->kind = KPHI_ID_RULE;
	id->protocol = IPPROTO_UDP;
	id->port = d->port;
	if (d->ipv6) {
		source = frame_at(f, d->source, 16);
		if (source)
			__builtin_memcpy(id->bytes, source, 16);
	} else {
		source = frame_at(f, d->source, 4);
		id->bytes[10] = 0xff;
		id->bytes[11] = 0xff;
		if (source)
			__builtin_memcpy(id->bytes + 12, source, 4);
	}
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
	b->type = w->type;
	b->flags = bpf_ntohs(w->flags) & 0xff;
	b->epoch = bpf_be64_to_cpu(w->epoch);
	b->sequence = bpf_be64_to_cpu(w->sequence);
	b->cluster_version = bpf_be64_to_cpu(w->cluster_version);
	b->load_average = bpf_ntohl(w->load_average);
	b->available_capacity = bpf_ntohl(w->available_capacity);
	return KPHI_COUNT_beat;
}

#endif
