// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/text.h"

#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static void add(struct text *t, const char *format, va_list args)
{
	size_t length = strlen(t->at);

	vsnprintf(t->at + length, t->size - length, format, args);
}

void text_add(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(t, format, args);
	va_end(args);
}

void text_vjoin(struct text *t, const char *between, const char *format, va_list args)
{
	if (*t->at)
		text_add(t, "%s", between);
	add(t, format, args);
}

void text_join(struct text *t, const char *between, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vjoin(t, between, format, args);
	va_end(args);
}
