// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What `kphi trace record` writes replays to the very records and rings that the kernel has meanwhile made of
 * the same packets, to the bit.
 */
#include "prog/bfd.h"
#include "prog/recorder.h"

#define ROUNDS 6000

static uint64_t chance = 20260729;

static uint32_t random_below(uint32_t n)
{
	chance = chance * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(chance >> 33) % n;
}

/* --- senders --- */

enum kind { NATIVE, NUMBERED, BFD, VRRP };

struct sender {
	enum kind kind;
	uint64_t interval_ns; /* native; 0: to be learned */
	uint32_t slot;
	uint64_t epoch, sequence;
	bool down;
	uint8_t source;
	struct bfd bfd;
};

static struct sender senders[] = {
	{.kind = NATIVE, .interval_ns = 1000000},
	{.kind = NATIVE},
	{.kind = NATIVE, .interval_ns = 50000}, /* it never keeps that: retuned again and again */
	{.kind = NUMBERED, .source = 2},
	{.kind = BFD, .source = 3},
	{.kind = VRRP, .source = 4},
};

/* Up already when the recording begins. */
static struct sender established[] = {
	{.kind = NATIVE, .interval_ns = 50000},
	{.kind = NUMBERED, .source = 12},
	{.kind = BFD, .source = 13},
};

static const struct kphi_peer native_peer = {.id.kind = KPHI_ID_NATIVE};

static void add(struct sender *s)
{
	const struct kphi_rule numbered = {.sequence_offset = 2, .sequence_bits = 16};
	const struct kphi_rule bfd = {.decoder = KPHI_DECODER_BFD, .min_ttl = 255};
	const struct kphi_rule vrrp = {.match = {{.value = 0x0107, .mask = 0x0fff, .width = 2}},
				       .leave = {.mask = 0xff, .offset = 2, .width = 1}};
	struct kphi_peer peer = native_peer;

	s->epoch = 1000;
	s->bfd = bfd_up;
	peer.interval_ns = s->interval_ns;
	if (s->kind == NATIVE)
		s->slot = world_add(&world, &peer);
	else if (s->kind == NUMBERED)
		s->slot = rule_add(&(struct rule_for){.source = s->source}, &numbered);
	else if (s->kind == BFD)
		s->slot = rule_add(&(struct rule_for){.source = s->source, .port = BFD_PORT}, &bfd);
	else
		s->slot = rule_add(&(struct rule_for){.protocol = PROTOCOL_VRRP}, &vrrp);
}

static void send_packet(void)
{
	static uint32_t sent;

	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		run_on_cpu((int)(sent++ / 16 % 2));
	assert_int_equal(world_try(&world, &packet), 0);
	usleep(random_below(40) ? random_below(300) : 12000);
}

static void send_native(const struct sender *s, uint8_t type, uint64_t epoch, uint64_t sequence)
{
	static const struct shape plain = {.version = 4};
	struct message m = world_message(&world, s->slot, epoch, sequence);

	m.type = type;
	m.flags = random_below(20) ? 0 : KPHI_WIRE_DEGRADED;
	m.load_average = random_below(20);
	m.available_capacity = 100 - m.load_average;
	m.cluster_version = 7;
	packet_build(&packet, &plain, &m);
	send_packet();
}

static void restart(struct sender *s)
{
	s->epoch++;
	s->sequence = random_below(100);
	s->down = false;
	send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence);
}

static void go_on_native(struct sender *s)
{
	uint32_t what = s->down ? 150 + random_below(50) : random_below(200);

	if (what < 140)
		send_native(s, KPHI_WIRE_BEAT, s->epoch, ++s->sequence);
	else if (what < 160)
		send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence += 2 + random_below(3));
	else if (what < 170)
		send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence);
	else if (what < 180) {
		s->sequence += 2;
		send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence);
		send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence - 1);
	} else if (what < 184)
		send_native(s, KPHI_WIRE_BEAT, s->epoch, s->sequence - 100);
	else if (what < 188)
		send_native(s, KPHI_WIRE_BEAT, s->epoch - 1, s->sequence + 1);
	else if (what < 192)
		send_native(s, KPHI_WIRE_BEAT, UINT64_C(1) << 60, 1);
	else if (what < 195)
		send_native(s, KPHI_WIRE_LEAVE, s->epoch, ++s->sequence);
	else if (what < 197) {
		send_native(s, KPHI_WIRE_DOWN, s->epoch, ++s->sequence);
		send_native(s, KPHI_WIRE_BEAT, s->epoch, ++s->sequence);
		s->down = true;
	} else
		restart(s);
}

static void send_numbered(const struct sender *s, uint16_t number)
{
	const struct shape shape = {.version = 4, .source = s->source, .port = RULE_PORT};
	uint8_t payload[8] = {0};

	put16(payload + 2, number);
	packet_build_around(&packet, &shape, payload, sizeof(payload));
	send_packet();
}

/* Loss, duplicates, overtaking, and a jump that the next number confirms; 16 bits overflow on the way. */
static void go_on_numbered(struct sender *s)
{
	uint32_t what = random_below(100);

	s->sequence += what < 70 ? 1 : what < 80 ? 2 + random_below(4) : what < 85 ? 0 : 2;
	if (what >= 97)
		s->sequence += 20000;
	send_numbered(s, (uint16_t)s->sequence);
	if (what >= 85)
		send_numbered(s, (uint16_t)(what >= 97 ? ++s->sequence : s->sequence - 1));
}

static void send_bfd(const struct sender *s, struct bfd b)
{
	const struct shape shape = {.version = 4, .source = s->source, .port = BFD_PORT, .ttl = BFD_TTL};
	uint8_t payload[BFD_SIZE];

	bfd_write(payload, &b);
	packet_build_around(&packet, &shape, payload, sizeof(payload));
	send_packet();
}

/* A poll and what it has announced, answers to polls, another session, and AdminDown. */
static void go_on_bfd(struct sender *s)
{
	uint32_t what = random_below(100);
	struct bfd b = s->bfd;

	if (what < 5) {
		s->bfd.desired_us = b.desired_us = b.desired_us == 50000 ? 1000 : 50000;
		b.state |= BFD_POLL;
	} else if (what < 8) {
		b.state |= BFD_FINAL;
	} else if (what < 10) {
		s->bfd.mine = b.mine += 1;
	} else if (what < 13) {
		b.state = BFD_ADMIN_DOWN;
	} else if (what < 15) {
		b.state = BFD_DOWN;
		b.diagnostic = 1;
	}
	send_bfd(s, b);
}

static void go_on_vrrp(struct sender *s)
{
	uint8_t payload[20] = {0x21, 0x07, 0x96, 1};
	struct shape shape = {.version = 4, .ttl = 255, .bare = true, .protocol = PROTOCOL_VRRP};

	if (!random_below(20))
		s->source ^= 1;
	if (!random_below(30))
		payload[2] = 0;
	shape.source = s->source;
	packet_build_around(&packet, &shape, payload, sizeof(payload));
	send_packet();
}

/* What people do to a peer meanwhile: none but the reset changes its record. */
static void control(struct sender *s)
{
	const uint32_t generation = world.store.records[s->slot].generation;
	int err;

	switch (random_below(4)) {
	case 0:
		err = control_watch(&world.control, s->slot, generation, true, &world.why);
		break;
	case 1:
		err = control_watch(&world.control, s->slot, generation, false, &world.why);
		break;
	case 2:
		err = control_mute(&world.control, s->slot, generation, UINT64_MAX, "meanwhile", &world.why);
		err = err ?: control_mute(&world.control, s->slot, generation, 0, NULL, &world.why);
		break;
	default:
		err = control_reset(&world.control, s->slot, generation, &world.why);
		s->epoch -= random_below(2); /* which is accepted now */
		s->down = false;
	}
	if (err)
		fail_msg("%s", world.why.text);
}

static void go_on(struct sender *s)
{
	static void (*const by_kind[])(struct sender *) = {
		[NATIVE] = go_on_native, [NUMBERED] = go_on_numbered, [BFD] = go_on_bfd, [VRRP] = go_on_vrrp};

	if (!random_below(100))
		control(s);
	by_kind[s->kind](s);
}

/* --- record live, replay, and the records are equal --- */

/* The number that a peer has in the trace. */
static uint32_t number_of(const char *peer)
{
	for (uint32_t i = 0; i < trace_peers(stream.trace); i++)
		if (!strcmp(trace_peer(stream.trace, i)->name, peer))
			return i;
	fail_msg("%s is not in the trace", peer);
	return 0;
}

static uint32_t number_of_slot(uint32_t slot)
{
	return number_of(world.store.peers[slot].name);
}

/* What of the ring counts: the window, and the capped intervals behind it. */
static void assert_equal_windows(const struct kphi_window *w, const uint64_t *replayed, const uint64_t *live)
{
	assert_memory_equal(replayed, live, w->n * sizeof(*live));
	assert_memory_equal(replayed + WINDOW, live + WINDOW, w->capped_run * sizeof(*live));
}

/* All of the record but what belongs to the slot: the version, which readers go by, and the generation. */
static void assert_equal_records(uint32_t slot)
{
	uint32_t number = number_of_slot(slot);
	struct kphi_record live = world_record(&world, slot), replayed = *replay_record(replay, number);
	const uint64_t *ring = &world.store.windows[(uint64_t)slot * KPHI_RING_SIZE(WINDOW)];

	live.version = replayed.version = 0;
	live.generation = replayed.generation = 0;
	assert_memory_equal(&replayed, &live, sizeof(live));
	assert_equal_windows(&live.window, replay_ring(replay, number), ring);
	assert_memory_equal(&trace_peer(stream.trace, number)->settings, &world.store.peers[slot],
			    sizeof(struct kphi_peer));
	assert_memory_equal(&trace_peer(stream.trace, number)->rule, &world.store.rules[slot],
			    sizeof(struct kphi_rule));
}

/* As it was when it was described. */
static void settle(const struct sender *s)
{
	const uint32_t generation = world.store.records[s->slot].generation;

	assert_int_equal(control_watch(&world.control, s->slot, generation, false, &world.why), 0);
}

static void beat_of(uint32_t slot, uint64_t sequence)
{
	send_native(&(struct sender){.slot = slot}, KPHI_WIRE_BEAT, 5, sequence);
}

/* What happened, so that what was equal was something. */
static void assert_everything_has_happened(const uint64_t before[KPHI_COUNTERS])
{
	static const enum kphi_counter all[] = {
		KPHI_COUNT_beat,        KPHI_COUNT_leave,        KPHI_COUNT_down,
		KPHI_COUNT_stale_epoch, KPHI_COUNT_future_epoch, KPHI_COUNT_after_down,
		KPHI_COUNT_duplicate,   KPHI_COUNT_reordered,    KPHI_COUNT_stale_sequence,
		KPHI_COUNT_restart,     KPHI_COUNT_capped,       KPHI_COUNT_retuned,
		KPHI_COUNT_handover,    KPHI_COUNT_renegotiated};
	uint64_t after[KPHI_COUNTERS];

	world_counts(&world, after);
	for (size_t i = 0; i < COUNT(all); i++)
		if (after[all[i]] - before[all[i]] < 5)
			fail_msg("%s happened only %" PRIu64 " times", counter_names[all[i]],
				 after[all[i]] - before[all[i]]);
	assert_int_equal(after[KPHI_COUNT_unrecorded], before[KPHI_COUNT_unrecorded]);
}

/*
 * A store that was restored has a peer whose epochs are known; and resets come last of all that is heard of
 * somebody.
 */
static void floors_and_resets(void **state)
{
	const struct kphi_control floor = {
		.op = KPHI_CONTROL_ADD,
		.slot = PEERS - 1,
		.now_ns = clock_monotonic_ns(),
		.epoch_floor = 100,
		.peer = {.name = "floor", .id = {.kind = KPHI_ID_NATIVE, .bytes = {9}}}};
	pid_t recorder = record("floor");
	const uint32_t slot = floor.slot;
	struct kphi_record r;

	(void)state;
	assert_int_equal(world_ask(&world, &floor, sizeof(floor)), KPHI_CONTROL_OK);
	send_native(&(struct sender){.slot = slot}, KPHI_WIRE_BEAT, 99, 1);
	end(recorder, SIGINT);
	r = world_record(&world, slot);
	assert_int_equal(r.stale, 1);
	assert_int_equal(r.state, KPHI_WAITING);
	replay_file("floor");
	assert_equal_records(slot);
	close_file();

	recorder = record("reset");
	send_native(&(struct sender){.slot = slot}, KPHI_WIRE_BEAT, 100, 1);
	send_native(&(struct sender){.slot = slot}, KPHI_WIRE_BEAT, 100, 2);
	assert_int_equal(control_reset(&world.control, slot, r.generation, &world.why), 0);
	end(recorder, SIGINT);
	assert_int_equal(world_record(&world, slot).state, KPHI_WAITING);
	replay_file("reset");
	assert_int_equal(replay_arrivals(replay), 2);
	assert_equal_records(slot);
	close_file();
	rule_delete(slot);
}

/* All but what no detection depends on. */
static void without_vitals(void **state)
{
	struct sender s = {.kind = NATIVE};
	struct kphi_record live, replayed;
	uint32_t number;
	pid_t recorder;

	(void)state;
	add(&s);
	for (int i = 0; i < 20; i++)
		send_native(&s, KPHI_WIRE_BEAT, 7, ++s.sequence);
	recorder = record_with("plain", NULL);
	for (int i = 0; i < 20; i++)
		send_native(&s, KPHI_WIRE_BEAT, 7, ++s.sequence);
	end(recorder, SIGINT);
	live = world_record(&world, s.slot);
	assert_int_equal(live.cluster_version, 7);
	assert_int_equal(live.beats, 40);
	live.cluster_version = 0;
	live.load_average = live.available_capacity = 0;
	live.version = 0;
	live.generation = 0;
	replay_file("plain");
	number = number_of_slot(s.slot);
	replayed = *replay_record(replay, number);
	assert_memory_equal(&replayed, &live, sizeof(live));
	assert_equal_windows(&live.window, replay_ring(replay, number), world_ring(&world, s.slot));
	close_file();
	rule_delete(s.slot);
}

enum { BEFORE = 20, SINCE = 30 };

/* Slots of peers with nothing but beats. */
static struct {
	uint32_t early; /* up before, and goes on */
	uint32_t silent; /* up before, and never heard again */
	uint32_t never;
	uint32_t second; /* in the slot of somebody who is gone */
	char gone[KPHI_NAME_SIZE];
} plain;

static const struct kphi_peer steady = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static void before_the_recording(void)
{
	plain.early = world_add(&world, &steady);
	plain.silent = world_add(&world, NULL);
	plain.never = world_add(&world, &steady);
	for (uint32_t i = 1; i <= BEFORE; i++)
		beat_of(plain.early, i);
	for (uint32_t i = 1; i <= 3 * WINDOW / 2; i++)
		beat_of(plain.silent, 2 * i);
	for (uint32_t i = 0; i < COUNT(established); i++) {
		add(&established[i]);
		for (uint32_t k = 0; k < 2 * WINDOW; k++)
			go_on(&established[i]);
	}
}

static void everybody_sends(void)
{
	for (uint32_t i = 0; i < COUNT(senders); i++)
		add(&senders[i]);
	for (uint32_t i = 1; i <= SINCE; i++)
		beat_of(plain.early, BEFORE + i);
	for (uint32_t i = 0; i < ROUNDS; i++)
		go_on(random_below(4) ? &senders[random_below(COUNT(senders))]
				      : &established[random_below(COUNT(established))]);
	for (uint32_t i = 0; i < COUNT(senders); i++)
		settle(&senders[i]);
	for (uint32_t i = 0; i < COUNT(established); i++)
		settle(&established[i]);
}

/* Two peers that had the same slot one after the other. */
static void two_in_one_slot(void)
{
	uint32_t first = world_add(&world, &steady);

	memcpy(plain.gone, world.store.peers[first].name, sizeof(plain.gone));
	for (uint32_t i = 1; i <= 10; i++)
		beat_of(first, i);
	/* Until the recorder has asked who that is. */
	wait_for("live", COUNT(senders) + COUNT(established) + 4, 0);
	rule_delete(first);
	plain.second = world_add(&world, &steady);
	assert_int_equal(plain.second, first);
	for (uint32_t i = 1; i <= 20; i++)
		beat_of(plain.second, i);
}

static void assert_equal_peers(void)
{
	for (uint32_t i = 0; i < COUNT(senders); i++) {
		assert_equal_records(senders[i].slot);
		/* Who was recorded from the first beat on has the very same ring, whatever counts of it. */
		assert_memory_equal(replay_ring(replay, number_of_slot(senders[i].slot)),
				    world_ring(&world, senders[i].slot),
				    KPHI_RING_SIZE(WINDOW) * sizeof(uint64_t));
	}
	for (uint32_t i = 0; i < COUNT(established); i++)
		assert_equal_records(established[i].slot);
	assert_equal_records(plain.second);
	assert_equal_records(plain.early);
	assert_int_equal(world.store.records[plain.early].beats, BEFORE + SINCE);
	assert_equal_records(plain.silent);
	assert_false(replay_heard(replay, number_of_slot(plain.silent)));
	assert_int_equal(world.store.records[plain.silent].window.n, WINDOW);
	assert_equal_records(plain.never);
	assert_int_equal(replay_record(replay, number_of(plain.gone))->beats, 10);
}

static void equal_records(void **state)
{
	uint64_t before[KPHI_COUNTERS];
	pid_t recorder;

	(void)state;
	before_the_recording();
	recorder = record("live");
	world_counts(&world, before);
	everybody_sends();
	two_in_one_slot();
	end(recorder, SIGINT);
	assert_everything_has_happened(before);

	replay_file("live");
	assert_int_equal(trace_lost(stream.trace), 0);
	assert_int_equal(trace_torn(stream.trace), 0);
	assert_true(trace_ended(stream.trace));
	assert_int_equal(trace_peers(stream.trace), COUNT(senders) + COUNT(established) + 5);
	assert_equal_peers();
	close_file();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floors_and_resets),
		cmocka_unit_test(without_vitals),
		cmocka_unit_test(equal_records),
	};

	return cmocka_run_group_tests_name("arrivals", tests, open_recorded_world, close_recorded_world);
}
