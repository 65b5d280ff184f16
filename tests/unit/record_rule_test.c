// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record.h for the packets of rules: BFD, whose sender tells its own rhythm, speakers that take turns, and
 * sequence numbers without an epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/record.h>

#define WINDOW 64
#define MS     1000000ULL

struct heard {
	struct kphi_record r;
	struct kphi_peer peer;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)], now, local_rx;
	uint32_t notes;
};

static void begin(struct heard *h, uint64_t interval_ns, uint64_t local_rx_ns)
{
	*h = (struct heard){.peer.interval_ns = interval_ns, .now = 1000 * MS, .local_rx = local_rx_ns};
	h->r.state = KPHI_WAITING;
	kphi_window_begin(&h->r.window, &h->peer);
}

static enum kphi_counter take(struct heard *h, uint64_t after_ns, struct kphi_beat *b)
{
	h->now += after_ns;
	b->now_ns = h->now;
	b->type = b->type ? b->type : KPHI_WIRE_BEAT;
	return kphi_record_take(&h->r, &h->peer, h->ring, WINDOW, b, &h->notes);
}

/* --- BFD --- */

enum { MINE = 0x1234 };

/* As identify_rule() hands it on. */
static enum kphi_counter bfd_of(struct heard *h, uint64_t after_ns, uint8_t state, uint8_t flags,
				uint32_t desired_us, uint32_t discriminator)
{
	struct kphi_beat b = {.decoder = KPHI_DECODER_BFD, .local_rx_ns = h->local_rx};

	b.bfd = (struct kphi_bfd){.discriminator = discriminator,
				  .desired_tx_us = desired_us,
				  .state = state,
				  .multiplier = 3,
				  .flags = flags};
	if (kphi_bfd_is_quiet(&b.bfd))
		b.type = KPHI_WIRE_LEAVE;
	return take(h, after_ns, &b);
}

static enum kphi_counter bfd(struct heard *h, uint64_t after_ns, uint8_t state, uint8_t flags,
			     uint32_t desired_us)
{
	return bfd_of(h, after_ns, state, flags, desired_us, MINE);
}

/* `n` packets of a session that is up at 50 ms. */
static void up(struct heard *h, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(bfd(h, 45 * MS, KPHI_BFD_UP, 0, 50000), KPHI_COUNT_beat);
		assert_int_equal(h->notes, 0);
	}
}

static void the_sender_says_its_interval(void **state)
{
	static const struct {
		uint64_t local_rx, interval;
	} cases[] = {{50 * MS, 50 * MS}, {10 * MS, 50 * MS}, {300 * MS, 300 * MS}, {1, 50 * MS}};
	struct heard h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&h, 7 * MS, cases[i].local_rx); /* what was configured does not count */
		up(&h, 1);
		assert_int_equal(h.r.window.interval_ns, cases[i].interval);
		assert_int_equal(h.r.window.cap_ns, 10 * cases[i].interval);
		assert_int_equal(h.r.bfd.desired_tx_us, 50000);
		assert_int_equal(h.r.bfd.multiplier, 3);
		assert_int_equal(h.r.state, KPHI_UP);
	}
	/* What this host requires is not known: the interval is measured. */
	begin(&h, 7 * MS, 0);
	up(&h, 1);
	assert_int_equal(h.r.window.interval_ns, 0);
	up(&h, KPHI_LEARN_RUN);
	assert_int_equal(h.r.window.interval_ns, 45 * MS);
}

/* 50 ms to 1 s: it goes on as before while it polls, and a new window begins with the first packet that does
 * not. */
static void an_interval_is_in_force_after_the_poll(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 0, 10 * MS);
	up(&h, 20);
	assert_int_equal(h.r.window.n, 19);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bfd(&h, 45 * MS, KPHI_BFD_UP, KPHI_BFD_POLL, 1000000), KPHI_COUNT_beat);
		assert_int_equal(h.notes, 0);
		assert_int_equal(h.r.window.n, 19); /* nothing is learned of a poll */
		assert_int_equal(h.r.window.interval_ns, 50 * MS);
		assert_int_equal(h.r.bfd.desired_tx_us, 50000); /* the one in force */
		assert_int_equal(h.r.last_ns, h.now);
	}
	assert_int_equal(bfd(&h, 900 * MS, KPHI_BFD_UP, 0, 1000000), KPHI_COUNT_beat);
	assert_int_equal(h.notes, KPHI_NOTE(renegotiated));
	assert_int_equal(h.r.window.n, 0);
	assert_int_equal(h.r.window.interval_ns, 1000 * MS);
	assert_int_equal(h.r.window.cap_ns, 10000 * MS);
	assert_int_equal(h.r.bfd.desired_tx_us, 1000000);
	assert_int_equal(bfd(&h, 900 * MS, KPHI_BFD_UP, 0, 1000000), KPHI_COUNT_beat);
	assert_int_equal(h.r.window.n, 1);
	assert_int_equal(h.r.restarts, 0);
}

/* A poll that announces what is in force already (it changes what it requires) keeps the window, but neither
 * its packets nor the one after are learned. */
static void a_poll_about_something_else(void **state)
{
	static const uint8_t flags[] = {KPHI_BFD_POLL, KPHI_BFD_FINAL};
	struct heard h;

	(void)state;
	for (size_t i = 0; i < sizeof(flags); i++) {
		begin(&h, 0, 50 * MS);
		up(&h, 20);
		assert_int_equal(bfd(&h, 3 * MS, KPHI_BFD_UP, flags[i], 50000), KPHI_COUNT_beat);
		assert_int_equal(h.r.window.n, 19);
		assert_int_equal(bfd(&h, 42 * MS, KPHI_BFD_UP, 0, 50000), KPHI_COUNT_beat);
		assert_int_equal(h.r.window.n, 19);
		up(&h, 1);
		assert_int_equal(h.r.window.n, 20);
	}
}

/* Who answers our poll in the middle of his own: his packet has the F bit, not the P bit, and the interval
 * that is not in force. */
static void an_answer_does_not_end_the_other_poll(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 0, 50 * MS);
	bfd(&h, 1000 * MS, KPHI_BFD_INIT, 0, 1000000);
	bfd(&h, 900 * MS, KPHI_BFD_UP, KPHI_BFD_POLL, 50000);
	bfd(&h, 1 * MS, KPHI_BFD_UP, KPHI_BFD_FINAL, 50000);
	assert_int_equal(h.notes, 0);
	assert_int_equal(h.r.window.interval_ns, 1000 * MS); /* it may be a second until he polls again */
	bfd(&h, 950 * MS, KPHI_BFD_UP, KPHI_BFD_POLL, 50000);
	assert_int_equal(h.notes, 0);
	bfd(&h, 45 * MS, KPHI_BFD_UP, 0, 50000);
	assert_int_equal(h.notes, KPHI_NOTE(renegotiated));
	assert_int_equal(h.r.window.interval_ns, 50 * MS);
	up(&h, 5);
	assert_int_equal(h.r.window.n, 5);
}

static void a_lost_session_slows_down_without_a_poll(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 0, 50 * MS);
	up(&h, 20);
	assert_int_equal(bfd(&h, 30 * MS, KPHI_BFD_DOWN, 0, 50000), KPHI_COUNT_beat); /* FRR's first one */
	assert_int_equal(h.notes, 0);
	assert_int_equal(bfd(&h, 20 * MS, KPHI_BFD_DOWN, 0, 1000000), KPHI_COUNT_beat);
	assert_int_equal(h.notes, KPHI_NOTE(renegotiated));
	assert_int_equal(h.r.window.interval_ns, 1000 * MS);
	assert_int_equal(h.r.state, KPHI_UP); /* the session is down, who speaks is not */
	assert_int_equal(h.r.bfd.state, KPHI_BFD_DOWN);
}

static void goodbyes_end_with_the_next_packet(void **state)
{
	static const struct {
		uint8_t state, flags;
		enum kphi_counter outcome;
	} cases[] = {
		{KPHI_BFD_ADMIN_DOWN, 0, KPHI_COUNT_leave},
		{KPHI_BFD_UP, KPHI_BFD_DEMAND, KPHI_COUNT_leave},
		{KPHI_BFD_DOWN, KPHI_BFD_DEMAND, KPHI_COUNT_beat}, /* it goes on, once a second */
		{KPHI_BFD_INIT, 0, KPHI_COUNT_beat},
	};
	struct heard h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool leaves = cases[i].outcome == KPHI_COUNT_leave;
		uint64_t beats;

		begin(&h, 0, 50 * MS);
		up(&h, 20);
		beats = h.r.beats;
		for (int again = 0; again < 3; again++)
			assert_int_equal(bfd(&h, 45 * MS, cases[i].state, cases[i].flags, 50000),
					 cases[i].outcome);
		assert_int_equal(h.r.state, leaves ? KPHI_LEFT : KPHI_UP);
		assert_int_equal(h.r.beats - beats, leaves ? 0 : 3);
		assert_int_equal(h.r.window.n, leaves ? 19 : 22);
		assert_int_equal(bfd(&h, 5000 * MS, KPHI_BFD_DOWN, 0, 50000), KPHI_COUNT_beat);
		assert_int_equal(h.r.state, KPHI_UP);
		assert_int_equal(h.r.since_ns, leaves ? h.now : 1045 * MS);
		assert_int_equal(h.r.window.n,
				 leaves ? 19 : 22); /* the silence between was none of its rhythm */
		assert_int_equal(h.notes, leaves ? 0 : KPHI_NOTE(capped));
	}
}

static void another_discriminator_is_another_life(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 0, 50 * MS);
	up(&h, 20);
	assert_int_equal(bfd_of(&h, 700 * MS, KPHI_BFD_DOWN, 0, 1000000, MINE + 1), KPHI_COUNT_beat);
	assert_int_equal(h.notes, KPHI_NOTE(restart));
	assert_int_equal(h.r.restarts, 1);
	assert_int_equal(h.r.window.n, 0);
	assert_int_equal(h.r.window.interval_ns, 1000 * MS);
	assert_int_equal(h.r.since_ns, h.now);
	assert_int_equal(h.r.epoch, 1); /* a life that readers can tell from the first one */
	assert_int_equal(h.r.bfd.discriminator, MINE + 1);
	assert_int_equal(bfd_of(&h, 900 * MS, KPHI_BFD_DOWN, 0, 1000000, MINE + 1), KPHI_COUNT_beat);
	assert_int_equal(h.notes, 0);
	assert_int_equal(h.r.window.n, 1);
}

/* --- speakers that take turns --- */

/* A packet of speaker 1 or 2; `sequence_bits` 0: without a number. */
static enum kphi_counter speak(struct heard *h, uint64_t after_ns, uint64_t speaker, uint64_t sequence,
			       uint8_t sequence_bits)
{
	struct kphi_beat b = {.any_source = 1, .sequence = sequence, .sequence_bits = sequence_bits};

	b.speaker[1] = speaker;
	return take(h, after_ns, &b);
}

static void a_handover_is_neither_death_nor_restart(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 100 * MS, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(speak(&h, 100 * MS, 1, 0, 0), KPHI_COUNT_beat);
	assert_int_equal(h.r.window.n, 9);
	assert_int_equal(speak(&h, 361 * MS, 2, 0, 0), KPHI_COUNT_beat);
	assert_int_equal(h.notes, KPHI_NOTE(handover));
	assert_int_equal(h.r.window.n, 9); /* kept, and the gap not learned */
	assert_int_equal(h.r.last_ns, h.now);
	assert_int_equal(h.r.speaker[1], 2);
	assert_int_equal(h.r.restarts, 0);
	assert_int_equal(speak(&h, 100 * MS, 2, 0, 0), KPHI_COUNT_beat);
	assert_int_equal(h.notes, 0);
	assert_int_equal(h.r.window.n, 10);
	assert_int_equal(h.r.beats, 12);
}

/* The same change of address is nothing where the source is not left open. */
static void a_named_source_hands_nothing_over(void **state)
{
	struct kphi_beat b = {.now_ns = 0};
	struct heard h;

	(void)state;
	begin(&h, 100 * MS, 0);
	b.speaker[1] = 1;
	take(&h, 100 * MS, &b);
	b.speaker[1] = 2;
	assert_int_equal(take(&h, 100 * MS, &b), KPHI_COUNT_beat);
	assert_int_equal(h.notes, 0);
	assert_int_equal(h.r.window.n, 1);
}

/* Each speaker counts for itself: the first packet of the next one is heard, whatever its number. */
static void each_speaker_counts_for_itself(void **state)
{
	struct heard h;

	(void)state;
	begin(&h, 100 * MS, 0);
	for (uint64_t i = 100; i < 200; i++)
		assert_int_equal(speak(&h, 100 * MS, 1, i, 16), KPHI_COUNT_beat);
	for (int turn = 0; turn < 4; turn++) {
		assert_int_equal(speak(&h, 100 * MS, 2, 7 + (uint64_t)turn, 16), KPHI_COUNT_beat);
		assert_int_equal(h.notes, KPHI_NOTE(handover));
		assert_int_equal(speak(&h, 100 * MS, 1, 200 + (uint64_t)turn, 16), KPHI_COUNT_beat);
		assert_int_equal(h.notes, KPHI_NOTE(handover));
	}
	assert_int_equal(h.r.restarts, 0);
	assert_int_equal(speak(&h, 100 * MS, 1, 203, 16), KPHI_COUNT_duplicate);
	assert_int_equal(speak(&h, 100 * MS, 1, 205, 16), KPHI_COUNT_beat);
	assert_int_equal(h.r.sequence.lost, 1);
}

/* --- sequence numbers --- */

static enum kphi_counter numbered(struct heard *h, uint64_t sequence)
{
	struct kphi_beat b = {.sequence = sequence, .sequence_bits = 16};

	return take(h, 100 * MS, &b);
}

static void lost_late_and_double_numbers(void **state)
{
	struct heard h;
	uint64_t last;

	(void)state;
	begin(&h, 100 * MS, 0);
	for (uint64_t i = 65530; i < 65540; i++)
		assert_int_equal(numbered(&h, i & 0xffff), KPHI_COUNT_beat);
	assert_int_equal(h.r.sequence.lost, 0);
	assert_int_equal(numbered(&h, 6), KPHI_COUNT_beat); /* 4 and 5 are missing */
	assert_int_equal(h.r.sequence.lost, 2);
	last = h.r.last_ns;
	assert_int_equal(numbered(&h, 5), KPHI_COUNT_reordered);
	assert_int_equal(numbered(&h, 5), KPHI_COUNT_duplicate);
	assert_int_equal(numbered(&h, 65535), KPHI_COUNT_duplicate);
	assert_int_equal(h.r.sequence.lost, 1);
	assert_int_equal(h.r.reordered, 1);
	assert_int_equal(h.r.duplicates, 2);
	assert_int_equal(h.r.last_ns, last); /* neither is a sign of life */
	assert_int_equal(h.r.beats, 11);
}

static void a_stray_number_is_stale_and_two_are_a_restart(void **state)
{
	struct kphi_record before;
	struct heard h;

	(void)state;
	begin(&h, 100 * MS, 0);
	for (uint64_t i = 1000; i < 1010; i++)
		numbered(&h, i);
	before = h.r;
	assert_int_equal(numbered(&h, 30000), KPHI_COUNT_stale_sequence);
	assert_int_equal(h.r.stale, 1);
	assert_int_equal(h.r.stale_ns, h.now);
	assert_memory_equal(&h.r.sequence, &before.sequence, sizeof(before.sequence));
	assert_memory_equal(&h.r.window, &before.window, sizeof(before.window));
	assert_int_equal(h.r.last_ns, before.last_ns);
	assert_int_equal(numbered(&h, 1010), KPHI_COUNT_beat);

	assert_int_equal(numbered(&h, 1), KPHI_COUNT_stale_sequence);
	assert_int_equal(numbered(&h, 2), KPHI_COUNT_beat);
	assert_int_equal(h.notes, KPHI_NOTE(restart));
	assert_int_equal(h.r.restarts, 1);
	assert_int_equal(h.r.window.n, 0);
	assert_int_equal(h.r.window.interval_ns, 100 * MS);
	assert_int_equal(h.r.sequence.first, 2);
	assert_int_equal(h.r.epoch, 1);
	assert_int_equal(h.r.since_ns, h.now);
	assert_int_equal(numbered(&h, 3), KPHI_COUNT_beat);
	assert_int_equal(h.r.window.n, 1);
}

/* A goodbye has a number, too, and what comes after it is newer. */
static void a_leave_and_a_return(void **state)
{
	struct kphi_beat leave = {.type = KPHI_WIRE_LEAVE, .sequence = 12, .sequence_bits = 16};
	struct heard h;

	(void)state;
	begin(&h, 100 * MS, 0);
	numbered(&h, 10);
	numbered(&h, 11);
	assert_int_equal(take(&h, 30 * MS, &leave), KPHI_COUNT_leave);
	assert_int_equal(h.r.state, KPHI_LEFT);
	assert_int_equal(h.r.window.n, 1);
	assert_int_equal(numbered(&h, 11), KPHI_COUNT_duplicate);
	assert_int_equal(h.r.state, KPHI_LEFT);
	assert_int_equal(numbered(&h, 13), KPHI_COUNT_beat);
	assert_int_equal(h.r.state, KPHI_UP);
	assert_int_equal(h.r.window.n, 1);
	assert_int_equal(h.r.restarts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sender_says_its_interval),
		cmocka_unit_test(an_interval_is_in_force_after_the_poll),
		cmocka_unit_test(a_poll_about_something_else),
		cmocka_unit_test(an_answer_does_not_end_the_other_poll),
		cmocka_unit_test(a_lost_session_slows_down_without_a_poll),
		cmocka_unit_test(goodbyes_end_with_the_next_packet),
		cmocka_unit_test(another_discriminator_is_another_life),
		cmocka_unit_test(a_handover_is_neither_death_nor_restart),
		cmocka_unit_test(a_named_source_hands_nothing_over),
		cmocka_unit_test(each_speaker_counts_for_itself),
		cmocka_unit_test(lost_late_and_double_numbers),
		cmocka_unit_test(a_stray_number_is_stale_and_two_are_a_restart),
		cmocka_unit_test(a_leave_and_a_return),
	};

	return cmocka_run_group_tests_name("record_rule", tests, NULL, NULL);
}
