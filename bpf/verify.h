/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a native message must show besides the peer's id: whence it comes, and who made it. Only for peers
 * that demand something; the host compiles this text, too.
 */
#ifndef KPHI_BPF_VERIFY_H
#define KPHI_BPF_VERIFY_H

#include <kphi/siphash.h>

#include "identify.h"

/* A message that claims to be of the peer in `slot`, by what is left of it once it is parsed. */
struct claim {
	uint64_t now_ns; /* stamp */
	uint32_t slot;
	uint32_t device; /* ifindex it came by */
	uint32_t source, payload; /* offsets */
	uint8_t ipv6, ttl, reserved[2];
	uint32_t key_id; /* out: of the key that it was signed with */
};

static __always_inline struct claim claim_of(const struct datagram *d, uint32_t slot, uint32_t device)
{
	return (struct claim){.slot = slot,
			      .device = device,
			      .source = d->source,
			      .payload = d->payload,
			      .ipv6 = d->ipv6,
			      .ttl = d->ttl};
}

static __always_inline int verify_source(const struct frame *f, const struct claim *c,
					 const struct kphi_rule *rule)
{
	const struct datagram d = {.source = c->source, .ipv6 = c->ipv6};
	uint64_t source[2] = {0};

	identify_source(f, &d, (uint8_t *)source);
	for (int i = 0; i < KPHI_SOURCES; i++)
		if (i < rule->sources && rule->source[i][0] == source[0] && rule->source[i][1] == source[1])
			return 1;
	return 0;
}

/* Cheapest first: who floods a peer from elsewhere makes nobody compute a tag. */
static __always_inline enum kphi_counter verify_path(const struct frame *f, const struct claim *c,
						     uint32_t demands, const struct kphi_rule *rule)
{
	if (demands & KPHI_DEMAND_DEVICE && c->device != rule->ifindex)
		return KPHI_COUNT_peer_device;
	if (demands & KPHI_DEMAND_TTL && c->ttl < rule->min_ttl)
		return KPHI_COUNT_peer_ttl;
	if (demands & KPHI_DEMAND_SOURCE && !verify_source(f, c, rule))
		return KPHI_COUNT_peer_source;
	return KPHI_COUNT_beat;
}

/* Which of the keys has this number; NULL: none of the two. */
static __always_inline const uint64_t *verify_key(const struct kphi_keys *k, uint32_t key_id)
{
	if (!key_id)
		return 0;
	if (k->key_id[0] == key_id)
		return k->key[0];
	return k->key_id[1] == key_id ? k->key[1] : 0;
}

/*
 * The tag of a message that was found to be whole. All of it is computed and then compared as one number,
 * whatever it is: how long that takes tells nothing about a tag.
 */
static __always_inline enum kphi_counter verify_tag(const struct frame *f, struct claim *c,
						    const struct kphi_keys *k)
{
	const struct kphi_wire *w = frame_at(f, c->payload, sizeof(*w));
	const uint64_t *key;

	if (!w)
		return KPHI_COUNT_internal;
	if (!(w->flags & bpf_htons(KPHI_WIRE_SIGNED)))
		return KPHI_COUNT_not_signed;
	c->key_id = bpf_ntohl(w->key_id);
	key = verify_key(k, c->key_id);
	if (!key)
		return KPHI_COUNT_unknown_key;
	return kphi_wire_tag(w, key) == bpf_be64_to_cpu(w->tag) ? KPHI_COUNT_beat : KPHI_COUNT_bad_tag;
}

#endif
