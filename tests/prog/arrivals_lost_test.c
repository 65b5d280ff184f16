// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every arrival is in the trace or among the lost ones: with a recorder that was stopped, one that was
 * stopped for longer than its lease, and one that was killed.
 */
#include "prog/recorder.h"

#define RING ((KPHI_ARRIVALS_BYTES - 1) / (sizeof(struct kphi_arrival) + 8)) /* arrivals that it holds */

static void stop(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

static uint64_t lease(void)
{
	static struct kphi_ports ports;
	const uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(load_map_fd(world.skeleton, ".data.ports"), &zero, &ports), 0);
	return ports.record_until_ns;
}

static void wait_for_its_end(void)
{
	for (int i = 0; clock_monotonic_ns() < lease(); i++) {
		assert_true(i < 60000);
		usleep(1000);
	}
}

/* So many packets, each of which is a beat. */
static void flood(const struct packet *p, uint32_t n)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = p->bytes, .data_size_in = p->length, .repeat = (int)n);
	uint64_t before = store_count(&world.store, KPHI_COUNT_beat);

	assert_int_equal(bpf_prog_test_run_opts(world.xdp, &run), 0);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_beat) - before, n);
}

static uint32_t build_flood(uint8_t source)
{
	const struct shape shape = {.version = 4, .source = source, .port = RULE_PORT};
	static const uint8_t payload[8];

	packet_build_around(&packet, &shape, payload, sizeof(payload));
	return rule_add(&(struct rule_for){.source = source}, NULL);
}

/* And whatever was lost, at its end the replay knows what the record is. */
static void assert_file_has(const char *name, uint32_t slot, uint64_t arrivals, uint64_t lost)
{
	struct kphi_record live = world_record(&world, slot), replayed;

	replay_file(name);
	assert_int_equal(trace_lost(stream.trace), lost);
	assert_int_equal(replay_arrivals(replay), arrivals);
	for (uint32_t i = 0; i < trace_peers(stream.trace); i++)
		if (!strcmp(trace_peer(stream.trace, i)->name, world.store.peers[slot].name))
			replayed = *replay_record(replay, i);
	replayed.version = live.version;
	replayed.generation = live.generation;
	assert_memory_equal(&replayed, &live, sizeof(live));
	close_file();
}

static void stopped(void **state)
{
	pid_t recorder = record("stopped");
	uint32_t slot = build_flood(20);

	(void)state;
	wait_for("stopped", 1, 0); /* the ring is empty again */
	stop(recorder);
	flood(&packet, RING + 1000);
	assert_true(clock_monotonic_ns() < lease());
	kill(recorder, SIGCONT);
	wait_for("stopped", 1, RING);
	flood(&packet, 500);
	end(recorder, SIGTERM);
	assert_int_equal(lease(), 0);
	assert_file_has("stopped", slot, RING + 500, 1000);
}

static void stopped_beyond_its_lease(void **state)
{
	pid_t recorder = record("slept");
	uint32_t slot = build_flood(21);

	(void)state;
	flood(&packet, 100);
	stop(recorder);
	wait_for_its_end();
	flood(&packet, 77);
	kill(recorder, SIGCONT);
	for (int i = 0; lease() < clock_monotonic_ns(); i++) {
		assert_true(i < 60000);
		usleep(1000);
	}
	flood(&packet, 23);
	end(recorder, SIGTERM);
	assert_file_has("slept", slot, 123, 77);
}

static void killed(void **state)
{
	pid_t recorder = record("killed");
	uint32_t slot = build_flood(22);
	uint64_t unrecorded;

	(void)state;
	flood(&packet, 300);
	wait_for("killed", 1, 300);
	end(recorder, SIGKILL);
	assert_true(clock_monotonic_ns() < lease());
	unrecorded = store_count(&world.store, KPHI_COUNT_unrecorded);
	flood(&packet, RING + 50);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_unrecorded) - unrecorded, 50);
	wait_for_its_end();
	flood(&packet, 50);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_unrecorded) - unrecorded, 50);

	replay_file("killed");
	assert_int_equal(replay_arrivals(replay), 300);
	assert_false(trace_ended(stream.trace));
	close_file();

	/* The next one finds a ring full of what nobody has asked for. */
	recorder = record("next");
	flood(&packet, 40);
	end(recorder, SIGTERM);
	assert_file_has("next", slot, 40, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped),
		cmocka_unit_test(stopped_beyond_its_lease),
		cmocka_unit_test(killed),
	};

	return cmocka_run_group_tests_name("arrivals_lost", tests, open_recorded_world, close_recorded_world);
}
