// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The control program: every answer it gives, what a refused request leaves as it was, and who lives in a
 * slot when. */
#include "prog/world.h"

#define PEERS 4

static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "control", PEERS, 8);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

static struct kphi_control request(enum kphi_control_op op, uint32_t slot, uint32_t generation)
{
	struct kphi_control q = {.op = (uint8_t)op, .slot = slot, .generation = generation, .now_ns = 12345};

	q.peer = hourly;
	q.peer.id.bytes[15] = 0xcc;
	return q;
}

/* --- requests that are refused --- */

enum { FREE_SLOT = 1, OTHER_GENERATION = 7 };

static const struct refusal {
	const char *name;
	uint8_t op;
	uint32_t slot, generation;
	bool known; /* the identity is that of the peer in slot 0 */
	int answer;
} refusals[] = {
	{"no operation", 0, FREE_SLOT, 0, false, KPHI_CONTROL_BAD},
	{"an operation of the future", KPHI_CONTROL_DISCOVER + 1, 0, 0, false, KPHI_CONTROL_BAD},
	{"the last operation of all", 255, 0, 0, false, KPHI_CONTROL_BAD},
	{"add beyond the end", KPHI_CONTROL_ADD, PEERS, 0, false, KPHI_CONTROL_NO_SLOT},
	{"delete beyond the end", KPHI_CONTROL_DELETE, PEERS, 0, false, KPHI_CONTROL_NO_SLOT},
	{"reset far beyond the end", KPHI_CONTROL_RESET, UINT32_MAX, 0, false, KPHI_CONTROL_NO_SLOT},
	{"add where somebody lives", KPHI_CONTROL_ADD, 0, 0, false, KPHI_CONTROL_BUSY},
	{"add an identity twice", KPHI_CONTROL_ADD, FREE_SLOT, 0, true, KPHI_CONTROL_TAKEN},
	{"add an identity twice, to its own slot", KPHI_CONTROL_ADD, 0, 0, true, KPHI_CONTROL_BUSY},
	{"delete nobody", KPHI_CONTROL_DELETE, FREE_SLOT, 0, false, KPHI_CONTROL_GONE},
	{"reset nobody", KPHI_CONTROL_RESET, FREE_SLOT, 0, false, KPHI_CONTROL_GONE},
	{"delete another generation", KPHI_CONTROL_DELETE, 0, OTHER_GENERATION, false, KPHI_CONTROL_GONE},
	{"reset another generation", KPHI_CONTROL_RESET, 0, OTHER_GENERATION, false, KPHI_CONTROL_GONE},
	{"watch another generation", KPHI_CONTROL_WATCH, 0, OTHER_GENERATION, false, KPHI_CONTROL_GONE},
	{"mute another generation", KPHI_CONTROL_MUTE, 0, OTHER_GENERATION, false, KPHI_CONTROL_GONE},
	{"mute beyond the end", KPHI_CONTROL_MUTE, PEERS, 0, false, KPHI_CONTROL_NO_SLOT},
	{"move another generation", KPHI_CONTROL_MOVE, 0, OTHER_GENERATION, false, KPHI_CONTROL_GONE},
	{"move nobody", KPHI_CONTROL_MOVE, FREE_SLOT, 0, false, KPHI_CONTROL_GONE},
	{"move beyond the end", KPHI_CONTROL_MOVE, PEERS, 0, false, KPHI_CONTROL_NO_SLOT},
	{"a verdict beyond the end", KPHI_CONTROL_VERDICT, PEERS, 0, false, KPHI_CONTROL_NO_SLOT},
	{"refresh backwards", KPHI_CONTROL_REFRESH, 1, 0, false, KPHI_CONTROL_BAD},
};

static void refused_requests_change_nothing(void **state)
{
	static struct kphi_record records[PEERS];
	static struct kphi_peer peers[PEERS];
	struct message m;

	(void)state;
	assert_int_equal(world_add(&world, &hourly), 0);
	m = world_message(&world, 0, 1, 1);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "before");
	memcpy(records, world.store.records, sizeof(records));
	memcpy(peers, world.store.peers, sizeof(peers));
	for (size_t i = 0; i < COUNT(refusals); i++) {
		struct kphi_control q = request(refusals[i].op, refusals[i].slot, refusals[i].generation);

		if (refusals[i].known)
			q.peer.id = peers[0].id;
		if (world_ask(&world, &q, sizeof(q)) != refusals[i].answer)
			fail_msg("%s", refusals[i].name);
		assert_memory_equal(world.store.records, records, sizeof(records));
		assert_memory_equal(world.store.peers, peers, sizeof(peers));
	}
	m.sequence = 2;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "after");
	m.id[15] = 0xcc;
	m.id[0] = 0;
	expect_message(&world, &m, KPHI_COUNT_unknown_peer, 0, "whom the refused requests named");
}

static void short_requests_are_bad(void **state)
{
	struct kphi_control q = request(KPHI_CONTROL_ADD, 0, 0);

	(void)state;
	for (uint32_t size = WORLD_MIN_FRAME; size < sizeof(q); size++)
		assert_int_equal(world_ask(&world, &q, size), KPHI_CONTROL_BAD);
	assert_int_equal(world.store.records[0].state, KPHI_FREE);
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_OK);
	assert_int_equal(world.store.records[0].state, KPHI_WAITING);
}

/* A peer that no packet could reach is not made, nor made of one that a packet reaches. */
static void rules_that_nobody_would_find_are_bad(void **state)
{
	static const uint8_t shapes[] = {0, KPHI_SHAPES + 1, 255};
	struct kphi_control q = request(KPHI_CONTROL_ADD, FREE_SLOT, 0);
	struct message m;

	(void)state;
	q.peer.id.kind = KPHI_ID_RULE;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		q.peer.id.shape = shapes[i];
		assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_BAD);
		assert_int_equal(world.store.records[FREE_SLOT].state, KPHI_FREE);
	}
	q.peer.id.shape = KPHI_SHAPES;
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_OK);

	q = request(KPHI_CONTROL_MOVE, FREE_SLOT, 0);
	q.peer.id.device = 7;
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_BAD); /* it asks for no device */
	q.slot = world_add(&world, &hourly);
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_BAD);
	assert_int_equal(world.store.peers[q.slot].id.device, 0);
	m = world_message(&world, q.slot, 1, 1);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "where it was");
}

static int ids_fd(void)
{
	return load_map_fd(world.skeleton, "ids");
}

static void no_room_for_an_identity(void **state)
{
	struct kphi_control q = request(KPHI_CONTROL_ADD, FREE_SLOT, 0);
	const struct kphi_slot nowhere = {.slot = UINT32_MAX};
	struct kphi_id filler = {.kind = 99};

	(void)state;
	for (int i = 0; i < PEERS; i++) {
		filler.bytes[0] = (uint8_t)i;
		assert_int_equal(bpf_map_update_elem(ids_fd(), &filler, &nowhere, BPF_ANY), 0);
	}
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_FULL);
	assert_int_equal(world.store.records[FREE_SLOT].state, KPHI_FREE);
	assert_int_equal(bpf_map_delete_elem(ids_fd(), &filler), 0);
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_OK);
}

/* --- the same through user/kernel/control.c: errnos and sentences --- */

static void errors_are_sentences(void **state)
{
	struct kphi_peer peer = hourly;
	uint32_t slot;

	(void)state;
	for (int i = 0; i < PEERS; i++)
		world_add(&world, &hourly);
	slot = 0;
	snprintf(peer.name, sizeof(peer.name), "one too many");
	peer.id.bytes[15] = 0xdd;
	assert_int_equal(control_add(&world.control, &world.store, &peer, NULL, &slot, &world.why), -ENOSPC);
	assert_non_null(strstr(world.why.text, "one too many: the store is full: all 4 slots are taken"));
	assert_int_equal(control_delete(&world.control, &world.store, 2, 5, &world.why), -ESTALE);
	assert_non_null(strstr(world.why.text, "deleted meanwhile"));
	assert_int_equal(control_reset(&world.control, 2, 5, &world.why), -ESTALE);
	assert_int_equal(control_delete(&world.control, &world.store, 2, 0, &world.why), 0);
	peer.id = world.store.peers[0].id;
	slot = 0;
	assert_int_equal(control_add(&world.control, &world.store, &peer, NULL, &slot, &world.why), -EEXIST);
	assert_int_equal(slot, 2); /* the first free one */
	peer.id.bytes[15] = 0xdd;
	slot = 0;
	assert_int_equal(control_add(&world.control, &world.store, &peer, NULL, &slot, &world.why), 0);
	assert_int_equal(slot, 2);
}

static void a_full_store_can_be_churned(void **state)
{
	(void)state;
	for (int i = 0; i < PEERS; i++)
		world_add(&world, &hourly);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t slot = i % PEERS;
		struct kphi_record r = world_record(&world, slot);

		assert_int_equal(control_delete(&world.control, &world.store, slot, r.generation, &world.why),
				 0);
		assert_int_equal(world_add(&world, &hourly), slot);
		assert_int_equal(world_record(&world, slot).generation, r.generation + 1);
	}
}

/* --- a slot and its generations --- */

static void nobody_hears_the_dead(void **state)
{
	uint32_t slot = world_add(&world, &hourly), heir;
	struct message old = world_message(&world, slot, 5, 1), new;
	struct kphi_record r;

	(void)state;
	expect_message(&world, &old, KPHI_COUNT_beat, 0, "while it lives");
	r = world_record(&world, slot);
	assert_int_equal(control_delete(&world.control, &world.store, slot, r.generation, &world.why), 0);
	old.sequence++;
	expect_message(&world, &old, KPHI_COUNT_unknown_peer, 0, "deleted");
	assert_int_equal(world_record(&world, slot).state, KPHI_FREE);
	assert_int_equal(world_record(&world, slot).beats, r.beats);

	heir = world_add(&world, &hourly);
	assert_int_equal(heir, slot);
	r = world_record(&world, heir);
	assert_int_equal(r.generation, 1);
	assert_int_equal(r.state, KPHI_WAITING);
	assert_int_equal(r.beats | r.epoch | r.last_ns | r.window.n | r.sequence.highest, 0);
	expect_message(&world, &old, KPHI_COUNT_unknown_peer, 0, "its slot has an heir");
	new = world_message(&world, heir, 1, 1);
	expect_message(&world, &new, KPHI_COUNT_beat, 0, "the heir, with a lower epoch");
	assert_int_equal(world_record(&world, heir).beats, 1);
}

/* As if the message had been looked up just before its peer was deleted: the handle is of another generation.
 */
static void a_handle_of_another_generation_is_void(void **state)
{
	uint32_t slot = world_add(&world, &hourly);
	struct message m = world_message(&world, slot, 1, 1);
	struct kphi_slot handle = {.slot = slot, .generation = 1};
	struct kphi_id id = world.store.peers[slot].id;

	(void)state;
	assert_int_equal(bpf_map_update_elem(ids_fd(), &id, &handle, BPF_ANY), 0);
	expect_message(&world, &m, KPHI_COUNT_unknown_peer, 0, "another generation");
	handle = (struct kphi_slot){.slot = slot + 1};
	assert_int_equal(bpf_map_update_elem(ids_fd(), &id, &handle, BPF_ANY), 0);
	expect_message(&world, &m, KPHI_COUNT_unknown_peer, 0, "a slot where nobody lives");
	assert_int_equal(world_record(&world, slot).beats, 0);
	handle = (struct kphi_slot){.slot = slot};
	assert_int_equal(bpf_map_update_elem(ids_fd(), &id, &handle, BPF_ANY), 0);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the right one");
}

static void versions_only_rise(void **state)
{
	uint64_t version = 0;

	(void)state;
	for (int i = 0; i < 5; i++) {
		uint32_t slot = world_add(&world, &hourly);
		struct message m = world_message(&world, slot, 1, 1);
		struct kphi_record r = world_record(&world, slot);

		assert_int_equal(slot, 0);
		assert_true(r.version > version);
		version = r.version;
		expect_message(&world, &m, KPHI_COUNT_beat, 0, "a beat");
		assert_int_equal(world_record(&world, slot).version, version + 2);
		assert_int_equal(control_reset(&world.control, slot, r.generation, &world.why), 0);
		assert_int_equal(world_record(&world, slot).version, version + 4);
		assert_int_equal(world_record(&world, slot).generation, r.generation);
		assert_int_equal(control_delete(&world.control, &world.store, slot, r.generation, &world.why),
				 0);
		version = world_record(&world, slot).version;
		assert_int_equal(version % 2, 0);
	}
}

static void what_was_asked_is_in_the_store(void **state)
{
	struct kphi_control q = request(KPHI_CONTROL_ADD, 3, 0);
	struct kphi_record r;

	(void)state;
	memset(q.peer.name, 'n', sizeof(q.peer.name) - 1);
	memset(q.peer.host, 'h', sizeof(q.peer.host) - 1);
	q.peer.max_interval_ns = 777;
	q.peer.min_std_ns = 1;
	q.peer.pause_ns = 2;
	q.peer.model = KPHI_MODEL_AKKA;
	q.peer.set = KPHI_SET_PAUSE;
	assert_int_equal(world_ask(&world, &q, sizeof(q)), KPHI_CONTROL_OK);
	assert_memory_equal(&world.store.peers[3], &q.peer, sizeof(q.peer));
	r = world_record(&world, 3);
	assert_int_equal(r.since_ns, 12345);
	assert_int_equal(r.window.interval_ns, hourly.interval_ns);
	assert_int_equal(r.window.cap_ns, 777);
	assert_int_equal(store_find(&world.store, q.peer.name), 3);
}

/* --- ports: four of them share a byte --- */

static void expect_on(uint16_t port, int outcome)
{
	const struct shape shape = {.version = 6, .port = port};
	const struct message nobody = {.type = 1};
	static struct packet p;

	packet_build(&p, &shape, &nobody);
	expect(&world, &p, outcome, 0, "port");
}

static void ports_listen_one_by_one(void **state)
{
	static const uint16_t ports[] = {1, 2, 3, 4, 5, 6, 7, 1023, 32768, 65533, 65534, 65535};

	(void)state;
	for (size_t i = 0; i < COUNT(ports); i++) {
		assert_int_equal(control_listen(&world.control, ports[i], true, &world.why), 0);
		for (size_t k = 0; k < COUNT(ports); k++)
			expect_on(ports[k], k <= i ? KPHI_COUNT_unknown_peer : NOTHING);
	}
	for (size_t i = 0; i < COUNT(ports); i++) {
		assert_int_equal(control_listen(&world.control, ports[i], false, &world.why), 0);
		for (size_t k = 0; k < COUNT(ports); k++)
			expect_on(ports[k], k <= i ? NOTHING : KPHI_COUNT_unknown_peer);
	}
	expect_on(MESSAGE_PORT, KPHI_COUNT_unknown_peer);
}

/* Many at once: a port is somebody's for as long as one rule of any shape is left for it. */
static void with_the_last_rule_of_a_port_it_is_foreign(void **state)
{
	const struct kphi_peer source = {.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 5000}};
	const struct kphi_rule match = {.any_source = 1,
					.match = {{.value = 1, .mask = 0xff, .offset = 1400, .width = 1}}};
	struct kphi_peer rules[PEERS] = {source, source, source, source};
	struct kphi_slot gone[PEERS - 1] = {{3, 0}, {0, 0}, {1, 0}};
	uint32_t slot = 0;

	(void)state;
	rules[0].id.bytes[0] = 1;
	rules[1].id.port = 6000;
	for (uint32_t i = 0; i < PEERS; i++) {
		snprintf(rules[i].name, sizeof(rules[i].name), "rule %u", i);
		assert_int_equal(control_add(&world.control, &world.store, &rules[i], i == 2 ? &match : NULL,
					     &slot, &world.why),
				 0);
		assert_int_equal(slot, i);
	}
	assert_int_not_equal(rules[2].id.shape, rules[3].id.shape);
	assert_int_equal(rules[0].id.shape, rules[3].id.shape);
	expect_on(6000, KPHI_COUNT_no_rule);
	assert_int_equal(control_delete_all(&world.control, &world.store, gone, PEERS - 1, &world.why), 0);
	for (uint32_t i = 0; i < PEERS; i++)
		assert_int_equal(world.store.records[i].state == KPHI_FREE, i != 2);
	expect_on(6000, NOTHING);
	expect_on(5000, KPHI_COUNT_no_rule);
	assert_int_equal(control_delete_all(&world.control, &world.store, gone, 1, &world.why), -ESTALE);
	assert_int_equal(control_delete(&world.control, &world.store, 2, 0, &world.why), 0);
	expect_on(5000, NOTHING);
}

/* --- verdicts --- */

static struct kphi_verdict some_verdict(uint32_t life)
{
	return (struct kphi_verdict){.version = 77, /* of no concern to the map */
				     .valid_until_ns = 1000,
				     .token = 5ULL << 40 | 6,
				     .epoch = 7,
				     .since_ns = 8,
				     .generation = 9,
				     .consumers = 10,
				     .state = KPHI_VERDICT_SUSPECT,
				     .cause = KPHI_BECAUSE_SILENCE,
				     .held = 11,
				     .shadows = 12,
				     .life = life};
}

static void a_verdict_is_published_whole(void **state)
{
	struct kphi_verdict v = some_verdict(3), got;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(control_verdict(&world.control, 2, &v, &world.why), 0);
		assert_true(store_verdict(&world.store, 2, 999, &got));
		assert_int_equal(got.version, 2 * i);
		got.version = v.version;
		assert_memory_equal(&got, &v, sizeof(v));
		v.token++;
	}
	assert_false(store_verdict(&world.store, 2, 1000, &got));
	for (uint32_t i = 0; i < PEERS; i++)
		assert_int_equal(world.store.verdicts[i].version, i == 2 ? 6 : 0);
	assert_int_equal(control_verdict(&world.control, PEERS, &v, &world.why), -ENOSPC);
}

static uint64_t valid_until(uint32_t slot)
{
	return world.store.verdicts[slot].valid_until_ns;
}

/* Only those of the slots asked for, and only what this life wrote; nothing but the time moves. */
static void only_verdicts_of_this_life_are_refreshed(void **state)
{
	struct kphi_verdict v, before[PEERS];

	(void)state;
	for (uint32_t i = 0; i < PEERS; i++) {
		v = some_verdict(i == 1 ? 2 : 3);
		assert_int_equal(control_verdict(&world.control, i, &v, &world.why), 0);
	}
	memcpy(before, world.store.verdicts, sizeof(before));
	assert_int_equal(control_refresh(&world.control, 0, PEERS - 1, 3, 2000, &world.why), 0);
	for (uint32_t i = 0; i < PEERS; i++) {
		bool refreshed = i == 0 || i == 2;

		assert_int_equal(valid_until(i), refreshed ? 2000 : 1000);
		before[i].valid_until_ns = valid_until(i);
	}
	assert_memory_equal(world.store.verdicts, before, sizeof(before));

	assert_int_equal(control_refresh(&world.control, PEERS - 1, PEERS - 1, 3, 3000, &world.why), 0);
	assert_int_equal(valid_until(PEERS - 1), 1000); /* no slot was asked for */
	assert_int_equal(control_refresh(&world.control, PEERS - 1, PEERS + 100, 3, 3000, &world.why), 0);
	assert_int_equal(valid_until(PEERS - 1), 3000); /* and beyond the end there is nothing */
	assert_int_equal(control_refresh(&world.control, 0, KPHI_REFRESH_SLOTS + 1, 3, 4000, &world.why),
			 -EINVAL);
	assert_int_equal(valid_until(0), 2000);
}

static void a_large_store_is_refreshed_in_one_request(void **state)
{
	struct world large;
	struct kphi_verdict v = some_verdict(3);

	(void)state;
	world_open(&large, "large", KPHI_REFRESH_SLOTS, 8);
	for (uint32_t i = 0; i < KPHI_REFRESH_SLOTS; i++)
		assert_int_equal(control_verdict(&large.control, i, &v, &large.why), 0);
	assert_int_equal(control_refresh(&large.control, 0, KPHI_REFRESH_SLOTS, 3, 2000, &large.why), 0);
	for (uint32_t i = 0; i < KPHI_REFRESH_SLOTS; i++)
		assert_int_equal(large.store.verdicts[i].valid_until_ns, 2000);
	world_close(&large);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(refused_requests_change_nothing),
		IN_A_WORLD(short_requests_are_bad),
		IN_A_WORLD(rules_that_nobody_would_find_are_bad),
		IN_A_WORLD(no_room_for_an_identity),
		IN_A_WORLD(errors_are_sentences),
		IN_A_WORLD(a_full_store_can_be_churned),
		IN_A_WORLD(nobody_hears_the_dead),
		IN_A_WORLD(a_handle_of_another_generation_is_void),
		IN_A_WORLD(versions_only_rise),
		IN_A_WORLD(what_was_asked_is_in_the_store),
		IN_A_WORLD(ports_listen_one_by_one),
		IN_A_WORLD(with_the_last_rule_of_a_port_it_is_foreign),
		IN_A_WORLD(a_verdict_is_published_whole),
		IN_A_WORLD(only_verdicts_of_this_life_are_refreshed),
		cmocka_unit_test(a_large_store_is_refreshed_in_one_request),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
