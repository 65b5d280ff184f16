// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BIRD: for each protocol its name and a table. The columns Since may be one word or two, depending on
 * `timeformat`.
 *
 *   BIRD 2.0.12 ready.
 *   bfd1:
 *   IP address                Interface  State      Since         Interval  Timeout
 *   10.0.0.2                  eth0       Up         01:02:47.123    0.050    0.150
 *
 * An interface of --- is a session over several hops.
 */
#include <errno.h>
#include <string.h>

#include "check/source.h"
#include "io/parse.h"

#define WORDS 7

static const struct claim_word words[] = {
	{"Up", CLAIM_UP},
	{"Down", CLAIM_DOWN},
	{"Init", CLAIM_UNKNOWN},
	{"AdminDown", CLAIM_UNKNOWN},
};

static bool begins(const char *line, size_t length, const char *word)
{
	return length >= strlen(word) && !memcmp(line, word, strlen(word));
}

bool bird_heading(const char *line, size_t length)
{
	return begins(line, length, "BIRD ");
}

/* Cuts the line at its blanks. Returns how many words there are; those beyond WORDS are counted only. */
static size_t split(char *line, char *word[WORDS])
{
	size_t n = 0;
	char *rest = NULL;

	for (char *at = strtok_r(line, " \t", &rest); at; at = strtok_r(NULL, " \t", &rest))
		if (n++ < WORDS)
			word[n - 1] = at;
	return n;
}

static int take_session(struct claims *claims, struct lines *l, char *why, size_t size)
{
	char *word[WORDS], first[64];
	struct claim *c;
	size_t n;
	int err = claims_add(claims, l->number, &c, why, size);

	if (err)
		return err;
	claim_put(first, sizeof(first), trim(l->text));
	n = split(l->text, word);
	if (n < 6 || n > WORDS)
		return refuse(-EINVAL, why, size, "line %u: no session of `birdc show bfd sessions`: " QUOTED,
			      l->number, first);
	if (!claim_set_endpoint(c, word[0]) || !c->has_address)
		return refuse(-EINVAL, why, size, "line %u: " QUOTED " is no address", l->number, word[0]);
	if (!claim_set_word(c, words, sizeof(words) / sizeof(*words), word[2]))
		return refuse(-EINVAL, why, size,
			      "line %u: " QUOTED " is no state of a session: Up, Down, Init or AdminDown",
			      l->number, word[2]);
	c->path = true;
	claim_put(c->host, sizeof(c->host), word[0]);
	claim_name_session(c, word[0], strcmp(word[1], "---") != 0 ? word[1] : NULL);
	claim_add_detail(c, "since %s%s%s", word[3], n == WORDS ? " " : "", n == WORDS ? word[4] : "");
	return 0;
}

/* Whatever stands around the sessions. */
static bool is_frame(const char *line)
{
	size_t length = strlen(line);

	return !length || line[length - 1] == ':' || bird_heading(line, length) ||
	       !strcmp(line, "Access restricted") ||
	       (length > 10 && !strcmp(line + length - 10, " is not up"));
}

int bird_read(const struct document *d, struct claims *claims, char *why, size_t size)
{
	bool table = false;
	struct lines l;
	int err;

	lines_begin(&l, d);
	while ((err = lines_next(&l, why, size)) > 0) {
		char *line = trim(l.text);

		if (begins(line, strlen(line), "IP address ")) {
			table = true;
			continue;
		}
		if (is_frame(line)) {
			table = table && !*line;
			continue;
		}
		if (!table)
			return refuse(-EINVAL, why, size, "line %u: before any table of sessions: " QUOTED,
				      l.number, line);
		err = take_session(claims, &l, why, size);
		if (err)
			return err;
	}
	return err;
}
