// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/format.h"
#include "io/parse.h"

#define DIGITS 8 /* of a CRC */

static const char *const models[] = {"normal", "akka", "exponential"}; /* enum kphi_model */

/* --- to text --- */

static void add_string(struct json_object *line, const char *key, const char *value)
{
	json_object_object_add(line, key, json_object_new_string(value));
}

static void add_number(struct json_object *line, const char *key, uint64_t value)
{
	json_object_object_add(line, key, json_object_new_uint64(value));
}

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

static void add_identity(struct json_object *line, const struct kphi_id *id)
{
	char text[ADDRESS_SIZE > UUID_SIZE ? ADDRESS_SIZE : UUID_SIZE];

	if (id->kind == KPHI_ID_NATIVE) {
		add_string(line, "id", format_uuid(id->bytes, text));
	} else {
		add_string(line, "from", format_address(id->bytes, text));
		add_number(line, "port", id->port);
	}
}

static struct json_object *peer_line(const struct saved_peer *p)
{
	struct json_object *line = json_object_new_object();

	add_string(line, "name", p->peer.name);
	if (*p->peer.host)
		add_string(line, "host", p->peer.host);
	add_identity(line, &p->peer.id);
	add_number(line, "interval_ns", p->peer.interval_ns);
	add_string(line, "model", models[p->peer.model]);
	if (p->peer.set & KPHI_SET_MIN_STD)
		add_number(line, "min_std_ns", p->peer.min_std_ns);
	if (p->peer.set & KPHI_SET_PAUSE)
		add_number(line, "pause_ns", p->peer.pause_ns);
	if (p->peer.max_interval_ns)
		add_number(line, "max_interval_ns", p->peer.max_interval_ns);
	add_number(line, "epoch", p->epoch);
	if (p->muted_until_s) {
		add_number(line, "muted_until_s", p->muted_until_s);
		add_number(line, "mute_left_ns", p->mute_left_ns);
		add_string(line, "mute_reason", p->peer.mute_reason);
	}
	return line;
}

void saved_print(FILE *to, const struct saved_store *store)
{
	struct json_object *line = json_object_new_object();
	uLong crc = crc32(0, NULL, 0);

	add_number(line, "kphi_store", SAVED_VERSION);
	add_number(line, "capacity", store->capacity);
	add_number(line, "window", store->window);
	add_number(line, "saved_s", store->saved_s);
	print_line(to, line, &crc);
	for (uint32_t i = 0; i < store->count; i++)
		print_line(to, peer_line(&store->peers[i]), &crc);
	line = json_object_new_object();
	add_number(line, "peers", store->count);
	print_line(to, line, &crc);
}

/* --- from text: lines --- */

struct reader {
	const char *text;
	size_t size, at; /* of the next line */
	uint32_t line; /* number of the present one, from 1 */
	uLong crc;
	uint32_t room; /* of store->peers */
	struct saved_store *store;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct reader *r, const char *format, ...)
{
	char reason[WHY_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return refuse(-EINVAL, r->why, r->why_size, "line %u: %s", r->line, reason);
}

/* The JSON text of the next line, its CRC checked: `length` bytes without an end. */
static int next_text(struct reader *r, const char **text, size_t *length)
{
	const char *line = r->text + r->at, *end = memchr(line, '\n', r->size - r->at);
	char digits[DIGITS + 2] = "";

	r->line++;
	if (r->at == r->size)
		return wrong(r, "missing: the file was cut off");
	if (!end)
		return wrong(r, "it has no end: the file was cut off");
	if (end - line < DIGITS + 3)
		return wrong(r, "too short for a checksum and an object");
	*text = line + DIGITS + 1;
	*length = (size_t)(end - *text);
	r->crc = crc32(r->crc, (const Bytef *)*text, (uInt)*length + 1);
	snprintf(digits, sizeof(digits), "%0*lx ", DIGITS, r->crc);
	if (memcmp(line, digits, DIGITS + 1) != 0)
		return wrong(r, "damaged, or a line before it is missing: its checksum is not %.8s", digits);
	r->at = (size_t)(end - r->text) + 1;
	return 0;
}

static int next_line(struct reader *r, struct json_object **line)
{
	struct json_tokener *tokener = json_tokener_new();
	const char *text = "";
	size_t length = 0;
	int err = tokener ? next_text(r, &text, &length) : -ENOMEM;

	*line = NULL;
	if (!err) {
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
		*line = json_tokener_parse_ex(tokener, text, (int)length);
		if (json_tokener_get_error(tokener) != json_tokener_success ||
		    json_tokener_get_parse_end(tokener) != length ||
		    !json_object_is_type(*line, json_type_object))
			err = wrong(r, "this is not one JSON object");
	}
	if (tokener)
		json_tokener_free(tokener);
	if (err) {
		json_object_put(*line);
		*line = NULL;
	}
	return err;
}

/* --- from text: values --- */

/* A whole number of 0 to `max`. What is missing stays as it is, unless it is required. */
static int number(const struct reader *r, struct json_object *line, const char *key, bool required,
		  uint64_t max, uint64_t *value)
{
	struct json_object *found;

	if (!json_object_object_get_ex(line, key, &found))
		return required ? wrong(r, "\"%s\" is missing", key) : 0;
	if (!json_object_is_type(found, json_type_int) || json_object_get_int64(found) < 0)
		return wrong(r, "\"%s\" is no whole number", key);
	if (json_object_get_uint64(found) > max)
		return wrong(r, "\"%s\" is above %" PRIu64, key, max);
	*value = json_object_get_uint64(found);
	return 0;
}

/* *value: NULL if it is missing. */
static int string(const struct reader *r, struct json_object *line, const char *key, const char **value)
{
	struct json_object *found;

	*value = NULL;
	if (!json_object_object_get_ex(line, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_string) ||
	    strlen(json_object_get_string(found)) != (size_t)json_object_get_string_len(found))
		return wrong(r, "\"%s\" is no text", key);
	*value = json_object_get_string(found);
	return 0;
}

/* A key that is not known may be a setting that matters: it is not for an older kphi to leave it out. */
static int only(const struct reader *r, struct json_object *line, const char *const *keys)
{
	json_object_object_foreach(line, key, value)
	{
		const char *const *known = keys;

		(void)value;
		while (*known && strcmp(*known, key) != 0)
			known++;
		if (!*known)
			return wrong(r, "\"%.60s\" is no key of version %d", key, SAVED_VERSION);
	}
	return 0;
}

static int parse_named(const struct reader *r, struct json_object *line, struct kphi_peer *p)
{
	const char *name, *host;
	char reason[WHY_SIZE];
	int err = string(r, line, "name", &name);

	err = err ? err : string(r, line, "host", &host);
	if (err)
		return err;
	if (!name)
		return wrong(r, "\"name\" is missing");
	if (parse_name(name, p->name, reason, sizeof(reason)) ||
	    (host && parse_name(host, p->host, reason, sizeof(reason))))
		return wrong(r, "%s", reason);
	return 0;
}

static int parse_identity(const struct reader *r, struct json_object *line, struct kphi_id *id)
{
	const char *uuid, *from;
	char reason[WHY_SIZE];
	uint64_t port = 0;
	int err = string(r, line, "id", &uuid);

	err = err ? err : string(r, line, "from", &from);
	err = err ? err : number(r, line, "port", from != NULL, 65535, &port);
	if (err)
		return err;
	if (!uuid == !from || (from && !port) || (uuid && port))
		return wrong(r, "an identity is either an \"id\", or \"from\" and \"port\"");
	id->kind = uuid ? KPHI_ID_NATIVE : KPHI_ID_RULE;
	id->protocol = uuid ? 0 : IPPROTO_UDP;
	id->port = (uint16_t)port;
	if (uuid ? parse_uuid(uuid, id->bytes, reason, sizeof(reason))
		 : parse_address(from, id->bytes, reason, sizeof(reason)))
		return wrong(r, "%s", reason);
	return 0;
}

static int parse_model(const struct reader *r, struct json_object *line, struct kphi_peer *p)
{
	const char *name;
	int err = string(r, line, "model", &name);

	if (err)
		return err;
	for (p->model = 0; name && p->model < KPHI_MODELS; p->model++)
		if (strcmp(models[p->model], name) == 0)
			return 0;
	return wrong(r, "\"model\" is none that this kphi knows");
}

static int parse_settings(const struct reader *r, struct json_object *line, struct kphi_peer *p)
{
	int err = number(r, line, "interval_ns", true, KPHI_INTERVAL_MAX_NS / KPHI_CAP_INTERVALS,
			 &p->interval_ns);

	err = err ? err : number(r, line, "min_std_ns", false, KPHI_INTERVAL_MAX_NS, &p->min_std_ns);
	err = err ? err : number(r, line, "pause_ns", false, KPHI_INTERVAL_MAX_NS, &p->pause_ns);
	err = err ? err
		  : number(r, line, "max_interval_ns", false, KPHI_INTERVAL_MAX_NS, &p->max_interval_ns);
	if (json_object_object_get_ex(line, "min_std_ns", NULL))
		p->set |= KPHI_SET_MIN_STD;
	if (json_object_object_get_ex(line, "pause_ns", NULL))
		p->set |= KPHI_SET_PAUSE;
	if (!err && p->max_interval_ns && p->max_interval_ns < p->interval_ns)
		return wrong(r, "\"max_interval_ns\" is below \"interval_ns\"");
	return err;
}

static int parse_mute(const struct reader *r, struct json_object *line, struct saved_peer *p)
{
	const char *reason;
	int err = number(r, line, "muted_until_s", false, UINT32_MAX, &p->muted_until_s);

	err = err ? err : number(r, line, "mute_left_ns", false, INT64_MAX, &p->mute_left_ns);
	err = err ? err : string(r, line, "mute_reason", &reason);
	if (!err && reason) {
		if (strlen(reason) >= sizeof(p->peer.mute_reason))
			return wrong(r, "\"mute_reason\" is too long");
		memcpy(p->peer.mute_reason, reason, strlen(reason));
	}
	return err;
}

static int parse_peer(const struct reader *r, struct json_object *line, struct saved_peer *p)
{
	static const char *const keys[] = {
		"name",        "host",          "id",           "from",        "port",
		"interval_ns", "model",         "min_std_ns",   "pause_ns",    "max_interval_ns",
		"epoch",       "muted_until_s", "mute_left_ns", "mute_reason", NULL};
	int err = only(r, line, keys);

	*p = (struct saved_peer){0};
	err = err ? err : parse_named(r, line, &p->peer);
	err = err ? err : parse_identity(r, line, &p->peer.id);
	err = err ? err : parse_model(r, line, &p->peer);
	err = err ? err : parse_settings(r, line, &p->peer);
	err = err ? err : parse_mute(r, line, p);
	return err ? err : number(r, line, "epoch", true, UINT64_MAX, &p->epoch);
}

static int parse_header(const struct reader *r, struct json_object *line, struct saved_store *s)
{
	static const char *const keys[] = {"kphi_store", "capacity", "window", "saved_s", NULL};
	uint64_t version = 0, capacity = 0, window = 0;
	int err = number(r, line, "kphi_store", true, UINT64_MAX, &version);

	if (!err && version != SAVED_VERSION)
		return wrong(r,
			     "version %" PRIu64
			     " is not known to this kphi, which reads version %d. Restore with the "
			     "one that saved it",
			     version, SAVED_VERSION);
	err = err ? err : only(r, line, keys);
	err = err ? err : number(r, line, "capacity", true, KPHI_PEERS_MAX, &capacity);
	err = err ? err : number(r, line, "window", true, KPHI_WINDOW_MAX, &window);
	err = err ? err : number(r, line, "saved_s", true, UINT64_MAX, &s->saved_s);
	if (!err && (capacity < 1 || window < KPHI_WINDOW_MIN))
		return wrong(r, "there is no store of capacity %" PRIu64 " and window %" PRIu64, capacity,
			     window);
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
		return wrong(r, "more peers than the store had room for (%u)", s->capacity);
	if (s->count < r->room)
		return 0;
	peers = realloc(s->peers, room * sizeof(*peers));
	if (!peers)
		return refuse(-ENOMEM, r->why, r->why_size, "no memory for %u peers", room);
	s->peers = peers;
	r->room = room;
	return 0;
}

/* A peer, or the end. */
static int parse_next(struct reader *r, bool *ended)
{
	struct json_object *line;
	uint64_t peers = 0;
	int err = next_line(r, &line);

	if (err)
		return err;
	*ended = json_object_object_get_ex(line, "peers", NULL);
	if (*ended) {
		err = number(r, line, "peers", true, UINT32_MAX, &peers);
		if (!err && peers != r->store->count)
			err = wrong(r, "%" PRIu64 " peers were saved, but there are %u", peers,
				    r->store->count);
		if (!err && r->at != r->size) {
			r->line++;
			err = wrong(r, "something follows the end");
		}
	} else {
		err = grow(r);
		err = err ? err : parse_peer(r, line, &r->store->peers[r->store->count]);
		r->store->count += !err;
	}
	json_object_put(line);
	return err;
}

int saved_parse(const char *text, size_t size, struct saved_store *store, char *why, size_t why_size)
{
	struct reader r = {.text = text,
			   .size = size,
			   .crc = crc32(0, NULL, 0),
			   .store = store,
			   .why = why,
			   .why_size = why_size};
	struct json_object *header;
	bool ended = false;
	int err;

	*store = (struct saved_store){0};
	if (size > INT32_MAX)
		return refuse(-EINVAL, why, why_size, "line 1: %zu bytes are too many for a store", size);
	err = next_line(&r, &header);
	if (!err)
		err = parse_header(&r, header, store);
	json_object_put(header);
	while (!err && !ended)
		err = parse_next(&r, &ended);
	return err;
}
