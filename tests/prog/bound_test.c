// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Native peers that are bound to where their messages come from: addresses, a device, a TTL. */
#include "prog/keyed.h"

static void bind_source(struct kphi_rule *rule, uint8_t version, uint8_t host)
{
	uint8_t address[16] = {0};

	if (version == 4) {
		address[10] = address[11] = 0xff;
		address[12] = 10;
	} else {
		address[0] = 0xfd;
	}
	address[15] = host;
	memcpy(rule->source[rule->sources++], address, sizeof(address));
}

static void sources(void **state)
{
	struct kphi_rule rule = {0};
	struct message m;
	uint32_t slot;

	(void)state;
	bind_source(&rule, 4, 1);
	bind_source(&rule, 6, 2);
	bind_source(&rule, 4, 3);
	slot = add_bound(KPHI_DEMAND_SOURCE, &rule);
	m = world_message(&world, slot, 1, 0);
	for (uint8_t host = 0; host < 8; host++)
		for (uint8_t version = 4; version <= 6; version += 2) {
			bool own = version == 4 ? host == 1 || host == 3 : host == 2;

			m.sequence++;
			packet_build(&packet, &(const struct shape){.version = version, .source = host}, &m);
			if (own)
				expect(&world, &packet, KPHI_COUNT_beat, 0, "its own address");
			else
				expect_refused(&packet, slot, KPHI_COUNT_peer_source, "another address");
		}
	assert_int_equal(world_record(&world, slot).beats, 3);
}

static void hops(void **state)
{
	const struct kphi_rule rule = {.min_ttl = 255};
	uint32_t slot = add_bound(KPHI_DEMAND_TTL, &rule);
	struct message m = world_message(&world, slot, 1, 0);

	(void)state;
	for (uint32_t ttl = 250; ttl <= 255; ttl++)
		for (uint8_t version = 4; version <= 6; version += 2) {
			m.sequence++;
			packet_build(&packet, &(const struct shape){.version = version, .ttl = (uint8_t)ttl},
				     &m);
			if (ttl == 255)
				expect(&world, &packet, KPHI_COUNT_beat, 0, "from this link");
			else
				expect_refused(&packet, slot, KPHI_COUNT_peer_ttl, "from beyond a router");
		}
}

/* The loopback device is what test runs come by. */
static void devices(void **state)
{
	struct kphi_rule rule = {.ifindex = 77, .device = "eth77"};
	uint32_t slot = add_bound(KPHI_DEMAND_DEVICE, &rule);
	struct message m = world_message(&world, slot, 1, 1);

	(void)state;
	refused(&m, slot, KPHI_COUNT_peer_device, "by lo");
	assert_int_equal(control_follow(&world.control, &world.store, "eth77", 1, &world.why), 0);
	assert_int_equal(world.store.rules[slot].ifindex, 1);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "lo is called eth77 now");
}

/* Of all that may be wrong the cheapest is found first, and a tag is nothing that a flood could ask for. */
static void the_path_comes_before_the_tag(void **state)
{
	struct kphi_rule rule = {.ifindex = 1, .device = "lo", .min_ttl = 255};
	struct shape s = {.version = 4, .source = 9, .ttl = 64};
	struct message m;
	uint32_t slot;

	(void)state;
	bind_source(&rule, 4, 1);
	slot = add_bound(KPHI_DEMAND_KEY | KPHI_DEMAND_SOURCE | KPHI_DEMAND_TTL | KPHI_DEMAND_DEVICE, &rule);
	m = message_of(slot, 1, 1);
	m.key = bytes_2;
	packet_build(&packet, &s, &m);
	expect_refused(&packet, slot, KPHI_COUNT_peer_ttl, "TTL, address and tag");
	s.ttl = 255;
	packet_build(&packet, &s, &m);
	expect_refused(&packet, slot, KPHI_COUNT_peer_source, "address and tag");
	s.source = 1;
	packet_build(&packet, &s, &m);
	expect_refused(&packet, slot, KPHI_COUNT_bad_tag, "tag");
	m.key = bytes_1;
	packet_build(&packet, &s, &m);
	expect(&world, &packet, KPHI_COUNT_beat, 0, "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources),
		cmocka_unit_test(hops),
		cmocka_unit_test(devices),
		cmocka_unit_test(the_path_comes_before_the_tag),
	};

	return cmocka_run_group_tests_name("bound", tests, open_world, close_world);
}
