// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs for tc, where XDP cannot be had: with an Ethernet header, and without one, as tunnels have it.
 * A test run makes its socket buffer of an Ethernet frame and takes the protocol from there, so the packets
 * without one come from addresses that have the right two bytes where it looks: 8.0.0.N and fd00:0:86dd::N.
 */
#include "prog/rules.h"

static const uint8_t some[24] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct shape v4 = {.version = 4, .source = 2, .port = RULE_PORT};
static const struct shape v6 = {.version = 6, .source = 2, .port = RULE_PORT};

static int open_world(void **state)
{
	(void)state;
	world_open_loose(&world, 16, 8);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* Runs the packet as it is through one of the programs: who comes next decides on it, and finds it as it
 * came. */
static void run(const struct bpf_program *program, uint32_t device)
{
	static uint8_t out[PACKET_MAX];
	struct __sk_buff context = {.ifindex = device};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet.bytes, .data_size_in = packet.length,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &context,
		    .ctx_size_in = sizeof(context));

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	assert_int_equal((int)opts.retval, -1);
	assert_int_equal(opts.data_size_out, packet.length);
	assert_memory_equal(out, packet.bytes, packet.length);
}

static void expect_by(const struct bpf_program *program, uint32_t device, int outcome, const char *what)
{
	uint64_t before[KPHI_COUNTERS];

	world_counts(&world, before);
	run(program, device);
	assert_moved(&world, before, outcome, 0, what, packet.length);
}

/* The IP packet of a frame alone, from the address that a test run needs. */
static void strip(void)
{
	if (packet.version == 4)
		memcpy(packet.bytes + packet.network + 12, "\x08\x00\x00", 3);
	else
		memcpy(packet.bytes + packet.network + 8, "\xfd\x00\x00\x00\x86\xdd", 6);
	packet.length -= packet.network;
	memmove(packet.bytes, packet.bytes + packet.network, packet.length);
}

static void build_stripped(const struct shape *s, const void *payload, uint32_t size)
{
	packet_build_around(&packet, s, payload, size);
	strip();
}

static uint32_t add_stripped(const struct shape *s)
{
	struct kphi_peer peer =
		rule_peer(&(struct rule_for){.source = s->source, .version = s->version, .port = s->port});
	const struct kphi_rule rule = {.match = {rule_match(some, 20, 4)}};

	if (s->version == 4)
		peer.id.bytes[12] = 8;
	else
		memcpy(peer.id.bytes, "\xfd\x00\x00\x00\x86\xdd", 6);
	return world_add_rule(&world, &peer, &rule);
}

static void with_ethernet(void **state)
{
	const struct bpf_program *tc = world.skeleton->progs.kphi_tc;
	uint32_t slot = rule_add(&(struct rule_for){.source = 2}, NULL);
	struct message m;

	(void)state;
	packet_build_around(&packet, &v4, some, sizeof(some));
	expect_by(tc, 0, KPHI_COUNT_beat, "a rule's");
	assert_int_equal(world_record(&world, slot).device, 1);
	packet.length--;
	expect_by(tc, 0, KPHI_COUNT_malformed_ipv4, "cut");
	packet_build_around(&packet, &(struct shape){.version = 4, .source = 3, .port = RULE_PORT}, some,
			    sizeof(some));
	expect_by(tc, 0, KPHI_COUNT_no_rule, "nobody's");
	packet_build_around(&packet, &(struct shape){.version = 6, .port = 53}, some, sizeof(some));
	expect_by(tc, 0, NOTHING, "foreign");

	slot = world_add(&world, NULL);
	m = world_message(&world, slot, 1, 1);
	packet_build(&packet, &(struct shape){.version = 6, .tags = {TPID_Q}}, &m);
	expect_by(tc, 0, KPHI_COUNT_beat, "a message");
	expect_by(tc, 0, KPHI_COUNT_duplicate, "again");
	assert_int_equal(beats_of(slot), 1);
}

static void without_ethernet(void **state)
{
	const struct bpf_program *tc = world.skeleton->progs.kphi_tc_ip;
	const struct shape shapes[] = {v4, v6};

	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		uint32_t slot = add_stripped(&shapes[i]);
		struct shape foreign = shapes[i], other = shapes[i];

		build_stripped(&shapes[i], some, sizeof(some));
		expect_by(tc, 0, KPHI_COUNT_beat, "a rule's");
		assert_int_equal(beats_of(slot), 1);
		packet.length--;
		expect_by(tc, 0, i ? KPHI_COUNT_malformed_ipv6 : KPHI_COUNT_malformed_ipv4, "cut");
		build_stripped(&shapes[i], some, 23);
		expect_by(tc, 0, KPHI_COUNT_no_rule, "a shorter payload");
		other.source = 3;
		build_stripped(&other, some, sizeof(some));
		expect_by(tc, 0, KPHI_COUNT_no_rule, "nobody's");
		foreign.port = 53;
		build_stripped(&foreign, some, sizeof(some));
		expect_by(tc, 0, NOTHING, "foreign");
	}
}

/* A rule for a device is looked up by the one that the buffer came by. */
static void by_a_device(void **state)
{
	const struct bpf_program *tc = world.skeleton->progs.kphi_tc;
	struct kphi_rule rule = {.device = "lo"};

	(void)state;
	rule_add(&(struct rule_for){.source = 2, .device = 1}, &rule);
	packet_build_around(&packet, &v4, some, sizeof(some));
	expect_by(tc, 1, KPHI_COUNT_beat, "its device");
	rule.device[0] = 'x';
	rule_add(&(struct rule_for){.source = 3, .device = 2}, &rule);
	packet_build_around(&packet, &(struct shape){.version = 4, .source = 3, .port = RULE_PORT}, some,
			    sizeof(some));
	expect_by(tc, 1, KPHI_COUNT_no_rule, "another device");
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(with_ethernet),
		IN_A_WORLD(without_ethernet),
		IN_A_WORLD(by_a_device),
	};

	return cmocka_run_group_tests_name("tc", tests, NULL, NULL);
}
