// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the packet path tells of unknown ids: all of a message, of sound ones only, while somebody asks and no
 * longer; and that nothing else in the store moves by it.
 */
#include "kernel/strangers.h"
#include "prog/rules.h"

#define SECOND 1000000000ULL
#define RING   ((KPHI_STRANGERS_BYTES - 1) / (sizeof(struct kphi_stranger) + 8)) /* messages that it holds */

static const uint8_t key[16] = {1, 2, 3};
static struct strangers strangers;
static struct kphi_stranger last;
static uint32_t taken;

static void take(void *context, const struct kphi_stranger *stranger)
{
	(void)context;
	last = *stranger;
	taken++;
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "strangers", 16, 8);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

static void begin(void)
{
	taken = 0;
	if (strangers_begin(&strangers, &world.pin, &world.store, take, NULL, &world.why))
		fail_msg("%s", world.why.text);
}

static uint32_t turn(void)
{
	uint32_t before = taken;

	if (strangers_turn(&strangers, &world.why))
		fail_msg("%s", world.why.text);
	return taken - before;
}

static uint64_t asked_until(void)
{
	static struct kphi_ports ports;
	const uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(load_map_fd(world.skeleton, ".data.ports"), &zero, &ports), 0);
	return ports.discover_until_ns;
}

static struct message stranger(uint64_t sequence)
{
	return (struct message){.id = {0xee, [15] = 1}, .type = 1, .epoch = 5, .sequence = sequence};
}

static void knock(const struct shape *s, const struct message *m)
{
	packet_build(&packet, s, m);
	expect(&world, &packet, KPHI_COUNT_unknown_peer, 0, "a stranger");
}

static void nobody_asks(void **state)
{
	static const struct shape plain = {.version = 4};
	struct message m = stranger(1);

	(void)state;
	assert_int_equal(asked_until(), 0);
	knock(&plain, &m);
	begin();
	assert_int_equal(turn(), 0);
	knock(&plain, &m);
	assert_int_equal(turn(), 1);
	strangers_end(&strangers);
	assert_int_equal(asked_until(), 0);
	knock(&plain, &m);
	begin();
	assert_int_equal(turn(), 0);
	strangers_end(&strangers);
}

static void all_of_a_message(void **state)
{
	struct shape s = {.version = 4, .source = 9, .ttl = 254};
	struct message m = stranger(0x0102030405060708ULL);
	uint64_t before_ns = clock_monotonic_ns();

	(void)state;
	begin();
	m.type = 2;
	m.key = key;
	m.key_id = 0x01020304;
	knock(&s, &m);
	assert_int_equal(turn(), 1);
	assert_in_range(last.now_ns, before_ns, clock_monotonic_ns());
	assert_int_equal(last.epoch, 5);
	assert_int_equal(last.sequence, m.sequence);
	assert_memory_equal(last.node_id, m.id, 16);
	assert_memory_equal(last.source, ((uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, 9}), 16);
	assert_int_equal(last.device, 1);
	assert_int_equal(last.key_id, m.key_id);
	assert_int_equal(last.port, MESSAGE_PORT);
	assert_int_equal(last.ttl, 254);
	assert_int_equal(last.type, 2);

	m.key = NULL; /* a number without a tag is no signature */
	s = (struct shape){.version = 6, .source = 7, .ttl = 255, .tags = {TPID_Q}};
	knock(&s, &m);
	assert_int_equal(turn(), 1);
	assert_int_equal(last.key_id, 0);
	assert_int_equal(last.ttl, 255);
	assert_memory_equal(last.source, ((uint8_t[16]){0xfd, [15] = 7}), 16);
	strangers_end(&strangers);
}

/* A peer that was added, and what is not sound, tell nobody anything. */
static void strangers_only(void **state)
{
	static const struct shape plain = {.version = 4}, other_port = {.version = 4, .port = 9};
	uint32_t slot = world_add(&world, NULL);
	struct message m = world_message(&world, slot, 1, 1);

	(void)state;
	begin();
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "a peer");
	m = stranger(1);
	m.type = 4;
	expect_message(&world, &m, KPHI_COUNT_wire_type, 0, "not sound");
	m.type = 1;
	packet_build(&packet, &other_port, &m);
	expect(&world, &packet, NOTHING, 0, "another port");
	packet_build(&packet, &plain, &m);
	packet.length--;
	expect(&world, &packet, KPHI_COUNT_malformed_ipv4, 0, "cut short");
	assert_int_equal(turn(), 0);
	knock(&plain, &m);
	assert_int_equal(turn(), 1);
	strangers_end(&strangers);
}

/* Where rules listen on the port as well, the message may be one's beat: it is of an unknown id all the same.
 */
static void beside_a_rule(void **state)
{
	const struct shape s = {.version = 4, .source = 3, .port = RULE_PORT};
	uint32_t slot = rule_add(&(struct rule_for){.source = 3}, NULL);
	struct message m = stranger(1);

	(void)state;
	assert_int_equal(control_listen(&world.control, RULE_PORT, true, &world.why), 0);
	begin();
	packet_build(&packet, &s, &m);
	expect(&world, &packet, KPHI_COUNT_beat, 0, "the rule's");
	assert_int_equal(beats_of(slot), 1);
	assert_int_equal(turn(), 1);
	assert_int_equal(last.port, RULE_PORT);
	strangers_end(&strangers);
	assert_int_equal(control_listen(&world.control, RULE_PORT, false, &world.why), 0);
}

/* More than the ring holds: each is counted as an unknown one, and those that did not fit are known by their
 * number. */
static void a_flood(void **state)
{
	static const struct shape plain = {.version = 4};
	struct message m = stranger(1);
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet.bytes, .repeat = RING + 1000);
	uint64_t unknown = store_count(&world.store, KPHI_COUNT_unknown_peer);
	uint32_t used = store_used(&world.store);

	(void)state;
	begin();
	packet_build(&packet, &plain, &m);
	run.data_size_in = packet.length;
	assert_int_equal(bpf_prog_test_run_opts(world.xdp, &run), 0);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_unknown_peer) - unknown, RING + 1000);
	assert_int_equal(strangers_lost(&strangers), 1000);
	assert_int_equal(turn(), RING);
	assert_int_equal(store_used(&world.store), used);
	knock(&plain, &m);
	assert_int_equal(turn(), 1);
	assert_int_equal(strangers_lost(&strangers), 1000);
	strangers_end(&strangers);
}

static void one_at_a_time(void **state)
{
	struct strangers other;

	(void)state;
	begin();
	assert_int_equal(strangers_begin(&other, &world.pin, &world.store, take, NULL, &world.why), -EBUSY);
	assert_non_null(strstr(world.why.text, "one `kphi peer discover` at a time"));
	strangers_end(&other);
	assert_true(asked_until() > clock_monotonic_ns()); /* the one who was refused has ended nothing */
	strangers_end(&strangers);
}

/* Who was killed cannot say that he asks no more. The lease is two seconds; a clock that was not read is
 * waited for. */
static void a_lease_ends_by_itself(void **state)
{
	static const struct shape plain = {.version = 4};
	struct message m = stranger(1);
	uint64_t until_ns;

	(void)state;
	begin();
	until_ns = asked_until();
	assert_true(until_ns <= clock_monotonic_ns() + 2 * SECOND);
	while (clock_monotonic_ns() < until_ns)
		usleep(10000);
	knock(&plain, &m);
	assert_int_equal(turn(), 0);
	assert_int_equal(strangers.pauses, 1); /* and that it did so is known */
	knock(&plain, &m);
	assert_int_equal(turn(), 1);
	strangers_end(&strangers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_asks),
		cmocka_unit_test(all_of_a_message),
		cmocka_unit_test(strangers_only),
		cmocka_unit_test(beside_a_rule),
		cmocka_unit_test(a_flood),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(a_lease_ends_by_itself),
	};

	return cmocka_run_group_tests_name("strangers", tests, open_world, close_world);
}
