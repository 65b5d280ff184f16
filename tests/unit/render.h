/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an output call says, as a string, and two judges of it that are not ours. */
#ifndef KPHI_TESTS_UNIT_RENDER_H
#define KPHI_TESTS_UNIT_RENDER_H

#include "io/output.h"

#include <iconv.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const enum out_mode modes[] = {OUT_TEXT, OUT_JSON, OUT_PRETTY};

/* What `say` says, to be freed. */
static inline char *render(enum out_mode mode, void (*say)(struct out *o, const void *context),
			   const void *context)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct out *o = out_new(stream, mode);

	say(o, context);
	assert_int_equal(out_finish(o), 0);
	fclose(stream);
	assert_int_equal(strlen(text), size);
	return text;
}

static inline void assert_rendered(enum out_mode mode, void (*say)(struct out *o, const void *context),
				   const void *context, const char *expected)
{
	char *text = render(mode, say, context);

	assert_string_equal(text, expected);
	free(text);
}

static inline void assert_utf8(const char *text)
{
	size_t in_left = strlen(text), out_left = 4 * in_left + 4;
	char *in = (char *)(uintptr_t)text, *wide = malloc(out_left), *out = wide;
	iconv_t judge = iconv_open("UCS-4LE", "UTF-8");

	assert_true(judge != (iconv_t)-1);
	assert_true(iconv(judge, &in, &in_left, &out, &out_left) != (size_t)-1);
	assert_int_equal(in_left, 0);
	iconv_close(judge);
	free(wide);
}

/* Exactly one strict document in valid UTF-8 and then a newline. The caller puts it. */
static inline struct json_object *parsed(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document;
	size_t size = strlen(text);

	assert_true(size > 0 && text[size - 1] == '\n');
	assert_utf8(text);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	document = json_tokener_parse_ex(tokener, text, (int)size - 1);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	assert_int_equal(json_tokener_get_parse_end(tokener), size - 1);
	json_tokener_free(tokener);
	return document;
}

static inline size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#endif
