// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who may speak for a native peer that has a key. What is refused moves its counter and nothing of the
 * record; each such case ends with a message that is taken, so that it could have been.
 */
#include "prog/keyed.h"

/* --- the tag --- */

static void the_tests_hash_is_that_of_the_paper(void **state)
{
	(void)state;
	assert_true(sip_hash(bytes_1, 15, bytes_1) == 0xa129ca6149be45e5ULL);
}

static void signed_messages_are_taken(void **state)
{
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1);

	(void)state;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "signed");
	assert_true(world_record(&world, slot).flags & KPHI_WIRE_SIGNED);
	assert_int_equal(world.store.seals[slot].key_id, key_1.id);
	m.sequence++;
	packet_build(&packet, &(const struct shape){.version = 6, .tags = {TPID_Q}, .trailer = 9}, &m);
	expect(&world, &packet, KPHI_COUNT_beat, 0, "over IPv6, behind a tag, with bytes behind it");
	m.type = KPHI_WIRE_LEAVE;
	m.sequence++;
	expect_message(&world, &m, KPHI_COUNT_leave, 0, "goodbye");
	m.type = KPHI_WIRE_DOWN;
	m.epoch++;
	expect_message(&world, &m, KPHI_COUNT_down, KPHI_NOTE(restart), "down");
	assert_int_equal(world.store.seals[slot].refused, 0);
}

/* The tag covers all 80 bytes before it: whichever bit is another, the message is none of this peer's. */
static void any_bit_is_refused(void **state)
{
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 5, 1);

	(void)state;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "first");
	m.sequence++;
	build(&m);
	for (uint32_t bit = 0; bit < 8 * MESSAGE_SIZE; bit++) {
		uint32_t at = bit / 8;
		int outcome = KPHI_COUNT_bad_tag;

		*packet_message(&packet, at) ^= (uint8_t)(1U << bit % 8);
		if (at < 4)
			outcome = KPHI_COUNT_wire_magic;
		else if (at == 4)
			outcome = KPHI_COUNT_wire_version;
		else if (at == 5 && (bit % 8 >= 2 || *packet_message(&packet, 5) == 0))
			outcome = KPHI_COUNT_wire_type;
		else if (at == 7 && bit % 8 == 1)
			outcome = KPHI_COUNT_not_signed;
		else if (at == 8 || at == 9)
			outcome = KPHI_COUNT_wire_length;
		else if (at >= 12 && at < 16)
			outcome = KPHI_COUNT_unknown_key;
		else if (at >= 16 && at < 32)
			outcome = KPHI_COUNT_unknown_peer;
		if (outcome == KPHI_COUNT_bad_tag || outcome == KPHI_COUNT_not_signed ||
		    outcome == KPHI_COUNT_unknown_key)
			expect_refused(&packet, slot, outcome, "a bit is another");
		else
			expect(&world, &packet, outcome, 0, "a bit is another");
		*packet_message(&packet, at) ^= (uint8_t)(1U << bit % 8);
	}
	expect(&world, &packet, KPHI_COUNT_beat, 0, "all of them as they were");
}

static void wrong_keys_are_refused(void **state)
{
	static const uint8_t nearly[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14};
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1), other = m;

	(void)state;
	other.key = NULL;
	refused(&other, slot, KPHI_COUNT_not_signed, "unsigned");
	other.key_id = 0;
	refused(&other, slot, KPHI_COUNT_not_signed, "unsigned, and no key named");
	other.flags = MESSAGE_SIGNED;
	refused(&other, slot, KPHI_COUNT_unknown_key, "key 0 is no key");
	other = m;
	other.key_id = key_2.id;
	refused(&other, slot, KPHI_COUNT_unknown_key, "a number that nobody has");
	other = m;
	other.key = nearly;
	refused(&other, slot, KPHI_COUNT_bad_tag, "another key");
	other.key = bytes_2;
	refused(&other, slot, KPHI_COUNT_bad_tag, "quite another key");
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "its own key");
}

/* Without a key, a peer takes what comes, and is told nothing of a tag that nobody has looked at. */
static void who_has_no_key_is_not_signed(void **state)
{
	uint32_t slot = add_bound(0, NULL);
	struct message m = message_of(slot, 1, 1);

	(void)state;
	m.key = bytes_2;
	m.flags = KPHI_WIRE_DEGRADED;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "signed with whatever");
	assert_int_equal(world_record(&world, slot).flags, KPHI_WIRE_DEGRADED);
	assert_int_equal(world.store.seals[slot].key_id, 0);
	m.key = NULL;
	m.type = KPHI_WIRE_LEAVE;
	m.sequence++;
	expect_message(&world, &m, KPHI_COUNT_leave, 0, "anybody may say goodbye for it");
}

static void forged_goodbyes_have_no_effect(void **state)
{
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1), forged = m;

	(void)state;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "a beat");
	forged.key = NULL;
	forged.sequence = 2;
	forged.type = KPHI_WIRE_LEAVE;
	refused(&forged, slot, KPHI_COUNT_not_signed, "leave");
	forged.type = KPHI_WIRE_DOWN;
	refused(&forged, slot, KPHI_COUNT_not_signed, "down");
	forged.epoch = 2;
	refused(&forged, slot, KPHI_COUNT_not_signed, "a life of its own");
	forged.key = bytes_2;
	refused(&forged, slot, KPHI_COUNT_bad_tag, "signed with something");
	assert_int_equal(world_record(&world, slot).state, KPHI_UP);
	m.sequence = 2;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the next beat");
}

/* --- changing keys --- */

static void two_keys_at_a_time(void **state)
{
	const struct key again = {9, {1, 2}}, twin = {7, {1, 2}};
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1), n = m;

	(void)state;
	n.key_id = key_2.id;
	n.key = bytes_2;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the first key");
	n.sequence = 2;
	refused(&n, slot, KPHI_COUNT_unknown_key, "the second is not known yet");
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &twin, &world.why), -EEXIST);
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &key_2, &world.why), 0);
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &key_2, &world.why), 0);
	assert_int_equal(keyring_add(&world.control, &world.store, ring, &again, &world.why), -ENOSPC);
	expect_message(&world, &n, KPHI_COUNT_beat, 0, "the second key");
	assert_int_equal(world.store.seals[slot].key_id, key_2.id);
	m.sequence = 3;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the first one still");
	assert_int_equal(world.store.seals[slot].key_id, key_1.id);
	assert_int_equal(keyring_drop(&world.control, &world.store, ring, key_1.id, &world.why), 0);
	assert_int_equal(keyring_drop(&world.control, &world.store, ring, key_1.id, &world.why), -ENOENT);
	m.sequence = n.sequence = 4;
	refused(&m, slot, KPHI_COUNT_unknown_key, "the first one no more");
	expect_message(&world, &n, KPHI_COUNT_beat, 0, "but the second");
	assert_int_equal(keyring_free(&world.control, &world.store, ring, &world.why), -EBUSY);
	assert_int_equal(keyring_set(&world.control, &world.store, ring, &key_1, 1, &world.why), 0);
	m.sequence = n.sequence = 5;
	refused(&n, slot, KPHI_COUNT_unknown_key, "not in the set");
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the set is the first one again");
}

/* keyring_set() from any pair to any other: in the end those and no other. */
static void sets_of_keys(void **state)
{
	static const struct key keys[3] = {{1, {11, 12}}, {2, {21, 22}}, {3, {31, 32}}};
	static const int sets[][2] = {{0, -1}, {1, -1}, {2, -1}, {0, 1}, {1, 0}, {0, 2}, {1, 2}, {2, 1}};
	int of = keyring_make(&world.control, &world.store, "sets", &world.why);
	const struct kphi_ring *r = &world.store.rings[of];

	(void)state;
	for (size_t i = 0; i < COUNT(sets); i++)
		for (size_t k = 0; k < COUNT(sets); k++) {
			const int *steps[] = {sets[i], sets[k]};

			for (int step = 0; step < 2; step++) {
				uint32_t count = steps[step][1] < 0 ? 1 : 2, found = 0;
				struct key set[2] = {keys[steps[step][0]]};

				if (count == 2)
					set[1] = keys[steps[step][1]];
				assert_int_equal(
					keyring_set(&world.control, &world.store, of, set, count, &world.why),
					0);
				assert_int_equal(keyring_keys(r), count);
				for (uint32_t n = 0; n < count; n++)
					for (int place = 0; place < KPHI_RING_KEYS; place++)
						found += r->key_id[place] == set[n].id &&
							 r->fingerprint[place] == key_fingerprint(&set[n]);
				assert_int_equal(found, count);
			}
		}
	assert_int_equal(keyring_free(&world.control, &world.store, of, &world.why), 0);
	assert_int_equal(keyring_find(&world.store, "sets"), -1);
}

/* A peer that had no key gets one, and keeps what was heard of it. */
static void a_key_for_a_peer_that_had_none(void **state)
{
	const struct kphi_peer rule = {.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 9}};
	uint32_t slot = add_bound(0, NULL), by_rule = world_add(&world, &rule);
	struct message m = message_of(slot, 1, 1), forged = m;

	(void)state;
	forged.key = NULL;
	expect_message(&world, &forged, KPHI_COUNT_beat, 0, "unsigned");
	assert_int_equal(
		keyring_use(&world.control, slot, world.store.records[slot].generation, ring, &world.why), 0);
	forged.sequence = m.sequence = 2;
	refused(&forged, slot, KPHI_COUNT_not_signed, "unsigned, now");
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "signed");
	assert_int_equal(world_record(&world, slot).window.n, 1);
	assert_int_equal(keyring_use(&world.control, slot, 99, ring, &world.why), -ESTALE);
	assert_int_equal(keyring_use(&world.control, by_rule, world.store.records[by_rule].generation, ring,
				     &world.why),
			 -EINVAL); /* what a rule hears is not signed */
}

/* A ring without a key, as after a restore: nothing is taken on trust meanwhile. */
static void no_key_is_no_open_door(void **state)
{
	int empty = keyring_make(&world.control, &world.store, "empty", &world.why);
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1);

	(void)state;
	assert_int_equal(
		keyring_use(&world.control, slot, world.store.records[slot].generation, empty, &world.why),
		0);
	refused(&m, slot, KPHI_COUNT_unknown_key, "no key at all");
	m.key_id = 0;
	refused(&m, slot, KPHI_COUNT_unknown_key, "nor that of the number 0");
	m.key_id = key_1.id;
	assert_int_equal(keyring_add(&world.control, &world.store, empty, &key_1, &world.why), 0);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the key came");
}

/* --- replay --- */

#define RECORDED 40

/* All that a peer said in two lives, once more, at any later time and in any order. */
static void recorded_packets_never_count_again(void **state)
{
	static struct packet tape[2 * RECORDED];
	uint32_t slot = add_keyed(), n = 0;
	struct message m = message_of(slot, 10, 1);
	struct kphi_record before, after;

	(void)state;
	for (m.epoch = 10; m.epoch < 12; m.epoch++)
		for (m.sequence = 1; m.sequence <= RECORDED; m.sequence++) {
			build(&m);
			tape[n++] = packet;
			expect(&world, &packet, KPHI_COUNT_beat,
			       m.epoch == 11 && m.sequence == 1 ? KPHI_NOTE(restart) : 0, "live");
		}
	before = world_record(&world, slot);
	for (uint32_t i = 0; i < n; i++)
		expect(&world, &tape[i], i < RECORDED ? KPHI_COUNT_stale_epoch : KPHI_COUNT_duplicate, 0,
		       "replayed");
	for (uint32_t i = n; i--;)
		expect(&world, &tape[i], i < RECORDED ? KPHI_COUNT_stale_epoch : KPHI_COUNT_duplicate, 0,
		       "backwards");
	after = world_record(&world, slot);
	assert_int_equal(after.last_ns, before.last_ns);
	assert_int_equal(after.beats, before.beats);
	assert_int_equal(after.window.n, before.window.n);
	assert_int_equal(after.state, KPHI_UP);
	m.epoch = 11;
	m.sequence = RECORDED + 1;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the next one is news");
}

/* The same after the peer was added again, as a restore and a changed configuration do it. */
static void nor_after_the_peer_was_added_again(void **state)
{
	const struct control_floor floor = {20, 30}, minimum = {21, 0};
	struct kphi_peer peer = {.name = "again",
				 .id = {.kind = KPHI_ID_NATIVE, .bytes = {0xaa}},
				 .demands = KPHI_DEMAND_KEY,
				 .ring = (uint16_t)ring};
	struct message m = {.type = 1, .id = {0xaa}, .key_id = key_1.id, .key = bytes_1};
	uint32_t slot = 0;

	(void)state;
	assert_int_equal(
		control_restore(&world.control, &world.store, &peer, NULL, &floor, &slot, &world.why), 0);
	m.epoch = 19;
	m.sequence = 1000;
	expect_message(&world, &m, KPHI_COUNT_stale_epoch, 0, "a life before");
	m.epoch = 20;
	for (m.sequence = 1; m.sequence <= 30; m.sequence++)
		expect_message(&world, &m, KPHI_COUNT_stale_sequence, 0, "heard before");
	assert_int_equal(world_record(&world, slot).state, KPHI_WAITING);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the next one");
	assert_int_equal(world_record(&world, slot).restarts, 0);

	assert_int_equal(control_delete(&world.control, &world.store, slot,
					world.store.records[slot].generation, &world.why),
			 0);
	slot = 0;
	assert_int_equal(
		control_restore(&world.control, &world.store, &peer, NULL, &minimum, &slot, &world.why), 0);
	m.sequence = 1000;
	expect_message(&world, &m, KPHI_COUNT_stale_epoch, 0, "below the minimum");
	m.epoch = 21;
	m.sequence = 1;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "of the minimum");
}

/* A clock far ahead is a sender's own business once it has proved who it is. */
static void signed_epochs_may_be_far_ahead(void **state)
{
	uint64_t far = (uint64_t)time(NULL) + 10 * 86400;
	uint32_t slot = add_keyed(), open = add_bound(0, NULL);
	struct message m = message_of(slot, far, 1), n = world_message(&world, open, far, 1);

	(void)state;
	expect_message(&world, &n, KPHI_COUNT_future_epoch, 0, "unsigned");
	n = message_of(open, far, 1);
	expect_message(&world, &n, KPHI_COUNT_future_epoch, 0, "signed, but nobody has looked");
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "signed");
}

/* --- who lives in a slot next --- */

static void nothing_of_a_seal_is_inherited(void **state)
{
	static const struct kphi_seal none;
	uint32_t slot = add_keyed();
	struct message m = message_of(slot, 1, 1);

	(void)state;
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "signed");
	m.key = NULL;
	refused(&m, slot, KPHI_COUNT_not_signed, "unsigned");
	assert_int_equal(
		control_reset(&world.control, slot, world.store.records[slot].generation, &world.why), 0);
	assert_memory_equal(&world.store.seals[slot], &none, sizeof(none));
	refused(&m, slot, KPHI_COUNT_not_signed, "a reset opens no door");
	assert_int_equal(control_delete(&world.control, &world.store, slot,
					world.store.records[slot].generation, &world.why),
			 0);
	assert_int_equal(add_bound(0, NULL), slot);
	assert_memory_equal(&world.store.seals[slot], &none, sizeof(none));
}

static void a_store_may_require_keys(void **state)
{
	const struct store_size size = {.peers = 4, .window = 8, .keyed = true};
	struct kphi_peer peer = {.name = "open", .id = {.kind = KPHI_ID_NATIVE, .bytes = {1}}};
	const struct kphi_peer rule = {.name = "rule",
				       .id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 9}};
	struct kphi_peer by_rule = rule;
	struct world w = {.control.program = -1};
	uint32_t slot = 0;
	char root[256];
	int err;

	(void)state;
	snprintf(root, sizeof(root), "%s/keyed", getenv("KPHI_PIN"));
	err = pin_open(&w.pin, root, true, &w.why);
	err = err ?: pin_lock(&w.pin, &w.why);
	err = err ?: store_create(&w.pin, &size, NULL, &w.why);
	err = err ?: store_open(&w.store, &w.pin, &w.why);
	err = err ?: control_open(&w.control, &w.pin, &w.why);
	assert_int_equal(err, 0);
	assert_int_equal(control_add(&w.control, &w.store, &peer, NULL, &slot, &w.why), -EPERM);
	assert_int_equal(w.store.records[0].state, KPHI_FREE);
	peer.demands = KPHI_DEMAND_SOURCE;
	assert_int_equal(control_add(&w.control, &w.store, &peer, NULL, &slot, &w.why), -EPERM);
	peer.demands = KPHI_DEMAND_KEY;
	assert_int_equal(control_add(&w.control, &w.store, &peer, NULL, &slot, &w.why), 0);
	assert_int_equal(control_add(&w.control, &w.store, &by_rule, NULL, &slot, &w.why), 0);
	control_close(&w.control);
	store_close(&w.store);
	assert_int_equal(pin_purge(&w.pin, NULL, &w.why), 0);
	pin_close(&w.pin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tests_hash_is_that_of_the_paper),
		cmocka_unit_test(signed_messages_are_taken),
		cmocka_unit_test(any_bit_is_refused),
		cmocka_unit_test(wrong_keys_are_refused),
		cmocka_unit_test(who_has_no_key_is_not_signed),
		cmocka_unit_test(forged_goodbyes_have_no_effect),
		cmocka_unit_test(two_keys_at_a_time),
		cmocka_unit_test(sets_of_keys),
		cmocka_unit_test(a_key_for_a_peer_that_had_none),
		cmocka_unit_test(no_key_is_no_open_door),
		cmocka_unit_test(recorded_packets_never_count_again),
		cmocka_unit_test(nor_after_the_peer_was_added_again),
		cmocka_unit_test(signed_epochs_may_be_far_ahead),
		cmocka_unit_test(nothing_of_a_seal_is_inherited),
		cmocka_unit_test(a_store_may_require_keys),
	};

	return cmocka_run_group_tests_name("keys", tests, open_world, close_world);
}
