// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/saved_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/parse.h"
#include "io/saved.h"

int saved_wrong(const struct saved_line *l, const char *format, ...)
{
	char reason[WHY_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return refuse(-EINVAL, l->why, l->why_size, "line %u: %s", l->number, reason);
}

int saved_number(const struct saved_line *l, const char *key, bool required, uint64_t max, uint64_t *value)
{
	struct json_object *found;

	if (!json_object_object_get_ex(l->object, key, &found))
		return required ? saved_wrong(l, "\"%s\" is missing", key) : 0;
	if (!json_object_is_type(found, json_type_int) || json_object_get_int64(found) < 0)
		return saved_wrong(l, "\"%s\" is no whole number", key);
	if (json_object_get_uint64(found) > max)
		return saved_wrong(l, "\"%s\" is above %" PRIu64, key, max);
	*value = json_object_get_uint64(found);
	return 0;
}

int saved_string(const struct saved_line *l, const char *key, const char **value)
{
	struct json_object *found;

	*value = NULL;
	if (!json_object_object_get_ex(l->object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_string) ||
	    strlen(json_object_get_string(found)) != (size_t)json_object_get_string_len(found))
		return saved_wrong(l, "\"%s\" is no text", key);
	*value = json_object_get_string(found);
	return 0;
}

int saved_only(const struct saved_line *l, const char *const *keys)
{
	json_object_object_foreach(l->object, key, value)
	{
		const char *const *known = keys;

		(void)value;
		while (*known && strcmp(*known, key) != 0)
			known++;
		if (!*known)
			return saved_wrong(l, "\"%.60s\" is no key of version %d", key, SAVED_VERSION);
	}
	return 0;
}

void saved_add_string(struct json_object *line, const char *key, const char *value)
{
	json_object_object_add(line, key, json_object_new_string(value));
}

void saved_add_number(struct json_object *line, const char *key, uint64_t value)
{
	json_object_object_add(line, key, json_object_new_uint64(value));
}
