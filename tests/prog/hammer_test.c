// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both CPUs on one record while somebody reads it: nothing is lost, and no read is torn. Assertions belong to
 * the thread that reads; those that hammer only count what went wrong.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "prog/world.h"

#define CPUS         2
#define WINDOW       16
#define RULE_RUNS    200000 /* for each CPU */
#define RULE_REPEAT  1000
#define NATIVE_RUNS  50000
#define CONTROL_RUNS 20000

__extension__ typedef unsigned __int128 wide;

static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;

static struct hammer {
	int (*strike)(struct hammer *h);
	uint32_t strikes;
	uint32_t repeat; /* runs of the program in one strike */
	struct packet packet;
	pthread_t thread;
	uint64_t failed;
} hammers[CPUS];

static atomic_uint at_work;
static atomic_ullong next_sequence;

static void *work(void *argument)
{
	struct hammer *h = argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(h - hammers, &set);
	h->failed = sched_setaffinity(0, sizeof(set), &set) != 0;
	for (uint32_t i = 0; i < h->strikes; i++)
		h->failed += h->strike(h) != 0;
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static int strike_packet(struct hammer *h)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = h->packet.bytes, .data_size_in = h->packet.length,
		    .repeat = (int)h->repeat);
	int err = bpf_prog_test_run_opts(world.xdp, &run);

	return err ? err : run.retval != XDP_PASS;
}

/* Every message once, whichever CPU gets to send it. */
static int strike_next_message(struct hammer *h)
{
	put64(packet_message(&h->packet, 40), atomic_fetch_add(&next_sequence, 1));
	return strike_packet(h);
}

static int strike_reset(struct hammer *h)
{
	struct kphi_control q = {.op = KPHI_CONTROL_RESET, .now_ns = clock_monotonic_ns()};

	(void)h;
	return world_ask(&world, &q, sizeof(q));
}

/* Somebody new moves into slot 0; its name is its generation. */
static int strike_new_peer(struct hammer *h)
{
	uint32_t generation = world.store.records[0].generation;
	struct kphi_control out = {.op = KPHI_CONTROL_DELETE, .generation = generation};
	struct kphi_control in = {.op = KPHI_CONTROL_ADD, .peer = hourly};

	snprintf(in.peer.name, sizeof(in.peer.name), "%u", generation + 1);
	in.peer.added_ns = in.peer.pause_ns = generation + 1;
	memcpy(in.peer.id.bytes, h->packet.bytes + h->packet.payload + 16, 16);
	return world_ask(&world, &out, sizeof(out)) || world_ask(&world, &in, sizeof(in));
}

/* Lets the hammers fall on slot 0, reading all the while. Each reading is `check`ed. */
static void hammer(void (*check)(void))
{
	uint64_t before = world_record(&world, 0).version, reads = 0;

	atomic_store(&at_work, CPUS);
	for (int i = 0; i < CPUS; i++)
		assert_int_equal(pthread_create(&hammers[i].thread, NULL, work, &hammers[i]), 0);
	for (; atomic_load(&at_work); reads++)
		check();
	for (int i = 0; i < CPUS; i++) {
		pthread_join(hammers[i].thread, NULL);
		assert_int_equal(hammers[i].failed, 0);
	}
	check();
	print_message("%" PRIu64 " reads of %" PRIu64 " versions\n", reads,
		      (world_record(&world, 0).version - before) / 2);
	assert_true(reads > 100);
}

static void set_hammer(int i, int (*strike)(struct hammer *h), uint32_t strikes, uint32_t repeat)
{
	hammers[i].strike = strike;
	hammers[i].strikes = strikes;
	hammers[i].repeat = repeat;
}

static struct kphi_record last; /* what was read before */
static uint64_t changes; /* how often a reading differed from the one before */

/* Every sum is that of the ring, and nothing that only rises has fallen. */
static void check_whole(void)
{
	struct {
		uint64_t sum;
		wide squares;
	} all = {0}, clean = {0};
	uint64_t ring[WINDOW];
	struct kphi_record r;

	if (store_read_ring(&world.store, 0, &r, ring))
		return; /* busy, and it said so */
	assert_true(r.window.n <= WINDOW);
	for (uint32_t i = 0; i < r.window.n; i++) {
		uint64_t ns = ring[i] & KPHI_RING_NS;

		all.sum += ns;
		all.squares += (wide)ns * ns;
		if (ring[i] >> KPHI_RING_STEPS_SHIFT == 1) {
			clean.sum += ns;
			clean.squares += (wide)ns * ns;
		}
	}
	assert_int_equal(r.window.sum_ns, all.sum);
	assert_true(all.squares == ((wide)r.window.squares_high << 64 | r.window.squares_low));
	assert_int_equal(r.window.clean_sum_ns, clean.sum);
	assert_true(clean.squares == ((wide)r.window.clean_squares_high << 64 | r.window.clean_squares_low));
	assert_true(r.beats >= last.beats && r.last_ns >= last.last_ns && r.version >= last.version);
	changes += r.version != last.version;
	last = r;
}

static void begin(const struct kphi_peer *peer)
{
	world_open(&world, "hammer", 4, WINDOW);
	assert_int_equal(world_add(&world, peer), 0);
	last = world_record(&world, 0);
	changes = 0;
}

static void beats_of_a_rule(void **state)
{
	const struct kphi_peer rule = {
		.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = 3784, .bytes = {[0] = 0xfd, [15] = 9}},
		.interval_ns = hourly.interval_ns};
	const struct shape shape = {.version = 6, .source = 9, .port = 3784};
	const struct message any = {.type = 0};
	uint64_t before[KPHI_COUNTERS];
	struct kphi_record r;

	(void)state;
	begin(&rule);
	world_counts(&world, before);
	for (int i = 0; i < CPUS; i++) {
		packet_build(&hammers[i].packet, &shape, &any);
		set_hammer(i, strike_packet, RULE_RUNS / RULE_REPEAT, RULE_REPEAT);
	}
	hammer(check_whole);
	r = world_record(&world, 0);
	assert_true(changes > 100); /* it did read while they wrote */
	assert_int_equal(r.beats, CPUS * RULE_RUNS);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_beat) - before[KPHI_COUNT_beat],
			 CPUS * RULE_RUNS);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_stamp_inverted), r.stamp_inverted);
	assert_int_equal(r.window.n, WINDOW);
	print_message("%" PRIu64 " stamps inverted\n", r.stamp_inverted);
	assert_true(r.stamp_inverted > 0); /* they did wait for each other, and lost no beat by it */
	world_close(&world);
}

/* Two CPUs overtake each other as two queues of a card do: each message is a beat, or late, or too late. */
static void messages_in_order_of_sending(void **state)
{
	const struct shape shape = {.version = 4};
	struct message m;
	struct kphi_record r;

	(void)state;
	begin(&hourly);
	m = world_message(&world, 0, 1, 1);
	expect_message(&world, &m, KPHI_COUNT_beat, 0, "the first");
	atomic_store(&next_sequence, 2);
	for (int i = 0; i < CPUS; i++) {
		packet_build(&hammers[i].packet, &shape, &m);
		set_hammer(i, strike_next_message, NATIVE_RUNS, 1);
	}
	hammer(check_whole);
	r = world_record(&world, 0);
	assert_true(changes > 100);
	print_message("%" PRIu64 " late, %" PRIu64 " too late\n", r.reordered, r.stale);
	assert_int_equal(r.beats + r.reordered + r.stale, 1 + CPUS * NATIVE_RUNS);
	assert_int_equal(r.sequence.highest, 1 + CPUS * NATIVE_RUNS);
	assert_int_equal(r.sequence.lost, r.stale);
	assert_int_equal(r.duplicates | r.restarts, 0);
	world_close(&world);
}

/* A reader that comes in the middle of a reset sees what was before or what is after, never a record of
 * zeros. */
static void check_reset(void)
{
	struct kphi_record r;

	check_whole();
	last = (struct kphi_record){.version = last.version}; /* beats do fall here */
	if (store_read(&world.store, 0, &r, NULL))
		return;
	assert_true(r.state == KPHI_WAITING || r.state == KPHI_UP);
	assert_true(r.since_ns > 0);
	assert_int_equal(r.window.interval_ns, hourly.interval_ns);
	assert_true(r.state == KPHI_UP ? r.beats > 0 : !r.beats && !r.last_ns && !r.window.n);
}

static void resets_between_beats(void **state)
{
	const struct shape shape = {.version = 4};
	struct message m;

	(void)state;
	begin(&hourly);
	m = world_message(&world, 0, 1, 1);
	atomic_store(&next_sequence, 1);
	packet_build(&hammers[0].packet, &shape, &m);
	set_hammer(0, strike_next_message, 2 * CONTROL_RUNS, 1);
	set_hammer(1, strike_reset, 2 * CONTROL_RUNS, 1);
	hammer(check_reset);
	assert_true(changes > 100);
	world_close(&world);
}

/* Whoever is read in a slot is one peer: its name, its settings and its record belong together. */
static void check_tenant(void)
{
	struct kphi_record r;
	struct kphi_peer p;

	if (store_read(&world.store, 0, &r, &p))
		return;
	changes += r.generation != last.generation;
	assert_true(r.generation >= last.generation);
	last = r;
	if (r.state == KPHI_FREE || !r.generation)
		return;
	assert_int_equal(strtoul(p.name, NULL, 10), r.generation);
	assert_int_equal(p.added_ns, r.generation);
	assert_int_equal(p.pause_ns, r.generation);
	assert_true(r.state == KPHI_UP ? r.beats > 0 : !r.beats);
}

static void tenants_come_and_go(void **state)
{
	const struct shape shape = {.version = 4};
	struct kphi_record r;
	struct message m;

	(void)state;
	begin(&hourly);
	m = world_message(&world, 0, 1, 1);
	atomic_store(&next_sequence, 1);
	for (int i = 0; i < CPUS; i++)
		packet_build(&hammers[i].packet, &shape, &m);
	set_hammer(0, strike_next_message, 2 * CONTROL_RUNS, 1);
	set_hammer(1, strike_new_peer, CONTROL_RUNS, 1);
	hammer(check_tenant);
	r = world_record(&world, 0);
	assert_true(changes > 100);
	assert_int_equal(r.generation, CONTROL_RUNS);
	world_close(&world);
}

#define VERDICT_LIFE 3

/* One daemon alone publishes: every word of its nth verdict says n. */
static int strike_verdict(struct hammer *h)
{
	static uint32_t n;
	const struct kphi_verdict v = {.valid_until_ns = ++n,
				       .token = n,
				       .epoch = n,
				       .since_ns = n,
				       .generation = n,
				       .consumers = n,
				       .held = n,
				       .shadows = n,
				       .life = VERDICT_LIFE};
	struct why w;

	(void)h;
	return control_verdict(&world.control, 0, &v, &w);
}

static uint64_t last_token, published;

static void check_verdict(void)
{
	struct kphi_verdict v;
	uint64_t n;

	if (!store_verdict(&world.store, 0, 0, &v))
		return; /* none yet, or busy */
	n = v.token;
	assert_true(v.valid_until_ns == n && v.epoch == n && v.since_ns == n && v.generation == n);
	assert_true(v.consumers == n && v.held == n && v.shadows == n && v.life == VERDICT_LIFE);
	assert_true(n >= last_token);
	published += n != last_token;
	last_token = n;
}

/* While beats move the record of the same peer: the two have nothing to do with each other. */
static void verdicts_are_read_whole(void **state)
{
	const struct shape shape = {.version = 4};
	struct message m;

	(void)state;
	begin(&hourly);
	m = world_message(&world, 0, 1, 1);
	atomic_store(&next_sequence, 1);
	packet_build(&hammers[0].packet, &shape, &m);
	set_hammer(0, strike_next_message, CONTROL_RUNS, 1);
	set_hammer(1, strike_verdict, 4 * CONTROL_RUNS, 1);
	hammer(check_verdict);
	print_message("%" PRIu64 " verdicts read\n", published);
	assert_true(published > 100);
	assert_int_equal(last_token, 4 * CONTROL_RUNS);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beats_of_a_rule),         cmocka_unit_test(messages_in_order_of_sending),
		cmocka_unit_test(resets_between_beats),    cmocka_unit_test(tenants_come_and_go),
		cmocka_unit_test(verdicts_are_read_whole),
	};

	if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS) {
		printf("1..0 # SKIP it takes two CPUs\n");
		return 0;
	}
	return cmocka_run_group_tests_name("hammer", tests, NULL, NULL);
}
