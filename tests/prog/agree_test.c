// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs in the kernel, for XDP and for tc, and the same text compiled for the host say the same of a
 * million frames that chance has made or damaged: which counter, and whose beat. So what the unit tests and
 * fuzzers learn from the one holds for the others. KPHI_SEED is another million.
 */
#include <kphi/wire.h>

#include "../../bpf/verify.h"
#include "kernel/keyring.h"
#include "prog/bfd.h"
#include "prog/pcap.h"
#include "prog/presets.h"

#define ROUNDS 1000000
#define SEED   7441
#define PEERS  24
#define REAL   256 /* frames of real daemons, at most */
#define PLAIN  42 /* where the payload of most of them begins */
#define TAKEN  KPHI_COUNT_beat /* stands for all that depends on what was heard before */

/* The slots of native peers; those of the rules follow. */
enum { OPEN, KEYED, BOUND, NATIVES };

static const uint8_t key_bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const struct key key = {7, {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}};
static const struct kphi_keys keys = {.key_id = {7}, .key = {{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}}};
static struct frame_rule list[PEERS];
static struct frame_rules rules = {.list = list, .device = 1};

static uint64_t chance = SEED;

static uint32_t random_below(uint32_t n)
{
	chance = chance * 6364136223846793005U + 1442695040888963407U;
	return n ? (uint32_t)(chance >> 33) % n : 0;
}

/* --- frames --- */

static const struct shape headers[] = {
	{.version = 4},
	{.version = 4, .option_words = 5},
	{.version = 4, .tags = {TPID_Q}, .trailer = 8},
	{.version = 4, .tags = {TPID_Q}, .vlans = {101}},
	{.version = 4, .tags = {TPID_AD, TPID_Q}, .fragment = FRAGMENT4_MORE},
	{.version = 4, .fragment = 185},
	{.version = 6, .padding = 6},
	{.version = 6,
	 .tags = {TPID_Q},
	 .extensions_count = 1,
	 .extensions = {{EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE}}},
	{.version = 6, .extensions_count = 1, .extensions = {{EXTENSION_FRAGMENT, 0, 1480}}},
	{.version = 6,
	 .extensions_count = 3,
	 .extensions = {{EXTENSION_HOP, 0, 0}, {EXTENSION_AH, 2, 0}, {EXTENSION_OPTIONS, 1, 0}}},
	{.version = 6,
	 .extensions_count = 6,
	 .extensions = {{EXTENSION_HOP, 0, 0},
			{EXTENSION_OPTIONS, 0, 0},
			{EXTENSION_ROUTING, 0, 0},
			{EXTENSION_FRAGMENT, 0, 0},
			{EXTENSION_AH, 1, 0},
			{EXTENSION_OPTIONS, 0, 0}}},
};

static const uint8_t knet[26] = {1, 0x81, 0, 2, 0, 0, 0, 0xaa, 7, 0, 0, 0, 0, 0, 0x30};
static const uint8_t vrrp[20] = {0x21, 0x33, 0x96, 1, 0, 1, 0x3e, 0x19, 0x0a, 0x4d};

/* Of one of the native peers: signed rightly, wrongly, with a key that nobody knows, or not. */
static struct message some_message(uint32_t round)
{
	static const uint8_t other[16] = {1};
	struct message m = world_message(&world, random_below(NATIVES), 1, round);

	if (!random_below(4))
		return m;
	m.key = random_below(8) ? key_bytes : other;
	m.key_id = random_below(8) ? key.id : 9;
	return m;
}

static struct {
	uint8_t bytes[256];
	uint32_t length;
} real[REAL];
static uint32_t real_count;

/* What real daemons have said: BFD, VRRP, corosync, memberlist. */
static void read_captures(void)
{
	static const char *const files[] = {"bfd-frr-50ms-shutdown",  "bfd-bird-50ms", "vrrp-v2-1s",
					    "vrrp-v3-100ms-failover", "corosync",      "serf"};
	char path[64];
	struct pcap p;

	for (size_t i = 0; i < COUNT(files); i++) {
		uint32_t before = real_count, last = before + REAL / COUNT(files);

		snprintf(path, sizeof(path), "tests/prog/captures/%s.pcap", files[i]);
		assert_null(pcap_open(&p, path));
		assert_int_equal(p.link_type, PCAP_ETHERNET);
		while (real_count < last &&
		       (real[real_count].length = pcap_next(&p, real[real_count].bytes, sizeof(real->bytes))))
			real_count++;
		pcap_close(&p);
		assert_true(real_count > before);
	}
}

static void build_real(void)
{
	uint32_t which = random_below(real_count);

	packet = (struct packet){.length = real[which].length, .payload = PLAIN};
	memcpy(packet.bytes, real[which].bytes, packet.length);
}

/* Nothing but chance, with a word here and there that lets some of it get further than the first test. */
static void build_noise(void)
{
	static const uint16_t types[] = {0x0800, 0x86dd, TPID_Q, TPID_AD};
	uint8_t *ip = packet.bytes + 14;
	uint16_t type = types[random_below(COUNT(types))], size;

	packet.length = PLAIN + random_below(150);
	packet.payload = PLAIN;
	for (uint32_t i = 0; i < packet.length; i++)
		packet.bytes[i] = (uint8_t)random_below(256);
	if (!random_below(4))
		return;
	put16(packet.bytes + 12, type);
	size = (uint16_t)(packet.length - 14);
	ip[0] = type == 0x86dd ? 0x60 : (uint8_t)(0x45 + (random_below(4) ? 0U : random_below(11)));
	ip[type == 0x86dd ? 6 : 9] = PROTOCOL_UDP;
	if (!random_below(4))
		ip[type == 0x86dd ? 6 : 9] = (uint8_t)random_below(256);
	put16(ip + (type == 0x86dd ? 4 : 2),
	      (uint16_t)(type == 0x86dd ? size - 40U : size - random_below(3)));
	if (random_below(2))
		put16(ip + 6, 0); /* no fragment */
	if (random_below(2))
		put16(ip + 20 + 2, random_below(2) ? MESSAGE_PORT : BFD_PORT);
	if (random_below(2))
		put16(ip + 20 + 4, (uint16_t)(size - 20));
}

/* A payload, and where it goes; the last ones are foreign, which may be dismissed before they are parsed. */
static void build(uint32_t round)
{
	static const uint8_t ttls[] = {64, 254, 255, 255};
	struct shape s = headers[random_below(COUNT(headers))];
	struct message m = some_message(round);
	uint8_t payload[MESSAGE_SIZE];

	s.source = (uint8_t)(2 + random_below(2));
	s.ttl = ttls[random_below(COUNT(ttls))];
	switch (random_below(8)) {
	case 0:
		packet_build(&packet, &s, &m);
		break;
	case 1:
		s.port = BFD_PORT;
		bfd_write(payload, &bfd_up);
		if (!random_below(4))
			payload[random_below(4)] = 0;
		if (!random_below(8))
			put32(payload + 4 + 4 * random_below(2), 0);
		packet_build_around(&packet, &s, payload, BFD_SIZE);
		break;
	case 2:
		s.port = RULE_PORT;
		packet_build_around(&packet, &s, knet, sizeof(knet) - random_below(4));
		break;
	case 3:
		s.bare = true;
		s.protocol = PROTOCOL_VRRP;
		packet_build_around(&packet, &s, vrrp, sizeof(vrrp));
		break;
	case 4:
		s.port = (uint16_t)(random_below(2) ? 53 : MESSAGE_PORT + 1);
		packet_build(&packet, &s, &m);
		break;
	case 5:
		build_real();
		break;
	case 6:
		build_noise();
		break;
	default:
		s.protocol = s.version == 4 || random_below(2) ? PROTOCOL_TCP : PROTOCOL_ICMP6;
		packet_build(&packet, &s, &m);
	}
}

static void damage(struct packet *p)
{
	static const uint8_t telling[] = {0, 1, 17, 43, 44, 51, 60, 112, 0x40, 0x45, 0x60, 0x81, 0x88, 0xff};

	for (uint32_t n = random_below(4); n; n--) {
		uint32_t at = random_below(2)   ? 12 + random_below(p->payload - 12)
			      : random_below(2) ? p->payload + random_below(BFD_SIZE)
						: random_below(p->length);

		switch (at < p->length ? random_below(3) : 3) {
		case 0:
			p->bytes[at] = (uint8_t)random_below(256);
			break;
		case 1:
			p->bytes[at] ^= (uint8_t)(1U << random_below(8));
			break;
		case 2:
			p->bytes[at] = telling[random_below(COUNT(telling))];
			break;
		default:
			break;
		}
	}
	if (!random_below(3))
		p->length = WORLD_MIN_FRAME + random_below(p->length - WORLD_MIN_FRAME + 1);
}

/* --- three opinions --- */

struct opinion {
	int outcome; /* NOTHING, or a counter */
	int slot; /* whose record has moved; -1: none */
};

static struct kphi_counters counters_before;
static uint64_t versions[PEERS];

static void remember(void)
{
	counters_before = world.store.counters[0];
	for (uint32_t i = 0; i < PEERS; i++)
		versions[i] = world.store.records[i].version;
}

static struct opinion of_the_kernel(void)
{
	struct opinion o = {NOTHING, -1};

	for (int i = 0; i < KPHI_COUNT_restart; i++) {
		uint64_t moved = world.store.counters[0].count[i] - counters_before.count[i];

		if (!moved)
			continue;
		assert_int_equal(moved, 1);
		assert_int_equal(o.outcome, NOTHING);
		o.outcome = i;
	}
	for (int i = 0; i < PEERS; i++) {
		if (world.store.records[i].version == versions[i])
			continue;
		assert_int_equal(o.slot, -1);
		o.slot = i;
	}
	if (o.outcome == KPHI_COUNT_leave || o.outcome == KPHI_COUNT_down ||
	    o.outcome == KPHI_COUNT_unknown_peer || o.outcome >= KPHI_COUNT_stale_epoch)
		o.outcome = TAKEN;
	return o;
}

static bool is_rules_row(const struct parsed *p)
{
	for (uint32_t i = 0; i < rules.n; i++)
		if (list[i].id.protocol == p->protocol && list[i].id.port == p->port)
			return true;
	return false;
}

/* Whose native message it is; NATIVES: nobody's. */
static uint32_t find_native(const struct kphi_id *id)
{
	uint32_t slot = 0;

	while (slot < NATIVES && memcmp(id, &world.store.peers[slot].id, sizeof(*id)) != 0)
		slot++;
	return slot;
}

/* What the same text makes of the demands of its peer. */
static struct opinion of_a_native(const struct packet *p, uint32_t slot)
{
	static uint8_t bytes[PACKET_MAX];
	uint64_t length = p->length;
	struct frame f = {bytes, bytes + length, &length, 0};
	struct datagram d = {.payload = 0};
	struct opinion o = {TAKEN, (int)slot};
	struct claim c;

	memcpy(bytes, p->bytes, p->length);
	assert_int_equal(parse_frame(&f, &d), PARSED);
	c = claim_of(&d, slot, 1);
	o.outcome = (int)verify_path(&f, &c, world.store.peers[slot].demands, &world.store.rules[slot]);
	if (o.outcome == TAKEN && world.store.peers[slot].demands & KPHI_DEMAND_KEY)
		o.outcome = (int)verify_tag(&f, &c, &keys);
	if (o.outcome != TAKEN)
		o.slot = -1;
	return o;
}

static struct opinion of_the_host(const struct packet *p)
{
	struct parsed parsed = frame_parse_for(p->bytes, p->length, p->length, &rules);
	bool for_natives = parsed.protocol == PROTOCOL_UDP && parsed.port == MESSAGE_PORT;
	uint32_t native = find_native(&parsed.id);

	if (parsed.verdict != PARSED)
		return (struct opinion){parsed.verdict == FOREIGN ? NOTHING : parsed.verdict, -1};
	if (!for_natives && !is_rules_row(&parsed))
		return (struct opinion){NOTHING, -1};
	if (parsed.fragment)
		return (struct opinion){KPHI_COUNT_fragment, -1};
	if (for_natives && parsed.native == TAKEN && native < NATIVES)
		return of_a_native(p, native);
	if (parsed.rule >= 0)
		return (struct opinion){(int)parsed.ruled,
					parsed.ruled == TAKEN ? NATIVES + parsed.rule : -1};
	if (for_natives)
		return (struct opinion){(int)parsed.native, -1};
	return (struct opinion){KPHI_COUNT_no_rule, -1};
}

/* -EINVAL: newer kernels make no socket buffer of an IP header that is cut short. */
static int run_tc(const struct packet *p)
{
	static uint8_t out[PACKET_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = p->bytes, .data_size_in = p->length, .data_out = out,
		    .data_size_out = sizeof(out));
	int err = bpf_prog_test_run_opts(bpf_program__fd(world.skeleton->progs.kphi_tc), &run);

	if (err == -EINVAL && p->length < WORLD_MIN_FRAME + 40)
		return err;
	assert_int_equal(err, 0);
	assert_int_equal((int)run.retval, -1); /* whoever comes next decides */
	assert_memory_equal(out, p->bytes, p->length);
	return 0;
}

static void print_packet(void)
{
	printf("# ");
	for (uint32_t i = 0; i < packet.length; i++)
		printf("%02x", packet.bytes[i]);
	printf("\n");
}

static void assert_agree(const char *who, uint32_t round, struct opinion host)
{
	struct opinion kernel = of_the_kernel();

	if (kernel.outcome == host.outcome && kernel.slot == host.slot)
		return;
	print_packet();
	fail_msg("round %u, %u bytes: counter %d of slot %d by %s, %d of slot %d on the host", round,
		 packet.length, kernel.outcome, kernel.slot, who, host.outcome, host.slot);
}

static void kernel_and_host_agree(void **state)
{
	uint32_t met[KPHI_COUNTERS + 1] = {0}, taken[PEERS + 1] = {0}, refused = 0;

	(void)state;
	printf("# KPHI_SEED=%llu\n", (unsigned long long)chance);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct opinion host;

		build(round);
		damage(&packet);
		host = of_the_host(&packet);
		remember();
		assert_int_equal(world_try(&world, &packet), 0);
		assert_agree("XDP", round, host);
		if (round % 2 == 0) {
			remember();
			if (run_tc(&packet))
				refused++;
			else
				assert_agree("tc", round, host);
		}
		met[1 + host.outcome]++;
		taken[1 + host.slot]++;
	}
	assert_true(refused < ROUNDS / 10);
	/* Chance met everything there is to agree on. */
	for (int i = NOTHING; i < KPHI_COUNT_stale_epoch; i++)
		if (i != KPHI_COUNT_leave && i != KPHI_COUNT_down && i != KPHI_COUNT_unknown_peer &&
		    i != KPHI_COUNT_peer_device && met[1 + i] < 50)
			fail_msg("met %s only %u times", i < 0 ? "nothing" : counter_names[i], met[1 + i]);
	for (uint32_t i = 0; i <= NATIVES + rules.n; i++)
		if (taken[i] < 50)
			fail_msg("slot %d took only %u", (int)i - 1, taken[i]);
}

/* --- rules of all kinds --- */

static void add(const struct rule_for *f, const struct kphi_rule *rule)
{
	static struct kphi_ports ports;
	struct frame_rule *r = &list[rules.n];
	const uint32_t zero = 0;
	uint32_t slot = rule_add(f, rule);

	assert_int_equal(slot, NATIVES + rules.n++);
	assert_int_equal(bpf_map_lookup_elem(load_map_fd(world.skeleton, ".data.ports"), &zero, &ports), 0);
	r->id = world.store.peers[slot].id;
	r->rule = world.store.rules[slot];
	r->shape = ports.shape[r->id.shape];
}

static void add_natives(void)
{
	struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};
	struct kphi_rule from = {.sources = 1, .min_ttl = 255};
	int ring = keyring_make(&world.control, &world.store, "ring", &world.why);

	assert_true(ring >= 0);
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &key, &world.why), 0);
	assert_int_equal(world_add(&world, &hourly), OPEN);
	hourly.demands = KPHI_DEMAND_KEY;
	hourly.ring = (uint16_t)ring;
	assert_int_equal(world_add(&world, &hourly), KEYED);
	hourly.demands |= KPHI_DEMAND_SOURCE | KPHI_DEMAND_TTL;
	memcpy(from.source[0], (const uint8_t[16]){[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2}, 16);
	assert_int_equal(world_add_rule(&world, &hourly, &from), BOUND);
}

static int open_world(void **state)
{
	static const struct stream streams[] = {
		{BFD, "10.1.5.1", BFD_PORT, 50000000}, {BFD, "10.2.5.2", BFD_PORT, 50000000},
		{KNET_PING, "10.9.0.2", 5405, 0},      {SERF_PING, "10.9.0.2", 7946, 0},
		{DATAGRAM, "10.9.0.2", 7946, 0},
	};
	const char *seed = getenv("KPHI_SEED");
	struct kphi_rule bfd = {.decoder = KPHI_DECODER_BFD, .min_ttl = 255};
	struct kphi_rule ping = {
		.match = {rule_match(knet, 0, 2)}, .sequence_offset = 23, .sequence_bits = 16, .vlan = 100};
	struct kphi_rule node = {.match = {rule_match(knet, 1, 3), rule_match(knet, 13, 8)}};
	struct kphi_rule loopback = {
		.sequence_offset = 16, .sequence_bits = 64, .sequence_little = 1, .device = "lo"};
	struct kphi_rule router = {.match = {{.value = 0x0133, .mask = 0x0fff, .width = 2}},
				   .leave = {.mask = 0xff, .offset = 2, .width = 1},
				   .min_ttl = 255};
	struct kphi_rule trailer = {.match = {{.value = 0xaa, .mask = 0xff, .offset = 91, .width = 1}}};

	(void)state;
	chance = seed ? strtoull(seed, NULL, 10) : SEED;
	world_open_loose(&world, PEERS, 8);
	add_natives();
	add(&(struct rule_for){.source = 2, .port = BFD_PORT}, &bfd);
	add(&(struct rule_for){.source = 2, .port = BFD_PORT, .version = 6}, &bfd);
	add(&(struct rule_for){.source = 2}, &ping);
	add(&(struct rule_for){.source = 0}, &node);
	add(&(struct rule_for){.source = 3, .version = 6, .device = 1}, &loopback);
	add(&(struct rule_for){.protocol = PROTOCOL_VRRP}, &router);
	add(&(struct rule_for){.source = 2, .port = MESSAGE_PORT}, &trailer);
	for (size_t i = 0; i < COUNT(streams); i++, rules.n++)
		assert_int_equal(stream_add(&streams[i], &list[rules.n]), NATIVES + rules.n);
	read_captures();
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_and_host_agree),
	};

	return cmocka_run_group_tests_name("agree", tests, open_world, close_world);
}
