// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The guard's ticks in the kernel: who arms them, how they end, who inherits them, and real stalls. */
#include <pthread.h>

#include "../../tools/hog.h"
#include "core/silence.h"
#include "prog/quiet.h"
#include "prog/world.h"

#define MS 1000000ULL

/* Which CPU takes the beats; the test itself looks on from the other one. */
enum { OTHER, OURS };

static struct world world;

static int begin(void **state)
{
	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return -1;
	world_open(&world, "tick", 16, 16);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* The n-th beat of the peer in `slot`, on this CPU; the caller goes back to the other one. */
static void beat_on(int cpu, uint32_t slot, uint64_t n)
{
	static const struct shape plain = {.version = 4};
	struct message m = world_message(&world, slot, 1, n);
	static struct packet p;

	packet_build(&p, &plain, &m);
	run_on_cpu(cpu);
	assert_int_equal(world_try(&world, &p), 0);
	run_on_cpu(OTHER);
	assert_int_equal(world_record(&world, slot).beats, n);
}

static struct kphi_tick tick_of(int cpu)
{
	return world.store.ticks[cpu];
}

static uint32_t add_peer(void)
{
	static const struct kphi_peer second = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 1000 * MS};

	return world_add(&world, &second);
}

/* --- life --- */

static void a_beat_arms_the_tick_of_its_own_cpu(void **state)
{
	uint32_t slot = add_peer();
	struct kphi_tick t;

	(void)state;
	assert_int_equal(tick_of(OURS).ticks, 0);
	beat_on(OURS, slot, 1);
	sleep_ms(300);
	t = tick_of(OURS);
	QUIET(0);
	assert_in_range(t.ticks, 20, 31);
	assert_int_equal(t.armed_cpu, OURS);
	assert_int_not_equal(t.program, 0);
	assert_int_equal(t.suspended_total_ns, 0);
	for (uint32_t cpu = 0; cpu < world.store.header->cpus; cpu++)
		if (cpu != OURS)
			assert_int_equal(tick_of((int)cpu).program | tick_of((int)cpu).ticks, 0);
}

static void a_hundred_a_second(void **state)
{
	uint32_t slot = add_peer();
	uint64_t before, began_ns, ticks, took_ns;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	before = tick_of(OURS).ticks;
	began_ns = clock_monotonic_ns();
	for (uint64_t i = 0; i < 10; i++) {
		beat_on(OURS, slot, 2 + i);
		sleep_ms(100);
	}
	ticks = tick_of(OURS).ticks - before;
	took_ns = clock_monotonic_ns() - began_ns;
	QUIET(0);
	assert_in_range(ticks * 1000 * MS / took_ns, 85, 101);
	assert_int_equal(tick_of(OURS).stalls, 0);
	assert_in_range(tick_of(OURS).worst_ns, 9 * MS, KPHI_TICK_LIMIT_NS);
}

/* A packet that is nobody's beat wakes nobody. */
static void a_stranger_arms_nothing(void **state)
{
	uint32_t slot = add_peer();
	struct message m = world_message(&world, slot, 1, 1);

	(void)state;
	memset(m.id, 0xee, sizeof(m.id));
	expect_message(&world, &m, KPHI_COUNT_unknown_peer, 0, "a stranger's beat");
	sleep_ms(30);
	assert_int_equal(tick_of(OTHER).ticks, 0);
}

static void stopped_and_armed_again(void **state)
{
	uint32_t slot = add_peer();
	uint64_t ticks;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(100);
	assert_int_equal(control_stop_ticks(&world.control, &world.store, &world.why), 0);
	ticks = tick_of(OURS).ticks;
	assert_int_equal(tick_of(OURS).last_ns | tick_of(OURS).program, 0);
	sleep_ms(200);
	assert_int_equal(tick_of(OURS).ticks, ticks);
	assert_int_equal(silence_open_stall_ns(&world.store.ticks[OURS], clock_monotonic_ns()), 0);

	beat_on(OURS, slot, 2);
	sleep_ms(100);
	ticks = tick_of(OURS).ticks - ticks;
	QUIET(0);
	assert_in_range(ticks, 5, 11);
	/* Having ended is no stall: neither for the tick nor for the beat that came then. */
	assert_int_equal(tick_of(OURS).stalls, 0);
	assert_int_equal(world_record(&world, slot).stalled_copy_ns, 0);
	assert_int_equal(world_record(&world, slot).unlearned, 0);
}

/* --- a minute without beats, without waiting for it --- */

static int begin_loose(void **state)
{
	(void)state;
	world_open_loose(&world, 16, 16);
	return 0;
}

/* Maps that are not frozen can be written: what happened a second ago was long ago then. */
static struct kphi_tick *loose_tick(void)
{
	void *at = mmap(NULL, sizeof(struct kphi_tick), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(world.skeleton->maps.ticks), 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void ends_by_itself(void **state)
{
	uint32_t slot = add_peer();
	struct kphi_tick *t = loose_tick();
	uint64_t ticks;

	(void)state;
	beat_on(0, slot, 1);
	sleep_ms(50);
	t->beat_ns = clock_monotonic_ns() - KPHI_TICK_KEEP_NS + 1000 * MS;
	sleep_ms(50);
	assert_true(t->last_ns);
	t->beat_ns = clock_monotonic_ns() - KPHI_TICK_KEEP_NS;
	sleep_ms(50);
	QUIET(0);
	assert_int_equal(t->last_ns | t->program, 0);
	ticks = t->ticks;
	sleep_ms(100);
	assert_int_equal(t->ticks, ticks);

	beat_on(0, slot, 2);
	sleep_ms(50);
	ticks = t->ticks - ticks;
	QUIET(0);
	assert_in_range(ticks, 3, 6);
	assert_int_equal(t->stalls, 0);
	munmap(t, sizeof(*t));
}

/* A peer that beats every 30 s must find the tick alive. */
static void stays_for_slow_peers(void **state)
{
	static const struct kphi_peer slow = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 30000 * MS};
	uint32_t slot = world_add(&world, &slow);
	struct kphi_tick *t = loose_tick();

	(void)state;
	beat_on(0, slot, 1);
	t->beat_ns = clock_monotonic_ns() - 89000 * MS;
	sleep_ms(50);
	assert_true(t->last_ns);
	t->beat_ns = clock_monotonic_ns() - 90000 * MS;
	sleep_ms(50);
	QUIET(0);
	assert_int_equal(t->last_ns, 0);
	munmap(t, sizeof(*t));
}

/* --- programs --- */

static uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	return info.id;
}

static bool program_lives(uint32_t id)
{
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Programs are freed a grace period of RCU after their last user. */
static bool program_ends(uint32_t id)
{
	for (int i = 0; i < 100 && program_lives(id); i++)
		sleep_ms(20);
	return !program_lives(id);
}

static void a_new_program_inherits_the_tick(void **state)
{
	uint32_t slot = add_peer(), old = program_id(world.xdp), number;
	struct kphi_bpf *skeleton = world.skeleton;
	uint64_t ticks;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	number = tick_of(OURS).program;
	assert_int_equal(load_over(&world.skeleton, &world.pin, world.store.header, &world.why), 0);
	world.xdp = load_xdp_fd(world.skeleton);
	load_free(skeleton);
	sleep_ms(200);
	assert_true(program_lives(old)); /* it is its callback that ticks */

	beat_on(OURS, slot, 2);
	assert_int_not_equal(tick_of(OURS).program, number);
	assert_true(program_ends(old));
	ticks = tick_of(OURS).ticks;
	sleep_ms(100);
	ticks = tick_of(OURS).ticks - ticks;
	QUIET(0);
	assert_in_range(ticks, 7, 12); /* one tick, not two */
	assert_int_equal(tick_of(OURS).stalls, 0);
}

static void purging_ends_ticks_and_programs(void **state)
{
	uint32_t slot = add_peer(), xdp = program_id(world.xdp), control = program_id(world.control.program);

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	assert_true(tick_of(OURS).ticks > 0);
	world_close(&world);
	assert_true(program_ends(xdp));
	assert_true(program_ends(control));
	begin(state);
}

/* After the last detach nothing keeps the program, though the store stays. */
static void stopping_frees_the_program(void **state)
{
	uint32_t slot = add_peer(), old = program_id(world.xdp);

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	load_free(world.skeleton);
	world.skeleton = NULL;
	sleep_ms(200);
	assert_true(program_lives(old));
	assert_int_equal(control_stop_ticks(&world.control, &world.store, &world.why), 0);
	assert_true(program_ends(old));
}

/* --- stalls --- */

static struct hog hog;
static uint64_t stall_ns;

static void *run_hog(void *context)
{
	static const char packet[64];

	(void)context;
	return (void *)(intptr_t)hog_run(&hog, stall_ns, packet, sizeof(packet));
}

/* Stalls the CPU that takes the beats; meanwhile `look` is called all the time. */
static void stall(uint64_t length_ns, void (*look)(void))
{
	uint64_t deadline_ns;
	pthread_attr_t there;
	pthread_t thread;
	cpu_set_t cpu;
	void *err;

	/* From its first moment: whoever looks does not leave a CPU to it. */
	CPU_ZERO(&cpu);
	CPU_SET(OURS, &cpu);
	pthread_attr_init(&there);
	pthread_attr_setaffinity_np(&there, sizeof(cpu), &cpu);
	stall_ns = length_ns;
	assert_int_equal(hog_open(&hog, -1), 0);
	assert_int_equal(pthread_create(&thread, &there, run_hog, NULL), 0);
	pthread_attr_destroy(&there);
	deadline_ns = clock_monotonic_ns() + length_ns;
	while (look && clock_monotonic_ns() < deadline_ns)
		look();
	pthread_join(thread, &err);
	assert_null(err);
	hog_close(&hog);
}

static uint64_t longest_open_ns;

static void look_for_open_stall(void)
{
	uint64_t open_ns = silence_open_stall_ns(&world.store.ticks[OURS], clock_monotonic_ns());

	longest_open_ns = open_ns > longest_open_ns ? open_ns : longest_open_ns;
}

static void a_stall_is_measured(void **state)
{
	uint32_t slot = add_peer();
	uint64_t began_ns, over_ns;
	struct kphi_record r;
	struct kphi_tick t;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(100);
	longest_open_ns = 0;
	began_ns = clock_monotonic_ns();
	stall(250 * MS, look_for_open_stall);
	over_ns = clock_monotonic_ns();
	sleep_ms(30);
	t = tick_of(OURS);
	r = world_record(&world, slot);
	QUIET(1);
	assert_in_range(longest_open_ns, KPHI_TICK_LIMIT_NS, over_ns - began_ns + KPHI_TICK_NS);
	assert_int_equal(t.stalls, 1);
	assert_in_range(t.stalled_total_ns, 240 * MS, over_ns - began_ns + 2 * KPHI_TICK_NS);
	assert_int_equal(t.stall[0].length_ns, t.stalled_total_ns);
	assert_int_equal(t.stall[0].end_ns, t.stall_end_ns);
	assert_in_range(t.stall_end_ns, began_ns + 240 * MS, over_ns + 2 * MS);
	assert_int_equal(t.worst_ns, t.stalled_total_ns);
	assert_int_equal(t.stall_length_ns, t.stalled_total_ns);
	/* The peer's silence is what is left without it. */
	assert_int_equal(silence_discount_ns(&r, &world.store.ticks[OURS], clock_monotonic_ns()),
			 t.stalled_total_ns);
	assert_int_equal(tick_of(OTHER).stalls, 0);
}

static void a_short_one_is_none(void **state)
{
	uint32_t slot = add_peer();

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(100);
	for (int i = 0; i < 3; i++) {
		stall(25 * MS, NULL);
		sleep_ms(30);
	}
	QUIET(0);
	assert_int_equal(tick_of(OURS).stalls, 0);
	assert_in_range(tick_of(OURS).worst_ns, 15 * MS, KPHI_TICK_LIMIT_NS);
}

/* Stalls our CPU and, before anything else may run there, takes the beat. */
static void beat_at_the_end_of_a_stall(uint32_t slot, uint64_t sequence, uint64_t length_ns)
{
	static const struct shape plain = {.version = 4};
	struct message m = world_message(&world, slot, 1, sequence);
	static struct packet p;

	assert_int_equal(hog_open(&hog, world.xdp), 0);
	packet_build(&p, &plain, &m);
	run_on_cpu(OURS);
	assert_int_equal(hog_run(&hog, length_ns, p.bytes, p.length), 0);
	run_on_cpu(OTHER);
	hog_close(&hog);
}

/* Queued packets are served before the late tick: the program must see the stall by itself. */
static void a_beat_within_a_stall(void **state)
{
	uint32_t slot = add_peer();
	struct kphi_record r;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(100);
	beat_at_the_end_of_a_stall(slot, 2, 150 * MS);
	sleep_ms(30);
	r = world_record(&world, slot);
	QUIET(1);
	assert_int_equal(r.beats, 2);
	assert_in_range(r.stalled_copy_ns, 140 * MS, 400 * MS);
	assert_int_equal(tick_of(OURS).stalls, 1);
	/* What the tick added was in the copy already, but for the moment between the two. */
	assert_in_range(tick_of(OURS).stalled_total_ns - r.stalled_copy_ns, 0, 5 * MS);
}

/* Learned is what began when the stall and its backlog were over: 100 ms after it for a fast peer. */
static void what_is_learned_after_a_stall(void **state)
{
	static const struct kphi_peer fast = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 20 * MS};
	static const struct {
		unsigned int sleep_ms;
		uint32_t learned, unlearned;
	} after[] = {{0, 0, 2}, {150, 0, 3}, {20, 1, 3}, {20, 2, 3}};
	uint32_t slot = world_add(&world, &fast);
	struct kphi_record r[COUNT(after)], first;

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	beat_at_the_end_of_a_stall(slot, 2, 150 * MS);
	first = world_record(&world, slot);
	for (uint64_t i = 0; i < COUNT(after); i++) {
		sleep_ms(after[i].sleep_ms);
		beat_on(OURS, slot, 3 + i);
		r[i] = world_record(&world, slot);
	}
	QUIET(1);
	assert_int_equal(first.unlearned, 1);
	for (uint64_t i = 0; i < COUNT(after); i++) {
		assert_int_equal(r[i].window.n, after[i].learned);
		assert_int_equal(r[i].unlearned, after[i].unlearned);
	}
	assert_int_equal(store_count(&world.store, KPHI_COUNT_unlearned), 3);
}

/* A peer to whom the stall is nothing learns on. */
static void a_slow_peer_learns_on(void **state)
{
	static const struct kphi_peer slow = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 60000 * MS};
	uint32_t slot = world_add(&world, &slow);

	(void)state;
	beat_on(OURS, slot, 1);
	sleep_ms(50);
	beat_at_the_end_of_a_stall(slot, 2, 150 * MS);
	QUIET(1);
	assert_int_equal(world_record(&world, slot).window.n, 1);
	assert_int_equal(world_record(&world, slot).unlearned, 0);
}

int main(void)
{
#define CASE(name) IN_QUIET(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(a_beat_arms_the_tick_of_its_own_cpu),
		CASE(a_hundred_a_second),
		CASE(a_stranger_arms_nothing),
		CASE(stopped_and_armed_again),
		IN_QUIET(ends_by_itself, begin_loose, end),
		IN_QUIET(stays_for_slow_peers, begin_loose, end),
		CASE(a_new_program_inherits_the_tick),
		CASE(purging_ends_ticks_and_programs),
		CASE(stopping_frees_the_program),
		CASE(a_stall_is_measured),
		CASE(a_short_one_is_none),
		CASE(a_beat_within_a_stall),
		CASE(what_is_learned_after_a_stall),
		CASE(a_slow_peer_learns_on),
	};

	return cmocka_run_group_tests_name("tick", tests, quiet_open, quiet_close);
}
