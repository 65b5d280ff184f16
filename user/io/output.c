// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/output.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "io/table.h"
#include "io/utf8.h"

#define DEPTH_MAX 16
#define INDENT    2

enum container { OBJECT, ARRAY, TABLE, ROW };

struct frame {
	enum container kind;
	bool filled; /* has got its first member: the next one needs a comma */
};

struct out {
	FILE *stream;
	enum out_mode mode;
	int error; /* the first */
	bool begun; /* the document has its container */
	bool mute; /* JSON: stdout holds an error document and must not get another */
	bool said, gap; /* text: a line since the last gap; an empty line is due before the next one */
	unsigned int depth;
	struct frame frames[DEPTH_MAX];
	struct table *table; /* text: the outermost open table */
	unsigned int table_depth;
};

/* stdout is one for the whole process, and so is what it has got. */
static bool stdout_begun, stdout_refused;

struct out *out_new(FILE *stream, enum out_mode mode)
{
	struct out *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->stream = stream;
	o->mode = mode;
	return o;
}

static bool is_json(const struct out *o)
{
	return o->mode != OUT_TEXT;
}

/* The innermost open container. */
static struct frame *top(struct out *o)
{
	assert(o->depth);
	return &o->frames[o->depth - 1];
}

static bool is_object(enum container kind)
{
	return kind == OBJECT || kind == ROW;
}

/* errno is of use only right after the write that failed, so this is called after each. */
static void note_error(struct out *o)
{
	if (!o->error && ferror(o->stream))
		o->error = errno ? -errno : -EIO;
}

/* --- JSON --- */

static void json_newline(struct out *o)
{
	if (o->mode == OUT_PRETTY)
		fprintf(o->stream, "\n%*s", (int)(o->depth * INDENT), "");
}

/*
 * json-c escapes what JSON demands and passes other bytes through. Those that are no UTF-8 would make the
 * document invalid, and DEL and C1 would reach the terminal; both can occur only inside strings, so escaping
 * them in the serialised text is sound.
 */
static void json_write(struct out *o, const char *text, size_t size)
{
	size_t length;
	uint32_t code;

	for (size_t at = 0; at < size; at += length) {
		length = utf8_decode(text + at, size - at, &code);
		if (!length) {
			fputs("\\ufffd", o->stream);
			length = 1;
		} else if (utf8_is_control(code)) {
			fprintf(o->stream, "\\u%04" PRIx32, code);
		} else {
			fwrite(text + at, 1, length, o->stream);
		}
	}
}

/* Writes and frees a scalar; NULL means that there was no memory for it. */
static void json_scalar(struct out *o, struct json_object *value)
{
	const char *text = NULL;
	size_t size;

	if (value)
		text = json_object_to_json_string_length(
			value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	if (text)
		json_write(o, text, size);
	else if (!o->error)
		o->error = -ENOMEM;
	json_object_put(value);
}

/* The keys that we have chosen ourselves need no library to escape them; in a long list they are most of it.
 */
static void json_key(struct out *o, const char *key)
{
	assert(key);
	if (key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")]) {
		json_scalar(o, json_object_new_string(key));
		return;
	}
	putc('"', o->stream);
	fputs(key, o->stream);
	putc('"', o->stream);
}

/* What stands before a value: comma, line break, key. */
static void json_lead(struct out *o, const char *key)
{
	if (!o->depth)
		return;
	if (top(o)->filled)
		putc(',', o->stream);
	json_newline(o);
	if (is_object(top(o)->kind)) {
		json_key(o, key);
		fputs(o->mode == OUT_PRETTY ? ": " : ":", o->stream);
	}
}

static void json_fact(struct out *o, const char *key, struct json_object *value)
{
	if (o->mute) {
		json_object_put(value);
		return;
	}
	json_lead(o, key);
	json_scalar(o, value);
	top(o)->filled = true;
	note_error(o);
}

/* A value as it stands: null, true, false, a number. */
static void json_word(struct out *o, const char *key, const char *word)
{
	if (o->mute)
		return;
	json_lead(o, key);
	fputs(word, o->stream);
	top(o)->filled = true;
	note_error(o);
}

static void json_u64(struct out *o, const char *key, uint64_t value)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_word(o, key, text);
}

/* --- text --- */

/* An object's lines are indented once for every object around it. Rows do not count. */
static unsigned int text_indent(const struct out *o)
{
	unsigned int objects = 0;

	for (unsigned int i = 0; i < o->depth; i++)
		objects += o->frames[i].kind == OBJECT;
	return objects > 1 ? (objects - 1) * INDENT : 0;
}

static void text_gap(struct out *o)
{
	if (o->gap)
		putc('\n', o->stream);
	o->gap = false;
	o->said = true;
}

static void text_fact(struct out *o, const char *title, const char *text, enum table_cell kind)
{
	if (!title || o->error)
		return;
	if (o->table) {
		table_cell(o->table, title, text, kind);
		return;
	}
	text_gap(o);
	fprintf(o->stream, "%*s%s%s", (int)text_indent(o), "", title, *title ? ": " : "");
	utf8_print(o->stream, text, strlen(text), UTF8_VALUE);
	putc('\n', o->stream);
	note_error(o);
}

static void text_close_table(struct out *o)
{
	int error;

	if (!table_is_empty(o->table))
		text_gap(o);
	error = table_print(o->table, o->stream, text_indent(o));
	table_free(o->table);
	o->table = NULL;
	if (error && !o->error)
		o->error = error;
}

void out_text(struct out *o, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int size;

	assert(!o->table);
	if (is_json(o))
		return;
	va_start(ap, fmt);
	size = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (size < 0) {
		o->error = o->error ? o->error : -ENOMEM;
		return;
	}
	text_gap(o);
	utf8_print(o->stream, text, (size_t)size, UTF8_PROSE);
	free(text);
	note_error(o);
}

/* --- containers --- */

/* The same for both modes, so that what one of them would get wrong is seen in the other. */
static void check_place(struct out *o, const char *key)
{
	assert(key || !is_object(top(o)->kind));
	assert(top(o)->kind != TABLE);
}

static void begin(struct out *o)
{
	assert(!o->begun);
	o->begun = true;
	if (!is_json(o) || o->stream != stdout)
		return;
	o->mute = stdout_refused;
	stdout_begun = true;
}

/* An object that is an element of a list in text: something to put an empty line after. Rows have no such
 * lists. */
static bool is_element(struct out *o, enum container kind)
{
	return kind == OBJECT && !o->table && o->depth && top(o)->kind == ARRAY;
}

static void open_text(struct out *o, enum container kind)
{
	if (is_element(o, kind))
		o->said = false;
	if (kind != TABLE || o->table)
		return;
	o->table = table_new();
	o->table_depth = o->depth;
	if (!o->table && !o->error)
		o->error = -ENOMEM;
}

static void open_container(struct out *o, enum container kind, const char *key)
{
	assert(o->depth < DEPTH_MAX);
	if (kind == ROW)
		assert(top(o)->kind == TABLE);
	else if (o->depth)
		check_place(o, key);
	else
		begin(o);
	if (!is_json(o)) {
		open_text(o, kind);
	} else if (!o->mute) {
		json_lead(o, key);
		putc(is_object(kind) ? '{' : '[', o->stream);
		note_error(o);
	}
	if (o->depth)
		top(o)->filled = true;
	o->frames[o->depth++] = (struct frame){.kind = kind};
}

static void close_text(struct out *o, enum container kind)
{
	if (is_element(o, kind))
		o->gap |= o->said;
	else if (kind == ROW && o->table && o->depth == o->table_depth + 1)
		table_end_row(o->table);
	else if (kind == TABLE && o->table && o->depth == o->table_depth)
		text_close_table(o);
	note_error(o);
}

static void close_container(struct out *o, enum container kind)
{
	struct frame closed;

	assert(o->depth && top(o)->kind == kind);
	closed = o->frames[--o->depth];
	if (!is_json(o)) {
		close_text(o, kind);
		return;
	}
	if (o->mute)
		return;
	if (closed.filled)
		json_newline(o);
	putc(is_object(kind) ? '}' : ']', o->stream);
	note_error(o);
}

void out_open_object(struct out *o, const char *key)
{
	open_container(o, OBJECT, key);
}

void out_close_object(struct out *o)
{
	close_container(o, OBJECT);
}

void out_open_array(struct out *o, const char *key)
{
	open_container(o, ARRAY, key);
}

void out_close_array(struct out *o)
{
	close_container(o, ARRAY);
}

void out_open_table(struct out *o, const char *key)
{
	open_container(o, TABLE, key);
}

void out_open_row(struct out *o)
{
	open_container(o, ROW, NULL);
}

void out_close_row(struct out *o)
{
	close_container(o, ROW);
}

void out_close_table(struct out *o)
{
	close_container(o, TABLE);
}

/* --- facts --- */

void out_string(struct out *o, const char *key, const char *title, const char *value)
{
	check_place(o, key);
	if (!value)
		out_null(o, key, title);
	else if (is_json(o))
		json_fact(o, key, json_object_new_string(value));
	else
		text_fact(o, title, *value ? value : "-", TABLE_STRING);
}

void out_u64(struct out *o, const char *key, const char *title, uint64_t value)
{
	char text[FORMAT_SIZE];

	check_place(o, key);
	if (is_json(o)) {
		json_u64(o, key, value);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64, value);
	text_fact(o, title, text, TABLE_NUMBER);
}

void out_bool(struct out *o, const char *key, const char *title, bool value)
{
	check_place(o, key);
	if (is_json(o))
		json_word(o, key, value ? "true" : "false");
	else
		text_fact(o, title, value ? "yes" : "no", TABLE_STRING);
}

void out_duration(struct out *o, const char *key, const char *title, uint64_t ns)
{
	char text[FORMAT_SIZE];

	check_place(o, key);
	if (is_json(o))
		json_u64(o, key, ns);
	else
		text_fact(o, title, format_duration(ns, text), TABLE_NUMBER);
}

void out_q32(struct out *o, const char *key, const char *title, uint64_t q32)
{
	char text[FORMAT_SIZE];

	check_place(o, key);
	if (is_json(o))
		json_word(o, key, format_q32(q32, 6, text));
	else
		text_fact(o, title, format_q32(q32, 3, text), TABLE_NUMBER);
}

void out_bytes(struct out *o, const char *key, const char *title, uint64_t bytes)
{
	char text[FORMAT_SIZE];

	check_place(o, key);
	if (is_json(o))
		json_u64(o, key, bytes);
	else
		text_fact(o, title, format_bytes(bytes, text), TABLE_NUMBER);
}

void out_null(struct out *o, const char *key, const char *title)
{
	check_place(o, key);
	if (is_json(o))
		json_word(o, key, "null");
	else
		text_fact(o, title, "-", TABLE_MISSING);
}

/* --- the document --- */

int out_finish(struct out *o)
{
	int error;

	if (!o)
		return -ENOMEM;
	if (!o->begun)
		out_open_object(o, NULL);
	while (o->depth)
		close_container(o, top(o)->kind);
	if (is_json(o) && !o->mute)
		putc('\n', o->stream);
	note_error(o);
	if (fflush(o->stream) && !o->error)
		o->error = -errno;
	error = o->error;
	free(o);
	return error;
}

int out_error(enum out_mode mode, const char *message)
{
	FILE *to = stdout_begun ? stderr : stdout;
	struct out *o = out_new(to, to == stdout ? mode : OUT_JSON);
	int error;

	if (!o)
		return -ENOMEM;
	out_open_object(o, NULL);
	out_string(o, "error", NULL, message);
	error = out_finish(o);
	if (to == stdout)
		stdout_refused = true;
	return error;
}
