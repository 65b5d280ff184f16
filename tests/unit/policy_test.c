// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From a record to a state and its reason, with the time made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/window.h>
#include <kphi/wire.h>

#include "core/policy.h"
#include "unit/random.h"

#define MS   1000000ULL
#define HOUR (3600 * 1000 * MS)
#define T    (10 * HOUR) /* when the last message arrived */

static const struct kphi_tick no_tick;

/* A peer that beat `n` times every 100 ms, the last time at T. */
struct subject {
	struct kphi_record record;
	struct kphi_peer peer;
	uint64_t ring[KPHI_RING_SIZE(64)];
};

static void subject_new(struct subject *s, enum kphi_state state, uint64_t interval_ns, uint32_t n)
{
	memset(s, 0, sizeof(*s));
	s->peer.interval_ns = interval_ns;
	s->record.state = (uint8_t)state;
	s->record.last_ns = state == KPHI_WAITING ? 0 : T;
	s->record.since_ns = T;
	kphi_window_begin(&s->record.window, &s->peer);
	for (uint32_t i = 0; i < n; i++)
		kphi_window_take(&s->record.window, s->ring, 64, 0, 100 * MS, 1);
}

static struct opinion judge_by(const struct subject *s, const struct kphi_tick *tick, q32_t phi, uint64_t now)
{
	struct threshold threshold;
	struct opinion o;

	threshold_prepare(&threshold, phi);
	policy_judge(&o, &s->record, &s->peer, s->ring, tick, &threshold, now);
	return o;
}

static struct opinion judge(const struct subject *s, uint64_t now)
{
	return judge_by(s, &no_tick, POLICY_SUSPECT, now);
}

/* Seeded: mean 100 ms, pause 300 ms, deviation a quarter of the mean; phi 8 is 5.612001 deviations away. */
#define SEED_REACH (400 * MS + 140300025)

static const struct {
	const char *name;
	enum kphi_state recorded;
	uint64_t interval;
	uint32_t heard; /* intervals */
	uint8_t flags;
	uint64_t stale; /* when stale talk arrived */
	uint64_t after; /* T */
	enum peer_state state;
	enum peer_reason reason;
	bool judged;
} cases[] = {
	{"never heard", KPHI_WAITING, 100 * MS, 0, 0, 0, HOUR, PEER_WAITING, REASON_NO_BEAT, false},
	{"never heard, but stale talk", KPHI_WAITING, 100 * MS, 0, 0, T, HOUR, PEER_WAITING, REASON_NO_BEAT,
	 false},
	{"learning, first beat", KPHI_UP, 0, 0, 0, 0, MS, PEER_LEARNING, REASON_LEARNING, false},
	{"learning, seven heard", KPHI_UP, 0, 7, 0, 0, HOUR, PEER_LEARNING, REASON_LEARNING, false},
	{"learnt", KPHI_UP, 0, 8, 0, 0, MS, PEER_UP, REASON_NONE, true},
	{"seeded, none heard", KPHI_UP, 100 * MS, 0, 0, 0, MS, PEER_UP, REASON_SEED, true},
	{"seeded, one heard", KPHI_UP, 100 * MS, 1, 0, 0, MS, PEER_UP, REASON_SEED, true},
	{"two heard", KPHI_UP, 100 * MS, 2, 0, 0, MS, PEER_UP, REASON_NONE, true},
	{"seeded, long silent", KPHI_UP, 100 * MS, 0, 0, 0, 600 * MS, PEER_SUSPECT, REASON_SILENT, true},
	{"degraded", KPHI_UP, 100 * MS, 9, KPHI_WIRE_DEGRADED, 0, MS, PEER_UP, REASON_DEGRADED, true},
	{"signed is not degraded", KPHI_UP, 100 * MS, 9, KPHI_WIRE_SIGNED, 0, MS, PEER_UP, REASON_NONE, true},
	{"degraded and silent", KPHI_UP, 100 * MS, 9, KPHI_WIRE_DEGRADED, 0, HOUR, PEER_SUSPECT,
	 REASON_SILENT, true},
	{"silent", KPHI_UP, 100 * MS, 9, 0, 0, HOUR, PEER_SUSPECT, REASON_SILENT, true},
	{"silent, stale talk before", KPHI_UP, 100 * MS, 9, 0, T - 1, HOUR, PEER_SUSPECT, REASON_SILENT,
	 true},
	{"silent, stale talk since", KPHI_UP, 100 * MS, 9, 0, T + 1, HOUR, PEER_SUSPECT, REASON_STALE, true},
	{"up, stale talk since", KPHI_UP, 100 * MS, 9, 0, T + 1, MS, PEER_UP, REASON_NONE, true},
	{"left just now", KPHI_LEFT, 100 * MS, 9, 0, 0, 0, PEER_LEFT, REASON_LEFT, false},
	{"left an hour ago", KPHI_LEFT, 100 * MS, 9, 0, 0, HOUR, PEER_LEFT, REASON_LEFT, false},
	{"left more than an hour ago", KPHI_LEFT, 100 * MS, 9, 0, 0, HOUR + 1, PEER_WAITING,
	 REASON_LEFT_EXPIRED, false},
	{"left, signed", KPHI_LEFT, 100 * MS, 9, KPHI_WIRE_SIGNED, 0, 1000 * HOUR, PEER_LEFT, REASON_LEFT,
	 false},
	{"down", KPHI_DOWN, 100 * MS, 9, 0, 0, MS, PEER_DOWN, REASON_DOWN, false},
	{"down does not expire", KPHI_DOWN, 100 * MS, 9, 0, 0, 1000 * HOUR, PEER_DOWN, REASON_DOWN, false},
};

static void every_state_and_reason(void **state)
{
	uint32_t states = 0, reasons = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct subject s;
		struct opinion o;

		subject_new(&s, cases[i].recorded, cases[i].interval, cases[i].heard);
		s.record.flags = cases[i].flags;
		s.record.stale_ns = cases[i].stale;
		o = judge(&s, T + cases[i].after);
		if (o.state != cases[i].state || o.reason != cases[i].reason || o.judged != cases[i].judged)
			fail_msg("%s: %s, reason %d", cases[i].name, policy_state_name(o.state), o.reason);
		assert_int_equal(o.silence_ns,
				 o.state == PEER_WAITING && o.reason == REASON_NO_BEAT ? 0 : cases[i].after);
		if (!o.judged)
			assert_true(o.phi == 0 && o.suspect_in_ns == UINT64_MAX);
		states |= 1U << o.state;
		reasons |= 1U << o.reason;
	}
	assert_int_equal(states, (1U << (PEER_DOWN + 1)) - 1);
	assert_int_equal(reasons, (1U << (REASON_DOWN + 1)) - 1);
}

static void an_arrival_newer_than_now_is_no_silence(void **state)
{
	struct subject s;
	struct opinion o;

	(void)state;
	subject_new(&s, KPHI_UP, 100 * MS, 9);
	o = judge(&s, T - 1);
	assert_int_equal(o.state, PEER_UP);
	assert_int_equal(o.silence_ns, 0);
	subject_new(&s, KPHI_LEFT, 100 * MS, 9);
	s.record.since_ns = 1; /* a goodbye that is said again is believed from then on */
	assert_int_equal(judge(&s, T - 1).state, PEER_LEFT);
	assert_int_equal(judge(&s, 0).state, PEER_LEFT);
}

/* The deadline and the state are one: suspect from the nanosecond on that was foretold. */
static void suspect_exactly_when_foretold(void **state)
{
	uint64_t random = 17;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct subject s;
		struct opinion first, before, then;
		uint64_t at = T + random_below(&random, 200 * MS);

		subject_new(&s, KPHI_UP, random_below(&random, 2) ? 100 * MS : 10 * MS,
			    (uint32_t)random_below(&random, 40));
		s.peer.model = (uint8_t)random_below(&random, KPHI_MODELS);
		first = judge(&s, at);
		if (first.state == PEER_SUSPECT) {
			assert_int_equal(first.suspect_in_ns, 0);
			assert_true(first.phi >= POLICY_SUSPECT);
			continue;
		}
		before = judge(&s, at + first.suspect_in_ns - 1);
		then = judge(&s, at + first.suspect_in_ns);
		assert_int_equal(before.state, PEER_UP);
		assert_int_equal(before.suspect_in_ns, 1);
		assert_int_equal(then.state, PEER_SUSPECT);
		assert_int_equal(then.suspect_in_ns, 0);
	}
}

static void a_seed_gives_the_first_silence_a_meaning(void **state)
{
	struct subject s;

	(void)state;
	subject_new(&s, KPHI_UP, 100 * MS, 0);
	assert_in_range(judge(&s, T).suspect_in_ns, SEED_REACH - 1000, SEED_REACH + 1000);
}

static void a_stall_of_this_host_accuses_nobody(void **state)
{
	const struct kphi_tick over = {.last_ns = T + 999 * MS, .stalled_total_ns = 950 * MS};
	const struct kphi_tick open = {.last_ns = T + 50 * MS};
	struct subject s;
	struct opinion o;

	(void)state;
	subject_new(&s, KPHI_UP, 100 * MS, 9);
	assert_int_equal(judge(&s, T + 1000 * MS).state, PEER_SUSPECT);
	o = judge_by(&s, &over, POLICY_SUSPECT, T + 1000 * MS);
	assert_int_equal(o.state, PEER_UP);
	assert_int_equal(o.silence_ns, 50 * MS);
	o = judge_by(&s, &open, POLICY_SUSPECT, T + 1000 * MS);
	assert_int_equal(o.state, PEER_UP);
	assert_int_equal(o.silence_ns, 50 * MS);
}

static void an_unreachable_threshold_is_never_reached(void **state)
{
	struct subject s;
	struct opinion o;

	(void)state;
	subject_new(&s, KPHI_UP, 100 * MS, 9);
	o = judge_by(&s, &no_tick, PHI_MAX + 1, T + HOUR);
	assert_int_equal(o.state, PEER_UP);
	assert_true(o.suspect_in_ns == UINT64_MAX);
	assert_true(o.phi > POLICY_SUSPECT);
}

static void states_have_names(void **state)
{
	static const char *const names[] = {"waiting", "learning", "up", "suspect", "left", "down"};

	(void)state;
	for (int i = PEER_WAITING; i <= PEER_DOWN; i++)
		assert_string_equal(policy_state_name((enum peer_state)i), names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_and_reason),
		cmocka_unit_test(an_arrival_newer_than_now_is_no_silence),
		cmocka_unit_test(suspect_exactly_when_foretold),
		cmocka_unit_test(a_seed_gives_the_first_silence_a_meaning),
		cmocka_unit_test(a_stall_of_this_host_accuses_nobody),
		cmocka_unit_test(an_unreachable_threshold_is_never_reached),
		cmocka_unit_test(states_have_names),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
