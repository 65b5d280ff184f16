/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules and packets for them, for the tests of the rule engine: one world, one packet at a time. */
#ifndef KPHI_TESTS_RULES_H
#define KPHI_TESTS_RULES_H

#include "prog/world.h"

#define RULE_PORT 5405

static struct world world;
static struct packet packet;

/* What most rules of these tests are for: UDP from 10.0.0.N to RULE_PORT, once an hour. */
struct rule_for {
	uint8_t source; /* 0: anybody */
	uint16_t port; /* 0: RULE_PORT */
	uint8_t protocol; /* 0: UDP */
	uint8_t version; /* of `source`; 0: 4 */
	uint32_t device; /* ifindex */
};

static inline struct kphi_peer rule_peer(const struct rule_for *f)
{
	struct kphi_peer peer = {.id.kind = KPHI_ID_RULE, .interval_ns = 3600000000000};

	peer.id.protocol = f->protocol ? f->protocol : PROTOCOL_UDP;
	if (peer.id.protocol == PROTOCOL_UDP)
		peer.id.port = f->port ? f->port : RULE_PORT;
	peer.id.device = f->device;
	if (!f->source)
		return peer;
	if (f->version == 6) { /* as packet.h numbers them */
		peer.id.bytes[0] = 0xfd;
	} else {
		peer.id.bytes[10] = peer.id.bytes[11] = 0xff;
		peer.id.bytes[12] = 10;
	}
	peer.id.bytes[15] = f->source;
	return peer;
}

/* Adds a peer that is known by a rule; returns its slot. */
static inline uint32_t rule_add(const struct rule_for *f, const struct kphi_rule *rule)
{
	struct kphi_rule r = rule ? *rule : (struct kphi_rule){.min_ttl = 0};
	struct kphi_peer peer = rule_peer(f);

	r.any_source = !f->source;
	return world_add_rule(&world, &peer, &r);
}

static inline void rule_delete(uint32_t slot)
{
	struct kphi_record r = world_record(&world, slot);

	if (control_delete(&world.control, &world.store, slot, r.generation, &world.why))
		fail_msg("%s", world.why.text);
}

/* Asks for `width` bytes at `offset` to be those of `payload`, under a mask of all their bits. */
static inline struct kphi_match rule_match(const uint8_t *payload, uint16_t offset, uint8_t width)
{
	struct kphi_match m = {.mask = UINT64_MAX >> (64 - 8 * width), .offset = offset, .width = width};

	for (uint8_t i = 0; i < width; i++)
		m.value = m.value << 8 | payload[offset + i];
	return m;
}

/* A packet of this shape with this payload has to move exactly this. */
static inline void expect_payload(const struct shape *s, const void *payload, uint32_t size, int outcome,
				  uint32_t notes, const char *what)
{
	packet_build_around(&packet, s, payload, size);
	expect(&world, &packet, outcome, notes, what);
}

static inline uint64_t beats_of(uint32_t slot)
{
	return world_record(&world, slot).beats;
}

#endif
