/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules that the presets of `kphi peer add` amount to, from what is known of the protocols, not from user
 * space's table. */
#ifndef KPHI_TESTS_PRESETS_H
#define KPHI_TESTS_PRESETS_H

#include "io/parse.h"
#include "prog/rules.h"
#include "unit/frame.h"

enum stream_kind {
	BFD, /* RFC 5881 */
	VRRP, /* RFC 5798: type 1 and the router's number, priority 0 a goodbye */
	KNET_PING, /* corosync */
	KNET_PONG,
	KNET_DATA,
	SERF_PING, /* memberlist, neither labelled nor encrypted */
	SERF_ACK,
	DATAGRAM, /* any, to a port */
};

/* One stream of heartbeats. */
struct stream {
	enum stream_kind kind;
	const char *source; /* NULL: anybody */
	uint16_t port; /* VRRP: the router's number */
	uint64_t local_rx_ns;
};

static inline struct kphi_rule stream_rule(const struct stream *s)
{
	static const uint16_t first_bytes[] = {[KNET_PING] = 0x0181,
					       [KNET_PONG] = 0x0182,
					       [KNET_DATA] = 0x0100,
					       [SERF_PING] = 0x00,
					       [SERF_ACK] = 0x02};
	struct kphi_rule r = {.local_rx_ns = s->local_rx_ns, .any_source = !s->source};

	switch (s->kind) {
	case BFD:
		r.decoder = KPHI_DECODER_BFD;
		r.min_ttl = 255;
		break;
	case VRRP:
		r.match[0] = (struct kphi_match){.value = 0x0100 | s->port, .mask = 0x0fff, .width = 2};
		r.leave = (struct kphi_match){.mask = 0xff, .offset = 2, .width = 1};
		r.min_ttl = 255;
		break;
	case KNET_PING:
		r.sequence_offset = 23;
		r.sequence_bits = 16;
		/* fall through */
	case KNET_PONG:
	case KNET_DATA:
		r.match[0] = (struct kphi_match){.value = first_bytes[s->kind], .mask = 0xffff, .width = 2};
		break;
	case SERF_PING:
	case SERF_ACK:
		r.match[0] = (struct kphi_match){.value = first_bytes[s->kind], .mask = 0xff, .width = 1};
		break;
	default:
		break;
	}
	return r;
}

static inline struct kphi_peer stream_peer(const struct stream *s)
{
	struct kphi_peer peer = {.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_UDP, .port = s->port}};
	char why[128];

	if (s->kind == VRRP) {
		peer.id.protocol = PROTOCOL_VRRP;
		peer.id.port = 0;
	}
	if (s->source)
		assert_int_equal(parse_address(s->source, peer.id.bytes, why, sizeof(why)), 0);
	return peer;
}

/* Adds the stream to the world; returns its slot, and the rule as the host sees it in *rule. */
static inline uint32_t stream_add(const struct stream *s, struct frame_rule *rule)
{
	static struct kphi_ports ports;
	const struct kphi_peer peer = stream_peer(s);
	const struct kphi_rule asks = stream_rule(s);
	const uint32_t zero = 0;
	uint32_t slot = world_add_rule(&world, &peer, &asks);

	assert_int_equal(bpf_map_lookup_elem(load_map_fd(world.skeleton, ".data.ports"), &zero, &ports), 0);
	rule->id = world.store.peers[slot].id;
	rule->rule = world.store.rules[slot];
	rule->shape = ports.shape[rule->id.shape];
	return slot;
}

#endif
