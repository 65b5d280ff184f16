// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/reply.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define JSON         "application/json"
#define SENTENCE_MAX 2048

void document_begin(struct document *d)
{
	*d = (struct document){0};
	d->stream = open_memstream(&d->text, &d->length);
}

char *document_end(struct document *d, size_t *length)
{
	bool bad = !d->stream || ferror(d->stream);

	if (d->stream && fclose(d->stream))
		bad = true;
	if (bad) {
		free(d->text);
		return NULL;
	}
	*length = d->length;
	return d->text;
}

bool json_begin(struct json_document *d)
{
	document_begin(&d->document);
	d->out = d->document.stream ? out_new(d->document.stream, OUT_JSON) : NULL;
	return d->out;
}

char *json_end(struct json_document *d, size_t *length)
{
	int err = out_finish(d->out);
	char *text = document_end(&d->document, length);

	if (!err)
		return text;
	free(text);
	return NULL;
}

static void reply_text(struct reply *r, const char *type, char *text, size_t length)
{
	if (!text) {
		reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "there is no memory for the answer");
		return;
	}
	*r = (struct reply){.status = MHD_HTTP_OK, .type = type, .length = length};
	r->body = text;
}

void reply_json(struct reply *r, struct json_document *d)
{
	size_t length = 0;
	char *text = json_end(d, &length);

	reply_text(r, JSON, text, length);
}

void reply_document(struct reply *r, const char *type, struct document *d)
{
	size_t length = 0;
	char *text = document_end(d, &length);

	reply_text(r, type, text, length);
}

void reply_clear(struct reply *r)
{
	free(r->body);
	*r = (struct reply){0};
}

/* Without memory for the sentence the status has to do. */
void reply_error(struct reply *r, unsigned int status, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	struct json_document d;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	*r = (struct reply){.status = status, .type = JSON};
	if (json_begin(&d)) {
		out_open_object(d.out, NULL);
		out_string(d.out, "error", NULL, sentence);
		out_close_object(d.out);
	}
	r->body = json_end(&d, &r->length);
}
