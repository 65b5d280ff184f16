// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/utf8.h"

#define GAP           1
#define JOIN          2
#define NAME_MIN      8
#define NAME_MAX      24
#define SPARK_MIN     8
#define CONSUMERS_MAX 20
#define REASON_ENOUGH 40 /* most are no longer; beyond it phi over time says more */
#define SPARK_MAX     40
#define WIDE          60 /* from here on states and models are whole words */

static const struct {
	const char *title;
	bool number;
	uint32_t width; /* least */
} columns[COLUMNS] = {
	[COLUMN_STATE] = {"STATE", false, 8},
	[COLUMN_PEER] = {"PEER", false, NAME_MIN},
	[COLUMN_HOST] = {"HOST", false, 6},
	[COLUMN_PHI] = {"PHI", true, 7},
	[COLUMN_MODEL] = {"MODEL", false, 4},
	[COLUMN_HISTORY] = {"HISTORY", false, SPARK_MIN},
	[COLUMN_SILENCE] = {"SILENCE", true, 7},
	[COLUMN_IN] = {"SUSP IN", true, 7},
	[COLUMN_MEAN] = {"MEAN", true, 6},
	[COLUMN_STDDEV] = {"STDDEV", true, 6},
	[COLUMN_LOSS] = {"LOSS", true, 6},
	[COLUMN_BEATS] = {"BEATS", true, 9},
	[COLUMN_CONSUMERS] = {"SUSPECTED BY", false, 12},
	[COLUMN_REASON] = {"REASON", false, 16},
};

/* The most important first. */
static const enum top_column order[COLUMNS] = {
	COLUMN_PEER, COLUMN_STATE, COLUMN_PHI, COLUMN_MODEL,     COLUMN_SILENCE, COLUMN_HISTORY, COLUMN_MEAN,
	COLUMN_HOST, COLUMN_LOSS,  COLUMN_IN,  COLUMN_CONSUMERS, COLUMN_REASON,  COLUMN_STDDEV,  COLUMN_BEATS,
};

const char *layout_title(enum top_column column, uint32_t width)
{
	if (strlen(columns[column].title) <= width)
		return columns[column].title;
	return column == COLUMN_MODEL ? "MDL" : "";
}

bool layout_is_number(enum top_column column)
{
	return columns[column].number;
}

static uint32_t least(enum top_column column, uint32_t width)
{
	if (column == COLUMN_STATE && width < WIDE)
		return 1;
	return columns[column].width;
}

/* Widens a column that is there, up to `most`, by what is left. */
static void widen(struct layout *l, enum top_column column, uint32_t most, uint32_t *spare)
{
	uint32_t more = most > l->width[column] ? most - l->width[column] : 0;

	if (!l->width[column])
		return;
	more = more < *spare ? more : *spare;
	l->width[column] += more;
	l->used += more;
	*spare -= more;
}

struct layout layout_columns(uint32_t width, const struct layout_wish *wish)
{
	struct layout l = {0};
	uint32_t spare;

	for (int i = 0; i < COLUMNS; i++) {
		enum top_column c = order[i];
		uint32_t need = least(c, width) + (l.used ? GAP : 0);

		if ((c == COLUMN_HOST && !wish->host) || (c == COLUMN_CONSUMERS && !wish->consumers))
			continue;
		if (l.used + need > width)
			break;
		l.width[c] = least(c, width);
		l.used += need;
	}
	/* A phi means nothing without its model. */
	if (l.width[COLUMN_PHI] && !l.width[COLUMN_MODEL]) {
		l.used -= l.width[COLUMN_PHI] + GAP;
		l.width[COLUMN_PHI] = 0;
	}
	/* A screen of a few columns shows names, cut. */
	if (!l.used)
		l.width[COLUMN_PEER] = l.used = width;
	spare = width - l.used;
	widen(&l, COLUMN_PEER, wish->name < NAME_MAX ? wish->name : NAME_MAX, &spare);
	widen(&l, COLUMN_HOST, wish->host < NAME_MAX ? wish->host : NAME_MAX, &spare);
	if (spare + l.width[COLUMN_MODEL] >= LAYOUT_MODEL)
		widen(&l, COLUMN_MODEL, LAYOUT_MODEL, &spare);
	widen(&l, COLUMN_CONSUMERS, CONSUMERS_MAX, &spare);
	widen(&l, COLUMN_REASON, REASON_ENOUGH, &spare);
	widen(&l, COLUMN_HISTORY, SPARK_MAX, &spare);
	widen(&l, COLUMN_REASON, UINT32_MAX, &spare);
	return l;
}

/* --- texts --- */

/* Escaped as for a terminal: every character that is left has a width. NULL: no memory. */
static char *escaped(const char *text, bool utf8)
{
	char *result = NULL;
	size_t size;
	FILE *to = open_memstream(&result, &size);

	if (!to)
		return NULL;
	if (utf8) {
		utf8_print(to, text, strlen(text), UTF8_PROSE);
	} else {
		/* A byte at a time no byte beyond ASCII is a character. */
		for (size_t i = 0; text[i]; i++)
			utf8_print(to, text + i, 1, UTF8_PROSE);
	}
	return fclose(to) ? NULL : result;
}

uint32_t layout_width(const char *text, bool utf8)
{
	char *line = escaped(text, utf8);
	size_t width = line ? utf8_width(line, strlen(line)) : 0;

	free(line);
	return (uint32_t)width;
}

/* So many bytes of the line are at most `width` columns wide: *taken of them. Marks go with their letter. */
static size_t fitting(const char *line, uint32_t width, uint32_t *taken)
{
	size_t at = 0, size = strlen(line);

	*taken = 0;
	while (at < size) {
		uint32_t code;
		size_t length = utf8_decode(line + at, size - at, &code);
		size_t wide = utf8_width(line + at, length);

		if (*taken + wide > width)
			break;
		*taken += (uint32_t)wide;
		at += length;
	}
	return at;
}

char *layout_cell(const char *text, uint32_t width, bool right, bool utf8)
{
	char *line = escaped(text, utf8), *cell = NULL;
	uint32_t taken;
	size_t bytes;
	bool cut;

	if (!line)
		return NULL;
	for (char *c = line; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	bytes = fitting(line, width, &taken);
	cut = line[bytes] && width;
	if (cut)
		bytes = fitting(line, width - 1, &taken);
	if (cut && asprintf(&cell, "%.*s%s%*s", (int)bytes, line, utf8 ? "\u2026" : "~",
			    (int)(width - taken - 1), "") < 0)
		cell = NULL;
	if (!cut && asprintf(&cell, "%*s%.*s%*s", right ? (int)(width - taken) : 0, "", (int)bytes, line,
			     right ? 0 : (int)(width - taken), "") < 0)
		cell = NULL;
	free(line);
	return cell;
}

char *layout_join(const char *const *texts, size_t n, uint32_t width, bool utf8)
{
	uint32_t used = 0;
	char *joined = NULL, *cell;
	size_t size;
	FILE *to = open_memstream(&joined, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t wide = texts[i] ? layout_width(texts[i], utf8) : 0;

		if (!wide || (used && used + JOIN + wide > width))
			continue;
		fprintf(to, "%*s%s", used ? JOIN : 0, "", texts[i]);
		used += wide + (used ? JOIN : 0);
	}
	if (fclose(to))
		return NULL;
	cell = layout_cell(joined, width, false, utf8);
	free(joined);
	return cell;
}
