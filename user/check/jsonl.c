// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Anybody's opinion in our own words, one JSON object a line; docs/guide.md describes it:
 *
 *   {"time": "2026-03-01T12:00:00.250Z", "peer": "db1", "address": "192.0.2.7", "state": "suspect",
 *    "phi": 9.1, "scale": "t/mean", "detail": "..."}
 *
 * `time` may be Unix seconds instead. Only `state`, and `peer` or `address`, have to be there; other keys are
 * ignored.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/json.h"
#include "check/source.h"
#include "io/parse.h"

#define NS_PER_S   1000000000ULL
#define UNIX_MAX_S 9999999999ULL /* the year 2286. More digits are milliseconds, and a mistake */

/* Up to nine decimals of a second at *text, which is moved behind all its digits. */
static uint64_t take_fraction(const char **text)
{
	uint64_t ns = 0, unit = NS_PER_S;

	for (; isdigit((unsigned char)**text); (*text)++) {
		unit /= 10;
		ns += unit * (uint64_t)(**text - '0');
	}
	return ns;
}

/* Is the text one digit for each 'd' of the form, and else the same? */
static bool has_form(const char *text, const char *form)
{
	for (; *form; form++, text++)
		if (*form == 'd' ? !isdigit((unsigned char)*text)
				 : (*form == 'T' ? !*text || !strchr("Tt ", *text) : *text != *form))
			return false;
	return true;
}

/* "Z" or "+01:00" at the end, in seconds east of Greenwich. */
static bool take_zone(const char *text, int64_t *seconds)
{
	unsigned int hours = 0, minutes = 0;

	*seconds = 0;
	if (!strcmp(text, "Z") || !strcmp(text, "z"))
		return true;
	if ((*text != '+' && *text != '-') || !has_form(text + 1, "dd:dd") || text[6])
		return false;
	sscanf(text + 1, "%2u:%2u", &hours, &minutes);
	if (hours > 23 || minutes > 59)
		return false;
	*seconds = (int64_t)(hours * 3600 + minutes * 60) * (*text == '-' ? -1 : 1);
	return true;
}

/* Seconds since 1970; -1: there is no such date. A leap second is the next one. */
static int64_t seconds_of(struct tm tm)
{
	struct tm right = tm;
	int64_t seconds;

	right.tm_sec = 0;
	seconds = timegm(&right);
	if (tm.tm_sec > 60 || right.tm_mon != tm.tm_mon || right.tm_mday != tm.tm_mday ||
	    right.tm_hour != tm.tm_hour || right.tm_min != tm.tm_min)
		return -1;
	return seconds + tm.tm_sec;
}

/* RFC 3339. */
static bool read_date(const char *text, uint64_t *ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	const char *rest = text + sizeof(form) - 1;
	uint64_t fraction = 0;
	int64_t seconds, zone;
	struct tm tm = {0};

	if (!has_form(text, form))
		return false;
	sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	       &tm.tm_min, &tm.tm_sec);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (*rest == '.') {
		if (!isdigit((unsigned char)*++rest))
			return false;
		fraction = take_fraction(&rest);
	}
	seconds = seconds_of(tm);
	if (seconds < 0 || !take_zone(rest, &zone) || seconds < zone || seconds - zone > (int64_t)UNIX_MAX_S)
		return false;
	*ns = (uint64_t)(seconds - zone) * NS_PER_S + fraction;
	return true;
}

/* A number as it was written: whole seconds and up to nine decimals. */
static bool read_unix(const char *text, uint64_t *ns)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t seconds, fraction = 0;
	const char *rest = text + digits;

	if (!digits || digits > 10)
		return false;
	seconds = strtoull(text, NULL, 10);
	if (*rest == '.') {
		rest++;
		fraction = take_fraction(&rest);
	}
	if (*rest)
		return false;
	*ns = seconds * NS_PER_S + fraction;
	return true;
}

static int take_time(const struct json_item *item, struct claim *c)
{
	struct json_object *value = NULL;
	const char *text;
	int err = json_text(item, "time", false, &text);
	bool good;

	if (err || !text)
		return err;
	json_object_object_get_ex(item->object, "time", &value);
	good = json_object_is_type(value, json_type_string) ? read_date(text, &c->time_ns)
							    : read_unix(text, &c->time_ns);
	return good ? 0
		    : json_wrong(item, "\"time\" is \"%.40s\", which is neither RFC 3339 nor Unix seconds",
				 text);
}

static int take_phi(const struct json_item *item, struct claim *c)
{
	struct json_object *value = NULL;
	const char *text, *scale;
	int err = json_text(item, "phi", false, &text);

	err = err ? err : json_text(item, "scale", false, &scale);
	if (err || !text)
		return err;
	json_object_object_get_ex(item->object, "phi", &value);
	if (json_object_is_type(value, json_type_string) || *text == '-' || strlen(text) >= sizeof(c->phi))
		return json_wrong(item, "\"phi\" is no number of 0 or more");
	claim_put(c->phi, sizeof(c->phi), text);
	claim_put(c->scale, sizeof(c->scale), scale ? scale : "");
	return 0;
}

static int take_peer(const struct json_item *item, struct claim *c)
{
	const char *peer, *address;
	int err = json_text(item, "peer", false, &peer);

	err = err ? err : json_text(item, "address", false, &address);
	if (err)
		return err;
	if ((!peer || !*peer) && !address)
		return json_wrong(item, "\"peer\" is missing");
	claim_put(c->name, sizeof(c->name), peer && *peer ? peer : address);
	if (address && (!claim_set_endpoint(c, address) || !c->has_address))
		return json_wrong(item, "\"address\" is \"%.60s\", which is no IP address", address);
	/* A name may be an address. */
	if (!address)
		claim_set_endpoint(c, c->name);
	if (!c->has_address)
		c->port = 0;
	*c->host = '\0';
	return 0;
}

static int take(const struct json_item *item, struct claim *c)
{
	const char *state, *detail;
	int err = json_text(item, "state", true, &state), known;

	err = err ? err : json_text(item, "detail", false, &detail);
	err = err ? err : take_peer(item, c);
	err = err ? err : take_time(item, c);
	err = err ? err : take_phi(item, c);
	if (err)
		return err;
	known = claim_state_by_name(state);
	if (known < 0)
		return json_wrong(item, "\"state\" is \"%.40s\" and not up, suspect, down, left or unknown",
				  state);
	c->state = (enum claim_state)known;
	claim_put(c->word, sizeof(c->word), state);
	claim_put(c->detail, sizeof(c->detail), detail ? detail : "");
	return 0;
}

static int take_line(struct lines *l, struct claims *claims, char *why, size_t size)
{
	const struct document line = {.text = l->text, .size = strlen(l->text), .line = l->number};
	struct claim *c = NULL;
	struct json j;
	int err = json_open(&j, &line, json_type_object, why, size);

	err = err ? err : claims_add(claims, l->number, &c, why, size);
	if (!err) {
		const struct json_item item = {.json = &j, .object = j.root, .line = l->number, .number = 1};

		err = take(&item, c);
	}
	json_close(&j);
	return err;
}

int jsonl_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct lines l;
	int err;

	lines_begin(&l, d);
	while ((err = lines_next(&l, why, size)) > 0) {
		if (!*trim(l.text))
			continue;
		err = take_line(&l, claims, why, size);
		if (err)
			return err;
	}
	return err;
}
