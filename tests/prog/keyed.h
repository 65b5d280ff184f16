/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A world with native peers that demand something of their messages, and two keys. Include it in one test
 * program each. */
#ifndef KPHI_TESTS_KEYED_H
#define KPHI_TESTS_KEYED_H

#include <kphi/wire.h>
#include <time.h>

#include "kernel/keyring.h"
#include "prog/world.h"

#define PEERS 64

static const uint8_t bytes_1[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t bytes_2[16] = {0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88,
				    0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0};
static const struct key key_1 = {7, {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}};
static const struct key key_2 = {8, {0x8899aabbccddeeffULL, 0x0011223344556677ULL}};

static struct world world;
static struct packet packet;
static int ring;

static inline int open_world(void **state)
{
	(void)state;
	world_open(&world, "keys", PEERS, 8);
	ring = keyring_make(&world.control, &world.store, "cluster", &world.why);
	assert_true(ring >= 0);
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &key_1, &world.why), 0);
	return 0;
}

static inline int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* A peer that demands a tag of that ring, and how it is bound. */
static inline uint32_t add_bound(uint8_t demands, const struct kphi_rule *rule)
{
	const struct kphi_peer peer = {.id.kind = KPHI_ID_NATIVE,
				       .interval_ns = 3600000000000,
				       .demands = demands,
				       .ring = (uint16_t)ring};

	return world_add_rule(&world, &peer, rule);
}

static inline uint32_t add_keyed(void)
{
	return add_bound(KPHI_DEMAND_KEY, NULL);
}

static inline struct message message_of(uint32_t slot, uint64_t epoch, uint64_t sequence)
{
	struct message m = world_message(&world, slot, epoch, sequence);

	m.key_id = key_1.id;
	m.key = bytes_1;
	return m;
}

/* Refused as `outcome`, and not so much as the lock of the record was taken. */
static inline void expect_refused(const struct packet *p, uint32_t slot, int outcome, const char *what)
{
	struct kphi_record before = world_record(&world, slot), after;
	struct kphi_seal seal = world.store.seals[slot];

	expect(&world, p, outcome, 0, what);
	after = world_record(&world, slot);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(world.store.seals[slot].refused, seal.refused + 1);
	assert_int_equal(world.store.seals[slot].refused_as, outcome);
	assert_true(world.store.seals[slot].refused_ns > seal.refused_ns);
}

static inline void build(const struct message *m)
{
	packet_build(&packet, &(const struct shape){.version = 4}, m);
}

static inline void refused(const struct message *m, uint32_t slot, int outcome, const char *what)
{
	build(m);
	expect_refused(&packet, slot, outcome, what);
}

#endif
