// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libkphi over a store that is memory: what each verdict is to each consumer, when there is none, what
 * becomes of who was deleted, and that phi is the program's own. And senders that nobody is sent to.
 */
#include <errno.h>
#include <kphi.h>
#include <kphi/wire.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/policy.h"
#include "lib/handle.h"
#include "unit/memory_store.h"

#define MS     1000000ULL
#define NOW    (1000000 * MS)
#define TTL    (3000 * MS)
#define EPOCH  77
#define SLOT   2
#define GEN    5
#define OTHERS 6

static struct kphi k;
static const struct kphi_ref peer = {SLOT, GEN};

/* One peer that beats every 100 ms, with jitter, and was last heard half an interval ago; a valid trust. */
static int begin(void **state)
{
	struct kphi_record *r = &memory.records[SLOT];
	struct kphi_peer *p = &memory.peers[SLOT];
	uint32_t i;

	(void)state;
	memory_begin(1);
	k = (struct kphi){.store = store};
	handle_prepare(&k);
	*p = (struct kphi_peer){.name = "db1", .host = "rack", .interval_ns = 100 * MS};
	p->id = (struct kphi_id){.kind = KPHI_ID_NATIVE, .bytes = {[15] = 9}};
	*r = (struct kphi_record){
		.generation = GEN,
		.state = KPHI_UP,
		.last_ns = NOW - 50 * MS,
		.epoch = EPOCH,
		.beats = WINDOW + 1,
		.window.interval_ns = 100 * MS,
		.window.cap_ns = 1000 * MS,
	};
	for (i = 0; i < WINDOW; i++) {
		uint64_t ns = (i % 2 ? 120 : 80) * MS;

		memory.windows[SLOT][i] = ns | 1ULL << KPHI_RING_STEPS_SHIFT;
		r->window.n++;
		r->window.sum_ns += ns;
		r->window.squares_low += ns * ns;
		r->window.clean_n++;
		r->window.clean_sum_ns += ns;
		r->window.clean_squares_low += ns * ns;
		r->window.losses.beats++;
	}
	memory.verdicts[SLOT] = (struct kphi_verdict){
		.version = 8,
		.valid_until_ns = NOW + TTL,
		.epoch = EPOCH,
		.generation = GEN,
		.state = KPHI_VERDICT_TRUST,
	};
	return 0;
}

static int any(uint64_t now_ns)
{
	return kphi_suspected(&k, peer, KPHI_ANY, now_ns);
}

static void each_verdict_is_an_answer(void **state)
{
	static const struct {
		uint8_t state;
		uint32_t consumers, held, shadows;
		int any, third;
	} cases[] = {
		{KPHI_VERDICT_TRUST, 0, 0, 0, KPHI_NOT_SUSPECTED, KPHI_NOT_SUSPECTED},
		{KPHI_VERDICT_TRUST, 0, 0, 8, KPHI_NOT_SUSPECTED, KPHI_NOT_SUSPECTED}, /* a shadow's */
		{KPHI_VERDICT_SUSPECT, 8, 0, 0, KPHI_SUSPECTED, KPHI_SUSPECTED},
		{KPHI_VERDICT_SUSPECT, 4, 0, 0, KPHI_SUSPECTED, KPHI_NOT_SUSPECTED}, /* another's */
		{KPHI_VERDICT_SUSPECT, 4, 8, 0, KPHI_SUSPECTED, KPHI_UNKNOWN},
		{KPHI_VERDICT_HELD, 0, 8, 0, KPHI_UNKNOWN, KPHI_UNKNOWN},
		{KPHI_VERDICT_HELD, 0, 4, 0, KPHI_UNKNOWN, KPHI_NOT_SUSPECTED},
		{KPHI_VERDICT_BLIND, 0, 0, 0, KPHI_UNKNOWN, KPHI_UNKNOWN},
		{KPHI_VERDICT_BLIND, 8, 0, 0, KPHI_SUSPECTED, KPHI_SUSPECTED}, /* suspected before */
		{KPHI_VERDICT_UNKNOWN, 0, 0, 0, KPHI_UNKNOWN, KPHI_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kphi_verdict *v = &memory.verdicts[SLOT];

		v->state = cases[i].state;
		v->consumers = cases[i].consumers;
		v->held = cases[i].held;
		v->shadows = cases[i].shadows;
		print_message("case %zu\n", i);
		assert_int_equal(any(NOW), cases[i].any);
		assert_int_equal(kphi_suspected(&k, peer, 3, NOW), cases[i].third);
	}
}

static void a_verdict_holds_until_its_end(void **state)
{
	struct kphi_judgement j;

	(void)state;
	memory.verdicts[SLOT].state = KPHI_VERDICT_SUSPECT;
	memory.verdicts[SLOT].consumers = 1;
	memory.verdicts[SLOT].token = 1234;
	assert_int_equal(any(NOW + TTL - 1), KPHI_SUSPECTED);
	assert_int_equal(kphi_judge(&k, peer, NOW + TTL - 1, &j), 0);
	assert_memory_equal(&j, &memory.verdicts[SLOT], sizeof(j));
	assert_int_equal(any(NOW + TTL), KPHI_UNKNOWN);
	assert_int_equal(kphi_judge(&k, peer, NOW + TTL, &j), 0);
	assert_int_equal(j.stance, KPHI_STANCE_UNKNOWN);
	assert_int_equal(j.token, 0);
	assert_int_equal(j.consumers, 0);
}

/* On another life, on another peer, or half written for ever by a daemon that was killed. */
static void a_verdict_on_something_else_is_none(void **state)
{
	struct kphi_verdict *v = &memory.verdicts[SLOT];

	(void)state;
	v->state = KPHI_VERDICT_SUSPECT;
	v->consumers = 1;
	assert_int_equal(any(NOW), KPHI_SUSPECTED);
	memory.records[SLOT].epoch++;
	assert_int_equal(any(NOW), KPHI_UNKNOWN);
	v->epoch++;
	assert_int_equal(any(NOW), KPHI_SUSPECTED);
	v->generation++;
	assert_int_equal(any(NOW), KPHI_UNKNOWN);
	v->generation--;
	v->version++;
	assert_int_equal(any(NOW), KPHI_UNKNOWN);
}

static void who_was_deleted_is_stale_and_his_successor_found(void **state)
{
	struct kphi_reading reading;
	struct kphi_judgement j;
	struct kphi_ref next;

	(void)state;
	assert_int_equal(kphi_find(&k, "db1", &next), 0);
	assert_memory_equal(&next, &peer, sizeof(peer));
	/* Deleted: the generation is raised, and the slot is free. The verdict is still there. */
	memory.records[SLOT].generation++;
	memory.records[SLOT].state = KPHI_FREE;
	assert_int_equal(any(NOW), -ESTALE);
	assert_int_equal(kphi_judge(&k, peer, NOW, &j), -ESTALE);
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), -ESTALE);
	assert_int_equal(kphi_find(&k, "db1", &next), -ENOENT);
	/* Added again, by chance in the same slot. */
	memory.records[SLOT].state = KPHI_WAITING;
	assert_int_equal(any(NOW), -ESTALE);
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), -ESTALE);
	assert_int_equal(kphi_find(&k, "db1", &next), 0);
	assert_int_equal(next.generation, GEN + 1);
	assert_int_equal(kphi_suspected(&k, next, KPHI_ANY, NOW), KPHI_UNKNOWN);
	assert_int_equal(kphi_read(&k, next, KPHI_OWN_MODEL, 0, NOW, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_WAITING);
	/* A generation that fits says nothing about a free slot, nor does a slot that there is not. */
	assert_int_equal(kphi_suspected(&k, (struct kphi_ref){0, 0}, KPHI_ANY, NOW), -ESTALE);
	assert_int_equal(kphi_read(&k, (struct kphi_ref){0, 0}, KPHI_OWN_MODEL, 0, NOW, &reading), -ESTALE);
	assert_int_equal(kphi_suspected(&k, KPHI_NOBODY, KPHI_ANY, NOW), -ESTALE);
	assert_int_equal(kphi_judge(&k, KPHI_NOBODY, NOW, &j), -ESTALE);
	assert_int_equal(kphi_read(&k, (struct kphi_ref){PEERS, 0}, KPHI_OWN_MODEL, 0, NOW, &reading),
			 -ESTALE);
}

static void numbers_are_checked(void **state)
{
	struct kphi_reading reading;

	(void)state;
	assert_int_equal(kphi_suspected(&k, peer, 31, NOW), KPHI_NOT_SUSPECTED);
	assert_int_equal(kphi_suspected(&k, peer, 32, NOW), -EINVAL);
	assert_int_equal(kphi_suspected(&k, peer, -2, NOW), -EINVAL);
	assert_int_equal(kphi_read(&k, peer, KPHI_MODELS, 0, NOW, &reading), -EINVAL);
	assert_int_equal(kphi_read(&k, peer, -2, 0, NOW, &reading), -EINVAL);
	assert_int_equal(kphi_model("accrual"), -EINVAL);
	assert_null(kphi_model_name(KPHI_MODELS));
	assert_null(kphi_model_name(KPHI_OWN_MODEL));
	for (int model = 0; model < KPHI_MODELS; model++)
		assert_int_equal(kphi_model(kphi_model_name(model)), model);
}

/* Of every model, after silences of up to a second, with the usual threshold and another one. */
static void phi_is_the_programs_own(void **state)
{
	struct threshold threshold;
	unsigned judged = 0, reached = 0;

	(void)state;
	for (int model = 0; model < KPHI_MODELS; model++)
		for (uint64_t later_ns = 0; later_ns < 1000 * MS; later_ns += 7 * MS) {
			uint64_t asked = later_ns / (7 * MS) % 3 * (Q32_ONE * 5 / 2);
			struct kphi_peer p = memory.peers[SLOT];
			struct kphi_reading r;
			struct opinion o;

			p.model = (uint8_t)model;
			threshold_prepare(&threshold, asked ? asked : 8 * Q32_ONE);
			policy_judge(&o, &memory.records[SLOT], &p, memory.windows[SLOT], &memory.ticks[0],
				     &threshold, NOW + later_ns);
			assert_int_equal(kphi_read(&k, peer, model, asked, NOW + later_ns, &r), 0);
			assert_int_equal(r.model, model);
			assert_int_equal(r.judged, o.judged);
			assert_int_equal(r.phi_q32, o.phi);
			assert_int_equal(r.suspect_in_ns, o.suspect_in_ns);
			assert_int_equal(r.silence_ns, o.silence_ns);
			assert_int_equal(r.condition == KPHI_IS_SUSPECT, o.state == PEER_SUSPECT);
			judged += r.judged;
			reached += r.condition == KPHI_IS_SUSPECT;
		}
	assert_true(judged > 100);
	assert_true(reached > 20);
	assert_true(judged > reached);
}

/* At the moment that was told, and not a nanosecond before. */
static void suspicion_comes_when_it_was_told(void **state)
{
	(void)state;
	for (int model = 0; model < KPHI_MODELS; model++)
		for (uint64_t phi = 1; phi <= 12; phi++) {
			struct kphi_reading r;
			uint64_t in_ns, asked = phi * Q32_ONE;

			assert_int_equal(kphi_read(&k, peer, model, asked, NOW, &r), 0);
			in_ns = r.suspect_in_ns;
			assert_true(in_ns > 0);
			/* Eight intervals cannot say more than phi 1 without a curve. */
			if (in_ns == UINT64_MAX)
				continue;
			assert_int_equal(kphi_read(&k, peer, model, asked, NOW + in_ns, &r), 0);
			assert_true(r.phi_q32 >= asked);
			assert_int_equal(r.suspect_in_ns, 0);
			assert_int_equal(kphi_read(&k, peer, model, asked, NOW + in_ns - 1, &r), 0);
			assert_true(r.phi_q32 < asked);
		}
}

static void conditions_are_told(void **state)
{
	struct kphi_record *r = &memory.records[SLOT];
	struct kphi_reading reading;

	(void)state;
	r->flags = KPHI_WIRE_DEGRADED;
	memory.peers[SLOT].mute_until_ns = NOW + 1;
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_UP);
	assert_int_equal(reading.degraded, 1);
	assert_int_equal(reading.muted, 1);
	assert_int_equal(reading.beats, WINDOW + 1);
	assert_int_equal(reading.samples, WINDOW);
	assert_int_equal(reading.epoch, EPOCH);
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW + 1, &reading), 0);
	assert_int_equal(reading.muted, 0);
	r->state = KPHI_LEFT;
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_LEFT);
	assert_int_equal(reading.judged, 0);
	assert_int_equal(reading.suspect_in_ns, UINT64_MAX);
	r->state = KPHI_DOWN;
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_DOWN);
	r->state = KPHI_UP;
	r->window.interval_ns = 0;
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_LEARNING);
	r->version++; /* written for ever */
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, NOW, &reading), -EBUSY);
}

/* After a stall of this host a suspicion is withheld, as `kphi peer show` withholds it. */
static void a_stall_of_this_host_holds(void **state)
{
	struct kphi_tick *tick = &memory.ticks[0];
	struct kphi_reading reading;
	uint64_t then = NOW + 3000 * MS;

	(void)state;
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, then, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_SUSPECT);
	*tick = (struct kphi_tick){.last_ns = then,
				   .stalled_total_ns = 500 * MS,
				   .stall_end_ns = then - 100 * MS,
				   .stall_length_ns = 500 * MS,
				   .stall_length_end_ns = then - 100 * MS,
				   .stalls = 1,
				   .stall = {{then - 100 * MS, 500 * MS}}};
	assert_int_equal(kphi_read(&k, peer, KPHI_OWN_MODEL, 0, then, &reading), 0);
	assert_int_equal(reading.condition, KPHI_IS_HELD);
	assert_int_equal(reading.silence_ns, 3050 * MS - 500 * MS);
}

static void everybody_is_found_once(void **state)
{
	static const uint8_t id[16] = {[15] = 9}, other[16] = {[15] = 8};
	struct kphi_about about;
	struct kphi_ref ref;
	uint32_t cursor = 0;

	(void)state;
	/* A rule's source is no id, though it is kept at the same place. */
	memory.records[OTHERS] = (struct kphi_record){.generation = 1, .state = KPHI_WAITING};
	memory.peers[OTHERS] = (struct kphi_peer){.name = "vip", .model = KPHI_MODEL_AKKA};
	memory.peers[OTHERS].id = (struct kphi_id){.kind = KPHI_ID_RULE, .bytes = {[15] = 8}};
	assert_int_equal(kphi_next(&k, &cursor, &about), 1);
	assert_string_equal(about.name, "db1");
	assert_string_equal(about.host, "rack");
	assert_memory_equal(about.id, id, sizeof(id));
	assert_memory_equal(&about.ref, &peer, sizeof(peer));
	assert_int_equal(about.interval_ns, 100 * MS);
	assert_int_equal(about.is_rule, 0);
	assert_int_equal(kphi_next(&k, &cursor, &about), 1);
	assert_string_equal(about.name, "vip");
	assert_int_equal(about.model, KPHI_MODEL_AKKA);
	assert_int_equal(about.is_rule, 1);
	assert_int_equal(about.id[15], 0);
	assert_int_equal(kphi_next(&k, &cursor, &about), 0);
	assert_int_equal(kphi_next(&k, &cursor, &about), 0);
	assert_int_equal(kphi_find_id(&k, id, &ref), 0);
	assert_int_equal(ref.slot, SLOT);
	assert_int_equal(kphi_find_id(&k, other, &ref), -ENOENT);
	assert_int_equal(kphi_find(&k, "vip", &ref), 0);
	assert_int_equal(kphi_find(&k, "vi", &ref), -ENOENT);
	assert_int_equal(kphi_find(&k, "", &ref), -ENOENT);
}

static void what_is_not_there_is_not_opened(void **state)
{
	struct kphi *none = (struct kphi *)-1;
	char why[KPHI_WHY_SIZE] = "";

	(void)state;
	assert_int_equal(kphi_open(&none, "/nonexistent/kphi", why, sizeof(why)), -ENOENT);
	assert_null(none);
	assert_non_null(strstr(why, "/nonexistent/kphi: there is no store"));
	assert_int_equal(kphi_open(&none, "/proc", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "not on a bpffs"));
	assert_int_equal(kphi_open(&none, "/proc", why, 9), -EINVAL); /* room for little */
	assert_string_equal(why, "/proc is");
	assert_int_equal(kphi_open(&none, "/proc", NULL, 0), -EINVAL);
	kphi_close(NULL);
}

static int beat_open(struct kphi_sender **sender, const char *state, const char *key, const char *first,
		     const char *second, char *why)
{
	static const uint8_t id[16] = {[15] = 1};
	const char *to[] = {first, second, NULL};
	struct kphi_beat_config config = {.to = to, .id = id, .state = state, .key = key};
	int err;

	*why = '\0';
	*sender = (struct kphi_sender *)-1;
	err = kphi_beat_open(sender, &config, why, KPHI_WHY_SIZE);
	if (err)
		assert_null(*sender);
	return err;
}

/* Nothing is sent here: that is for tests in a network of their own. */
static void senders_are_opened_or_told_why_not(void **state)
{
	char folder[] = "/tmp/kphi-lib-XXXXXX", file[64], lock[80], why[KPHI_WHY_SIZE];
	struct kphi_sender *sender, *second;
	uint64_t epoch;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/epoch", folder);
	snprintf(lock, sizeof(lock), "%s.lock", file);
	assert_int_equal(beat_open(&sender, file, NULL, NULL, NULL, why), -EINVAL);
	assert_non_null(strstr(why, "no address"));
	assert_int_equal(beat_open(&sender, file, NULL, "localhost", NULL, why), -EINVAL);
	assert_non_null(strstr(why, "localhost"));
	assert_int_equal(beat_open(&sender, file, NULL, "127.0.0.1:65536", NULL, why), -EINVAL);
	assert_int_equal(beat_open(&sender, file, NULL, "127.0.0.1", "127.0.0.1:7441", why), -EINVAL);
	assert_non_null(strstr(why, "there twice"));
	assert_int_equal(beat_open(&sender, file, "/nonexistent/key", "127.0.0.1", NULL, why), -EINVAL);
	assert_non_null(strstr(why, "/nonexistent/key"));
	assert_int_equal(access(file, F_OK), -1); /* no epoch was used up */
	assert_int_equal(beat_open(&sender, "/nonexistent/epoch", NULL, "127.0.0.1", NULL, why), -ENOENT);
	assert_non_null(strstr(why, "/nonexistent/epoch"));

	assert_int_equal(beat_open(&sender, file, NULL, "127.0.0.1", "[::1]:9", why), 0);
	epoch = kphi_beat_epoch(sender);
	assert_true(epoch > 1700000000);
	assert_int_equal(kphi_beat_send(sender, 1U << 31), -EINVAL);
	assert_int_equal(beat_open(&second, file, NULL, "127.0.0.1", NULL, why), -EBUSY);
	assert_non_null(strstr(why, "another sender"));
	kphi_beat_close(sender, false);
	assert_int_equal(beat_open(&sender, file, NULL, "127.0.0.1", NULL, why), 0);
	assert_true(kphi_beat_epoch(sender) > epoch);
	kphi_beat_close(sender, false);
	kphi_beat_close(NULL, true);
	unlink(file);
	unlink(lock);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_verdict_is_an_answer, begin),
		cmocka_unit_test_setup(a_verdict_holds_until_its_end, begin),
		cmocka_unit_test_setup(a_verdict_on_something_else_is_none, begin),
		cmocka_unit_test_setup(who_was_deleted_is_stale_and_his_successor_found, begin),
		cmocka_unit_test_setup(numbers_are_checked, begin),
		cmocka_unit_test_setup(phi_is_the_programs_own, begin),
		cmocka_unit_test_setup(suspicion_comes_when_it_was_told, begin),
		cmocka_unit_test_setup(conditions_are_told, begin),
		cmocka_unit_test_setup(a_stall_of_this_host_holds, begin),
		cmocka_unit_test_setup(everybody_is_found_once, begin),
		cmocka_unit_test(what_is_not_there_is_not_opened),
		cmocka_unit_test(senders_are_opened_or_told_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
