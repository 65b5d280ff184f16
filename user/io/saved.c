// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/parse.h"
#include "io/saved_line.h"

#define DIGITS 8 /* of a CRC */

/* enum kphi_model */
static const char *const models[KPHI_MODELS] = {"normal", "akka", "exponential", "loss", "empirical"};

/* --- to text --- */

/* Prints and frees it. */
static void print_line(FILE *to, struct json_object *line, uLong *crc)
{
	const char *text =
		json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	*crc = crc32(*crc, (const Bytef *)text, (uInt)strlen(text));
	*crc = crc32(*crc, (const Bytef *)"\n", 1);
	fprintf(to, "%0*lx %s\n", DIGITS, *crc, text);
	json_object_put(line);
}

static struct json_object *peer_line(const struct saved_peer *p)
{
	struct json_object *line = json_object_new_object();

	saved_add_string(line, "name", p->peer.name);
	if (*p->peer.host)
		saved_add_string(line, "host", p->peer.host);
	saved_add_identity(line, &p->peer.id, &p->rule);
	saved_add_demands(line, p);
	saved_add_number(line, "interval_ns", p->peer.interval_ns);
	saved_add_string(line, "model", models[p->peer.model]);
	if (p->peer.set & KPHI_SET_MIN_STD)
		saved_add_number(line, "min_std_ns", p->peer.min_std_ns);
	if (p->peer.set & KPHI_SET_PAUSE)
		saved_add_number(line, "pause_ns", p->peer.pause_ns);
	if (p->peer.max_interval_ns)
		saved_add_number(line, "max_interval_ns", p->peer.max_interval_ns);
	saved_add_number(line, "epoch", p->epoch);
	if (p->muted_until_s) {
		saved_add_number(line, "muted_until_s", p->muted_until_s);
		saved_add_number(line, "mute_left_ns", p->mute_left_ns);
		saved_add_string(line, "mute_reason", p->peer.mute_reason);
	}
	return line;
}

/* The first one that can say it all, so that older programs read what they can understand. */
static int version_of(const struct saved_store *store)
{
	int version = store->keyed ? 3 : 1;

	for (uint32_t i = 0; i < store->count && version < 3; i++)
		if (store->peers[i].peer.demands)
			version = 3;
		else if (!saved_is_plain(&store->peers[i].peer.id, &store->peers[i].rule))
			version = 2;
	return version;
}

void saved_print(FILE *to, const struct saved_store *store)
{
	struct json_object *line = json_object_new_object();
	uLong crc = crc32(0, NULL, 0);

	saved_add_number(line, "kphi_store", (uint64_t)version_of(store));
	saved_add_number(line, "capacity", store->capacity);
	saved_add_number(line, "window", store->window);
	saved_add_number(line, "saved_s", store->saved_s);
	if (store->keyed)
		saved_add_number(line, "require_key", 1);
	print_line(to, line, &crc);
	for (uint32_t i = 0; i < store->count; i++)
		print_line(to, peer_line(&store->peers[i]), &crc);
	line = json_object_new_object();
	saved_add_number(line, "peers", store->count);
	print_line(to, line, &crc);
}

/* --- from text: lines --- */

struct reader {
	struct saved_line line; /* the present one */
	const char *text;
	size_t size, at; /* of the next line */
	uLong crc;
	uint32_t room; /* of store->peers */
	struct saved_store *store;
};

/* The JSON text of the next line, its CRC checked: `length` bytes without an end. */
static int next_text(struct reader *r, const char **text, size_t *length)
{
	const char *line = r->text + r->at, *end = memchr(line, '\n', r->size - r->at);
	char digits[DIGITS + 2] = "";

	r->line.number++;
	if (r->at == r->size)
		return saved_wrong(&r->line, "missing: the file was cut off");
	if (!end)
		return saved_wrong(&r->line, "it has no end: the file was cut off");
	if (end - line < DIGITS + 3)
		return saved_wrong(&r->line, "too short for a checksum and an object");
	*text = line + DIGITS + 1;
	*length = (size_t)(end - *text);
	r->crc = crc32(r->crc, (const Bytef *)*text, (uInt)*length + 1);
	snprintf(digits, sizeof(digits), "%0*lx ", DIGITS, r->crc);
	if (memcmp(line, digits, DIGITS + 1) != 0)
		return saved_wrong(&r->line,
				   "damaged, or a line before it is missing: its checksum is not %.8s",
				   digits);
	r->at = (size_t)(end - r->text) + 1;
	return 0;
}

/* Sets r->line.object, which is to be freed. */
static int next_line(struct reader *r)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = NULL;
	const char *text = "";
	size_t length = 0;
	int err = tokener ? next_text(r, &text, &length) : -ENOMEM;

	if (!err) {
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
		object = json_tokener_parse_ex(tokener, text, (int)length);
		if (json_tokener_get_error(tokener) != json_tokener_success ||
		    json_tokener_get_parse_end(tokener) != length ||
		    !json_object_is_type(object, json_type_object))
			err = saved_wrong(&r->line, "this is not one JSON object");
	}
	if (tokener)
		json_tokener_free(tokener);
	if (err) {
		json_object_put(object);
		object = NULL;
	}
	r->line.object = object;
	return err;
}

/* --- from text: values --- */

static int parse_named(const struct saved_line *l, struct kphi_peer *p)
{
	const char *name, *host;
	char reason[WHY_SIZE];
	int err = saved_string(l, "name", &name);

	err = err ? err : saved_string(l, "host", &host);
	if (err)
		return err;
	if (!name)
		return saved_wrong(l, "\"name\" is missing");
	if (parse_name(name, p->name, reason, sizeof(reason)) ||
	    (host && parse_name(host, p->host, reason, sizeof(reason))))
		return saved_wrong(l, "%s", reason);
	return 0;
}

static int parse_model(const struct saved_line *l, struct kphi_peer *p)
{
	const char *name;
	int err = saved_string(l, "model", &name);

	if (err)
		return err;
	for (p->model = 0; name && p->model < KPHI_MODELS; p->model++)
		if (strcmp(models[p->model], name) == 0)
			return 0;
	return saved_wrong(l, "\"model\" is none that this kphi knows");
}

static int parse_settings(const struct saved_line *l, struct kphi_peer *p)
{
	int err = saved_number(l, "interval_ns", true, KPHI_INTERVAL_MAX_NS / KPHI_CAP_INTERVALS,
			       &p->interval_ns);

	err = err ? err : saved_number(l, "min_std_ns", false, KPHI_INTERVAL_MAX_NS, &p->min_std_ns);
	err = err ? err : saved_number(l, "pause_ns", false, KPHI_INTERVAL_MAX_NS, &p->pause_ns);
	err = err ? err
		  : saved_number(l, "max_interval_ns", false, KPHI_INTERVAL_MAX_NS, &p->max_interval_ns);
	if (json_object_object_get_ex(l->object, "min_std_ns", NULL))
		p->set |= KPHI_SET_MIN_STD;
	if (json_object_object_get_ex(l->object, "pause_ns", NULL))
		p->set |= KPHI_SET_PAUSE;
	if (!err && p->max_interval_ns && p->max_interval_ns < p->interval_ns)
		return saved_wrong(l, "\"max_interval_ns\" is below \"interval_ns\"");
	return err;
}

static int parse_mute(const struct saved_line *l, struct saved_peer *p)
{
	const char *reason;
	int err = saved_number(l, "muted_until_s", false, UINT32_MAX, &p->muted_until_s);

	err = err ? err : saved_number(l, "mute_left_ns", false, INT64_MAX, &p->mute_left_ns);
	err = err ? err : saved_string(l, "mute_reason", &reason);
	if (!err && reason) {
		if (strlen(reason) >= sizeof(p->peer.mute_reason))
			return saved_wrong(l, "\"mute_reason\" is too long");
		memcpy(p->peer.mute_reason, reason, strlen(reason));
	}
	return err;
}

static int parse_peer(const struct saved_line *l, struct saved_peer *p)
{
	static const char *const keys[] = {
		"name",        "host",          "id",           SAVED_RULE_KEYS, SAVED_NATIVE_KEYS,
		"interval_ns", "model",         "min_std_ns",   "pause_ns",      "max_interval_ns",
		"epoch",       "muted_until_s", "mute_left_ns", "mute_reason",   NULL};
	int err = saved_only(l, keys);

	*p = (struct saved_peer){0};
	err = err ? err : parse_named(l, &p->peer);
	err = err ? err : saved_parse_identity(l, &p->peer.id, &p->rule);
	err = err ? err : saved_parse_demands(l, p);
	err = err ? err : parse_model(l, &p->peer);
	err = err ? err : parse_settings(l, &p->peer);
	err = err ? err : parse_mute(l, p);
	return err ? err : saved_number(l, "epoch", true, UINT64_MAX, &p->epoch);
}

static int parse_header(const struct saved_line *l, struct saved_store *s)
{
	static const char *const keys[] = {"kphi_store", "capacity",    "window",
					   "saved_s",    "require_key", NULL};
	uint64_t version = 0, capacity = 0, window = 0, keyed = 0;
	int err = saved_number(l, "kphi_store", true, UINT64_MAX, &version);

	if (!err && (version < 1 || version > SAVED_VERSION))
		return saved_wrong(
			l,
			"version %" PRIu64
			" is not known to this kphi, which reads 1 to %d. Restore with the one that "
			"saved it",
			version, SAVED_VERSION);
	err = err ? err : saved_only(l, keys);
	err = err ? err : saved_number(l, "capacity", true, KPHI_PEERS_MAX, &capacity);
	err = err ? err : saved_number(l, "window", true, KPHI_WINDOW_MAX, &window);
	err = err ? err : saved_number(l, "saved_s", true, UINT64_MAX, &s->saved_s);
	err = err ? err : saved_number(l, "require_key", false, 1, &keyed);
	if (!err && (capacity < 1 || window < KPHI_WINDOW_MIN))
		return saved_wrong(l, "there is no store of capacity %" PRIu64 " and window %" PRIu64,
				   capacity, window);
	s->keyed = keyed;
	s->capacity = (uint32_t)capacity;
	s->window = (uint32_t)window;
	return err;
}

static int grow(struct reader *r)
{
	struct saved_store *s = r->store;
	uint32_t room = r->room ? 2 * r->room : 16;
	struct saved_peer *peers;

	if (s->count == s->capacity)
		return saved_wrong(&r->line, "more peers than the store had room for (%u)", s->capacity);
	if (s->count < r->room)
		return 0;
	peers = realloc(s->peers, room * sizeof(*peers));
	if (!peers)
		return refuse(-ENOMEM, r->line.why, r->line.why_size, "no memory for %u peers", room);
	s->peers = peers;
	r->room = room;
	return 0;
}

static int take_peer(struct reader *r)
{
	struct saved_peer peer;
	int err = parse_peer(&r->line, &peer);

	err = err ? err : grow(r);
	if (!err)
		r->store->peers[r->store->count++] = peer;
	return err;
}

/* A peer, or the end. */
static int parse_next(struct reader *r, bool *ended)
{
	const struct saved_line *l = &r->line;
	uint64_t peers = 0;
	int err = next_line(r);

	if (err)
		return err;
	*ended = json_object_object_get_ex(l->object, "peers", NULL);
	if (*ended) {
		err = saved_number(l, "peers", true, UINT32_MAX, &peers);
		if (!err && peers != r->store->count)
			err = saved_wrong(l, "%" PRIu64 " peers were saved, but there are %u", peers,
					  r->store->count);
		if (!err && r->at != r->size) {
			r->line.number++;
			err = saved_wrong(l, "something follows the end");
		}
	} else {
		err = take_peer(r);
	}
	json_object_put(l->object);
	return err;
}

int saved_parse(const char *text, size_t size, struct saved_store *store, char *why, size_t why_size)
{
	struct reader r = {.text = text,
			   .size = size,
			   .crc = crc32(0, NULL, 0),
			   .store = store,
			   .line = {.why = why, .why_size = why_size}};
	bool ended = false;
	int err;

	*store = (struct saved_store){0};
	if (size > INT32_MAX)
		return refuse(-EINVAL, why, why_size, "line 1: %zu bytes are too many for a store", size);
	err = next_line(&r);
	if (!err)
		err = parse_header(&r.line, store);
	json_object_put(r.line.object);
	while (!err && !ended)
		err = parse_next(&r, &ended);
	return err;
}
