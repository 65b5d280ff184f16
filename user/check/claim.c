// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/claim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/parse.h"

int claims_add(struct claims *claims, uint32_t line, struct claim **claim, char *why, size_t size)
{
	if (claims->count == CLAIMS_MAX)
		return refuse(-E2BIG, why, size, "line %u: more than %u peers in one document are not read",
			      line, CLAIMS_MAX);
	if (claims->count == claims->room) {
		uint32_t room = claims->room ? 2 * claims->room : 16;
		struct claim *larger = realloc(claims->claim, room * sizeof(*larger));

		if (!larger)
			return refuse(-ENOMEM, why, size, "line %u: no memory for %u peers", line, room);
		claims->claim = larger;
		claims->room = room;
	}
	*claim = &claims->claim[claims->count++];
	**claim = (struct claim){.line = line};
	return 0;
}

void claims_free(struct claims *claims)
{
	free(claims->claim);
	*claims = (struct claims){0};
}

void claim_put(char *field, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size) {
		length = size - 1;
		/* The first byte left out must not continue a character. */
		while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	memmove(field, text, length);
	field[length] = '\0';
}

void claim_add_detail(struct claim *c, const char *format, ...)
{
	char text[CLAIM_DETAIL], all[2 * CLAIM_DETAIL + 2];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(all, sizeof(all), "%s%s%s", c->detail, *c->detail ? "; " : "", text);
	claim_put(c->detail, sizeof(c->detail), all);
}

static bool read_literal(struct claim *c, const char *text)
{
	char literal[64], ignored[1];

	if (strlen(text) >= sizeof(literal))
		return false;
	claim_put(literal, sizeof(literal), text);
	literal[strcspn(literal, "%")] = '\0';
	c->has_address = !parse_address(literal, c->address, ignored, sizeof(ignored));
	return c->has_address;
}

/* Cuts ":PORT" off; false if what follows the colon is no port. */
static bool read_port(struct claim *c, char *colon)
{
	char ignored[1];

	*colon = '\0';
	return !parse_port(colon + 1, &c->port, ignored, sizeof(ignored));
}

static bool read_bracketed(struct claim *c, char *text)
{
	char *end = strchr(text, ']');

	if (!end || (end[1] && end[1] != ':'))
		return false;
	if (end[1] && !read_port(c, end + 1))
		return false;
	*end = '\0';
	return read_literal(c, text + 1);
}

bool claim_set_endpoint(struct claim *c, const char *text)
{
	char copy[CLAIM_NAME], *colon;

	if (!*text || strlen(text) >= sizeof(copy))
		return false;
	claim_put(copy, sizeof(copy), text);
	if (*copy == '[')
		return read_bracketed(c, copy);
	colon = strchr(copy, ':');
	if (colon && strchr(colon + 1, ':'))
		return read_literal(c, copy);
	if (colon && !read_port(c, colon))
		return false;
	if (!read_literal(c, copy))
		claim_put(c->host, sizeof(c->host), copy);
	return *copy;
}

void claim_name_session(struct claim *c, const char *address, const char *interface)
{
	char name[2 * CLAIM_NAME];

	snprintf(name, sizeof(name), "%.*s%s%s", CLAIM_NAME - 1, address, interface && *interface ? "%" : "",
		 interface ? interface : "");
	claim_put(c->name, sizeof(c->name), name);
}

/* By name, then the last one first. */
static int by_name(const void *a, const void *b)
{
	const struct claim *x = *(const struct claim *const *)a, *y = *(const struct claim *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x < y) - (x > y);
}

int claims_keep_last(struct claims *claims)
{
	const struct claim **sorted = malloc((claims->count + 1) * sizeof(const struct claim *));
	bool *stale = calloc(claims->count + 1, sizeof(*stale));
	uint32_t kept = 0;
	int err = sorted && stale ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < claims->count; i++)
		sorted[i] = &claims->claim[i];
	if (!err)
		qsort(sorted, claims->count, sizeof(const struct claim *), by_name);
	for (uint32_t i = 1; !err && i < claims->count; i++)
		stale[sorted[i] - claims->claim] = !strcmp(sorted[i]->name, sorted[i - 1]->name);
	for (uint32_t i = 0; !err && i < claims->count; i++)
		if (!stale[i])
			claims->claim[kept++] = claims->claim[i];
	if (!err)
		claims->count = kept;
	free(sorted);
	free(stale);
	return err;
}

bool claim_set_word(struct claim *c, const struct claim_word *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		c->state = words[i].state;
		claim_put(c->word, sizeof(c->word), word);
		return true;
	}
	return false;
}

static const char *const states[] = {"unknown", "up", "suspect", "down", "left"}; /* enum claim_state */

const char *claim_state_name(enum claim_state state)
{
	return states[state];
}

int claim_state_by_name(const char *name)
{
	for (int i = 0; i < (int)(sizeof(states) / sizeof(*states)); i++)
		if (!strcmp(states[i], name))
			return i;
	return -1;
}
