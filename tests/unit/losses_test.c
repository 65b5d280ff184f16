// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the window knows of beats that never came: from sequence numbers, or guessed from intervals that are
 * near a multiple of the mean; how that fades, and what begins it anew. window_test.c compares all of it with
 * a model; these are the rules, one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kphi/record.h>

#include "unit/window_pair.h"

#define MS     1000000ULL
#define WINDOW 64

/* --- the guess --- */

static void near_a_multiple_of_the_mean_beats_were_lost(void **state)
{
	static const struct {
		uint64_t ms, steps;
	} cases[] = {{0, 1},   {99, 1},  {100, 1}, {124, 1}, {125, 1}, {149, 1}, {150, 1},
		     {174, 1}, {175, 2}, {200, 2}, {225, 2}, {226, 1}, {250, 1}, {274, 1},
		     {275, 3}, {325, 3}, {326, 1}, {875, 9}, {999, 10}};
	struct pair p;

	(void)state;
	pair_new(&p, WINDOW);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pair_begin(&p, 100 * MS, 0);
		pair_step(&p, cases[i].ms * MS, 0, 1);
		assert_int_equal(p.ring[0], kphi_ring_entry(cases[i].ms * MS, cases[i].steps));
		assert_int_equal(p.w.losses.lost, cases[i].steps - 1);
		assert_int_equal(p.w.clean_n, cases[i].steps == 1);
	}
	pair_free(&p);
}

/* The interval that was configured, until eight are known that nothing was lost in. */
static void the_mean_is_that_of_what_was_heard(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, WINDOW);
	pair_begin(&p, 100 * MS, 0);
	for (int i = 0; i < 8; i++)
		pair_step(&p, 80 * MS, 0, 1);
	pair_step(&p, 160 * MS, 0, 1); /* late by the interval, double by the mean */
	assert_int_equal(p.w.losses.lost, 1);
	pair_begin(&p, 100 * MS, 0);
	for (int i = 0; i < 7; i++)
		pair_step(&p, 80 * MS, 0, 1);
	pair_step(&p, 160 * MS, 0, 1);
	assert_int_equal(p.w.losses.lost, 0);
	pair_begin(&p, 0, 0); /* nothing is guessed while the interval is being learned */
	for (uint64_t i = 0; i < 8; i++)
		pair_step(&p, (1 + i % 3) * 80 * MS, 0, 1);
	assert_int_equal(p.w.losses.lost, 0);
	assert_int_equal(p.w.losses.beats, 8);
	pair_free(&p);
}

/* What a capped interval spans would be guessed by the setting that may be wrong. */
static void a_retuned_window_was_guessed_by_nothing(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, WINDOW);
	pair_begin(&p, 10 * MS, 0);
	for (int i = 0; i < 8; i++)
		pair_step(&p, 1000 * MS, 0, 1);
	assert_int_equal(p.w.interval_ns, 1000 * MS);
	assert_int_equal(p.ring[0], 1000 * MS); /* steps 0 */
	assert_int_equal(p.w.clean_n, 0);
	assert_int_equal(p.w.losses.beats, 0);
	pair_step(&p, 1000 * MS, 0, 1);
	assert_int_equal(p.w.clean_n, 1);
	pair_step(&p, 2000 * MS, 0, 1);
	assert_int_equal(p.w.losses.lost, 1);
	pair_free(&p);
}

/* --- the memory --- */

static void what_was_lost_fades(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, WINDOW);
	pair_begin(&p, 100 * MS, 0);
	for (int i = 0; i < 40; i++)
		pair_step(&p, 300 * MS, 3, 0);
	assert_int_equal(p.w.losses.runs, 40);
	assert_int_equal(p.w.losses.lost, 80);
	for (int i = 40; i < KPHI_LOSS_MEMORY; i++)
		pair_take(&p, 100 * MS, 0);
	assert_int_equal(p.w.losses.beats, KPHI_LOSS_MEMORY);
	assert_int_equal(p.w.losses.lost, 80);
	pair_take(&p, 100 * MS, 1);
	assert_int_equal(p.w.losses.beats, KPHI_LOSS_MEMORY / 2 + 1);
	assert_int_equal(p.w.losses.runs, 20);
	assert_int_equal(p.w.losses.lost, 40);
	assert_int_equal(p.w.losses.lost_long, 80); /* remembers the bursts of an hour ago */
	for (int i = KPHI_LOSS_MEMORY + 1; i < KPHI_LOSS_MEMORY_LONG; i++)
		pair_take(&p, 100 * MS, 0);
	assert_int_equal(p.w.losses.lost, 0);
	assert_int_equal(p.w.losses.lost_long, 80);
	pair_take(&p, 100 * MS, 1);
	assert_int_equal(p.w.losses.lost_long, 40);
	pair_free(&p);
}

/* An outage is none: it is capped. Nor does a retuned window forget what its path loses. */
static void an_outage_is_no_loss(void **state)
{
	struct pair p;

	(void)state;
	pair_new(&p, WINDOW);
	pair_begin(&p, 100 * MS, 0);
	pair_step(&p, 200 * MS, 2, 1);
	assert_int_equal(pair_step(&p, 1500 * MS, 15, 1), KPHI_NOTE(capped));
	assert_int_equal(p.w.losses.lost, 1);
	pair_step(&p, 100 * MS, 1, 1);
	for (int i = 0; i < 8; i++)
		pair_step(&p, 1500 * MS, 1, 1);
	assert_int_equal(p.w.interval_ns, 1500 * MS);
	assert_int_equal(p.w.clean_n, 8);
	assert_int_equal(p.w.losses.lost, 1);
	pair_free(&p);
}

/* --- through the record --- */

struct heard {
	struct kphi_record r;
	struct kphi_peer peer;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)], now;
	uint32_t notes;
};

static void begin(struct heard *h)
{
	*h = (struct heard){.peer.interval_ns = 100 * MS, .now = 1000 * MS};
	h->r.state = KPHI_WAITING;
	kphi_window_begin(&h->r.window, &h->peer);
}

static enum kphi_counter take(struct heard *h, uint64_t after_ns, struct kphi_beat b)
{
	h->now += after_ns;
	b.now_ns = h->now;
	b.type = b.type ? b.type : KPHI_WIRE_BEAT;
	return kphi_record_take(&h->r, &h->peer, h->ring, WINDOW, &b, &h->notes);
}

static struct kphi_beat native(uint64_t epoch, uint64_t sequence)
{
	return (struct kphi_beat){.native = 1, .epoch = epoch, .epoch_limit = 1000, .sequence = sequence};
}

static void expect_losses(const struct heard *h, uint32_t beats, uint32_t runs, uint32_t lost)
{
	assert_int_equal(h->r.window.losses.beats, beats);
	assert_int_equal(h->r.window.losses.runs, runs);
	assert_int_equal(h->r.window.losses.lost, lost);
	assert_int_equal(h->r.window.losses.lost_long, lost);
}

static void sequence_numbers_tell(void **state)
{
	struct heard h;

	(void)state;
	begin(&h);
	take(&h, 0, native(1, 10));
	take(&h, 100 * MS, native(1, 11));
	take(&h, 100 * MS, native(1, 15)); /* whatever time passed */
	expect_losses(&h, 2, 1, 3);
	assert_int_equal(take(&h, 10 * MS, native(1, 14)), KPHI_COUNT_reordered);
	expect_losses(&h, 2, 1, 3); /* it came too late to end the silence */
	assert_int_equal(take(&h, 10 * MS, native(1, 15)), KPHI_COUNT_duplicate);
	take(&h, 380 * MS, native(1, 16)); /* late, and nothing was lost */
	expect_losses(&h, 3, 1, 3);
	assert_int_equal(h.ring[2], kphi_ring_entry(400 * MS, 1));
	assert_int_equal(h.r.window.clean_n, 2);
	assert_int_equal(h.r.window.clean_sum_ns, 500 * MS);
}

static void intervals_that_are_not_learned_are_not_counted(void **state)
{
	struct kphi_beat stalled = native(1, 13);
	struct kphi_beat leave = native(1, 30);
	struct heard h;

	(void)state;
	begin(&h);
	take(&h, 0, native(1, 10));
	take(&h, 100 * MS, native(1, 11));
	stalled.stall_end_ns = h.now + 50 * MS; /* what this host dropped is no property of the path */
	stalled.stall_length_ns = 200 * MS;
	take(&h, 200 * MS, stalled);
	assert_int_equal(h.notes, KPHI_NOTE(unlearned));
	expect_losses(&h, 1, 0, 0);
	take(&h, 100 * MS, native(1, 14));
	h.now -= 200 * MS;
	take(&h, 0, native(1, 20)); /* its stamp is older than the last one */
	assert_int_equal(h.notes, KPHI_NOTE(stamp_inverted));
	expect_losses(&h, 2, 0, 0);
	h.now += 200 * MS;
	leave.type = KPHI_WIRE_LEAVE;
	take(&h, 100 * MS, leave);
	take(&h, 5000 * MS, native(1, 90)); /* what was not sent is not lost */
	expect_losses(&h, 2, 0, 0);
	take(&h, 100 * MS, native(1, 92));
	expect_losses(&h, 3, 1, 1);
}

static void a_new_life_begins_anew(void **state)
{
	struct heard h;

	(void)state;
	begin(&h);
	take(&h, 0, native(1, 10));
	take(&h, 300 * MS, native(1, 13));
	expect_losses(&h, 1, 1, 2);
	take(&h, 100 * MS, native(2, 900000));
	assert_int_equal(h.notes, KPHI_NOTE(restart));
	expect_losses(&h, 0, 0, 0);
	assert_int_equal(h.r.window.clean_n, 0);
	take(&h, 100 * MS, native(2, 900001));
	expect_losses(&h, 1, 0, 0);
}

/* --- rules --- */

static struct kphi_beat numbered(uint64_t sequence, uint8_t bits)
{
	return (struct kphi_beat){.sequence = sequence & ~0ULL >> (64 - bits), .sequence_bits = bits};
}

/* One in ten is lost, and the numbers come round many times. */
static void numbers_of_a_rule_come_round(void **state)
{
	static const uint8_t widths[] = {8, 16, 32, 64};

	(void)state;
	for (size_t i = 0; i < sizeof(widths); i++) {
		uint64_t number = ~0ULL >> (64 - widths[i]), random = i;
		uint32_t lost = 0, runs = 0, since = 0;
		struct heard h;

		number -= widths[i] == 64 ? 200000 : 700; /* those do not come round */
		begin(&h);
		take(&h, 0, numbered(number, widths[i]));
		for (uint32_t sent = 1; sent <= KPHI_LOSS_MEMORY; sent++) {
			number++;
			if (!random_below(&random, 10) && sent < KPHI_LOSS_MEMORY) {
				lost++;
				since++;
				continue;
			}
			runs += since > 0;
			assert_int_equal(take(&h, (since + 1) * 100 * MS, numbered(number, widths[i])),
					 KPHI_COUNT_beat);
			since = 0;
		}
		assert_true(lost > 300 && runs > 250);
		expect_losses(&h, KPHI_LOSS_MEMORY - lost, runs, lost);
	}
}

static struct kphi_beat bfd(uint32_t discriminator, uint32_t desired_us)
{
	return (struct kphi_beat){
		.decoder = KPHI_DECODER_BFD,
		.local_rx_ns = 100 * MS,
		.bfd = {.discriminator = discriminator,
			.desired_tx_us = desired_us,
			.state = KPHI_BFD_UP,
			.multiplier = 3},
	};
}

/* A lost packet is found by the double interval, though each varies by a quarter; nothing else is. */
static void bfd_has_no_numbers(void **state)
{
	uint64_t random = 1, lost = 0, since = 0;
	struct heard h;

	(void)state;
	begin(&h);
	take(&h, 0, bfd(1, 100000));
	for (int i = 0; i < KPHI_LOSS_MEMORY; i++)
		take(&h, 75 * MS + random_below(&random, 25 * MS + 1), bfd(1, 100000));
	expect_losses(&h, KPHI_LOSS_MEMORY, 0, 0);
	begin(&h);
	take(&h, 0, bfd(1, 100000));
	for (int i = 0; i < KPHI_LOSS_MEMORY; i++) {
		since += 75 * MS + random_below(&random, 25 * MS + 1);
		if (!random_below(&random, 25)) {
			lost++;
			continue;
		}
		take(&h, since, bfd(1, 100000));
		since = 0;
	}
	assert_in_range(h.r.window.losses.lost, lost * 90 / 100, lost);
	/* Now and then a packet is as late as a process that was not scheduled. */
	begin(&h);
	take(&h, 0, bfd(1, 100000));
	for (int i = 0; i < 400; i++) {
		take(&h, 75 * MS + random_below(&random, 25 * MS + 1), bfd(1, 100000));
		take(&h, 110 * MS + random_below(&random, 30 * MS), bfd(1, 100000));
	}
	expect_losses(&h, 800, 0, 0);
}

static void other_beginnings(void **state)
{
	struct kphi_beat b = {.any_source = 1, .sequence_bits = 16, .speaker = {1}};
	struct heard h;

	(void)state;
	begin(&h);
	take(&h, 0, bfd(1, 100000));
	take(&h, 200 * MS, bfd(1, 100000));
	expect_losses(&h, 1, 1, 1);
	take(&h, 100 * MS, bfd(1, 200000));
	assert_int_equal(h.notes, KPHI_NOTE(renegotiated));
	expect_losses(&h, 0, 0, 0);
	take(&h, 400 * MS, bfd(1, 200000));
	expect_losses(&h, 1, 1, 1);
	take(&h, 100 * MS, bfd(2, 200000));
	assert_int_equal(h.notes, KPHI_NOTE(restart));
	expect_losses(&h, 0, 0, 0);

	begin(&h); /* another speaker has other numbers; what the path loses is the same */
	for (uint64_t i = 0; i < 9; i += 3) {
		b.sequence = i;
		take(&h, 100 * MS, b);
	}
	expect_losses(&h, 2, 2, 4);
	b.speaker[0] = 2;
	b.sequence = 7000;
	take(&h, 100 * MS, b);
	assert_int_equal(h.notes, KPHI_NOTE(handover));
	expect_losses(&h, 2, 2, 4);
	b.sequence = 7002;
	take(&h, 100 * MS, b);
	expect_losses(&h, 3, 3, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_a_multiple_of_the_mean_beats_were_lost),
		cmocka_unit_test(the_mean_is_that_of_what_was_heard),
		cmocka_unit_test(a_retuned_window_was_guessed_by_nothing),
		cmocka_unit_test(what_was_lost_fades),
		cmocka_unit_test(an_outage_is_no_loss),
		cmocka_unit_test(sequence_numbers_tell),
		cmocka_unit_test(intervals_that_are_not_learned_are_not_counted),
		cmocka_unit_test(a_new_life_begins_anew),
		cmocka_unit_test(numbers_of_a_rule_come_round),
		cmocka_unit_test(bfd_has_no_numbers),
		cmocka_unit_test(other_beginnings),
	};

	return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
