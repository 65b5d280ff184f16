// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records as a whole in a trace: they come back, a replay goes on from them to the bit, and no damage does
 * harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>

#include "cmd/trace_replay.h"

#include <cmocka.h>

#include "unit/trace_bytes.h"

#define WINDOW 16
#define KINDS  4
#define RING   KPHI_RING_SIZE(WINDOW)

/* A peer as the kernel has it. */
struct live {
	struct trace_peer peer;
	struct kphi_record record;
	uint64_t ring[RING];
	uint64_t now_ns, sequence, epoch;
};

static const struct trace_start start = {.monotonic_ns = 1, .window = WINDOW};

static struct live live[KINDS];

static void begin_all(void)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		live[i] = (struct live){.peer = a_peer(i, i ? 0 : 1000000), .epoch = 5};
		if (i >= 2)
			live[i].peer.settings.id.kind = KPHI_ID_RULE;
		if (i == 2)
			live[i].peer.rule.decoder = KPHI_DECODER_BFD;
		live[i].record.state = KPHI_WAITING;
		kphi_window_begin(&live[i].record.window, &live[i].peer.settings);
	}
}

/* Loss, overtaking, restarts, outages that are capped and end in another rhythm, goodbyes, polls and
 * speakers. */
static struct kphi_beat next_beat(struct live *l, uint32_t kind, uint64_t *random)
{
	uint64_t what = random_below(random, 100);
	struct kphi_beat b = {.type = what < 97 ? KPHI_WIRE_BEAT : KPHI_WIRE_LEAVE, .epoch_limit = 1000000};

	l->now_ns += 900000 + random_below(random, 200000) + (what < 20 ? random_below(random, 30000000) : 0);
	l->sequence += what < 90 ? 1 : random_below(random, 5);
	l->epoch += what == 50;
	b.now_ns = l->now_ns;
	b.cpu = (uint16_t)random_below(random, 2);
	b.device = 3 + (what == 60);
	b.stalled_total_ns = l->now_ns / 50;
	b.sequence = l->sequence;
	b.native = kind < 2;
	b.epoch = kind < 2 ? l->epoch : 0;
	if (kind < 2) {
		b.load_average = (uint32_t)random_below(random, 9);
	} else if (kind == 2) {
		b.decoder = KPHI_DECODER_BFD;
		b.bfd = (struct kphi_bfd){.discriminator = 7 + (what == 50),
					  .desired_tx_us = 1000 + 500 * (what == 51),
					  .state = 3,
					  .multiplier = 3,
					  .flags = (uint8_t)(what < 3 ? KPHI_BFD_POLL : 0)};
	} else {
		b.sequence_bits = 16;
		b.sequence &= 0xffff;
		b.any_source = 1;
		b.speaker[1] = 1 + (what == 52);
	}
	return b;
}

static void take(struct live *l, const struct kphi_beat *beat)
{
	struct kphi_beat b = *beat;
	uint32_t notes;

	kphi_record_take(&l->record, &l->peer.settings, l->ring, WINDOW, &b, &notes);
}

/* --- there and back --- */

static void replay_file(uint32_t window, struct replay_plan *plan, struct trace_stream *s, struct replay **r)
{
	const q32_t phi = (q32_t)8 << 32;
	const double usual = 3;
	struct replay_source source;

	assert_int_equal(trace_stream_open(s, trace_path, NULL), 0);
	*plan = (struct replay_plan){.window = window};
	assert_int_equal(replay_plan_model(plan, REPLAY_OWN_MODEL, &phi, 1), 0);
	assert_int_equal(replay_plan_detector(plan, &detector_bfd, &usual, 1), 0);
	*r = replay_new(plan);
	assert_non_null(*r);
	source = trace_stream_source(s);
	assert_int_equal(replay_run(*r, &source, UINT64_MAX), 0);
}

static void assert_same(const struct live *l, const struct kphi_record *record, const uint64_t *ring)
{
	assert_memory_equal(record, &l->record, sizeof(l->record));
	assert_memory_equal(ring, l->ring, l->record.window.n * sizeof(*ring));
	assert_memory_equal(ring + WINDOW, l->ring + WINDOW, l->record.window.capped_run * sizeof(*ring));
}

static struct kphi_beat anybody_sends(uint64_t *random, uint32_t *who)
{
	struct kphi_beat b;

	*who = (uint32_t)random_below(random, KINDS);
	b = next_beat(&live[*who], *who, random);
	take(&live[*who], &b);
	return b;
}

/* What came after `before` beats: states, beats, one that is lost, and what has become of its peer by it. */
static void record_from(uint32_t before, uint64_t *random)
{
	struct trace_writer *w;
	char why[WHY_SIZE];
	uint32_t who;

	begin_all();
	unlink(trace_path);
	w = trace_create(trace_path, &start, why, sizeof(why));
	assert_non_null(w);
	for (uint32_t i = 0; i < KINDS; i++)
		assert_int_equal(trace_add_peer(w, &live[i].peer), i);
	for (uint32_t n = 0; n < before; n++)
		anybody_sends(random, &who);
	for (uint32_t i = 0; i < KINDS; i++)
		assert_int_equal(trace_write_state(w, i, &live[i].record, live[i].ring), 0);
	for (uint32_t n = 0; n < 400; n++) {
		struct kphi_beat b = anybody_sends(random, &who);

		if (n != 200) {
			assert_int_equal(trace_write(w, who, &b), 0);
			continue;
		}
		assert_int_equal(trace_write_lost(w, 1), 0);
		assert_int_equal(trace_write_state(w, who, &live[who].record, live[who].ring), 0);
	}
	assert_int_equal(trace_finish(w), 0);
}

static void replays_go_on_from_them(void **state)
{
	static struct replay_plan plan;
	uint64_t random = 11, intervals = 0;

	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		struct trace_stream s;
		struct replay *r;
		struct qos q;

		record_from(40 * round, &random);
		replay_file(WINDOW, &plan, &s, &r);
		assert_int_equal(replay_arrivals(r), 399);
		for (uint32_t i = 0; i < KINDS; i++) {
			assert_same(&live[i], replay_record(r, i), replay_ring(r, i));
			assert_int_equal(replay_qos(r, i, 0, &q), 0);
			intervals += q.intervals;
		}
		replay_free(r);
		trace_stream_close(&s);
	}
	assert_in_range(intervals, 10000, 60 * 400);
}

/* A peer that is only told of is known, but was not heard; and a window of another length holds the newest.
 */
static void other_windows(void **state)
{
	static const uint32_t windows[] = {8, 15, 17, 100};
	static struct replay_plan plan;
	uint64_t random = 5;

	(void)state;
	begin_all();
	for (uint32_t n = 0; n < 100 || live[0].record.window.n < WINDOW || !live[0].record.window.next;
	     n++) {
		struct kphi_beat b = next_beat(&live[0], 0, &random);

		b.type = KPHI_WIRE_BEAT;
		b.epoch = 5;
		take(&live[0], &b);
	}
	for (uint32_t k = 0; k < sizeof(windows) / sizeof(*windows); k++) {
		struct kphi_window expected = live[0].record.window;
		uint64_t ring[KPHI_RING_SIZE(100)] = {0};
		uint32_t next = expected.next;
		struct trace_stream s;
		struct trace_writer *w;
		struct replay *r;
		char why[WHY_SIZE];

		unlink(trace_path);
		w = trace_create(trace_path, &start, why, sizeof(why));
		assert_int_equal(trace_add_peer(w, &live[0].peer), 0);
		assert_int_equal(trace_write_state(w, 0, &live[0].record, live[0].ring), 0);
		assert_int_equal(trace_finish(w), 0);
		replay_file(windows[k], &plan, &s, &r);
		assert_true(replay_known(r, 0));
		assert_false(replay_heard(r, 0));
		kphi_window_empty(&expected);
		for (uint32_t i = 0; i < WINDOW; i++)
			kphi_window_add(&expected, ring, windows[k], live[0].ring[(next + i) % WINDOW]);
		expected.capped_run = live[0].record.window.capped_run;
		assert_memory_equal(&replay_record(r, 0)->window, &expected, sizeof(expected));
		assert_memory_equal(replay_ring(r, 0), ring, windows[k] * sizeof(*ring));
		replay_free(r);
		trace_stream_close(&s);
	}
}

static void who_cannot_be_told_of(void **state)
{
	static const struct trace_start unknown = {0};
	struct trace_writer *w;
	char why[WHY_SIZE];

	(void)state;
	begin_all();
	unlink(trace_path);
	w = trace_create(trace_path, &start, why, sizeof(why));
	assert_int_equal(trace_write_state(w, 0, &live[0].record, live[0].ring), -EINVAL); /* not added */
	assert_int_equal(trace_finish(w), 0);
	unlink(trace_path);
	w = trace_create(trace_path, &unknown, why, sizeof(why));
	assert_int_equal(trace_add_peer(w, &live[0].peer), 0);
	assert_int_equal(trace_write_state(w, 0, &live[0].record, live[0].ring), -EINVAL); /* no window */
	assert_int_equal(trace_finish(w), 0);
}

/* --- damage --- */

/* A record with a full window and a capped run. */
static size_t put_some(uint8_t *to, struct kphi_record *r, uint64_t *ring)
{
	const struct trace_peer a = a_peer(0, 0);
	struct kphi_record record = {.state = KPHI_UP, .epoch = UINT64_MAX, .last_ns = 1ULL << 60};

	kphi_window_begin(&record.window, &a.settings);
	for (uint64_t i = 0; i < 8; i++)
		kphi_window_add(&record.window, ring, 8, kphi_ring_entry(1000000 * (1 + i % 3), i % 4));
	record.window.capped_run = 2;
	ring[8] = kphi_ring_entry(KPHI_INTERVAL_MAX_NS, 3);
	ring[9] = 1;
	*r = record;
	return state_put(to, &a, &record, ring, 8);
}

static void states_of_anything(void **state)
{
	const struct trace_peer a = a_peer(0, 0);
	uint64_t ring[KPHI_RING_SIZE(8)] = {0}, back[KPHI_RING_SIZE(8)] = {0};
	struct kphi_record record, got;
	uint8_t bytes[1024];
	size_t size = put_some(bytes, &record, ring);
	uint32_t good = 0, bad = 0;

	(void)state;
	assert_int_equal(state_get(bytes, size, &a, &got, back, 8), 0);
	assert_memory_equal(&got, &record, sizeof(got));
	assert_memory_equal(back, ring, sizeof(ring));
	for (size_t i = 0; i < size; i++) {
		uint8_t was = bytes[i], *part = malloc(i + 1);

		for (int value = 0; value < 256; value++) {
			int err;

			bytes[i] = (uint8_t)value;
			err = state_get(bytes, size, &a, &got, back, 8);
			assert_true(!err || err == -EBADMSG);
			assert_true(err || (got.window.n <= 8 && got.window.next <= 8));
			good += !err;
			bad += err != 0;
		}
		bytes[i] = was;
		memcpy(part, bytes, i);
		assert_int_equal(state_get(part, i, &a, &got, back, 8), -EBADMSG);
		free(part);
	}
	assert_true(good > 1000 && bad > 1000);
	bytes[size] = 0;
	assert_int_equal(state_get(bytes, size + 1, &a, &got, back, 8), -EBADMSG); /* more than it says */
}

static size_t put_part(uint8_t *to, uint32_t peer, uint64_t left, const uint8_t *bytes, size_t size)
{
	uint8_t *at = to;

	*at++ = ENTRY(TRACE_STATE);
	at = codec_put_varint(at, peer);
	at = codec_put_varint(at, left);
	at = codec_put_varint(at, size);
	memcpy(at, bytes, size);
	return (size_t)(at - to) + size;
}

static void parts_follow_each_other(void **state)
{
	static const uint8_t arrival[] = {0x01, 0x00, 0x00, 0x00};
	uint64_t ring[KPHI_RING_SIZE(8)] = {0};
	struct kphi_record record;
	uint8_t all[1024], bytes[4096];
	size_t size = put_some(all, &record, ring), peer = put_peer(bytes, 0, "a"), at;

	(void)state;
	peer += put_peer(bytes + peer, 1, "b");
	at = peer + put_part(bytes + peer, 0, 0, all, size);
	assert_int_equal(error_of(0, bytes, at), 0);
	at = peer + put_part(bytes + peer, 0, size - 9, all, 9);
	at += put_part(bytes + at, 0, size - 20, all + 9, 11);
	assert_int_equal(error_of(0, bytes, at), 0); /* cut off: a torn file may end so */
	assert_int_equal(error_of(0, bytes, at + put_part(bytes + at, 0, 0, all + 20, size - 20)), 0);
	assert_int_equal(error_of(0, bytes, at + put_part(bytes + at, 1, 0, all + 20, size - 20)), -EBADMSG);
	assert_int_equal(error_of(0, bytes, at + put_part(bytes + at, 0, 1, all + 20, size - 21)), 0);
	assert_int_equal(error_of(0, bytes, at + put_part(bytes + at, 0, 0, all + 20, size - 21)), -EBADMSG);
	assert_int_equal(error_of(0, bytes, at + put_part(bytes + at, 0, size - 20, all, 0)), -EBADMSG);
	memcpy(bytes + at, arrival, sizeof(arrival));
	assert_int_equal(error_of(1, bytes, at + sizeof(arrival)), -EBADMSG);
	at = peer + put_part(bytes + peer, 2, 0, all, size); /* nobody */
	assert_int_equal(error_of(0, bytes, at), -EBADMSG);
	at = peer + put_part(bytes + peer, 0, UINT64_MAX, all, size);
	assert_int_equal(error_of(0, bytes, at), -EBADMSG);
	at = peer + put_part(bytes + peer, 0, STATE_MAX, all, size);
	assert_int_equal(error_of(0, bytes, at), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replays_go_on_from_them), cmocka_unit_test(other_windows),
		cmocka_unit_test(who_cannot_be_told_of),   cmocka_unit_test(states_of_anything),
		cmocka_unit_test(parts_follow_each_other),
	};

	return cmocka_run_group_tests_name("trace states", tests, trace_room, trace_room_end);
}
