// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which rule is a packet's? Matches of every width, shapes and their numbers, who goes before whom, devices,
 * and what ten thousand of them cost. */
#include "prog/rules.h"

#define PEERS 32

static const struct shape from_2 = {.version = 4, .source = 2, .port = RULE_PORT};

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "rules", PEERS, 8);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* --- matches --- */

enum { PAYLOAD = 24 };

static void fill(uint8_t payload[PAYLOAD])
{
	for (int i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(0x90 + 7 * i);
}

/* Fits, with each of its bytes changed in one bit, and with every end of the payload. */
static void try_match(uint16_t offset, uint8_t width)
{
	const struct kphi_rule rule = {.match = {{.width = 0}, {.width = 0}}};
	struct kphi_rule r = rule;
	uint8_t payload[PAYLOAD];
	uint32_t slot;

	fill(payload);
	r.match[offset % 2] = rule_match(payload, offset, width); /* which of the two it is makes no odds */
	slot = rule_add(&(struct rule_for){.source = 2}, &r);
	expect_payload(&from_2, payload, sizeof(payload), KPHI_COUNT_beat, 0, "fits");
	for (uint8_t i = 0; i < width; i++) {
		payload[offset + i] ^= (uint8_t)(1U << i);
		expect_payload(&from_2, payload, sizeof(payload), KPHI_COUNT_no_rule, 0, "another byte");
		payload[offset + i] ^= (uint8_t)(1U << i);
	}
	if (offset)
		payload[offset - 1]++;
	if (offset + width < PAYLOAD)
		payload[offset + width]++;
	for (uint32_t size = 0; size <= PAYLOAD; size++)
		expect_payload(&from_2, payload, size,
			       size < (uint32_t)offset + width ? KPHI_COUNT_no_rule : KPHI_COUNT_beat, 0,
			       "cut");
	rule_delete(slot);
	expect_payload(&from_2, payload, sizeof(payload), NOTHING, 0, "deleted");
}

static void every_width_at_every_place(void **state)
{
	(void)state;
	for (uint8_t width = 1; width <= 8; width++)
		for (uint16_t offset = 0; offset + width <= PAYLOAD; offset++)
			try_match(offset, width);
}

/* The frame goes on behind the datagram: what is there belongs to nobody. */
static void padding_is_no_payload(void **state)
{
	struct shape padded = from_2;
	uint8_t zero[PAYLOAD] = {0};
	const struct kphi_rule rule = {.match = {rule_match(zero, 8, 4)}};

	(void)state;
	padded.padding = 30;
	rule_add(&(struct rule_for){.source = 2}, &rule);
	expect_payload(&padded, zero, 12, KPHI_COUNT_beat, 0, "twelve bytes");
	expect_payload(&padded, zero, 11, KPHI_COUNT_no_rule, 0, "eleven bytes and padding");
	expect_payload(&padded, zero, 0, KPHI_COUNT_no_rule, 0, "padding");
}

/* Each bit of a mask counts, and none beside it. */
static void masks(void **state)
{
	const uint64_t masks_of[] = {0x01, 0x80, 0x0fff, 0xf00f, 0x8000000000000001, 0x00ff00ff00ff00ff};
	const uint64_t value = 0xa5c3f00f12345678;

	(void)state;
	for (size_t i = 0; i < COUNT(masks_of); i++) {
		struct kphi_rule rule = {.match = {{.mask = masks_of[i], .offset = 3, .width = 8}}};
		uint8_t payload[PAYLOAD] = {0};
		uint32_t slot;

		rule.match[0].value = value & masks_of[i];
		slot = rule_add(&(struct rule_for){.source = 2}, &rule);
		for (int bit = 0; bit < 64; bit++) {
			put64(payload + 3, value ^ 1ULL << bit);
			expect_payload(&from_2, payload, sizeof(payload),
				       masks_of[i] >> bit & 1 ? KPHI_COUNT_no_rule : KPHI_COUNT_beat, 0,
				       "bit");
		}
		rule_delete(slot);
	}
}

static void two_matches_must_both_hold(void **state)
{
	uint8_t payload[PAYLOAD];
	struct kphi_rule rule = {.match = {{.width = 0}}};

	(void)state;
	fill(payload);
	rule.match[0] = rule_match(payload, 1, 2);
	rule.match[1] = rule_match(payload, 20, 4);
	rule_add(&(struct rule_for){.source = 2}, &rule);
	for (int wrong = 0; wrong < 4; wrong++) {
		fill(payload);
		payload[1] ^= wrong & 1;
		payload[23] ^= wrong & 2;
		expect_payload(&from_2, payload, sizeof(payload),
			       wrong ? KPHI_COUNT_no_rule : KPHI_COUNT_beat, 0, "two matches");
	}
}

/* The same places, other values: one shape, and each packet finds its own. */
static void values_tell_rules_apart(void **state)
{
	uint8_t payload[PAYLOAD] = {0};
	uint32_t slots[8];

	(void)state;
	for (size_t i = 0; i < COUNT(slots); i++) {
		struct kphi_rule rule = {.match = {{.width = 0}}};

		payload[5] = (uint8_t)i;
		rule.match[0] = rule_match(payload, 5, 1);
		slots[i] = rule_add(&(struct rule_for){.source = 0}, &rule);
		assert_int_equal(world.store.peers[slots[i]].id.shape, 1);
	}
	for (size_t i = 0; i < COUNT(slots); i++) {
		payload[5] = (uint8_t)i;
		expect_payload(&from_2, payload, sizeof(payload), KPHI_COUNT_beat, 0, "its own");
		assert_int_equal(beats_of(slots[i]), 1);
	}
	payload[5] = COUNT(slots);
	expect_payload(&from_2, payload, sizeof(payload), KPHI_COUNT_no_rule, 0, "nobody's");
}

/* --- who goes before whom --- */

enum { KINDS = 6, LOOPBACK = 1 };

/* From the one that asks for most to the one that takes anything; all of them fit one packet. */
static uint32_t add_kind(int kind, const uint8_t *payload)
{
	static const struct {
		bool device, source;
		uint8_t width;
	} kinds[KINDS] = {
		{true, true, 0},   {true, false, 8},  {false, true, 0},
		{false, false, 2}, {false, false, 1}, {0},
	};
	const struct rule_for f = {.source = kinds[kind].source ? 2 : 0,
				   .device = kinds[kind].device ? LOOPBACK : 0};
	struct kphi_rule rule = {.match = {{.width = 0}}};

	if (kinds[kind].width)
		rule.match[0] = rule_match(payload, 4, kinds[kind].width);
	if (kinds[kind].device)
		memcpy(rule.device, "lo", 3);
	return rule_add(&f, &rule);
}

/* The n-th order of the kinds: each digit says how many of those that are left are skipped. */
static void order_of(uint32_t n, int order[KINDS])
{
	int left[KINDS];

	for (int i = 0; i < KINDS; i++)
		left[i] = i;
	for (int i = 0; i < KINDS; i++) {
		uint32_t rest = (uint32_t)(KINDS - i), k = n % rest;

		n /= rest;
		order[i] = left[k];
		memmove(left + k, left + k + 1, (rest - k - 1) * sizeof(*left));
	}
}

static void who_asks_for_most_has_it_in_every_order(void **state)
{
	uint8_t payload[PAYLOAD];

	(void)state;
	fill(payload);
	for (uint32_t n = 0; n < 720; n++) {
		uint32_t slot[KINDS];
		int order[KINDS];

		order_of(n, order);
		for (int i = 0; i < KINDS; i++)
			slot[order[i]] = add_kind(order[i], payload);
		for (int kind = 0; kind < KINDS; kind++) {
			expect_payload(&from_2, payload, sizeof(payload), KPHI_COUNT_beat, 0, "the best");
			for (int other = kind; other < KINDS; other++)
				assert_int_equal(beats_of(slot[other]), other == kind);
			rule_delete(slot[kind]);
		}
		expect_payload(&from_2, payload, sizeof(payload), NOTHING, 0, "nobody is left");
	}
}

/* A native port may have rules, too: they go first, and leave the rest. */
static void rules_on_a_native_port(void **state)
{
	const struct kphi_peer native = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};
	uint8_t payload[PAYLOAD];
	struct kphi_rule rule = {.match = {{.width = 0}}};
	uint32_t slot = world_add(&world, &native), ruled;
	struct message m = world_message(&world, slot, 1, 1);
	struct shape shape = {.version = 4, .source = 2};

	(void)state;
	fill(payload);
	rule.match[0] = rule_match(payload, 0, 4);
	ruled = rule_add(&(struct rule_for){.source = 2, .port = MESSAGE_PORT}, &rule);
	expect_payload(&shape, payload, sizeof(payload), KPHI_COUNT_beat, 0, "the rule's");
	assert_int_equal(beats_of(ruled), 1);
	packet_build(&packet, &shape, &m);
	expect(&world, &packet, KPHI_COUNT_beat, 0, "a message");
	assert_int_equal(beats_of(slot), 1);
	payload[0]++;
	expect_payload(&shape, payload, sizeof(payload), KPHI_COUNT_wire_short, 0, "neither");
	rule_delete(ruled);
	m.sequence++;
	packet_build(&packet, &shape, &m);
	expect(&world, &packet, KPHI_COUNT_beat, 0, "a message, after the rule");
}

/* --- shapes and their numbers --- */

/* One that looks at byte n, which is 0 in an empty payload. */
static struct kphi_rule looks_at(uint16_t n)
{
	return (struct kphi_rule){.match = {{.mask = 0xff, .offset = n, .width = 1}}};
}

static int try_add(uint16_t port, uint16_t looks)
{
	struct kphi_peer peer = rule_peer(&(struct rule_for){.source = 2, .port = port});
	struct kphi_rule rule = looks_at(looks);
	uint32_t slot = 0;

	snprintf(peer.name, sizeof(peer.name), "sixteenth");
	return control_add(&world.control, &world.store, &peer, &rule, &slot, &world.why);
}

static void fifteen_shapes_and_not_one_more(void **state)
{
	const uint8_t payload[PAYLOAD] = {0};
	struct shape on = from_2;
	uint32_t slot[KPHI_SHAPES];

	(void)state;
	for (uint16_t n = 0; n < KPHI_SHAPES; n++) {
		const struct kphi_rule rule = looks_at(n);

		slot[n] = rule_add(&(struct rule_for){.source = 2, .port = 100 + n}, &rule);
		assert_int_equal(world.store.peers[slot[n]].id.shape, n + 1);
	}
	assert_int_equal(try_add(200, KPHI_SHAPES), -ENOSPC);
	assert_non_null(
		strstr(world.why.text, "sixteenth: the rules of this store look at packets in 15 ways"));
	assert_int_equal(try_add(200, 3), 0); /* one of the fifteen */
	for (uint16_t n = 0; n < KPHI_SHAPES; n++) {
		on.port = 100 + n;
		expect_payload(&on, payload, sizeof(payload), KPHI_COUNT_beat, 0, "one of fifteen");
		assert_int_equal(beats_of(slot[n]), 1);
	}

	/* A number is free when the last rule of its shape is gone, and means something else then. */
	rule_delete(slot[3]);
	assert_int_equal(try_add(201, KPHI_SHAPES), -ENOSPC);
	rule_delete(slot[7]);
	on.port = 107;
	expect_payload(&on, payload, sizeof(payload), NOTHING, 0, "the deleted shape");
	assert_int_equal(try_add(201, KPHI_SHAPES), 0);
	assert_int_equal(world.store.peers[store_find(&world.store, "sixteenth")].id.shape, 8);
	on.port = 201;
	expect_payload(&on, payload, sizeof(payload), KPHI_COUNT_beat, 0, "the sixteenth");
	expect_payload(&on, payload, KPHI_SHAPES, KPHI_COUNT_no_rule, 0, "without the byte it looks at");
	on.port = 107;
	expect_payload(&on, payload, sizeof(payload), NOTHING, 0, "the deleted shape, its number in use");
}

static void shapes_of_a_port_end_one_by_one(void **state)
{
	const struct kphi_rule first = looks_at(0), second = looks_at(1);
	const uint8_t zero[PAYLOAD] = {0}, only_first[PAYLOAD] = {0, 1}, only_second[PAYLOAD] = {1, 0};
	struct shape elsewhere = from_2;
	uint32_t a = rule_add(&(struct rule_for){.source = 2}, &first);
	uint32_t b = rule_add(&(struct rule_for){.source = 2}, &second);
	uint32_t c = rule_add(&(struct rule_for){.source = 3}, &first);
	uint32_t d = rule_add(&(struct rule_for){.source = 2, .port = 9}, &first);

	(void)state;
	elsewhere.port = 9;
	expect_payload(&from_2, only_first, PAYLOAD, KPHI_COUNT_beat, 0, "the first shape");
	assert_int_equal(beats_of(a), 1);
	expect_payload(&from_2, only_second, PAYLOAD, KPHI_COUNT_beat, 0, "the second shape");
	assert_int_equal(beats_of(b), 1);
	rule_delete(a);
	expect_payload(&from_2, only_first, PAYLOAD, KPHI_COUNT_no_rule, 0, "the first rule is gone");
	expect_payload(&(struct shape){.version = 4, .source = 3, .port = RULE_PORT}, only_first, PAYLOAD,
		       KPHI_COUNT_beat, 0, "another of its shape");
	assert_int_equal(beats_of(c), 1);
	rule_delete(c);
	expect_payload(&from_2, only_first, PAYLOAD, KPHI_COUNT_no_rule, 0, "the first shape is gone");
	expect_payload(&from_2, only_second, PAYLOAD, KPHI_COUNT_beat, 0, "the second is not");
	expect_payload(&elsewhere, only_first, PAYLOAD, KPHI_COUNT_beat, 0, "nor the first on another port");
	assert_int_equal(beats_of(d), 1);
	rule_delete(b);
	expect_payload(&from_2, zero, PAYLOAD, NOTHING, 0, "a port without shapes is nobody's");
}

/* --- devices --- */

static void with_ip(const char *words)
{
	char command[128];

	snprintf(command, sizeof(command), "ip %s", words);
	if (system(command) != 0) /* NOLINT(cert-env33-c): words of this file */
		fail_msg("%s", command);
}

/* Two devices and loopback, in a network namespace that ends with this test program. */
static int open_devices(void **state)
{
	if (unshare(CLONE_NEWNET))
		return -1;
	with_ip("link add eth0 index 11 type veth peer name eth1 index 12");
	return open_world(state);
}

static void expect_by(uint32_t device, int outcome, const char *what)
{
	const uint8_t payload[PAYLOAD] = {0};

	packet_build_around(&packet, &from_2, payload, sizeof(payload));
	packet.device = device;
	expect(&world, &packet, outcome, 0, what);
}

static uint32_t add_on(const char *device, uint32_t ifindex)
{
	struct kphi_rule rule = {.min_ttl = 0};

	snprintf(rule.device, sizeof(rule.device), "%s", device);
	return rule_add(&(struct rule_for){.source = 2, .device = ifindex}, &rule);
}

static void a_rule_may_ask_for_a_device(void **state)
{
	uint32_t first = add_on("eth0", 11), second;

	(void)state;
	expect_by(11, KPHI_COUNT_beat, "its device");
	expect_by(12, KPHI_COUNT_no_rule, "another device");
	expect_by(0, KPHI_COUNT_no_rule, "loopback");
	assert_int_equal(beats_of(first), 1);
	assert_int_equal(world_record(&world, first).device, 11);
	second = add_on("eth1", 12);
	expect_by(12, KPHI_COUNT_beat, "a stream of its own");
	assert_int_equal(beats_of(first), 1);
	assert_int_equal(beats_of(second), 1);
}

/* A device that returns under another ifindex is followed, and what was heard of the peer goes on. */
static void a_rule_follows_its_device(void **state)
{
	uint32_t slot = add_on("eth0", 99), other = add_on("eth1", 12);

	(void)state;
	expect_by(11, KPHI_COUNT_no_rule, "not yet");
	assert_int_equal(control_follow(&world.control, &world.store, "eth0", 11, &world.why), 0);
	assert_int_equal(world.store.peers[slot].id.device, 11);
	expect_by(11, KPHI_COUNT_beat, "moved");
	expect_by(12, KPHI_COUNT_beat, "the other one has stayed");
	assert_int_equal(control_follow(&world.control, &world.store, "eth0", 12, &world.why), -EEXIST);
	assert_non_null(strstr(world.why.text, "another peer has this identity already"));
	expect_by(11, KPHI_COUNT_beat, "still there");
	rule_delete(other);
	assert_int_equal(control_follow(&world.control, &world.store, "eth0", 12, &world.why), 0);
	expect_by(12, KPHI_COUNT_beat, "moved again");
	expect_by(11, KPHI_COUNT_no_rule, "where it was");
	assert_int_equal(beats_of(slot), 3);
	assert_int_equal(world_record(&world, slot).restarts, 0);
}

/* --- ten thousand --- */

enum { MANY = 10000, REPEAT = 20000 };

static struct kphi_peer one_of_many(uint32_t i)
{
	struct kphi_peer peer = rule_peer(&(struct rule_for){.source = 1});

	put32(peer.id.bytes + 12, 0x0a000000 + i);
	return peer;
}

static void build_one_of_many(uint32_t i)
{
	const uint8_t payload[PAYLOAD] = {0};

	packet_build_around(&packet, &from_2, payload, sizeof(payload));
	put32(packet.bytes + packet.network + 12, 0x0a000000 + i);
}

/* What one packet costs, in nanoseconds: the least of several rounds. */
static uint32_t cost(void)
{
	uint32_t least = UINT32_MAX;

	for (int i = 0; i < 7; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet.bytes, .data_size_in = packet.length,
			    .repeat = REPEAT);

		assert_int_equal(bpf_prog_test_run_opts(world.xdp, &run), 0);
		least = run.duration < least ? run.duration : least;
	}
	return least ? least : 1;
}

/* How many look-ups a packet to this port costs: one for each shape. */
static int lookups(uint16_t port)
{
	static struct kphi_ports ports;
	const uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(load_map_fd(world.skeleton, ".data.ports"), &zero, &ports), 0);
	return __builtin_popcount(ports.bits[port] >> 1);
}

static void ten_thousand_cost_what_ten_do(void **state)
{
	uint32_t of_ten = 0, of_many;

	(void)state;
	world_open(&world, "many", MANY, 8);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct kphi_peer peer = one_of_many(i);

		if (i == 10) {
			build_one_of_many(5);
			assert_int_equal(lookups(RULE_PORT), 1);
			of_ten = cost();
		}
		assert_int_equal(world_add(&world, &peer), i);
	}
	assert_int_equal(lookups(RULE_PORT), 1);
	build_one_of_many(5);
	of_many = cost();
	print_message("# %u ns a packet with ten rules, %u ns with %u\n", of_ten, of_many, MANY);
	assert_true(of_many < 10 * of_ten); /* a scan would be a thousand times as long */
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t before = beats_of(i);

		build_one_of_many(i);
		assert_int_equal(world_try(&world, &packet), 0);
		assert_int_equal(beats_of(i), before + 1);
	}
	build_one_of_many(MANY);
	expect(&world, &packet, KPHI_COUNT_no_rule, 0, "one too many");
	world_close(&world);
}

#define IN_A_WORLD(test)   cmocka_unit_test_setup_teardown(test, open_world, close_world)
#define WITH_DEVICES(test) cmocka_unit_test_setup_teardown(test, open_devices, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(every_width_at_every_place),
		IN_A_WORLD(padding_is_no_payload),
		IN_A_WORLD(masks),
		IN_A_WORLD(two_matches_must_both_hold),
		IN_A_WORLD(values_tell_rules_apart),
		IN_A_WORLD(who_asks_for_most_has_it_in_every_order),
		IN_A_WORLD(rules_on_a_native_port),
		IN_A_WORLD(fifteen_shapes_and_not_one_more),
		IN_A_WORLD(shapes_of_a_port_end_one_by_one),
		cmocka_unit_test(ten_thousand_cost_what_ten_do),
		WITH_DEVICES(a_rule_may_ask_for_a_device),
		WITH_DEVICES(a_rule_follows_its_device),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
