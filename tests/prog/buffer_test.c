// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The packet path behind XDP, over socket buffers: it finds what the XDP program finds in the same bytes,
 * whole, cut and spoilt, and every packet goes on unchanged to whoever comes next.
 */
#include "prog/world.h"

#define TC_NEXT     ((uint32_t)-1) /* TC_ACT_UNSPEC */
#define DAMAGE_RUNS 20000
#define TAG         100 /* that packet.h writes into the outermost tag */
#define RULE_PORT   5000

/* So slow that no pause of a test is a capped interval. */
static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;
static struct programs programs;
static struct packet packet, cut;
static uint32_t slot;

static const struct shape shapes[] = {
	{.version = 4},
	{.version = 4, .option_words = 3},
	{.version = 4, .trailer = 500},
	{.version = 4, .padding = 20},
	{.version = 4, .fragment = FRAGMENT4_MORE},
	{.version = 4, .fragment = 100},
	{.version = 4, .protocol = PROTOCOL_TCP},
	{.version = 4, .port = 9},
	{.version = 4, .tags = {TPID_Q}},
	{.version = 4, .tags = {TPID_AD, TPID_Q}},
	{.version = 4, .tags = {TPID_AD, TPID_Q, TPID_Q}},
	{.version = 6},
	{.version = 6, .trailer = 1300},
	{.version = 6, .tags = {TPID_Q}},
	{.version = 6, .protocol = PROTOCOL_ICMP6},
	{.version = 6,
	 .extensions_count = 3,
	 .extensions = {{EXTENSION_HOP, 0, 0}, {EXTENSION_ROUTING, 2, 0}, {EXTENSION_OPTIONS, 0, 0}}},
	{.version = 6, .extensions_count = 1, .extensions = {{EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE}}},
	{.version = 6, .extensions_count = 1, .extensions = {{EXTENSION_FRAGMENT, 0, 64}}},
	{.ethertype = ETHERTYPE_ARP},
};

/* A packet through one of the programs; it has to pass unchanged. False: newer kernels make no socket buffer
 * of one that ends within the header which they take for that of IP. */
static bool run_buffer(enum load_program which, const uint8_t *bytes, uint32_t length)
{
	static uint8_t out[PACKET_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = bytes, .data_size_in = length, .data_out = out,
		    .data_size_out = sizeof(out));

	int err = bpf_prog_test_run_opts(programs_fd(&programs, which), &run);

	if (err == -EINVAL && length < 14 + 40)
		return false;
	assert_int_equal(err, 0);
	assert_int_equal(run.retval, TC_NEXT);
	assert_int_equal(run.data_size_out, length);
	assert_memory_equal(out, bytes, length);
	return true;
}

static void expect_buffer(enum load_program which, const struct packet *p, int outcome, const char *what)
{
	uint64_t before[KPHI_COUNTERS];

	world_counts(&world, before);
	assert_true(run_buffer(which, p->bytes, p->length));
	assert_moved(&world, before, outcome, 0, what, p->length);
}

static void build(const struct shape *shape)
{
	static uint64_t sequence;
	struct message m = world_message(&world, slot, 1, ++sequence);

	packet_build(&packet, shape, &m);
}

/*
 * The same packet without its Ethernet header. A test run reads the protocol where that header would have it,
 * so the source address has to be one that has it there: 8.0.0.1, or 0:0:86dd::.
 */
static void strip(const struct packet *from, struct packet *to)
{
	to->version = from->version;
	to->length = from->length - from->network;
	memcpy(to->bytes, from->bytes + from->network, to->length);
	put16(to->bytes + 12, from->version == 6 ? 0x86dd : 0x0800);
}

static void beats(void **state)
{
	static const struct shape heard[] = {
		{.version = 4}, {.version = 4, .tags = {TPID_Q}}, {.version = 4, .tags = {TPID_AD, TPID_Q}},
		{.version = 6}, {.version = 6, .tags = {TPID_Q}}, {.version = 4, .trailer = 1300},
	};
	struct kphi_record before = world_record(&world, slot), after;

	(void)state;
	for (size_t i = 0; i < COUNT(heard); i++) {
		build(&heard[i]);
		expect_buffer(LOAD_TC, &packet, KPHI_COUNT_beat, "tc");
	}
	for (size_t i = 0; i < COUNT(heard); i++) {
		build(&heard[i]);
		if (heard[i].tags[0])
			continue;
		strip(&packet, &cut);
		expect_buffer(LOAD_TC_IP, &cut, KPHI_COUNT_beat, "tc_ip");
	}
	after = world_record(&world, slot);
	assert_int_equal(after.beats - before.beats, 9);
	assert_int_equal(after.device, 1); /* that of a test run: the loopback */
}

static void nothing_of_ours(void **state)
{
	static const struct shape foreign[] = {
		{.version = 4, .port = 9},
		{.version = 4, .protocol = PROTOCOL_TCP},
		{.version = 6, .protocol = PROTOCOL_ICMP6},
		{.ethertype = ETHERTYPE_ARP},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(foreign); i++) {
		build(&foreign[i]);
		expect_buffer(LOAD_TC, &packet, NOTHING, "tc");
	}
}

/* What a packet moves: the XDP program's answer is the other's, too. */
static void agree(const struct packet *p, const struct packet *ip)
{
	uint64_t before[KPHI_COUNTERS], xdp[KPHI_COUNTERS], after[KPHI_COUNTERS];

	world_counts(&world, before);
	assert_int_equal(world_try(&world, p), 0);
	world_counts(&world, xdp);
	if (ip ? !run_buffer(LOAD_TC_IP, ip->bytes, ip->length) : !run_buffer(LOAD_TC, p->bytes, p->length))
		return;
	world_counts(&world, after);
	for (int i = 0; i < KPHI_COUNTERS; i++)
		if (after[i] - xdp[i] != xdp[i] - before[i])
			fail_msg("%u bytes: XDP moves %s by %" PRIu64 ", tc by %" PRIu64, p->length,
				 counter_names[i], xdp[i] - before[i], after[i] - xdp[i]);
}

/* Of a peer that nobody knows, so that the second look finds what the first did. */
static void build_strange(const struct shape *shape)
{
	const struct message m = {.id = {1, 2, 3}, .type = 1, .epoch = 1, .sequence = 1};

	packet_build(&packet, shape, &m);
}

/* Every shape at every length that a test run takes. */
static void cut_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		build_strange(&shapes[i]);
		for (uint32_t length = WORLD_MIN_FRAME; length <= packet.length; length++) {
			memcpy(cut.bytes, packet.bytes, length);
			cut.length = length;
			agree(&cut, NULL);
		}
	}
}

static void cut_short_without_ethernet(void **state)
{
	static struct packet whole, ip;

	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		if (!shapes[i].version || shapes[i].tags[0])
			continue;
		build_strange(&shapes[i]);
		strip(&packet, &whole);
		memcpy(packet.bytes + packet.network, whole.bytes, whole.length);
		for (uint32_t length = WORLD_MIN_FRAME; length <= whole.length; length++) {
			memcpy(cut.bytes, packet.bytes, length + packet.network);
			cut.length = length + packet.network;
			ip.length = length;
			memcpy(ip.bytes, whole.bytes, length);
			agree(&cut, &ip);
		}
	}
}

static void spoilt(void **state)
{
	uint32_t seed = 4711;

	(void)state;
	for (int run = 0; run < DAMAGE_RUNS; run++) {
		build_strange(&shapes[run % (int)COUNT(shapes)]);
		for (int i = 0; i < 3; i++) {
			seed = seed * 1664525 + 1013904223;
			packet.bytes[(seed >> 8) % 120] ^= (uint8_t)(1 << (seed >> 28 & 7));
		}
		agree(&packet, NULL);
	}
}

/* --- rules --- */

static uint32_t add_rule(const char *name, uint8_t source, const struct kphi_rule *rule, uint32_t device)
{
	struct kphi_peer peer = {.id = {.kind = KPHI_ID_RULE, .protocol = PROTOCOL_UDP, .port = RULE_PORT},
				 .interval_ns = 3600000000000};
	uint32_t at = 0;

	snprintf(peer.name, sizeof(peer.name), "%s", name);
	memcpy(peer.id.bytes, (uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, source}, sizeof(peer.id.bytes));
	peer.id.device = device;
	if (control_add(&world.control, &world.store, &peer, rule, &at, &world.why))
		fail_msg("%s", world.why.text);
	return at;
}

static void expect_rule(uint8_t source, uint16_t tag, int outcome, const char *what)
{
	build(&(struct shape){.version = 4, .source = source, .port = RULE_PORT, .tags = {tag}});
	expect_buffer(LOAD_TC, &packet, outcome, what);
}

static void vlan(void **state)
{
	(void)state;
	add_rule("right", 1, &(struct kphi_rule){.vlan = TAG}, 0);
	add_rule("wrong", 2, &(struct kphi_rule){.vlan = TAG + 1}, 0);
	expect_rule(1, TPID_Q, KPHI_COUNT_beat, "its VLAN");
	expect_rule(2, TPID_Q, KPHI_COUNT_rule_vlan, "another VLAN");
	expect_rule(2, 0, KPHI_COUNT_beat, "a tag that is gone cannot be held against a packet");
}

/* A rule that names a device is deaf until it knows the device's number, and from then on hears it. */
static void follows(void **state)
{
	const struct kphi_rule rule = {.device = "lo"};
	uint32_t at = add_rule("named", 3, &rule, 4242);

	(void)state;
	expect_rule(3, 0, KPHI_COUNT_no_rule, "by another device");
	assert_int_equal(control_follow(&world.control, &world.store, "eth7", 1, &world.why), 0);
	expect_rule(3, 0, KPHI_COUNT_no_rule, "nor when another one is attached");
	assert_int_equal(control_follow(&world.control, &world.store, "lo", 1, &world.why), 0);
	expect_rule(3, 0, KPHI_COUNT_beat, "by its own");
	assert_int_equal(world.store.peers[at].id.device, 1);
	assert_int_equal(control_follow(&world.control, &world.store, "lo", 4242, &world.why), 0);
	expect_rule(3, 0, KPHI_COUNT_no_rule, "which has another number by now");
}

static int begin(void **state)
{
	(void)state;
	world_open(&world, "tc", 16, 100);
	programs = (struct programs){.p = &world.pin, .header = world.store.header};
	if (programs_need(&programs, LOAD_TC | LOAD_TC_IP, &world.why))
		fail_msg("%s", world.why.text);
	slot = world_add(&world, &hourly);
	return 0;
}

static int end(void **state)
{
	(void)state;
	programs_free(&programs);
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beats),     cmocka_unit_test(nothing_of_ours),
		cmocka_unit_test(cut_short), cmocka_unit_test(cut_short_without_ethernet),
		cmocka_unit_test(spoilt),    cmocka_unit_test(vlan),
		cmocka_unit_test(follows),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
