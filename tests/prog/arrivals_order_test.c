// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two CPUs hammer one peer, and its record is reset meanwhile: in the ring buffer its messages lie in another
 * order than the record took them, and yet what is recorded replays to the very record and ring, to the bit.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kernel/arrivals.h"
#include "prog/recorder.h"
#include "trace/order.h"

#define CPUS     2
#define ROUNDS   8
#define MESSAGES 7000 /* of each CPU in a round: both fit the ring buffer, were nobody to read it */

static uint32_t slot;
static atomic_ullong next_sequence;
static atomic_uint at_work;

static struct hammer {
	struct packet packet;
	pthread_t thread;
	uint64_t failed;
} hammers[CPUS];

/* Numbers as two queues of a card hand them over; some are lost, so that the order shows in the windows. */
static void *work(void *argument)
{
	struct hammer *h = argument;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = h->packet.bytes, .data_size_in = h->packet.length,
		    .repeat = 1);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(h - hammers, &set);
	h->failed = sched_setaffinity(0, sizeof(set), &set) != 0;
	for (uint32_t i = 0; i < MESSAGES; i++) {
		put64(packet_message(&h->packet, 40), atomic_fetch_add(&next_sequence, 1 + (i % 7 == 3)));
		h->failed += bpf_prog_test_run_opts(world.xdp, &run) || run.retval != XDP_PASS;
	}
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static void begin_round(void)
{
	static const struct shape plain = {.version = 4};
	struct message m = world_message(&world, slot, 1, 1);

	atomic_store(&at_work, CPUS);
	for (int i = 0; i < CPUS; i++) {
		packet_build(&hammers[i].packet, &plain, &m);
		assert_int_equal(pthread_create(&hammers[i].thread, NULL, work, &hammers[i]), 0);
	}
}

static void end_round(void)
{
	for (int i = 0; i < CPUS; i++) {
		pthread_join(hammers[i].thread, NULL);
		assert_int_equal(hammers[i].failed, 0);
	}
}

static void reset(void)
{
	assert_int_equal(
		control_reset(&world.control, slot, world.store.records[slot].generation, &world.why), 0);
}

static void begin(uint64_t sequence)
{
	const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

	slot = world_add(&world, &hourly);
	atomic_store(&next_sequence, sequence);
}

/* --- this process records --- */

static struct {
	struct order order;
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];
	uint64_t last_version, came, turned, gaps;
} mine;

static int fold(void *context, const struct kphi_arrival *a, bool gap)
{
	const struct kphi_peer *peer = &world.store.peers[slot];
	struct kphi_beat b = a->beat;
	uint32_t notes;

	(void)context;
	mine.gaps += gap;
	if (a->what == KPHI_ARRIVAL_MESSAGE) {
		kphi_record_take(&mine.record, peer, mine.ring, WINDOW, &b, &notes);
	} else if (a->what == KPHI_ARRIVAL_CLEARED) {
		mine.record =
			(struct kphi_record){.state = KPHI_WAITING, .since_ns = b.now_ns, .epoch = b.epoch};
		kphi_window_begin(&mine.record.window, peer);
	}
	return 0;
}

static int on_arrival(void *context, const struct kphi_arrival *a)
{
	(void)context;
	if (a->slot != slot)
		return 0;
	mine.came += a->what == KPHI_ARRIVAL_MESSAGE;
	mine.turned += a->version < mine.last_version;
	mine.last_version = a->version;
	return order_take(&mine.order, a, clock_monotonic_ns());
}

static void assert_same(const struct kphi_record *replayed, const uint64_t *ring)
{
	struct kphi_record live = world_record(&world, slot), r = *replayed;

	live.version = r.version = 0;
	live.generation = r.generation = 0;
	assert_memory_equal(&r, &live, sizeof(live));
	assert_memory_equal(ring, world_ring(&world, slot), KPHI_RING_SIZE(WINDOW) * sizeof(*ring));
}

static void in_order(void **state)
{
	uint64_t messages = 0, inverted = 0;
	struct arrivals *a;
	struct why why;

	(void)state;
	begin(1);
	assert_int_equal(order_begin(&mine.order, PEERS, fold, NULL), 0);
	a = arrivals_begin(&world.pin, &world.store, on_arrival, NULL, &why);
	assert_non_null(a);
	order_follow(&mine.order, slot, world_record(&world, slot).version);
	mine.record = world_record(&world, slot);
	/* How often the two meet depends on what else the machine does. */
	for (int round = 0; round < ROUNDS || (!mine.turned && round < 20 * ROUNDS); round++) {
		begin_round();
		messages += CPUS * MESSAGES;
		while (atomic_load(&at_work)) {
			assert_true(arrivals_turn(a, &why) >= 0);
			if (round % 2)
				reset();
			usleep(500); /* the hammers need both CPUs */
		}
		end_round();
		while (arrivals_turn(a, &why) > 0)
			;
		assert_int_equal(mine.order.held, 0); /* nobody waits for ever */
		assert_same(&mine.record, mine.ring);
		inverted += mine.record.stamp_inverted;
	}
	assert_int_equal(arrivals_lost(a), 0);
	assert_int_equal(mine.came, messages);
	assert_int_equal(mine.gaps + mine.order.late, 0);
	print_message("%" PRIu64 " of %" PRIu64 " came out of order; %" PRIu64 " stamps were inverted\n",
		      mine.turned, messages, inverted);
	assert_true(mine.turned > 0);
	arrivals_end(a);
	order_end(&mine.order);
}

/* --- the command does --- */

static void recorded(void **state)
{
	uint64_t arrivals = 0;
	uint32_t number;
	pid_t recorder;

	(void)state;
	begin(1);
	recorder = record("two");
	for (int round = 0; round < ROUNDS; round++) {
		begin_round();
		while (round % 2 && atomic_load(&at_work)) {
			reset();
			usleep(200);
		}
		end_round();
		arrivals += CPUS * MESSAGES;
		wait_for("two", 1, arrivals);
	}
	end(recorder, SIGTERM);
	replay_file("two");
	assert_int_equal(trace_lost(stream.trace), 0);
	assert_int_equal(replay_arrivals(replay), arrivals);
	for (number = 0; strcmp(trace_peer(stream.trace, number)->name, world.store.peers[slot].name);
	     number++)
		assert_true(number + 1 < trace_peers(stream.trace));
	assert_same(replay_record(replay, number), replay_ring(replay, number));
	close_file();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(recorded),
	};

	if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS) {
		printf("1..0 # SKIP it takes two CPUs\n");
		return 0;
	}
	return cmocka_run_group_tests_name("arrivals_order", tests, open_recorded_world,
					   close_recorded_world);
}
