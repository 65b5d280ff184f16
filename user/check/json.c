// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/parse.h"

static const char *type_name(enum json_type type)
{
	switch (type) {
	case json_type_array:
		return "an array";
	case json_type_object:
		return "an object";
	case json_type_null:
		return "null";
	case json_type_boolean:
		return "true or false";
	case json_type_string:
		return "a string";
	default:
		return "a number";
	}
}

static uint32_t line_of(const struct document *d, size_t offset)
{
	uint32_t line = d->line;

	for (size_t i = 0; i < offset && i < d->size; i++)
		line += d->text[i] == '\n';
	return line;
}

static size_t skip_space(const struct document *d, size_t at)
{
	while (at < d->size && strchr(" \t\r\n", d->text[at]) && d->text[at])
		at++;
	return at;
}

/* Why json-c did not take it, and where. */
static int explain(const struct json *j, struct json_tokener *tokener)
{
	enum json_tokener_error error = json_tokener_get_error(tokener);
	uint32_t line = line_of(j->document, json_tokener_get_parse_end(tokener));

	if (error == json_tokener_error_depth)
		return refuse(-EINVAL, j->why, j->size,
			      "line %u: more than %d containers in one another are not read", line,
			      JSON_DEPTH);
	if (error == json_tokener_continue || error == json_tokener_error_parse_eof)
		return refuse(-EINVAL, j->why, j->size, "line %u: the JSON is cut off here",
			      line_of(j->document, j->document->size));
	return refuse(-EINVAL, j->why, j->size, "line %u: this is no JSON: %s", line,
		      error == json_tokener_success ? "something follows its end"
						    : json_tokener_error_desc(error));
}

int json_open(struct json *j, const struct document *d, enum json_type type, char *why, size_t size)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	size_t end;
	int err = 0;

	*j = (struct json){.document = d, .why = why, .size = size};
	if (!tokener)
		return refuse(-ENOMEM, why, size, "line %u: no memory", d->line);
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	j->root = json_tokener_parse_ex(tokener, d->text, (int)d->size);
	end = skip_space(d, json_tokener_get_parse_end(tokener));
	if (json_tokener_get_error(tokener) != json_tokener_success || end != d->size)
		err = explain(j, tokener);
	else if (!json_object_is_type(j->root, type))
		err = refuse(-EINVAL, why, size, "line %u: the document is %s and not %s", d->line,
			     type_name(json_object_get_type(j->root)), type_name(type));
	json_tokener_free(tokener);
	return err;
}

void json_close(struct json *j)
{
	json_object_put(j->root);
	j->root = NULL;
}

/* --- where an element begins; the text is known to be good JSON --- */

/* The end of the string that begins at `at`. */
static size_t skip_string(const struct document *d, size_t at)
{
	for (at++; at < d->size && d->text[at] != '"'; at++)
		at += d->text[at] == '\\';
	return at + 1;
}

/* The end of the value that begins at `at`: the comma or bracket behind it. */
static size_t skip_value(const struct document *d, size_t at)
{
	uint32_t depth = 0;

	while (at < d->size) {
		char c = d->text[at];

		if (c == '"') {
			at = skip_string(d, at);
			continue;
		}
		if (!depth && (c == ',' || c == ']' || c == '}'))
			break;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		at++;
	}
	return at;
}

/* Behind the bracket that opens the array under `key` of the object at the root; of several the last, as
 * json-c takes it. d->size: not found. */
static size_t find_array(const struct document *d, const char *key)
{
	size_t at = skip_space(d, 0), found = d->size, length = key ? strlen(key) : 0;

	if (!key)
		return at + 1;
	while (at < d->size && d->text[at] != '"')
		at++;
	while (at < d->size && d->text[at] == '"') {
		size_t begin = at + 1, value;

		at = skip_string(d, at);
		value = skip_space(d, skip_space(d, at) + 1);
		if (at - 1 - begin == length && !memcmp(d->text + begin, key, length))
			found = value + 1;
		at = skip_space(d, skip_value(d, value) + 1);
	}
	return found;
}

int json_each(const struct json *j, const char *key, bool required,
	      int (*take)(const struct json_item *item, void *context), void *context)
{
	const struct document *d = j->document;
	struct json_item item = {.json = j, .line = d->line};
	struct json_object *array = j->root;
	size_t at = find_array(d, key), counted = 0, length;

	if (key && !json_object_object_get_ex(j->root, key, &array) && required)
		return refuse(-EINVAL, j->why, j->size, "line %u: the object has no \"%s\"", d->line, key);
	if (!array)
		return 0;
	if (!json_object_is_type(array, json_type_array))
		return refuse(-EINVAL, j->why, j->size, "line %u: \"%s\" is no array", d->line, key);
	length = json_object_array_length(array);
	for (size_t i = 0; i < length; i++) {
		int err;

		at = skip_space(d, at);
		for (; counted < at && counted < d->size; counted++)
			item.line += d->text[counted] == '\n';
		item.object = json_object_array_get_idx(array, i);
		item.number = (uint32_t)i + 1;
		if (!json_object_is_type(item.object, json_type_object))
			return json_wrong(&item, "it is %s", type_name(json_object_get_type(item.object)));
		err = take(&item, context);
		if (err)
			return err;
		at = skip_value(d, at) + 1;
	}
	return 0;
}

/* --- values --- */

int json_wrong(const struct json_item *item, const char *format, ...)
{
	char reason[WHY_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return refuse(-EINVAL, item->json->why, item->json->size, "line %u: object %u: %s", item->line,
		      item->number, reason);
}

int json_text(const struct json_item *item, const char *key, bool required, const char **text)
{
	struct json_object *value = NULL;
	enum json_type type;
	size_t length;

	*text = NULL;
	if (!json_object_object_get_ex(item->object, key, &value) || !value)
		return required ? json_wrong(item, "\"%s\" is missing", key) : 0;
	type = json_object_get_type(value);
	if (type != json_type_string && type != json_type_int && type != json_type_double)
		return json_wrong(item, "\"%s\" is %s", key, type_name(type));
	*text = json_object_get_string(value);
	length = strlen(*text);
	if (type == json_type_string && length != (size_t)json_object_get_string_len(value))
		return json_wrong(item, "\"%s\" has a zero in it", key);
	if (length >= CLAIM_NAME)
		return json_wrong(item, "\"%s\" is longer than %d bytes", key, CLAIM_NAME - 1);
	return required && !length ? json_wrong(item, "\"%s\" is empty", key) : 0;
}
