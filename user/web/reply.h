/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is answered to a request, before it is HTTP. */
#ifndef KPHI_WEB_REPLY_H
#define KPHI_WEB_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/output.h"

struct page;

struct reply {
	unsigned int status; /* of HTTP; 0: not yet said */
	const char *type; /* of the content */
	char *body; /* from malloc() */
	size_t length;
	const char *allow; /* 405: the methods that there are */
	const struct page *page; /* instead of a body: bytes that stay */
	bool is_stream; /* instead of a body: what comes */
	bool is_common; /* whoever asks the same in the next moment may get the same */
};

/* A body that is being written. */
struct document {
	FILE *stream; /* NULL: there is no memory */
	char *text;
	size_t length;
};

void document_begin(struct document *d);

/* The text, to be freed, and its length; NULL if there was no memory for it. */
char *document_end(struct document *d, size_t *length);

/* The same in JSON. `out` may be NULL afterwards: then json_end() is owed all the same, and nothing else. */
struct json_document {
	struct document document;
	struct out *out;
};

bool json_begin(struct json_document *d);
char *json_end(struct json_document *d, size_t *length);

/* Ends the document as the body of a reply; 503 if there was no memory. */
void reply_json(struct reply *r, struct json_document *d);
void reply_document(struct reply *r, const char *type, struct document *d);

/* {"error": "..."} */
void reply_error(struct reply *r, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void reply_clear(struct reply *r);

#endif
