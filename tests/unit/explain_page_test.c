// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The page of `kphi peer explain` in every state of a peer, from a store that is memory of the test's own. */
#include <kphi/record.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/peer_explain.h"
#include "io/utf8.h"
#include "unit/render.h"

#define MS   1000000ULL
#define S    1000000000ULL
#define NOW  (100000 * S)
#define SIZE 64

static struct memory {
	struct kphi_store header;
	struct kphi_peer peer;
	struct kphi_rule rule;
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(SIZE)];
	struct kphi_tick tick;
} memory;

static const struct store store = {
	.header = &memory.header,
	.peers = &memory.peer,
	.rules = &memory.rule,
	.records = &memory.record,
	.windows = memory.ring,
	.ticks = &memory.tick,
};

/* db1 beats every 100 ms; 20 intervals were heard, all alike. */
static int a_steady_peer(void **state)
{
	struct kphi_record *r = &memory.record;

	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.header = (struct kphi_store){.peers = 1, .window = SIZE, .cpus = 1};
	memory.peer = (struct kphi_peer){.name = "db1", .interval_ns = 100 * MS, .id.kind = KPHI_ID_NATIVE};
	*r = (struct kphi_record){.state = KPHI_UP, .version = 2, .beats = 21, .last_ns = NOW};
	kphi_window_begin(&r->window, &memory.peer);
	for (int i = 0; i < 20; i++)
		kphi_window_take(&r->window, memory.ring, SIZE, 0, 100 * MS, 1);
	return 0;
}

/* What is said after so long. To be put away with free(). */
static struct explain *after(uint64_t elapsed_ns)
{
	struct explain *x = calloc(1, sizeof(*x));
	struct threshold suspect;

	memory.record.since_ns = NOW - 5 * S;
	x->thresholds.n = 2;
	threshold_prepare(&x->thresholds.at[0], 3 * Q32_ONE);
	threshold_prepare(&x->thresholds.at[1], 8 * Q32_ONE);
	assert_int_equal(store_read(&store, 0, &x->view.record, &x->view.peer), 0);
	threshold_prepare(&suspect, POLICY_SUSPECT);
	view_judge(&x->view, &store, 0, &suspect, NOW + elapsed_ns);
	assert_int_equal(store_read_ring(&store, 0, &x->view.record, x->ring.entry), 0);
	explain_judge(x, &memory.tick);
	return x;
}

static void say_page(struct out *o, const void *context)
{
	explain_say(o, context);
}

/* Lines of no more than 80 columns, no table without rows, no two empty lines; returns it, to be freed. */
static char *readable(struct explain *x)
{
	char *text, *end;

	x->text = true;
	text = render(OUT_TEXT, say_page, x);
	assert_null(strstr(text, "\n\n\n"));
	for (char *line = text; (end = strchr(line, '\n')); line = end + 1)
		if (utf8_width(line, (size_t)(end - line)) > 80)
			fail_msg("too wide: %.*s", (int)(end - line), line);
	return text;
}

/* The document, with all its keys whatever the state; the caller puts it. */
static struct json_object *document(struct explain *x)
{
	static const char *const keys[] = {
		"summary", "name",         "host",   "state",       "reason",   "phi",
		"model",   "silence_ns",   "stalls", "stalled_ns",  "models",   "since_last_beat_ns",
		"ranking", "grace_for_ns", "prior",  "mute_reason", "bayes",    "muted_for_ns",
		"window",  "last",         "losses", "settings",    "sequence", "not_learned",
		"bfd",
	};
	struct json_object *all;
	char *text;

	x->text = false;
	text = render(OUT_JSON, say_page, x);
	all = parsed(text);
	free(text);
	for (size_t i = 0; i < LENGTH(keys); i++)
		if (!json_object_object_get_ex(all, keys[i], NULL))
			fail_msg("no %s", keys[i]);
	assert_int_equal(json_object_object_length(all), LENGTH(keys));
	return all;
}

static struct json_object *member(struct json_object *of, const char *key)
{
	struct json_object *found;

	assert_true(json_object_object_get_ex(of, key, &found));
	return found;
}

/* Both outputs are sound, and this is the summary; so many models judge, so many settings are in force. */
static void assert_page(struct explain *x, size_t models, size_t settings, const char *summary)
{
	struct json_object *all = document(x);
	char *text = readable(x);

	assert_string_equal(json_object_get_string(member(all, "summary")), summary);
	assert_int_equal(json_object_array_length(member(all, "models")), models);
	assert_int_equal(json_object_array_length(member(all, "settings")), settings);
	assert_int_equal(strstr(text, "\nMODEL ") != NULL, models > 0);
	assert_int_equal(strstr(text, "\nSETTING ") != NULL, settings > 0);
	assert_int_equal(strstr(text, "Phi alone is not a failure probability") != NULL, models > 0);
	free(text);
	json_object_put(all);
	free(x);
}

/* --- states --- */

static void up(void **state)
{
	(void)state;
	assert_page(after(350 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 350ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 0.0: nothing unusual. It would be suspected at phi 8 in 106ms, if "
		    "nothing arrives.");
	assert_page(after(420 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 420ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 1.6: late, as happens now and then. It would be suspected at phi 8 "
		    "in 36.1ms, if nothing arrives.");
	assert_page(after(440 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 440ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 4.5: rare for a peer that lives. It would be suspected at phi 8 in "
		    "16.1ms, if nothing arrives.");
}

static void suspect(void **state)
{
	(void)state;
	assert_page(after(500 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 500ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 23.1. Phi 8, where it is suspected, was reached 43.9ms ago.");
}

static void without_a_pause(void **state)
{
	(void)state;
	memory.peer.model = KPHI_MODEL_EXPONENTIAL;
	assert_page(after(100 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 100ms; it beats every 100ms. Under its model (exponential) that "
		    "is phi 0.4: nothing unusual. It would be suspected at phi 8 in 1.74s, if nothing "
		    "arrives.");
}

static void seeded(void **state)
{
	(void)state;
	kphi_window_begin(&memory.record.window, &memory.peer);
	assert_page(after(350 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 350ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 0.0: nothing unusual. It would be suspected at phi 8 in 190ms, if "
		    "nothing arrives. Fewer than two of its intervals were heard, so until then it is judged "
		    "by the interval that was configured, with a quarter of it for the standard deviation.");
}

static void degraded(void **state)
{
	(void)state;
	memory.record.flags = KPHI_WIRE_DEGRADED;
	assert_page(
		after(0), KPHI_MODELS, 4,
		"db1 has been silent for 0ns; it beats every 100ms. Under its model (normal, pause 300ms) "
		"that is phi 0.0: nothing unusual. It would be suspected at phi 8 in 456ms, if nothing "
		"arrives. Its beats say that its own health check fails.");
}

static void stale(void **state)
{
	(void)state;
	memory.record.stale_ns = NOW + 1;
	memory.record.epoch = 7;
	assert_page(after(500 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 500ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 23.1. Phi 8, where it is suspected, was reached 43.9ms ago. Besides: "
		    "silent, but messages of an older epoch or sequence arrive (current epoch 7): `kphi peer "
		    "reset` accepts them.");
}

/* A stall of half a second ended 100 ms ago. */
static void held(void **state)
{
	struct explain *x;
	struct json_object *all, *stall;

	(void)state;
	memory.tick = (struct kphi_tick){
		.last_ns = NOW + 1095 * MS,
		.stalled_total_ns = 500 * MS,
		.stall[3] = {NOW + S, 500 * MS},
	};
	x = after(1100 * MS);
	all = document(x);
	assert_int_equal(json_object_array_length(member(all, "stalls")), 1);
	stall = json_object_array_get_idx(member(all, "stalls"), 0);
	assert_int_equal(json_object_get_int64(member(stall, "length_ns")), 500 * MS);
	assert_int_equal(json_object_get_int64(member(stall, "ended_ago_ns")), 100 * MS);
	assert_int_equal(json_object_get_int64(member(stall, "discounted_ns")), 500 * MS);
	assert_int_equal(json_object_get_int64(member(all, "stalled_ns")), 500 * MS);
	assert_int_equal(json_object_get_int64(member(all, "silence_ns")), 600 * MS);
	assert_int_equal(json_object_get_int64(member(all, "since_last_beat_ns")), 1100 * MS);
	assert_int_equal(json_object_get_int64(member(all, "grace_for_ns")), 400 * MS);
	assert_string_equal(json_object_get_string(member(all, "state")), "held");
	json_object_put(all);
	assert_page(
		x, KPHI_MODELS, 4,
		"db1 has been silent for 600ms (not counting 500ms in which this host itself stalled); it "
		"beats every 100ms. Under its model (normal, pause 300ms) that is phi 88.6. Phi 8, where "
		"it would be suspected, was reached 144ms ago. But this host itself stalled for 500ms: there "
		"is "
		"no verdict on it for another 400ms.");
}

static void muted(void **state)
{
	struct json_object *all;
	struct explain *x;

	(void)state;
	memory.peer.mute_until_ns = NOW + 3600 * S;
	x = after(0);
	assert_non_null(strstr(json_object_get_string(member(all = document(x), "summary")),
			       "arrives. It is muted for another 1h00m: whatever is said here, nobody is to "
			       "act on it."));
	json_object_put(all);
	free(x);
	memory.peer.mute_until_ns = NOW + 3600 * S + 500 * MS;
	strcpy(memory.peer.mute_reason, "kernel upgrade");
	assert_page(after(500 * MS), KPHI_MODELS, 4,
		    "db1 has been silent for 500ms; it beats every 100ms. Under its model (normal, pause "
		    "300ms) that is phi 23.1. Phi 8, where it is suspected, was reached 43.9ms ago. It is "
		    "muted for another 1h00m (kernel upgrade): whatever is said here, nobody is to act on "
		    "it.");
}

static void waiting(void **state)
{
	(void)state;
	memory.record = (struct kphi_record){.state = KPHI_WAITING, .version = 2};
	assert_page(after(0), 0, 0,
		    "db1 is waiting: no beat yet, for 5s. There is no silence to judge before its first "
		    "beat.");
	memory.peer.mute_until_ns = NOW + 60 * S;
	assert_page(
		after(0), 0, 0,
		"db1 is waiting: no beat yet, for 5s. There is no silence to judge before its first beat. "
		"It is muted for another 1m00s: whatever is said here, nobody is to act on it.");
}

static void learning(void **state)
{
	(void)state;
	memory.peer.interval_ns = 0;
	kphi_window_begin(&memory.record.window, &memory.peer);
	for (int i = 0; i < 3; i++)
		kphi_window_take(&memory.record.window, memory.ring, SIZE, 0, 250 * MS, 1);
	assert_page(
		after(30 * MS), 0, 0,
		"db1 has been silent for 30ms; it beats every 250ms. No model judges it yet: its interval "
		"is not known, and 3 of the 8 intervals it is learned from were heard.");
}

static void left(void **state)
{
	(void)state;
	memory.record.state = KPHI_LEFT;
	assert_page(after(0), 0, 4,
		    "db1 is not expected to beat: left 5s ago. No silence is judged after a goodbye.");
	assert_page(after(2 * 3600 * S), 0, 4,
		    "db1 is waiting: left 2h00m ago, which is believed for an hour only. There is no silence "
		    "to judge before its next beat.");
}

static void down(void **state)
{
	(void)state;
	memory.record.state = KPHI_DOWN;
	assert_page(
		after(0), 0, 4,
		"db1 is down: its own watcher declared it down 5s ago. That is a message and no judgement "
		"of its silence; a beat of a higher epoch ends it.");
}

/* --- the figures --- */

static struct json_object *crossing(struct json_object *model, size_t i)
{
	return json_object_array_get_idx(member(model, "thresholds"), i);
}

static int64_t number(struct json_object *of, const char *key)
{
	return json_object_get_int64(member(of, key));
}

/* One table of JSON, one order, one model that is the peer's; crossing times from three moments that agree.
 */
static void models_stand_side_by_side(void **state)
{
	struct json_object *all, *models;
	struct explain *x;

	(void)state;
	memory.peer.model = KPHI_MODEL_LOSS;
	x = after(430 * MS);
	models = member(all = document(x), "models");
	for (size_t i = 0; i < KPHI_MODELS; i++) {
		struct json_object *model = json_object_array_get_idx(models, i);

		assert_string_equal(json_object_get_string(member(model, "model")), model_names[i]);
		assert_int_equal(json_object_get_boolean(member(model, "own")), i == KPHI_MODEL_LOSS);
		assert_true(json_object_is_type(member(model, "posterior"), json_type_null));
		for (size_t k = 0; k < 2; k++) {
			struct json_object *c = crossing(model, k);
			bool reached = x->models[i].phi >= x->thresholds.at[k].phi;

			assert_int_equal(number(c, "silence_ns"), x->models[i].reach_ns[k]);
			assert_int_equal(number(c, "after_last_beat_ns"), number(c, "silence_ns"));
			assert_int_equal(json_object_get_boolean(member(c, "reached")), reached);
			assert_int_equal(number(c, "silence_ns") +
						 (reached ? number(c, "ago_ns") : -number(c, "in_ns")),
					 430 * MS);
		}
	}
	json_object_put(all);
	free(x);
}

/* What was discounted is no silence, but it is time after the last beat. */
static void a_stall_puts_crossings_off(void **state)
{
	struct json_object *all, *c;
	struct explain *x;

	(void)state;
	memory.tick = (struct kphi_tick){.last_ns = NOW + 395 * MS, .stalled_total_ns = 200 * MS};
	x = after(400 * MS);
	all = document(x);
	c = crossing(json_object_array_get_idx(member(all, "models"), KPHI_MODEL_NORMAL), 1);
	assert_int_equal(number(c, "silence_ns") / 100000, 4561);
	assert_int_equal(number(c, "after_last_beat_ns") - number(c, "silence_ns"), 200 * MS);
	assert_int_equal(number(c, "in_ns"), number(c, "after_last_beat_ns") - 400 * MS);
	json_object_put(all);
	free(x);
}

static void never_is_said(void **state)
{
	struct explain *x = after(0);
	char *text;

	(void)state;
	x->models[KPHI_MODEL_AKKA].reach_ns[1] = UINT64_MAX;
	text = readable(x);
	assert_non_null(strstr(text, "never"));
	json_object_put(document(x));
	free(text);
	free(x);
}

static void bayes_is_said(void **state)
{
	struct explain *x = after(350 * MS);
	struct json_object *all, *model;
	char *text;

	(void)state;
	x->prior_ppb = 100000;
	x->models[KPHI_MODEL_AKKA].phi = 3 * Q32_ONE;
	x->models[KPHI_MODEL_LOSS].phi = 300 * Q32_ONE;
	model = json_object_array_get_idx(member(all = document(x), "models"), KPHI_MODEL_AKKA);
	assert_string_equal(json_object_get_string(member(model, "posterior")), "0.090917");
	assert_string_equal(json_object_get_string(member(model, "posterior_percent")), "9.09%");
	model = json_object_array_get_idx(member(all, "models"), KPHI_MODEL_LOSS);
	assert_string_equal(json_object_get_string(member(model, "posterior_percent")), ">99.99%");
	assert_string_equal(json_object_get_string(member(all, "prior")), "0.000100");
	assert_non_null(strstr(json_object_get_string(member(all, "bayes")), "p = 0.01% before"));
	json_object_put(all);
	text = readable(x);
	assert_non_null(strstr(text, "FAILED"));
	assert_non_null(strstr(text, "  9.09%"));
	free(text);
	free(x);
}

/* --- the window --- */

static void what_was_lost_and_left_out(void **state)
{
	struct kphi_record *r = &memory.record;
	struct json_object *all, *last;
	struct explain *x;
	char *text;

	(void)state;
	kphi_window_take(&r->window, memory.ring, SIZE, 0, 310 * MS, 3);
	r->sequence.lost = 2;
	r->duplicates = 1;
	r->capped = 9;
	r->retuned = 1;
	r->unlearned = 4;
	r->stamp_inverted = 3;
	x = after(0);
	all = document(x);
	last = json_object_array_get_idx(member(all, "last"), 0);
	assert_int_equal(json_object_array_length(member(all, "last")), 10);
	assert_int_equal(number(last, "interval_ns"), 310 * MS);
	assert_int_equal(number(last, "steps"), 3);
	assert_int_equal(number(last, "lost"), 2);
	assert_int_equal(number(member(all, "window"), "largest_ns"), 310 * MS);
	assert_int_equal(number(member(all, "window"), "samples"), 21);
	assert_int_equal(number(member(member(all, "window"), "clean"), "samples"), 20);
	/* (1 + 1) / (21 + 2) */
	assert_string_equal(json_object_get_string(member(member(all, "losses"), "p")), "0.086957");
	assert_int_equal(number(member(all, "not_learned"), "capped"), 9);
	assert_int_equal(number(member(all, "sequence"), "lost"), 2);
	json_object_put(all);
	text = readable(x);
	assert_non_null(strstr(text, "Losses: 2 beats were lost in 1 of the 21 intervals that are"));
	assert_non_null(strstr(text, "\nIntervals that were not learned:\n"
				     "  capped (longer than 1s: an outage, no rhythm): 9\n"));
	assert_null(strstr(text, "Every interval was learned"));
	free(text);
	free(x);
}

static void an_ordinary_window(void **state)
{
	struct explain *x = after(0);
	char *text = readable(x);

	(void)state;
	assert_non_null(strstr(text, "Losses: nothing was lost in the 20 intervals that are remembered."));
	assert_non_null(strstr(text, "\nEvery interval was learned.\n"));
	assert_null(strstr(text, "capped"));
	assert_null(strstr(text, "stale"));
	assert_non_null(strstr(text, "\npause               300ms  3 intervals "));
	free(text);
	free(x);
	memory.peer.set = KPHI_SET_PAUSE | KPHI_SET_MIN_STD;
	memory.peer.pause_ns = S;
	memory.peer.min_std_ns = 25 * MS;
	text = readable(x = after(0));
	assert_non_null(strstr(text, "\npause                  1s  configured "));
	assert_non_null(strstr(text, "\nleast deviation      25ms  configured "));
	free(text);
	free(x);
}

/* Where packets have no numbers, nobody knows what was lost. */
static void rules_without_numbers(void **state)
{
	struct json_object *all;
	struct explain *x;
	char *text;

	(void)state;
	memory.peer.id = (struct kphi_id){.kind = KPHI_ID_RULE, .protocol = 17, .port = 9000};
	x = after(0);
	all = document(x);
	assert_true(json_object_is_type(member(member(all, "sequence"), "lost"), json_type_null));
	assert_true(json_object_get_boolean(member(member(all, "losses"), "guessed")));
	json_object_put(all);
	text = readable(x);
	assert_non_null(strstr(text, "of several means is"));
	assert_null(strstr(text, "reordered"));
	free(text);
	free(x);
}

static void bfd_has_its_own_opinion(void **state)
{
	struct json_object *all;
	struct explain *x;
	char *text;

	(void)state;
	memory.peer.id = (struct kphi_id){.kind = KPHI_ID_RULE, .protocol = 17, .port = KPHI_BFD_PORT};
	memory.rule = (struct kphi_rule){.decoder = KPHI_DECODER_BFD, .local_rx_ns = 50 * MS};
	memory.record.bfd = (struct kphi_bfd){.desired_tx_us = 100000, .state = KPHI_BFD_UP, .multiplier = 3};
	x = after(350 * MS);
	all = document(x);
	assert_string_equal(json_object_get_string(member(member(all, "bfd"), "conclusion")),
			    "down, for 50ms");
	json_object_put(all);
	text = readable(x);
	assert_non_null(strstr(text, "  detection time: 300ms\n  BFD would conclude: down, for 50ms\n"));
	assert_non_null(strstr(text, "announced by BFD"));
	free(text);
	free(x);
}

/* A word that is longer than a line, wide letters, and a name that is a keyword's. */
static void prose_is_folded(void **state)
{
	struct explain *x;

	(void)state;
	memset(memory.peer.name, 'x', KPHI_NAME_SIZE - 1);
	free(readable(x = after(500 * MS)));
	free(x);
	for (int i = 0; i < 63; i += 3)
		memcpy(memory.peer.name + i, "\xe6\x97\xa5", 3);
	free(readable(x = after(500 * MS)));
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(up, a_steady_peer),
		cmocka_unit_test_setup(suspect, a_steady_peer),
		cmocka_unit_test_setup(without_a_pause, a_steady_peer),
		cmocka_unit_test_setup(seeded, a_steady_peer),
		cmocka_unit_test_setup(degraded, a_steady_peer),
		cmocka_unit_test_setup(stale, a_steady_peer),
		cmocka_unit_test_setup(held, a_steady_peer),
		cmocka_unit_test_setup(muted, a_steady_peer),
		cmocka_unit_test_setup(waiting, a_steady_peer),
		cmocka_unit_test_setup(learning, a_steady_peer),
		cmocka_unit_test_setup(left, a_steady_peer),
		cmocka_unit_test_setup(down, a_steady_peer),
		cmocka_unit_test_setup(models_stand_side_by_side, a_steady_peer),
		cmocka_unit_test_setup(a_stall_puts_crossings_off, a_steady_peer),
		cmocka_unit_test_setup(never_is_said, a_steady_peer),
		cmocka_unit_test_setup(bayes_is_said, a_steady_peer),
		cmocka_unit_test_setup(what_was_lost_and_left_out, a_steady_peer),
		cmocka_unit_test_setup(an_ordinary_window, a_steady_peer),
		cmocka_unit_test_setup(rules_without_numbers, a_steady_peer),
		cmocka_unit_test_setup(bfd_has_its_own_opinion, a_steady_peer),
		cmocka_unit_test_setup(prose_is_folded, a_steady_peer),
	};

	return cmocka_run_group_tests_name("explain_page", tests, NULL, NULL);
}
