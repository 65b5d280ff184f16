// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The body of POST /api/v1/phi. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/parse.h"
#include "run/config.h"
#include "web/phi.h"

#define DEPTH 8 /* the request has three */

/* Where something is wrong: "settings.pause_ns", "steps[17]". */
struct place {
	char *why;
	size_t size;
	const char *object; /* "settings."; "" at the top */
	const char *field;
	int index; /* -1: not in an array */
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct place *at, const char *format, ...)
{
	char reason[WHY_SIZE], index[16] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (at->index >= 0)
		snprintf(index, sizeof(index), "[%d]", at->index);
	return refuse(-EINVAL, at->why, at->size, "%s%.60s%s: %s", at->object, at->field, index, reason);
}

static int take_u64(const struct place *at, struct json_object *value, uint64_t min, uint64_t max,
		    uint64_t *number)
{
	uint64_t got;

	if (!json_object_is_type(value, json_type_int))
		return wrong(at, "must be a whole number, without a fraction or an exponent");
	got = json_object_get_uint64(value); /* 0 for a negative one */
	if (json_object_get_int64(value) < 0 || got < min || got > max)
		return wrong(at, "%.40s is out of range: %" PRIu64 " to %" PRIu64,
			     json_object_to_json_string(value), min, max);
	*number = got;
	return 0;
}

/* --- the settings of a peer --- */

static int take_setting(struct phi_request *r, const struct place *at, struct json_object *value)
{
	struct kphi_peer *p = &r->settings;

	if (!strcmp(at->field, "interval_ns"))
		return take_u64(at, value, PEER_INTERVAL_MIN_NS, PEER_INTERVAL_MAX_NS, &p->interval_ns);
	if (!strcmp(at->field, "min_std_ns")) {
		p->set |= KPHI_SET_MIN_STD;
		return take_u64(at, value, 0, PEER_SETTING_MAX_NS, &p->min_std_ns);
	}
	if (!strcmp(at->field, "pause_ns")) {
		p->set |= KPHI_SET_PAUSE;
		return take_u64(at, value, 0, PEER_SETTING_MAX_NS, &p->pause_ns);
	}
	if (!strcmp(at->field, "max_interval_ns"))
		return take_u64(at, value, PEER_INTERVAL_MIN_NS, PEER_SETTING_MAX_NS, &p->max_interval_ns);
	return wrong(at, "is unknown: there are interval_ns, min_std_ns, pause_ns and max_interval_ns");
}

static int take_settings(struct phi_request *r, const struct place *at, struct json_object *value)
{
	struct place in = *at;

	if (!json_object_is_type(value, json_type_object))
		return wrong(at, "must be an object");
	in.object = "settings.";
	json_object_object_foreach(value, key, setting)
	{
		int err;

		in.field = key;
		err = setting ? take_setting(r, &in, setting) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* --- the other fields --- */

static int take_window(struct phi_request *r, const struct place *at, struct json_object *value)
{
	uint64_t window = 0;
	int err = take_u64(at, value, KPHI_WINDOW_MIN, KPHI_WINDOW_MAX, &window);

	r->window = err ? r->window : (uint32_t)window;
	return err;
}

/* By the parser of the configuration, so that it is the same threshold there and here. */
static int take_threshold(struct phi_request *r, const struct place *at, struct json_object *value)
{
	char why[WHY_SIZE];
	q32_t phi;

	if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
		return wrong(at, "must be a number");
	if (config_threshold(json_object_get_string(value), &phi, why, sizeof(why)))
		return wrong(at, "%s", why);
	threshold_prepare(&r->threshold, phi);
	return 0;
}

static int take_fixed(struct phi_request *r, const struct place *at, struct json_object *value)
{
	r->has_fixed = true;
	return take_u64(at, value, 1, KPHI_INTERVAL_MAX_NS, &r->fixed_ns);
}

static int take_model(struct phi_request *r, const struct place *at, struct json_object *value)
{
	const char *name = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
	int model = model_by_name(name);

	if (model < 0)
		return wrong(at, "must be one of normal, akka, exponential, loss and empirical");
	for (uint32_t i = 0; i < r->models; i++)
		if (r->model[i] == model)
			return wrong(at, "%s is there twice", name);
	r->model[r->models++] = (uint8_t)model;
	return 0;
}

static int take_interval(struct phi_request *r, const struct place *at, struct json_object *value)
{
	return take_u64(at, value, 0, KPHI_INTERVAL_MAX_NS, &r->interval_ns[r->intervals++]);
}

static int take_step(struct phi_request *r, const struct place *at, struct json_object *value)
{
	uint64_t steps = 0;
	int err = take_u64(at, value, 0, KPHI_STEPS_MAX, &steps);

	r->steps[r->steps_count++] = (uint16_t)steps;
	return err;
}

typedef int take_fn(struct phi_request *r, const struct place *at, struct json_object *value);

static int each(struct phi_request *r, const struct place *at, struct json_object *value, size_t max,
		take_fn *take)
{
	struct place in = *at;
	size_t n;

	if (!json_object_is_type(value, json_type_array))
		return wrong(at, "must be an array");
	n = json_object_array_length(value);
	if (!n || n > max)
		return wrong(at, "has %zu elements: 1 to %zu are taken", n, max);
	for (size_t i = 0; i < n; i++) {
		int err;

		in.index = (int)i;
		err = take(r, &in, json_object_array_get_idx(value, i));
		if (err)
			return err;
	}
	return 0;
}

static int take_models(struct phi_request *r, const struct place *at, struct json_object *value)
{
	return each(r, at, value, KPHI_MODELS, take_model);
}

static int take_intervals(struct phi_request *r, const struct place *at, struct json_object *value)
{
	return each(r, at, value, PHI_INTERVALS_MAX, take_interval);
}

static int take_steps(struct phi_request *r, const struct place *at, struct json_object *value)
{
	return each(r, at, value, PHI_INTERVALS_MAX, take_step);
}

static const struct {
	const char *name;
	take_fn *take;
} fields[] = {
	{"settings", take_settings}, {"window", take_window}, {"threshold", take_threshold},
	{"fixed_ns", take_fixed},    {"models", take_models}, {"intervals_ns", take_intervals},
	{"steps", take_steps},
};
#define FIELDS (sizeof(fields) / sizeof(*fields))

static int take_field(struct phi_request *r, const struct place *at, struct json_object *value)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (!strcmp(at->field, fields[i].name))
			return value ? fields[i].take(r, at, value) : 0;
	return wrong(at,
		     "is unknown: there are settings, window, threshold, fixed_ns, models, intervals_ns and "
		     "steps");
}

static int take_request(struct phi_request *r, struct json_object *root, char *why, size_t size)
{
	struct place at = {why, size, "", "", -1};

	if (!json_object_is_type(root, json_type_object))
		return refuse(-EINVAL, why, size, "the body must be a JSON object");
	json_object_object_foreach(root, key, value)
	{
		int err;

		at.field = key;
		err = take_field(r, &at, value);
		if (err)
			return err;
	}
	if (!r->intervals)
		return refuse(-EINVAL, why, size, "intervals_ns: is missing: the intervals to be judged");
	if (r->steps_count && r->steps_count != r->intervals)
		return refuse(-EINVAL, why, size, "steps: has %u elements, intervals_ns has %u",
			      r->steps_count, r->intervals);
	return 0;
}

/* Whole, and nothing behind it: json-c would take the beginning of "1 2". */
static struct json_object *read_json(const char *body, size_t length, char *why, size_t size)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
	struct json_object *root;
	enum json_tokener_error error;

	if (!tokener) {
		refuse(-ENOMEM, why, size, "there is no memory for the body");
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tokener, body, (int)length);
	error = json_tokener_get_error(tokener);
	if (error != json_tokener_success || !root)
		refuse(-EINVAL, why, size, "the body is no JSON object: at byte %zu: %s",
		       json_tokener_get_parse_end(tokener),
		       error == json_tokener_success || error == json_tokener_continue
			       ? "it ends too early"
			       : json_tokener_error_desc(error));
	json_tokener_free(tokener);
	if (error == json_tokener_success)
		return root;
	json_object_put(root);
	return NULL;
}

int phi_parse(struct phi_request *r, const char *body, size_t length, char *why, size_t size)
{
	struct json_object *root = read_json(body, length, why, size);
	int err;

	memset(r, 0, sizeof(*r));
	r->window = KPHI_WINDOW_DEFAULT;
	threshold_prepare(&r->threshold, 8 * Q32_ONE);
	err = root ? take_request(r, root, why, size) : -EINVAL;
	json_object_put(root);
	for (uint8_t model = 0; !err && !r->models && model < KPHI_MODELS; model++)
		r->model[model] = model;
	if (!err && !r->models)
		r->models = KPHI_MODELS;
	return err;
}
