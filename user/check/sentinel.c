// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Redis Sentinel through redis-cli: keys and values in turn, a line each, the first key of each instance
 * being `name`. To a terminal (or with --no-raw) redis-cli numbers and quotes them:
 *
 *   name             1)  1) "name"
 *   mymaster             2) "mymaster"
 *   ip                   3) "ip"
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "check/source.h"
#include "io/parse.h"

struct reading {
	struct claims *claims;
	struct claim *instance; /* NULL: none yet */
	char key[CLAIM_NAME]; /* whose value comes next; "": a key comes next */
	bool has_key, has_flags;
	struct lines lines;
	char *why;
	size_t size;
};

static int wrong(const struct reading *r, const char *what, const char *text)
{
	return refuse(-EINVAL, r->why, r->size, "line %u: %s: " QUOTED, r->lines.number, what, text);
}

/* What follows "1)  1) "; NULL if the line is not numbered. */
static char *skip_numbers(char *line)
{
	char *at = line, *found = NULL;

	for (;;) {
		at += strspn(at, " ");
		if (!isdigit((unsigned char)*at))
			return found;
		at += strspn(at, "0123456789");
		if (*at++ != ')')
			return NULL;
		at += strspn(at, " ");
		found = at;
	}
}

/* In place: without quotes and backslashes. False if it is not one quoted text. \xHH stays as it is. */
static bool unquote(char *text)
{
	char *to = text, *from = text + 1;

	if (*text != '"')
		return false;
	for (; *from && *from != '"'; from++) {
		if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	if (*from != '"' || from[1])
		return false;
	*to = '\0';
	return true;
}

static bool has_flag(const char *flags, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = flags; (at = strstr(at, flag)); at += length)
		if ((at == flags || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* The first that is set decides. A link that is down is not yet a subjective one. */
static void take_flags(struct claim *c, const char *flags)
{
	static const struct claim_word words[] = {
		{"o_down", CLAIM_DOWN}, {"s_down", CLAIM_SUSPECT}, {"disconnected", CLAIM_SUSPECT}};

	c->state = CLAIM_UP;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (c->state == CLAIM_UP && has_flag(flags, words[i].word))
			c->state = words[i].state;
	claim_put(c->word, sizeof(c->word), flags);
}

static int end_instance(struct reading *r)
{
	struct claim *c = r->instance;

	if (!c)
		return 0;
	if (!r->has_flags || (!c->has_address && !*c->host))
		return refuse(-EINVAL, r->why, r->size, "line %u: the instance " QUOTED " has no %s", c->line,
			      c->name, r->has_flags ? "ip" : "flags");
	return 0;
}

static int begin_instance(struct reading *r, const char *name)
{
	int err = end_instance(r);

	err = err ? err : claims_add(r->claims, r->lines.number, &r->instance, r->why, r->size);
	if (err)
		return err;
	r->has_flags = false;
	claim_put(r->instance->name, sizeof(r->instance->name), name);
	return *name ? 0 : wrong(r, "an instance without a name", name);
}

static int take_pair(struct reading *r, const char *value)
{
	struct claim *c = r->instance;
	char ignored[1];
	uint16_t port;

	if (!strcmp(r->key, "name"))
		return begin_instance(r, value);
	if (!c)
		return wrong(r, "no reply of Sentinel about instances, which begins with `name`", r->key);
	if (!strcmp(r->key, "ip")) {
		port = c->port;
		if (!claim_set_endpoint(c, value))
			return wrong(r, "this is no address", value);
		c->port = port;
	} else if (!strcmp(r->key, "port")) {
		/* A replica that was never reached has port 0. */
		c->port = parse_port(value, &port, ignored, sizeof(ignored)) ? 0 : port;
	} else if (!strcmp(r->key, "runid")) {
		claim_put(c->incarnation, sizeof(c->incarnation), value);
	} else if (!strcmp(r->key, "flags")) {
		take_flags(c, value);
		r->has_flags = true;
	} else if (!strcmp(r->key, "s-down-time") || !strcmp(r->key, "o-down-time")) {
		claim_add_detail(c, "%s for %.20sms", *r->key == 's' ? "s_down" : "o_down", value);
	} else if (!strcmp(r->key, "last-ok-ping-reply")) {
		claim_add_detail(c, "last good answer %.20sms ago", value);
	}
	return 0;
}

static bool is_error(const char *line)
{
	static const char *const words[] = {"(error) ",          "ERR ",   "NOAUTH ", "NOPERM ",
					    "Could not connect", "Error: "};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(line, words[i], strlen(words[i])))
			return true;
	return false;
}

static int take_line(struct reading *r)
{
	char *line = r->lines.text, *numbered = skip_numbers(line);

	if (!r->has_key && is_error(line))
		return wrong(r, "redis-cli says", line);
	if (numbered && *numbered == '"') {
		line = numbered;
		if (!unquote(line))
			return wrong(r, "a text that does not end", line);
	} else if (!r->has_key) {
		line = trim(line);
		if (!*line || !strcmp(line, "(empty array)") || !strcmp(line, "(empty list or set)"))
			return 0;
	}
	if (r->has_key) {
		r->has_key = false;
		return take_pair(r, line);
	}
	if (strlen(line) >= sizeof(r->key))
		return wrong(r, "this is no key", line);
	claim_put(r->key, sizeof(r->key), line);
	r->has_key = true;
	return !r->instance && strcmp(line, "name") != 0
		       ? wrong(r, "no reply of Sentinel about instances, which begins with `name`", line)
		       : 0;
}

int sentinel_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct reading r = {.claims = claims, .why = why, .size = size};
	int err;

	lines_begin(&r.lines, d);
	while ((err = lines_next(&r.lines, why, size)) > 0) {
		err = take_line(&r);
		if (err)
			return err;
	}
	if (!err && r.has_key)
		return wrong(&r, "the reply is cut off behind", r.key);
	return err ? err : end_instance(&r);
}
