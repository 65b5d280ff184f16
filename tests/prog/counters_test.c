// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every counter of <kphi/counters.h> has a packet that moves it, and moves what belongs to it alone. Whoever
 * adds a counter finds this test failing until there is one. The maps are not frozen here: what no packet can
 * bring about alone (a stall, another CPU's later stamp, an identity that points nowhere) is written into
 * them.
 */
#include "kernel/keyring.h"
#include "prog/bfd.h"
#include "prog/world.h"

#define SECOND 1000000000ULL

static struct world world;
static struct packet packet;

static void write_record(uint32_t slot, const struct kphi_record *r)
{
	assert_int_equal(bpf_map_update_elem(load_map_fd(world.skeleton, "records"), &slot, r, BPF_ANY), 0);
}

/* A peer that was heard twice: epoch 10, sequences 100 and 110. */
static uint32_t living_peer(void)
{
	const struct kphi_peer settings = {.id.kind = KPHI_ID_NATIVE, .interval_ns = SECOND};
	uint32_t slot = world_add(&world, &settings);
	struct message m = world_message(&world, slot, 10, 100);

	expect_message(&world, &m, KPHI_COUNT_beat, 0, "first");
	m.sequence = 110;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "second");
	return slot;
}

struct cause {
	struct shape shape;
	struct message message;
	uint32_t cut; /* bytes missing at the end */
	uint32_t notes;
	int outcome;
};

/* Messages of a living peer that differ from its next beat in one thing. */
static bool message_causes(struct cause *c, enum kphi_counter which)
{
	struct message *m = &c->message;

	switch (which) {
	case KPHI_COUNT_beat:
		return true;
	case KPHI_COUNT_leave:
		m->type = 2;
		return true;
	case KPHI_COUNT_down:
		m->type = 3;
		return true;
	case KPHI_COUNT_wire_type:
		m->type = 4;
		return true;
	case KPHI_COUNT_unknown_peer:
		m->id[15] = 0xff;
		return true;
	case KPHI_COUNT_stale_epoch:
		m->epoch = 9;
		return true;
	case KPHI_COUNT_future_epoch:
		m->epoch = UINT64_MAX;
		return true;
	case KPHI_COUNT_duplicate:
		m->sequence = 110;
		return true;
	case KPHI_COUNT_reordered:
		m->sequence = 105;
		return true;
	case KPHI_COUNT_stale_sequence:
		m->sequence = 46;
		return true;
	case KPHI_COUNT_restart:
		m->epoch = 11;
		return true;
	default:
		return false;
	}
}

/* Frames that differ from the plainest one in one thing. */
static bool frame_causes(struct cause *c, enum kphi_counter which)
{
	static const struct extension options = {EXTENSION_OPTIONS, 0, 0};

	switch (which) {
	case KPHI_COUNT_malformed_ethernet:
		c->shape.tags[0] = TPID_Q;
		c->cut = 20 + 8 + MESSAGE_SIZE + 2;
		return true;
	case KPHI_COUNT_malformed_ipv4:
		c->cut = 1;
		return true;
	case KPHI_COUNT_malformed_ipv6:
		c->shape.version = 6;
		c->cut = 1;
		return true;
	case KPHI_COUNT_ipv6_extensions:
		c->shape.version = 6;
		c->shape.extensions_count = 7;
		for (int i = 0; i < 7; i++)
			c->shape.extensions[i] = options;
		return true;
	case KPHI_COUNT_fragment:
		c->shape.fragment = 1;
		return true;
	default:
		return false;
	}
}

/* Bytes of the built packet that are not as they ought to be. */
static bool byte_causes(enum kphi_counter which)
{
	switch (which) {
	case KPHI_COUNT_malformed_udp:
		packet.bytes[packet.headers_end + 4] = 0xff;
		return true;
	case KPHI_COUNT_wire_short:
		packet.bytes[packet.headers_end + 5]--;
		return true;
	case KPHI_COUNT_wire_magic:
		*packet_message(&packet, 0) = 'k';
		return true;
	case KPHI_COUNT_wire_version:
		*packet_message(&packet, 4) = 2;
		return true;
	case KPHI_COUNT_wire_length:
		*packet_message(&packet, 9) = 87;
		return true;
	default:
		return false;
	}
}

/* What a slot, a clock or a guard makes of the plainest beat. */
static bool world_causes(struct cause *c, enum kphi_counter which, uint32_t slot)
{
	struct kphi_record r = world_record(&world, slot);
	const struct kphi_slot nowhere = {.slot = UINT32_MAX};
	struct kphi_tick tick = {.stall_end_ns = clock_monotonic_ns(), .stall_length_ns = SECOND};
	const uint32_t cpu = 0;

	switch (which) {
	case KPHI_COUNT_after_down:
		r.state = KPHI_DOWN;
		break;
	case KPHI_COUNT_stamp_inverted:
		r.last_ns += 3600 * SECOND;
		break;
	case KPHI_COUNT_capped:
		r.last_ns -= 11 * SECOND;
		break;
	case KPHI_COUNT_retuned:
		r.last_ns -= 11 * SECOND;
		r.window.capped_run = KPHI_RETUNE_RUN - 1;
		c->notes |= KPHI_NOTE(capped);
		break;
	case KPHI_COUNT_unlearned:
		return !bpf_map_update_elem(load_map_fd(world.skeleton, "ticks"), &cpu, &tick, BPF_ANY);
	case KPHI_COUNT_internal:
		return !bpf_map_update_elem(load_map_fd(world.skeleton, "ids"), &world.store.peers[slot].id,
					    &nowhere, BPF_ANY);
	default:
		return false;
	}
	write_record(slot, &r);
	return true;
}

/* --- packets of rules: each rule has a port of its own --- */

static void add_rule(struct cause *c, const struct kphi_rule *rule)
{
	static uint16_t port = 9000;
	struct kphi_peer peer = {
		.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = port},
		.interval_ns = SECOND,
	};

	if (!rule->any_source)
		memcpy(peer.id.bytes, (uint8_t[16]){[10] = 0xff, 0xff, 10}, 16);
	world_add_rule(&world, &peer, rule);
	c->shape.port = port++;
}

/* What a rule asks for, and the plainest packet has not. */
static bool rule_causes(struct cause *c, enum kphi_counter which)
{
	static struct packet first;
	struct kphi_rule rule = {.min_ttl = 64};

	switch (which) {
	case KPHI_COUNT_no_rule:
		rule.match[0] = (struct kphi_match){.value = 'k', .mask = 0xff, .width = 1};
		break;
	case KPHI_COUNT_rule_ttl:
		rule.min_ttl = 65;
		break;
	case KPHI_COUNT_rule_vlan:
		rule.vlan = 99;
		c->shape.tags[0] = TPID_Q;
		break;
	case KPHI_COUNT_rule_short:
		rule.sequence_offset = MESSAGE_SIZE - 3;
		rule.sequence_bits = 32;
		break;
	case KPHI_COUNT_handover:
		rule.any_source = 1;
		break;
	default:
		return false;
	}
	add_rule(c, &rule);
	if (which == KPHI_COUNT_handover) {
		packet_build(&first, &c->shape, &c->message);
		expect(&world, &first, KPHI_COUNT_beat, 0, "the first speaker");
		c->shape.source = 9;
	}
	packet_build(&packet, &c->shape, &c->message);
	return true;
}

/* A session that was heard once, and a packet of it that differs from the next one in one thing. */
static bool bfd_causes(struct cause *c, enum kphi_counter which)
{
	static const struct kphi_rule rule = {.decoder = KPHI_DECODER_BFD};
	static struct packet first;
	uint8_t payload[BFD_SIZE];

	bfd_write(payload, &bfd_up);
	packet_build_around(&first, &c->shape, payload, sizeof(payload));
	switch (which) {
	case KPHI_COUNT_bfd_short:
		payload[3]--;
		break;
	case KPHI_COUNT_bfd_version:
		payload[0] += 1 << 5;
		break;
	case KPHI_COUNT_bfd_multiplier:
		payload[2] = 0;
		break;
	case KPHI_COUNT_bfd_multipoint:
		payload[1] |= BFD_MULTIPOINT;
		break;
	case KPHI_COUNT_bfd_discriminator:
		put32(payload + 4, 0);
		break;
	case KPHI_COUNT_renegotiated:
		put32(payload + 12, 1000000);
		break;
	default:
		return false;
	}
	add_rule(c, &rule);
	put16(first.bytes + first.headers_end + 2, c->shape.port);
	expect(&world, &first, KPHI_COUNT_beat, 0, "a session");
	packet_build_around(&packet, &c->shape, payload, sizeof(payload));
	return true;
}

/* Somebody asks for arrivals, or for messages of unknown ids, but does not come to take them. */
static bool reader_causes(struct cause *c, enum kphi_counter which, uint32_t slot)
{
	struct kphi_control forever = {.op = KPHI_CONTROL_RECORD, .until_ns = UINT64_MAX};
	static const struct shape plain = {.version = 4};

	if (which == KPHI_COUNT_undiscovered) {
		forever.op = KPHI_CONTROL_DISCOVER;
		c->outcome = KPHI_COUNT_unknown_peer;
		c->message.id[15] = 0xff;
	} else if (which != KPHI_COUNT_unrecorded) {
		return false;
	}
	assert_int_equal(world_ask(&world, &forever, sizeof(forever)), KPHI_CONTROL_OK);
	while (!store_count(&world.store, which)) {
		packet_build(&packet, &plain, &c->message);
		assert_int_equal(world_try(&world, &packet), 0);
		if (which == KPHI_COUNT_unrecorded)
			c->message = world_message(&world, slot, c->message.epoch, c->message.sequence + 1);
	}
	packet_build(&packet, &c->shape, &c->message);
	return true;
}

/* A peer that demands something which its next beat has not. */
static bool demand_causes(struct cause *c, enum kphi_counter which, uint32_t slot)
{
	static const uint8_t wrong[16] = {1};
	const struct kphi_rule rule = {.min_ttl = 255, .sources = 1, .ifindex = 99};
	const struct key key = {7, {1, 2}};
	struct kphi_peer peer = world.store.peers[slot];
	int ring = keyring_make(&world.control, &world.store, "ring", &world.why);

	assert_int_equal(keyring_add(&world.control, &world.store, ring, &key, &world.why), 0);
	peer.ring = (uint16_t)ring;
	c->message.key = which == KPHI_COUNT_not_signed ? NULL : wrong;
	c->message.key_id = which == KPHI_COUNT_unknown_key ? 8 : key.id;
	switch (which) {
	case KPHI_COUNT_peer_source:
		peer.demands = KPHI_DEMAND_SOURCE;
		break;
	case KPHI_COUNT_peer_device:
		peer.demands = KPHI_DEMAND_DEVICE;
		break;
	case KPHI_COUNT_peer_ttl:
		peer.demands = KPHI_DEMAND_TTL;
		break;
	case KPHI_COUNT_not_signed:
	case KPHI_COUNT_unknown_key:
	case KPHI_COUNT_bad_tag:
		peer.demands = KPHI_DEMAND_KEY;
		break;
	default:
		return false;
	}
	assert_int_equal(bpf_map_update_elem(load_map_fd(world.skeleton, "peers"), &slot, &peer, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(load_map_fd(world.skeleton, "rules"), &slot, &rule, BPF_ANY), 0);
	packet_build(&packet, &c->shape, &c->message);
	return true;
}

static void cause_it(enum kphi_counter which)
{
	uint32_t slot = living_peer();
	struct cause c = {.shape.version = 4, .message = world_message(&world, slot, 10, 111)};
	const struct kphi_control nobody[] = {{.op = KPHI_CONTROL_RECORD}, {.op = KPHI_CONTROL_DISCOVER}};
	struct kphi_tick calm = {.last_ns = 0};
	const uint32_t cpu = 0;
	bool caused;

	c.outcome = which < KPHI_COUNT_restart ? (int)which : KPHI_COUNT_beat;
	c.notes = which < KPHI_COUNT_restart ? 0 : 1U << (which - KPHI_COUNT_restart);
	caused = message_causes(&c, which) || frame_causes(&c, which);
	packet_build(&packet, &c.shape, &c.message);
	packet.length -= c.cut;
	caused = caused || byte_causes(which) || world_causes(&c, which, slot) || rule_causes(&c, which) ||
		 bfd_causes(&c, which) || reader_causes(&c, which, slot) || demand_causes(&c, which, slot);
	if (!caused)
		fail_msg("no packet here moves %s", counter_names[which]);
	expect(&world, &packet, c.outcome, c.notes, counter_names[which]);
	for (size_t i = 0; i < COUNT(nobody); i++)
		assert_int_equal(world_ask(&world, &nobody[i], sizeof(nobody[i])), KPHI_CONTROL_OK);
	assert_int_equal(bpf_map_update_elem(load_map_fd(world.skeleton, "ticks"), &cpu, &calm, BPF_ANY), 0);
}

static void every_counter_moves(void **state)
{
	(void)state;
	world_open_loose(&world, 2 * KPHI_COUNTERS, 8);
	for (int which = 0; which < KPHI_COUNTERS; which++)
		cause_it(which);
	for (int which = 0; which < KPHI_COUNTERS; which++)
		assert_true(store_count(&world.store, which) > 0);
	world_close(&world);
}

/* A beat stamped before the last one by another CPU counts, teaches nothing and leaves the last arrival. */
static void inverted_stamps(void **state)
{
	struct kphi_record before, after;
	struct message m;
	uint32_t slot;

	(void)state;
	world_open_loose(&world, 4, 8);
	slot = living_peer();
	before = world_record(&world, slot);
	before.last_ns += 3600 * SECOND;
	before.cpu = 77;
	write_record(slot, &before);
	m = world_message(&world, slot, 10, 111);
	expect_message(&world, &m, KPHI_COUNT_beat, KPHI_NOTE(stamp_inverted), "inverted");
	after = world_record(&world, slot);
	assert_int_equal(after.beats, before.beats + 1);
	assert_int_equal(after.stamp_inverted, 1);
	assert_int_equal(after.last_ns, before.last_ns);
	assert_int_equal(after.cpu, 77);
	assert_int_equal(after.sequence.highest, 111);
	assert_memory_equal(&after.window, &before.window, sizeof(after.window));
	m.epoch = 11;
	expect_message(&world, &m, KPHI_COUNT_beat, KPHI_NOTE(stamp_inverted) | KPHI_NOTE(restart),
		       "a new life, inverted");
	assert_int_equal(world_record(&world, slot).last_ns, before.last_ns);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_moves),
		cmocka_unit_test(inverted_stamps),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
