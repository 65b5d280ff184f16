// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "io/utf8.h"

static struct {
	enum out_mode mode;
	const char *program;
	bool debug;
} edge = {OUT_TEXT, "kphi", false};

void error_setup(enum out_mode mode, const char *program)
{
	edge.mode = mode;
	edge.program = program;
}

void error_set_debug(bool on)
{
	edge.debug = on;
}

static void to_stderr(const char *head, const char *text)
{
	fprintf(stderr, "%s: ", head);
	utf8_print(stderr, text, strlen(text), UTF8_PROSE);
	putc('\n', stderr);
}

/* An error that stdout does not take, because it is full or closed, must not be lost. */
static void say_error(const char *text)
{
	if (edge.mode == OUT_TEXT || out_error(edge.mode, text))
		to_stderr("Error", text);
}

static void say_warning(const char *text)
{
	to_stderr("Warning", text);
}

static void say_debug(const char *text)
{
	to_stderr(edge.program, text);
}

/* Without memory for the sentence, the bare format still tells most of it. */
static void say(void (*how)(const char *text), const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0) {
		how(fmt);
		return;
	}
	how(text);
	free(text);
}

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(say_error, fmt, ap);
	va_end(ap);
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(say_warning, fmt, ap);
	va_end(ap);
}

void error_debug(const char *fmt, ...)
{
	va_list ap;

	if (!edge.debug)
		return;
	va_start(ap, fmt);
	say(say_debug, fmt, ap);
	va_end(ap);
}
