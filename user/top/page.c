// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "top/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/layout.h"

void page_begin(struct page *p, uint32_t width, bool utf8)
{
	*p = (struct page){.width = width, .utf8 = utf8};
}

void page_free(struct page *p)
{
	for (uint32_t i = 0; i < p->lines; i++)
		free(p->line[i]);
	p->lines = 0;
}

static void add(struct page *p, bool heading, const char *text)
{
	char *cell = p->lines < PAGE_LINES ? layout_cell(text, p->width, false, p->utf8) : NULL;

	if (!cell)
		return;
	p->heading[p->lines] = heading;
	p->line[p->lines++] = cell;
}

static void vadd(struct page *p, bool heading, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	add(p, heading, text);
	free(text);
}

void page_add(struct page *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vadd(p, false, format, args);
	va_end(args);
}

void page_heading(struct page *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vadd(p, true, format, args);
	va_end(args);
}

/* So many bytes go on one line: whole words, unless a single one is too long. */
static size_t line_of_words(const struct page *p, const char *text)
{
	size_t fits = 0, size = strlen(text);

	for (size_t end = 1; end <= size; end++) {
		char *part;
		uint32_t wide;

		if (text[end] && text[end] != ' ')
			continue;
		part = strndup(text, end);
		wide = part ? layout_width(part, p->utf8) : 0;
		free(part);
		if (wide > p->width)
			break;
		fits = end;
	}
	if (fits)
		return fits;
	return strcspn(text, " ") ? strcspn(text, " ") : size;
}

void page_wrap(struct page *p, const char *text)
{
	while (*text) {
		size_t bytes = line_of_words(p, text);

		page_add(p, "%.*s", (int)bytes, text);
		text += bytes;
		text += strspn(text, " ");
	}
}

void page_beside(struct page *p, const struct page *left, const struct page *right)
{
	for (uint32_t i = 0; i < left->lines || i < right->lines; i++) {
		const char *a = i < left->lines ? left->line[i] : "",
			   *b = i < right->lines ? right->line[i] : "";

		page_add(p, "%s%*s  %s", a, *a ? 0 : (int)left->width, "", b);
	}
}
