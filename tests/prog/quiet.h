/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests that measure ticks, on a machine that other people use, too. What it stalls meanwhile is measured
 * rightly, and is not what the test is about: the ticks of another store, which no test stops, tell of it.
 * Then the test begins again.
 */
#ifndef KPHI_TESTS_QUIET_H
#define KPHI_TESTS_QUIET_H

#include <sched.h>
#include <time.h>

#include "core/silence.h"
#include "prog/world.h"

#define QUIET_TRIES   8
#define QUIET_LATE_NS 20000000ULL /* a sleep may be longer by so much */
#define QUIET_CPUS    2 /* the tests use the first two */

static struct {
	struct world witness;
	uint32_t slot;
	uint64_t sequence;
	uint64_t stalls[QUIET_CPUS]; /* the witness's when the test began */
	uint64_t late_ns; /* of the worst sleep since */
	bool again;
} quiet;

/* For the group of tests. Load is no stall, and is kept away by a real-time priority. */
static inline int quiet_open(void **state)
{
	const struct sched_param ahead = {.sched_priority = 10};

	(void)state;
	sched_setscheduler(0, SCHED_FIFO, &ahead);
	world_open(&quiet.witness, "witness", 1, 8);
	quiet.slot = world_add(&quiet.witness, NULL);
	return 0;
}

static inline int quiet_close(void **state)
{
	(void)state;
	world_close(&quiet.witness);
	return 0;
}

/* A sleep that remembers how much too long it was. */
static inline void sleep_ms(unsigned int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000 * 1000000)};
	uint64_t due_ns = clock_monotonic_ns() + ms * 1000000ULL, now_ns;

	nanosleep(&t, NULL);
	now_ns = clock_monotonic_ns();
	if (now_ns > due_ns && now_ns - due_ns > quiet.late_ns)
		quiet.late_ns = now_ns - due_ns;
}

/* Stalls of a CPU that the witness has seen, one that is still open included. */
static inline uint64_t quiet_stalls(int cpu)
{
	const struct kphi_tick *t = &quiet.witness.store.ticks[cpu];

	return t->stalls + (silence_open_stall_ns(t, clock_monotonic_ns()) != 0);
}

static inline void quiet_begin(void)
{
	static const struct shape plain = {.version = 4};
	static struct packet p;

	quiet.again = false;
	for (int cpu = 0; cpu < QUIET_CPUS; cpu++) {
		struct message m = world_message(&quiet.witness, quiet.slot, 1, ++quiet.sequence);

		packet_build(&p, &plain, &m);
		run_on_cpu(cpu);
		assert_int_equal(world_try(&quiet.witness, &p), 0);
	}
	run_on_cpu(0);
	for (int cpu = 0; cpu < QUIET_CPUS; cpu++)
		quiet.stalls[cpu] = quiet_stalls(cpu);
	quiet.late_ns = 0;
}

/* Has the machine stalled since the test began, but for the `made` stalls that it made itself on CPU 1? */
static inline bool quiet_disturbed(uint64_t made)
{
	quiet.again = quiet.late_ns > QUIET_LATE_NS || quiet_stalls(0) != quiet.stalls[0] ||
		      quiet_stalls(1) != quiet.stalls[1] + made;
	return quiet.again;
}

/* Ends a test that was disturbed until now; what is asserted next is not in doubt. */
#define QUIET(made)                                                                                          \
	do {                                                                                                 \
		if (quiet_disturbed(made))                                                                   \
			return;                                                                              \
	} while (0)

/* Runs the test that is its initial state. */
static inline void in_quiet(void **state)
{
	const struct CMUnitTest *test = *state;

	for (int i = 0; i < QUIET_TRIES; i++) {
		quiet_begin();
		test->test_func(state);
		if (!quiet.again)
			return;
		test->teardown_func(state);
		test->setup_func(state);
	}
	print_message("this machine itself stalled in each of %d tries\n", QUIET_TRIES);
	skip();
}

#define IN_QUIET(name, set_up, tear_down)                                                                    \
	{                                                                                                    \
#name, in_quiet, set_up, tear_down, &(struct CMUnitTest)                                     \
		{                                                                                            \
#name, name, set_up, tear_down, NULL                                                 \
		}                                                                                            \
	}

#endif
