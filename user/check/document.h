/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From bytes as they come to documents, each of which one adapter reads; and from a document to its lines. */
#ifndef KPHI_CHECK_DOCUMENT_H
#define KPHI_CHECK_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCUMENT_MAX  (16U << 20) /* bytes: `nodetool gossipinfo` of 10,000 nodes is a half of it */
#define DOCUMENT_LINE 16384 /* of text that is read by lines, with the terminating zero */

/* Not zero-terminated, and any bytes. */
struct document {
	const char *text;
	size_t size;
	uint32_t line; /* number of its first line in the input, from 1 */
};

/* What ends a document when one comes after another. */
enum framing {
	FRAMING_WHOLE, /* the end of the input only */
	FRAMING_JSON, /* the end of a JSON array or object */
	FRAMING_LINE, /* the end of a line; empty ones are left out */
	FRAMING_TEXT, /* a form feed, a heading, and, where the source says so, an empty line */
};

/* How a source's text is cut into documents. */
struct frame {
	enum framing framing;
	bool empty_line; /* text: an empty line ends it */
	bool (*heading)(const char *line,
			size_t length); /* text: such a line begins a document; NULL: none does */
};

struct stream {
	struct frame frame;
	char *text;
	size_t used, room; /* bytes held */
	size_t at; /* where the next document begins */
	size_t scanned; /* up to here it has been looked at */
	uint32_t line; /* of the byte at `at` */
	uint32_t depth; /* JSON: open containers at `scanned` */
	bool in_string, escaped;
};

void stream_begin(struct stream *s, const struct frame *frame);
void stream_end(struct stream *s);

/* More bytes. 0, -ENOMEM, or -EMSGSIZE if that makes a document of more than DOCUMENT_MAX: throw it away. */
int stream_put(struct stream *s, const char *bytes, size_t size);

/*
 * The next document, if it is complete; it lasts until the next call. `ended`: what is there is all there is.
 * A JSON document that does not begin like one is a line long, so that the stream is found again behind it.
 */
bool stream_take(struct stream *s, bool ended, struct document *d);

/* Is there anything of a document, but not all of it? */
bool stream_is_pending(const struct stream *s);

/* Drops all that is held: after an -EMSGSIZE. */
void stream_drop(struct stream *s);

/* The lines of a document, one by one, each with a zero at its end and without carriage return. */
struct lines {
	const char *at, *end;
	uint32_t number; /* of the present line, from 1 */
	char text[DOCUMENT_LINE];
};

void lines_begin(struct lines *l, const struct document *d);

/* 1; 0 at the end; -EINVAL with a sentence for a line that is too long or has a zero in it. */
int lines_next(struct lines *l, char *why, size_t size);

/* Cuts the blanks off both ends. Returns where the text begins then. */
char *trim(char *text);

#endif
