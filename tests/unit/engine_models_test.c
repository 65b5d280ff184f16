// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The engine with peers whose models ask for more than sums: the losses, and the ring itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/engine_host.h"
#include "unit/random.h"

/* A peer with `n` intervals from `shortest` on, each a little longer than the one before; one in five lost
 * beats. */
static void add_spread(uint32_t slot, enum kphi_model model, uint64_t shortest_ns, uint32_t n)
{
	add_peer(slot, shortest_ns, 1);
	host.peer[slot].model = (uint8_t)model;
	host.record[slot].last_ns = BEGIN;
	for (uint32_t i = 0; i < n; i++)
		kphi_window_take(&host.record[slot].window, host.ring[slot], RING, 0,
				 shortest_ns + i * shortest_ns / n, i % 5 ? 1 : 3);
}

static void estimate_of(uint32_t slot, bool with_ring, struct kphi_estimate *e)
{
	assert_true(estimate_from_window(e, &host.record[slot].window, &host.peer[slot],
					 with_ring ? host.ring[slot] : NULL));
}

/* The deadline is that of the own window and ring. */
static void dies_when_foretold(enum kphi_model model, bool with_ring)
{
	struct engine_config config = config_of(1);
	struct kphi_estimate e;
	struct engine *engine;
	uint64_t deadline;

	add_spread(0, model, 100 * MS, 50);
	host.no_rings = !with_ring;
	estimate_of(0, with_ring, &e);
	deadline = BEGIN + estimate_silence(&e, config.consumer[0].suspect);
	engine = engine_new(&config, &callbacks, 1);
	engine_scan(engine, BEGIN);
	live(engine, deadline - 1);
	assert_int_equal(count(EVENT_suspect), 0);
	live(engine, deadline);
	assert_int_equal(count(EVENT_suspect), 1);
	assert_int_equal(last()->model, model);
	assert_true(last()->phi == estimate_phi(&e, deadline - BEGIN));
	engine_free(engine);
}

static void each_model_has_its_deadline(void **state)
{
	for (int model = 0; model < KPHI_MODELS; model++) {
		begin(state);
		dies_when_foretold((enum kphi_model)model, true);
	}
}

/* A ring that cannot be had is as if nothing had been heard. */
static void without_a_ring_the_seed_judges(void **state)
{
	struct kphi_estimate seed;

	(void)state;
	dies_when_foretold(KPHI_MODEL_EMPIRICAL, false);
	estimate_of(0, false, &seed);
	assert_int_equal(seed.empirical.n, 1);
}

/*
 * Where a conviction asks how many others are overdue, they are read in the middle of a look, and the host
 * has room for one ring only. Thresholds below log10(n + 1) are those that the ring answers.
 */
static void others_leave_the_ring_alone(void **state)
{
	struct engine_config config = config_of(3);
	uint64_t deadline[3], others = 0;
	struct kphi_estimate e;
	struct engine *engine;

	(void)state;
	for (uint32_t c = 0; c < 3; c++) {
		config.consumer[c].suspect = config.consumer[c].clear = (c + 1) * Q32_ONE / 2;
		config.consumer[c].correlated = true;
	}
	add_spread(0, KPHI_MODEL_EMPIRICAL, 100 * MS, 50);
	for (uint32_t i = 1; i < 5; i++)
		add_spread(i, KPHI_MODEL_EMPIRICAL, 10 * SEC, 50);
	estimate_of(0, true, &e);
	engine = engine_new(&config, &callbacks, 5);
	engine_scan(engine, BEGIN);
	for (uint32_t c = 0; c < 3; c++) {
		deadline[c] = BEGIN + estimate_silence(&e, config.consumer[c].suspect);
		assert_true(config.consumer[c].suspect < e.empirical.base);
	}
	live(engine, deadline[2]);
	assert_int_equal(count(EVENT_suspect), 3);
	for (uint32_t c = 0; c < 3; c++) {
		assert_true(host.event[c].now_ns == deadline[c]);
		assert_true(host.event[c].phi == estimate_phi(&e, deadline[c] - BEGIN));
	}
	for (uint32_t i = 0; i < host.events; i++)
		others += host.event[i].slot != 0;
	assert_int_equal(others, 0);
	engine_free(engine);
}

/* A path that loses beats in bursts: what `normal` takes for deaths, `loss` has learned after 1000 beats. */
#define LEARNED_NS (100 * SEC)

static void bursts_are_not_deaths(void **state)
{
	struct engine_config config = config_of(1);
	uint64_t at = BEGIN, random = 3, lost = 0;
	struct engine *engine;

	(void)state;
	for (uint32_t slot = 0; slot < 2; slot++) {
		add_peer(slot, 100 * MS, 1);
		host.peer[slot].set = KPHI_SET_PAUSE; /* `loss` has none */
	}
	host.peer[0].model = KPHI_MODEL_LOSS;
	engine = engine_new(&config, &callbacks, 2);
	engine_scan(engine, BEGIN);
	for (uint64_t beat_number = 0; beat_number < 20000; beat_number++) {
		uint64_t steps = 1;

		while (!random_below(&random, steps == 1 ? 40 : 2))
			steps++;
		lost += steps - 1;
		at += steps * 100 * MS;
		live(engine, at - 1);
		for (uint32_t slot = 0; slot < 2; slot++) {
			struct kphi_record *r = &host.record[slot];

			kphi_window_take(&r->window, host.ring[slot], RING, 0, at - r->last_ns, steps);
			r->last_ns = at;
			engine_hint(engine, slot, at);
		}
	}
	assert_in_range(lost, 800, 1200); /* 5 % */
	for (uint32_t i = 0; i < host.events; i++)
		if (host.event[i].type == EVENT_suspect && !host.event[i].slot)
			assert_true(host.event[i].now_ns < BEGIN + LEARNED_NS);
	assert_true(count(EVENT_suspect) > 20); /* the other one, without its pause */
	engine_free(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_model_has_its_deadline),
		TEST(without_a_ring_the_seed_judges),
		TEST(others_leave_the_ring_alone),
		TEST(bursts_are_not_deaths),
	};

	return cmocka_run_group_tests_name("engine_models", tests, NULL, NULL);
}
