/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A JSON document with the line numbers that json-c does not keep: for those who have to say what is wrong
 * where. */
#ifndef KPHI_CHECK_JSON_H
#define KPHI_CHECK_JSON_H

#include <json-c/json.h>

#include "check/claim.h"
#include "check/document.h"

#define JSON_DEPTH 32 /* containers in one another; deeper ones are refused */

struct json {
	const struct document *document;
	struct json_object *root;
	char *why;
	size_t size;
};

/* One object of an array of the document. */
struct json_item {
	const struct json *json;
	struct json_object *object;
	uint32_t line; /* where it begins, from 1 */
	uint32_t number; /* in its array, from 1 */
};

/*
 * Reads the document, which has to be one value of type `type` and nothing else. 0, or -EINVAL or -ENOMEM
 * with a sentence. json_close() is owed in any case.
 */
int json_open(struct json *j, const struct document *d, enum json_type type, char *why, size_t size);
void json_close(struct json *j);

/*
 * Calls take() for each element, all of which must be objects, of the array at the root (key NULL) or under
 * `key` of the object there, until one returns an error. Null is an empty array, and so is a key that is
 * missing unless it is required.
 */
int json_each(const struct json *j, const char *key, bool required,
	      int (*take)(const struct json_item *item, void *context), void *context);

/* -EINVAL with "line N: object N: " and the sentence. */
int json_wrong(const struct json_item *item, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The text of a key, NULL if it is missing or null; a number is as it was written. -EINVAL if it is of
 * another kind, longer than CLAIM_NAME, has a zero in it, or is missing or empty though required.
 */
int json_text(const struct json_item *item, const char *key, bool required, const char **text);

#endif
