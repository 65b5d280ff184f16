// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record.h against a model that says in plain words what a message does, over a million messages of unruly
 * senders: restarts, goodbyes, late and double messages, stalls, stamps out of order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kphi/record.h>

#include "unit/random.h"
#include "unit/sequence_model.h"
#include "unit/window_model.h"

#define WINDOW   16
#define MS       1000000ULL
#define TODAY    1000 /* the epoch that this host's clock stands for */
#define PEERS    400
#define MESSAGES 2500 /* to one peer */

struct model {
	enum kphi_state state;
	uint64_t epoch, last, since, stale_at, copy; /* epoch: while waiting, the floor */
	uint64_t beats, duplicates, reordered, stale, restarts, capped, retuned, inverted, unlearned;
	uint16_t cpu;
	uint32_t device, other_device;
	uint64_t other_at;
	struct kphi_beat said; /* the last message believed */
	struct sequence_model sequence;
	struct window_model window;
	struct kphi_peer settings;
};

static void model_reset(struct model *m, uint64_t now)
{
	struct kphi_peer settings = m->settings;

	memset(m, 0, sizeof(*m));
	m->settings = settings;
	m->state = KPHI_WAITING;
	m->since = now;
	window_model_begin(&m->window, WINDOW, &settings);
}

static void model_refuse(struct model *m, enum kphi_counter why, uint64_t now)
{
	m->duplicates += why == KPHI_COUNT_duplicate;
	m->reordered += why == KPHI_COUNT_reordered;
	if (why == KPHI_COUNT_stale_epoch || why == KPHI_COUNT_stale_sequence) {
		m->stale++;
		m->stale_at = now;
	}
}

/* Is this stall long enough for the peer to care? */
static bool model_cares(const struct model *m, uint64_t stall)
{
	uint64_t least =
		m->settings.set & KPHI_SET_MIN_STD ? m->settings.min_std_ns : m->window.interval_ns / 10;

	return stall >= least;
}

static uint32_t model_arrival(struct model *m, const struct kphi_beat *b, bool learn, uint64_t steps)
{
	uint64_t draining = m->window.interval_ns > 100 * MS ? m->window.interval_ns : 100 * MS;
	uint32_t notes = 0;

	if (b->now_ns < m->last) {
		m->inverted++;
		return KPHI_NOTE(stamp_inverted);
	}
	if (learn && b->stall_end_ns && m->last < b->stall_end_ns + draining &&
	    model_cares(m, b->stall_length_ns)) {
		m->unlearned++;
		m->window.in_a_row = 0;
		notes = KPHI_NOTE(unlearned);
	} else if (learn) {
		notes = window_model_take(&m->window, b->now_ns - m->last, steps);
		m->capped += !!(notes & KPHI_NOTE(capped));
		m->retuned += !!(notes & KPHI_NOTE(retuned));
	}
	m->last = b->now_ns;
	m->cpu = b->cpu;
	m->copy = b->stalled_total_ns;
	return notes;
}

/* Whether a native message is news, in the order in which the design asks. */
static enum kphi_counter model_judge(struct model *m, const struct kphi_beat *b)
{
	bool waiting = m->state == KPHI_WAITING;

	if (b->epoch < m->epoch)
		return KPHI_COUNT_stale_epoch;
	if (b->epoch > m->epoch && b->epoch > b->epoch_limit)
		return KPHI_COUNT_future_epoch;
	if (waiting || b->epoch > m->epoch)
		return KPHI_COUNT_beat;
	if (m->state == KPHI_DOWN)
		return KPHI_COUNT_after_down;
	return sequence_model_take(&m->sequence, b->sequence);
}

static void model_new_life(struct model *m, const struct kphi_beat *b)
{
	m->epoch = b->epoch;
	m->state = KPHI_UP;
	m->since = b->now_ns;
	sequence_model_begin(&m->sequence, b->sequence);
	window_model_begin(&m->window, WINDOW, &m->settings);
}

static enum kphi_counter model_take(struct model *m, const struct kphi_beat *b, uint32_t *notes)
{
	bool fresh = m->state == KPHI_WAITING || (b->native && b->epoch > m->epoch);
	bool learn = !fresh && m->state == KPHI_UP && b->type == KPHI_WIRE_BEAT;
	uint64_t before = m->sequence.highest;
	enum kphi_counter outcome = b->native ? model_judge(m, b) : KPHI_COUNT_beat;

	*notes = 0;
	if ((outcome == KPHI_COUNT_beat || outcome == KPHI_COUNT_duplicate) && b->device != m->device) {
		m->other_device = m->device;
		m->other_at = b->now_ns;
		m->device = b->device;
	}
	if (outcome != KPHI_COUNT_beat) {
		model_refuse(m, outcome, b->now_ns);
		return outcome;
	}
	if (fresh) {
		*notes = m->state == KPHI_WAITING ? 0 : KPHI_NOTE(restart);
		m->restarts += m->state != KPHI_WAITING;
		model_new_life(m, b);
	}
	*notes |= model_arrival(m, b, learn, m->sequence.highest - before);
	m->said = *b;
	if (b->type != KPHI_WIRE_BEAT) {
		if (m->state != KPHI_LEFT || b->type != KPHI_WIRE_LEAVE)
			m->since = b->now_ns;
		m->state = b->type == KPHI_WIRE_LEAVE ? KPHI_LEFT : KPHI_DOWN;
		return b->type == KPHI_WIRE_LEAVE ? KPHI_COUNT_leave : KPHI_COUNT_down;
	}
	m->beats++;
	if (m->state == KPHI_LEFT) {
		m->state = KPHI_UP;
		m->since = b->now_ns;
	}
	return KPHI_COUNT_beat;
}

static void assert_same(const struct model *m, const struct kphi_record *r, const uint64_t *ring)
{
	assert_int_equal(r->state, m->state);
	assert_int_equal(r->epoch, m->epoch);
	assert_int_equal(r->last_ns, m->last);
	assert_int_equal(r->since_ns, m->since);
	assert_int_equal(r->stale_ns, m->stale_at);
	assert_int_equal(r->stalled_copy_ns, m->copy);
	assert_int_equal(r->cpu, m->cpu);
	assert_int_equal(r->beats, m->beats);
	assert_int_equal(r->duplicates, m->duplicates);
	assert_int_equal(r->reordered, m->reordered);
	assert_int_equal(r->stale, m->stale);
	assert_int_equal(r->restarts, m->restarts);
	assert_int_equal(r->capped, m->capped);
	assert_int_equal(r->retuned, m->retuned);
	assert_int_equal(r->stamp_inverted, m->inverted);
	assert_int_equal(r->unlearned, m->unlearned);
	assert_int_equal(r->flags, m->said.flags);
	assert_int_equal(r->device, m->device);
	assert_int_equal(r->other_device, m->other_device);
	assert_int_equal(r->other_ns, m->other_at);
	assert_int_equal(r->cluster_version, m->said.cluster_version);
	assert_int_equal(r->load_average, m->said.load_average);
	assert_int_equal(r->available_capacity, m->said.available_capacity);
	assert_true(window_model_same(&m->window, &r->window, ring, 1));
	if (m->said.native)
		assert_true(sequence_model_same(&m->sequence, &r->sequence));
}

/* --- unruly senders --- */

struct sender {
	uint64_t random, now, stall_end, stall_length, stalled_total;
	uint64_t slow; /* so many intervals more are too long */
	bool native;
};

static void some_stamp(struct sender *s, struct kphi_beat *b, uint64_t interval)
{
	uint64_t *random = &s->random;

	if (!s->slow && !random_below(random, 200))
		s->slow = random_below(random, 20);
	s->now += random_below(random, 2 * interval) + (s->slow ? 20 * interval : 0);
	s->slow -= s->slow > 0;
	if (!random_below(random, 200)) {
		s->stall_end = s->now;
		s->stall_length = random_below(random, 1000 * MS);
		s->stalled_total += s->stall_length;
	}
	b->now_ns = s->now - (random_below(random, 30) ? 0 : random_below(random, interval));
	b->stall_end_ns = s->stall_end;
	b->stall_length_ns = s->stall_length;
	b->stalled_total_ns = s->stalled_total;
	b->device = random_below(random, 10) ? 2 : 3;
	b->cpu = (uint16_t)random_below(random, 4);
}

static uint64_t some_sequence(uint64_t *random, const struct sequence_model *s)
{
	switch (random_below(random, 12)) {
	case 0:
		return s->highest - random_below(random, 70);
	case 1:
		return s->highest + random_below(random, 200);
	case 2:
		return s->highest;
	default:
		return s->highest + 1;
	}
}

static struct kphi_beat some_message(struct sender *s, const struct model *m)
{
	uint64_t *random = &s->random;
	struct kphi_beat b = {
		.type = KPHI_WIRE_BEAT, .epoch_limit = TODAY + KPHI_EPOCH_AHEAD_S, .native = s->native};

	some_stamp(s, &b, m->settings.interval_ns ? m->settings.interval_ns : 10 * MS);
	if (!s->native)
		return b;
	b.epoch = m->epoch;
	if (m->sequence.n >= SEQUENCE_MODEL_MAX - 1 || !random_below(random, 60))
		b.epoch += 1 + random_below(random, 3);
	else if (!random_below(random, 40))
		b.epoch -= random_below(random, b.epoch + 1);
	else if (!random_below(random, 100))
		b.epoch = TODAY + KPHI_EPOCH_AHEAD_S + 1 + random_magnitude(random, 50);
	b.sequence = m->sequence.n ? some_sequence(random, &m->sequence) : 1000 + random_below(random, 3);
	if (!random_below(random, 25))
		b.type = random_below(random, 3) ? KPHI_WIRE_LEAVE : KPHI_WIRE_DOWN;
	b.flags = (uint8_t)random_below(random, 4);
	b.cluster_version = random_bits(random);
	b.load_average = (uint32_t)random_bits(random);
	b.available_capacity = (uint32_t)random_bits(random);
	return b;
}

/* As the control program does it. A restored peer has a floor under its epochs. */
static void reset(struct kphi_record *r, struct model *m, uint64_t now, uint64_t floor)
{
	memset(r, 0, sizeof(*r));
	r->epoch = floor;
	r->state = KPHI_WAITING;
	r->since_ns = now;
	kphi_window_begin(&r->window, &m->settings);
	model_reset(m, now);
	m->epoch = floor;
}

static void live(struct sender *s, struct model *m, uint64_t met[KPHI_COUNTERS])
{
	struct kphi_record r;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];

	reset(&r, m, s->now, 0);
	for (int i = 0; i < MESSAGES; i++) {
		uint32_t notes, expected_notes;
		struct kphi_beat b;
		enum kphi_counter expected;

		if (!random_below(&s->random, 500))
			reset(&r, m, s->now, s->native ? random_below(&s->random, 3) * 10 : 0);
		b = some_message(s, m);
		expected = model_take(m, &b, &expected_notes);
		assert_int_equal(kphi_record_take(&r, &m->settings, ring, WINDOW, &b, &notes), expected);
		assert_int_equal(notes, expected_notes);
		assert_same(m, &r, ring);
		met[expected]++;
		for (int note = KPHI_COUNT_restart; note < KPHI_COUNTERS; note++)
			met[note] += notes >> (note - KPHI_COUNT_restart) & 1;
	}
}

static void a_million_messages(void **state)
{
	static const enum kphi_counter all[] = {
		KPHI_COUNT_beat,           KPHI_COUNT_leave,        KPHI_COUNT_down,
		KPHI_COUNT_stale_epoch,    KPHI_COUNT_future_epoch, KPHI_COUNT_after_down,
		KPHI_COUNT_duplicate,      KPHI_COUNT_reordered,    KPHI_COUNT_stale_sequence,
		KPHI_COUNT_restart,        KPHI_COUNT_capped,       KPHI_COUNT_retuned,
		KPHI_COUNT_stamp_inverted, KPHI_COUNT_unlearned,
	};
	struct sender s = {.random = 2};
	uint64_t met[KPHI_COUNTERS] = {0};
	static struct model m;

	(void)state;
	for (int i = 0; i < PEERS; i++) {
		s.native = i % 4;
		s.now = i % 3 ? 1000000 * MS : 0;
		s.stall_end = 0;
		m.settings.interval_ns = i % 5 ? (MS << i % 12) : 0;
		m.settings.set = i % 6 ? 0 : KPHI_SET_MIN_STD;
		m.settings.min_std_ns = random_below(&s.random, 1000 * MS);
		m.settings.max_interval_ns = i % 7 ? 0 : 2 * m.settings.interval_ns;
		live(&s, &m, met);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_true(met[all[i]] > 500);
}

/* --- the edges that chance does not meet --- */

static const struct kphi_peer usual = {.interval_ns = 200 * MS};

/* A record that was heard once, at `last`. */
static void heard_at(struct kphi_record *r, uint64_t last)
{
	memset(r, 0, sizeof(*r));
	r->state = KPHI_UP;
	r->last_ns = last;
	kphi_window_begin(&r->window, &usual);
}

static void equal_stamps_are_an_interval_of_nothing(void **state)
{
	struct kphi_beat b = {.type = KPHI_WIRE_BEAT, .now_ns = 1000 * MS};
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];
	struct kphi_record r;
	uint32_t notes;

	(void)state;
	heard_at(&r, 1000 * MS);
	assert_int_equal(kphi_record_take(&r, &usual, ring, WINDOW, &b, &notes), KPHI_COUNT_beat);
	assert_int_equal(notes, 0);
	assert_int_equal(r.window.n, 1);
	assert_int_equal(ring[0], kphi_ring_entry(0, 1));
	b.now_ns--;
	assert_int_equal(kphi_record_take(&r, &usual, ring, WINDOW, &b, &notes), KPHI_COUNT_beat);
	assert_int_equal(notes, KPHI_NOTE(stamp_inverted));
	assert_int_equal(r.last_ns, 1000 * MS);
}

/* An interval is learned if it began an interval of the peer's, or 100 ms, after the stall: that instant
 * included. */
static void learning_resumes_when_the_stall_is_drained(void **state)
{
	static const struct {
		uint64_t interval, began, learned;
	} cases[] = {
		{200 * MS, 1200 * MS, 1}, {200 * MS, 1200 * MS - 1, 0},
		{20 * MS, 1100 * MS, 1},  {20 * MS, 1100 * MS - 1, 0},
		{0, 1100 * MS, 1},        {0, 1100 * MS - 1, 0},
	};
	struct kphi_beat b = {.type = KPHI_WIRE_BEAT,
			      .now_ns = 1210 * MS,
			      .stall_end_ns = 1000 * MS,
			      .stall_length_ns = 500 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t ring[KPHI_RING_SIZE(WINDOW)];
		struct kphi_record r;
		uint32_t notes;

		heard_at(&r, cases[i].began);
		r.window.interval_ns = cases[i].interval;
		kphi_record_take(&r, &usual, ring, WINDOW, &b, &notes);
		assert_int_equal(r.window.n, cases[i].learned);
		assert_int_equal(notes, cases[i].learned ? 0 : KPHI_NOTE(unlearned));
		assert_int_equal(r.last_ns, b.now_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_messages),
		cmocka_unit_test(equal_stamps_are_an_interval_of_nothing),
		cmocka_unit_test(learning_resumes_when_the_stall_is_drained),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
