// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The laboratory's phi is the daemon's: intervals that go through the endpoint come out as a record does that
 * hears the same beats, to the last bit. And what the endpoint refuses.
 */
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kphi/record.h>

#include "io/parse.h"
#include "unit/random.h"
#include "web/phi.h"
#include "web/reply.h"

#define MS 1000000ULL

static struct phi_request request;
static struct phi_point points[PHI_INTERVALS_MAX];
static char why[WHY_SIZE];
static uint64_t capped, retuned; /* by the records */

static int parse(const char *body)
{
	*why = '\0';
	return phi_parse(&request, body, strlen(body), why, sizeof(why));
}

/* --- against the packet path --- */

/* Jitter, losses, outages beyond the cap, and now and then a run of those: the sender's interval has changed.
 */
static void make_intervals(uint64_t *chance)
{
	uint64_t interval = 100 * MS;

	for (uint32_t i = 0; i < request.intervals; i++) {
		uint32_t steps = random_below(chance, 20) ? 1 : 2 + (uint32_t)random_below(chance, 3);

		if (!random_below(chance, 700))
			interval = interval == 100 * MS ? 1500 * MS : 100 * MS;
		request.steps[i] = (uint16_t)steps;
		request.interval_ns[i] = steps * interval + random_below(chance, 20 * MS);
		if (!random_below(chance, 300))
			request.interval_ns[i] = 20 * interval;
	}
	request.steps_count = request.intervals;
}

/* A record that hears native beats with these intervals, judged right before each. */
static void compare_with_a_record(uint8_t model)
{
	uint64_t *ring = calloc(KPHI_RING_SIZE(request.window), sizeof(*ring));
	struct kphi_record record = {.state = KPHI_WAITING};
	struct kphi_beat beat = {.now_ns = 1000000 * MS,
				 .epoch = 7,
				 .sequence = 1,
				 .epoch_limit = 100,
				 .type = KPHI_WIRE_BEAT,
				 .native = 1,
				 .sequence_bits = 64};
	struct kphi_peer peer = request.settings;
	uint32_t judged = 0, notes;

	peer.model = model;
	assert_int_equal(kphi_record_take(&record, &peer, ring, request.window, &beat, &notes),
			 KPHI_COUNT_beat);
	for (uint32_t i = 0; i < request.intervals; i++) {
		struct kphi_estimate e;

		assert_int_equal(points[i].judged, estimate_from_window(&e, &record.window, &peer, ring));
		if (points[i].judged) {
			assert_int_equal(points[i].phi, estimate_phi(&e, request.interval_ns[i]));
			assert_int_equal(points[i].reach_ns, estimate_silence(&e, request.threshold.phi));
			judged++;
		}
		beat.now_ns += request.interval_ns[i];
		beat.sequence += request.steps[i];
		assert_int_equal(kphi_record_take(&record, &peer, ring, request.window, &beat, &notes),
				 KPHI_COUNT_beat);
	}
	assert_true(judged >= request.intervals - KPHI_LEARN_RUN);
	capped += record.capped;
	retuned += record.retuned;
	free(ring);
}

static void it_is_the_daemons_to_the_last_bit(void **state)
{
	static const uint32_t windows[] = {8, 50, 1000, 4096};
	static const uint64_t settings[][2] = {
		{0, 0}, {100 * MS, 0}, {100 * MS, KPHI_SET_PAUSE | KPHI_SET_MIN_STD}};
	uint64_t chance = 11;

	(void)state;
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		for (size_t k = 0; k < sizeof(settings) / sizeof(*settings); k++) {
			memset(&request, 0, sizeof(request));
			request.window = windows[i];
			request.intervals = 3000;
			request.settings.interval_ns = settings[k][0];
			request.settings.set = (uint8_t)settings[k][1];
			request.settings.pause_ns = 50 * MS;
			request.settings.min_std_ns = 3 * MS;
			threshold_prepare(&request.threshold, (q32_t)(8.5 * Q32_ONE));
			make_intervals(&chance);
			for (int model = 0; model < KPHI_MODELS; model++) {
				assert_int_equal(phi_walk(&request, (uint8_t)model, points), 0);
				compare_with_a_record((uint8_t)model);
			}
		}
	assert_true(capped > 100 && retuned > 10); /* the intervals were as unruly as they should be */
}

/* --- what is answered --- */

static struct json_object *answer(const char *body)
{
	struct json_document d;
	struct json_object *root;
	size_t length;
	char *text;

	assert_int_equal(parse(body), 0);
	assert_true(json_begin(&d));
	out_open_object(d.out, NULL);
	assert_int_equal(say_phi(d.out, &request), 0);
	out_close_object(d.out);
	text = json_end(&d, &length);
	root = json_tokener_parse(text);
	assert_non_null(root);
	free(text);
	return root;
}

static struct json_object *at(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(o, key, &value));
	return value;
}

static void is_json(struct json_object *value, const char *expected)
{
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), expected);
}

static void what_was_found_is_told_by_index(void **state)
{
	struct json_object *root = answer(
		"{\"settings\": {\"interval_ns\": 100000000}, \"models\": [\"akka\", \"exponential\"], "
		"\"fixed_ns\": 299999999,"
		" \"intervals_ns\": [100000000, 100000000, 2000000000, 100000000, 300000000, 299999999]}");
	struct json_object *models = at(root, "models"), *first = json_object_array_get_idx(models, 0);

	(void)state;
	assert_int_equal(json_object_array_length(models), 2);
	is_json(at(first, "model"), "\"akka\"");
	is_json(at(first, "detections"), "[2]");
	assert_int_equal(json_object_array_length(at(first, "phi")), 6);
	assert_int_equal(json_object_array_length(at(first, "reach_ns")), 6);
	is_json(at(json_object_array_get_idx(models, 1), "detections"), "[2]");
	is_json(at(root, "fixed"), "{\"timeout_ns\":299999999,\"breaches\":[2,4]}");
	json_object_put(root);
}

static void there_is_none_while_the_interval_is_learned(void **state)
{
	struct json_object *root =
		answer("{\"models\": [\"exponential\"], \"intervals_ns\": [1000000, 1000000, 1000000, "
		       "1000000, 1000000, 1000000, 1000000, 1000000, 1000000]}");
	struct json_object *model = json_object_array_get_idx(at(root, "models"), 0);

	(void)state;
	is_json(at(model, "phi"), "[null,null,null,null,null,null,null,null,0.434294]");
	is_json(at(model, "reach_ns"), "[null,null,null,null,null,null,null,null,18420681]");
	is_json(at(root, "fixed"), "null");
	json_object_put(root);
}

static void what_is_left_out_is_usual(void **state)
{
	(void)state;
	assert_int_equal(
		parse("{\"settings\": null, \"steps\": null, \"intervals_ns\": [0, 140737488355328]}"), 0);
	assert_int_equal(request.window, KPHI_WINDOW_DEFAULT);
	assert_int_equal(request.threshold.phi, 8 * Q32_ONE);
	assert_int_equal(request.models, KPHI_MODELS);
	assert_false(request.has_fixed);
	assert_int_equal(request.settings.set, 0);
	assert_int_equal(parse("{\"settings\": {\"pause_ns\": 0, \"min_std_ns\": null}, \"threshold\": 8.5, "
			       "\"intervals_ns\": [1]}"),
			 0);
	assert_int_equal(request.settings.set, KPHI_SET_PAUSE);
	assert_int_equal(request.threshold.phi, 17 * Q32_ONE / 2);
}

/* --- what is refused, and by what name --- */

static const struct {
	const char *body, *said;
} refused[] = {
	{"", "no JSON"},
	{"{\"intervals_ns\": [1]", "no JSON"},
	{"{\"intervals_ns\": [1]} x", "no JSON"},
	{"{\"intervals_ns\": [1,]}", "no JSON"},
	{"{\"intervals_ns\": [NaN]}", "intervals_ns[0]"},
	{"[[[[[[[[[[[[]]]]]]]]]]]]", "no JSON"},
	{"[1]", "must be a JSON object"},
	{"{}", "intervals_ns: is missing"},
	{"{\"intervals_ns\": null}", "intervals_ns: is missing"},
	{"{\"intervals_ns\": []}", "intervals_ns: has 0 elements"},
	{"{\"intervals_ns\": {}}", "intervals_ns: must be an array"},
	{"{\"intervals_ns\": [1, null]}", "intervals_ns[1]: must be a whole number"},
	{"{\"intervals_ns\": [1, 2, 1.5]}", "intervals_ns[2]: must be a whole number"},
	{"{\"intervals_ns\": [\"1\"]}", "intervals_ns[0]: must be a whole number"},
	{"{\"intervals_ns\": [-1]}", "intervals_ns[0]: -1 is out of range"},
	{"{\"intervals_ns\": [140737488355329]}", "intervals_ns[0]: 140737488355329 is out of range"},
	{"{\"intervals_ns\": [18446744073709551616]}",
	 "intervals_ns[0]: 18446744073709551615 is out of range"},
	{"{\"intervals_ns\": [1], \"steps\": [1, 1]}", "steps: has 2 elements, intervals_ns has 1"},
	{"{\"intervals_ns\": [1], \"steps\": [65536]}", "steps[0]: 65536 is out of range"},
	{"{\"intervals_ns\": [1], \"window\": 7}", "window: 7 is out of range: 8 to 4096"},
	{"{\"intervals_ns\": [1], \"window\": 4097}", "window: 4097 is out of range"},
	{"{\"intervals_ns\": [1], \"threshold\": 0}", "threshold: "},
	{"{\"intervals_ns\": [1], \"threshold\": -1}", "threshold: "},
	{"{\"intervals_ns\": [1], \"threshold\": 1e30}", "threshold: "},
	{"{\"intervals_ns\": [1], \"threshold\": \"8\"}", "threshold: must be a number"},
	{"{\"intervals_ns\": [1], \"fixed_ns\": 0}", "fixed_ns: 0 is out of range"},
	{"{\"intervals_ns\": [1], \"models\": \"normal\"}", "models: must be an array"},
	{"{\"intervals_ns\": [1], \"models\": [\"normal\", \"gamma\"]}",
	 "models[1]: must be one of normal, akka"},
	{"{\"intervals_ns\": [1], \"models\": [\"normal\", \"normal\"]}", "models[1]: normal is there twice"},
	{"{\"intervals_ns\": [1], \"models\": [1]}", "models[0]: must be one of"},
	{"{\"intervals_ns\": [1], \"settings\": 1}", "settings: must be an object"},
	{"{\"intervals_ns\": [1], \"settings\": {\"interval_ns\": 0}}",
	 "settings.interval_ns: 0 is out of range"},
	{"{\"intervals_ns\": [1], \"settings\": {\"pause\": 0}}",
	 "settings.pause: is unknown: there are interval_ns"},
	{"{\"intervals_ns\": [1], \"interval_ns\": 0}",
	 "interval_ns: is unknown: there are settings, window"},
};

static void each_field_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		int err = parse(refused[i].body);

		if (err != -EINVAL || !strstr(why, refused[i].said))
			print_error("%s: %s\n", refused[i].body, why);
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(why, refused[i].said));
	}
}

/* So many intervals in a body. */
static int parse_many(size_t n)
{
	struct document d;
	size_t length;
	char *body;
	int err;

	document_begin(&d);
	fputs("{\"intervals_ns\": [1", d.stream);
	for (size_t i = 1; i < n; i++)
		fputs(",1", d.stream);
	fputs("]}", d.stream);
	body = document_end(&d, &length);
	assert_non_null(body);
	err = phi_parse(&request, body, length, why, sizeof(why));
	free(body);
	return err;
}

static void there_is_a_most(void **state)
{
	(void)state;
	assert_int_equal(parse_many(PHI_INTERVALS_MAX), 0);
	assert_int_equal(request.intervals, PHI_INTERVALS_MAX);
	assert_int_equal(parse_many(PHI_INTERVALS_MAX + 1), -EINVAL);
	assert_non_null(strstr(why, "intervals_ns: has 4097 elements: 1 to 4096 are taken"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_daemons_to_the_last_bit),
		cmocka_unit_test(what_was_found_is_told_by_index),
		cmocka_unit_test(there_is_none_while_the_interval_is_learned),
		cmocka_unit_test(what_is_left_out_is_usual),
		cmocka_unit_test(each_field_is_named),
		cmocka_unit_test(there_is_a_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
