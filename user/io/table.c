// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/utf8.h"

#define COLUMNS_MAX 64
#define GUTTER      2 /* blanks between columns */

struct column {
	char *title;
	size_t width;
	bool decided, right; /* alignment */
};

/*
 * `cells` is a memory stream of rows; a row is its cells and a zero byte, a cell is the number of its column,
 * counted from 1, its text, already escaped, and a zero byte.
 */
struct table {
	struct column columns[COLUMNS_MAX];
	unsigned int n;
	FILE *cells;
	char *bytes;
	size_t size;
	unsigned int open; /* column of the cell being written, counted from 1; 0: none */
	size_t open_width;
	bool lost; /* a column found no memory */
};

struct table *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->cells = open_memstream(&t->bytes, &t->size);
	if (!t->cells) {
		free(t);
		return NULL;
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	if (t->cells)
		fclose(t->cells);
	free(t->bytes);
	for (unsigned int i = 0; i < t->n; i++)
		free(t->columns[i].title);
	free(t);
}

/* The number of the column, counted from 1; 0: no memory. Rows repeat themselves: the next column is tried
 * first. */
static unsigned int column_of(struct table *t, const char *title)
{
	struct column *column;

	for (unsigned int i = 0; i < t->n; i++) {
		unsigned int at = (t->open + i) % t->n;

		if (!strcmp(t->columns[at].title, title))
			return at + 1;
	}
	assert(t->n < COLUMNS_MAX);
	column = &t->columns[t->n];
	column->title = strdup(title);
	if (!column->title)
		return 0;
	column->width = utf8_width(title, strlen(title));
	return ++t->n;
}

static void end_cell(struct table *t)
{
	struct column *column;

	if (!t->open)
		return;
	column = &t->columns[t->open - 1];
	if (t->open_width > column->width)
		column->width = t->open_width;
	putc(0, t->cells);
	t->open = 0;
}

void table_cell(struct table *t, const char *title, const char *text, enum table_cell kind)
{
	unsigned int number = column_of(t, title);
	struct column *column;

	if (!number) {
		t->lost = true;
		return;
	}
	column = &t->columns[number - 1];
	if (!column->decided && kind != TABLE_MISSING) {
		column->decided = true;
		column->right = kind == TABLE_NUMBER;
	}
	if (number == t->open) {
		putc(',', t->cells);
		t->open_width++;
	} else {
		end_cell(t);
		putc((int)number, t->cells);
		t->open = number;
		t->open_width = 0;
	}
	t->open_width += utf8_print(t->cells, text, strlen(text), UTF8_VALUE);
}

void table_end_row(struct table *t)
{
	end_cell(t);
	putc(0, t->cells);
}

static void pad(FILE *to, size_t n)
{
	while (n--)
		putc(' ', to);
}

/* One line. Padding is written only when something follows it, so that no line ends in blanks. */
static void print_row(const struct table *t, const char *const *cells, FILE *to, unsigned int indent)
{
	size_t owed = indent;

	for (unsigned int i = 0; i < t->n; i++) {
		const struct column *column = &t->columns[i];
		const char *cell = cells[i] ? cells[i] : "-";
		size_t spare = column->width - utf8_width(cell, strlen(cell));

		pad(to, owed + (column->right ? spare : 0));
		fputs(cell, to);
		owed = GUTTER + (column->right ? 0 : spare);
	}
	putc('\n', to);
}

bool table_is_empty(const struct table *t)
{
	return !t->n;
}

int table_print(struct table *t, FILE *to, unsigned int indent)
{
	const char *cells[COLUMNS_MAX];
	const char *at;

	if (fflush(t->cells) || t->lost)
		return -ENOMEM;
	if (!t->n)
		return 0;
	for (unsigned int i = 0; i < t->n; i++)
		cells[i] = t->columns[i].title;
	print_row(t, cells, to, indent);
	for (at = t->bytes; at < t->bytes + t->size; at++) {
		memset(cells, 0, sizeof(cells));
		for (; *at; at += strlen(at) + 1)
			cells[*at - 1] = at + 1;
		print_row(t, cells, to, indent);
	}
	return 0;
}
