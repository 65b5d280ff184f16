// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cassandra's nodetool, two outputs of it in any order:
 *
 *   failuredetector   a heading, then ENDPOINT, PHI by the line
 *   gossipinfo        HOST/ADDRESS by the line, then indented generation:N, heartbeat:N and
 * STATE:VERSION:VALUE
 *
 * An endpoint that both name is one claim. The decimal separator of a phi is that of the server's locale.
 *
 * The phi is t / mean x 0.434 as of the last time that Cassandra interpreted it, which it does once a second,
 * and is convicted above phi_convict_threshold. That is 8 unless configured, which no output tells.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/source.h"
#include "io/parse.h"

#define CONVICT 8
#define SCALE   "exponential, t / mean x 0.434, as of the last interpret, up to 1 s old"

enum section { SECTION_NONE, SECTION_PHI, SECTION_GOSSIP };

struct reading {
	struct claims *claims;
	struct lines lines;
	enum section section;
	uint32_t first; /* of this document in the list */
	uint32_t sorted; /* up to here, by endpoint: what an earlier section named */
	struct claim *endpoint; /* gossip: whose states follow */
	bool has_status; /* 4.0 tells it twice */
	char *why;
	size_t size;
};

static int wrong(const struct reading *r, const char *what, const char *text)
{
	return refuse(-EINVAL, r->why, r->size, "line %u: %s: " QUOTED, r->lines.number, what, text);
}

bool cassandra_heading(const char *line, size_t length)
{
	static const char words[] = "Endpoint,Phi";
	size_t at = 0;

	for (size_t i = 0; i < length; i++) {
		if (isspace((unsigned char)line[i]))
			continue;
		if (at == sizeof(words) - 1 || line[i] != words[at++])
			return false;
	}
	return at == sizeof(words) - 1;
}

/* --- endpoints --- */

static int by_endpoint(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;
	int order = memcmp(x->address, y->address, sizeof(x->address));

	order = order ? order : (int)x->port - (int)y->port;
	return order ? order : strcmp(x->host, y->host);
}

static void begin_section(struct reading *r, enum section section)
{
	if (r->section == section)
		return;
	if (r->claims->count > r->first)
		qsort(&r->claims->claim[r->first], r->claims->count - r->first, sizeof(struct claim),
		      by_endpoint);
	r->sorted = r->claims->count;
	r->section = section;
	r->endpoint = NULL;
}

/* The claim on an endpoint: one that an earlier section made, or a new one. */
static int take_endpoint(struct reading *r, const char *text, struct claim **c)
{
	const char *slash = strchr(text, '/');
	struct claim *found, wanted;
	int err = claims_add(r->claims, r->lines.number, c, r->why, r->size);

	if (err)
		return err;
	if (!claim_set_endpoint(*c, slash ? slash + 1 : text) || strpbrk((*c)->host, " \t"))
		return wrong(r, "this is no endpoint", text);
	if (slash && slash > text && slash - text < CLAIM_NAME)
		snprintf((*c)->name, sizeof((*c)->name), "%.*s", (int)(slash - text), text);
	else
		claim_put((*c)->name, sizeof((*c)->name), slash ? slash + 1 : text);
	wanted = **c;
	found = bsearch(&wanted, &r->claims->claim[r->first], r->sorted - r->first, sizeof(wanted),
			by_endpoint);
	if (!found)
		return 0;
	r->claims->count--;
	*c = found;
	return 0;
}

/* --- failuredetector --- */

static bool is_decimal(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	text += digits;
	if (digits && *text == '.') {
		digits = strspn(++text, "0123456789");
		text += digits;
	}
	return digits && !*text;
}

/* Exactly, digit by digit. */
static bool is_convicted(const char *phi)
{
	uint64_t whole = strtoull(phi, NULL, 10);
	const char *fraction = strchr(phi, '.');

	return whole > CONVICT || (whole == CONVICT && fraction && strpbrk(fraction, "123456789"));
}

static int take_phi(struct reading *r, char *line)
{
	char *comma = strchr(line, ','), *phi;
	struct claim *c;
	int err;

	if (!comma)
		return wrong(r, "no line of ENDPOINT, PHI", line);
	*comma = '\0';
	phi = trim(comma + 1);
	err = take_endpoint(r, trim(line), &c);
	if (err)
		return err;
	if (!strcmp(phi, "NaN"))
		return 0;
	if (strchr(phi, ','))
		*strchr(phi, ',') = '.';
	if (strcmp(phi, "Infinity") != 0 && (!is_decimal(phi) || strlen(phi) >= sizeof(c->phi)))
		return wrong(r, "this is no phi", phi);
	claim_put(c->phi, sizeof(c->phi), phi);
	claim_put(c->scale, sizeof(c->scale), SCALE);
	if (c->state == CLAIM_LEFT)
		return 0;
	c->state = *phi == 'I' || is_convicted(phi) ? CLAIM_SUSPECT : CLAIM_UP;
	claim_put(c->word, sizeof(c->word), c->state == CLAIM_UP ? "phi up to 8" : "phi above 8");
	return 0;
}

/* --- gossipinfo --- */

static int begin_endpoint(struct reading *r, char *line)
{
	begin_section(r, SECTION_GOSSIP);
	r->has_status = false;
	return take_endpoint(r, line, &r->endpoint);
}

/* Behind "STATE:VERSION:" or, as it was long ago, "STATE:". */
static const char *state_value(const char *colon)
{
	size_t digits = strspn(colon + 1, "0123456789");

	return digits && colon[1 + digits] == ':' ? colon + digits + 2 : colon + 1;
}

static void take_status(struct claim *c, const char *value)
{
	static const struct claim_word gone[] = {
		{"shutdown", CLAIM_LEFT},
		{"LEFT", CLAIM_LEFT},
		{"removing", CLAIM_LEFT},
		{"removed", CLAIM_LEFT},
	};
	char word[CLAIM_WORD];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(value, ","), value);
	if (claim_set_word(c, gone, sizeof(gone) / sizeof(*gone), word))
		return;
	/* The rest tells what it is to the ring, and nothing of its life. */
	if (!*c->word)
		claim_put(c->word, sizeof(c->word), word);
	else
		claim_add_detail(c, "%s", word);
}

static int take_state(struct reading *r, char *line)
{
	char *colon = strchr(line, ':');
	struct claim *c = r->endpoint;

	if (!colon || colon == line)
		return wrong(r, "no state of an endpoint", line);
	*colon = '\0';
	if (!strcmp(line, "generation")) {
		claim_put(c->incarnation, sizeof(c->incarnation), colon + 1);
	} else if (!strcmp(line, "heartbeat")) {
		claim_add_detail(c, "heartbeat %.20s", colon + 1);
	} else if ((!strcmp(line, "STATUS") || !strcmp(line, "STATUS_WITH_PORT")) && !r->has_status) {
		r->has_status = true;
		take_status(c, state_value(colon));
	}
	return 0;
}

/* --- both --- */

static int take_line(struct reading *r)
{
	char *line = r->lines.text;
	bool indented = isspace((unsigned char)*line);

	if (cassandra_heading(line, strlen(line))) {
		begin_section(r, SECTION_PHI);
		return 0;
	}
	if (!*trim(line))
		return 0;
	if (!indented && strchr(line, '/') && !(r->section == SECTION_PHI && strchr(line, ',')))
		return begin_endpoint(r, trim(line));
	if (r->section == SECTION_PHI)
		return take_phi(r, trim(line));
	if (r->section == SECTION_GOSSIP && indented)
		return take_state(r, trim(line));
	return wrong(r, "this is neither of `nodetool failuredetector` nor of `nodetool gossipinfo`", line);
}

int cassandra_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	struct reading r = {
		.claims = claims, .first = claims->count, .sorted = claims->count, .why = why, .size = size};
	int err;

	lines_begin(&r.lines, d);
	while ((err = lines_next(&r.lines, why, size)) > 0) {
		err = take_line(&r);
		if (err)
			return err;
	}
	return err;
}
