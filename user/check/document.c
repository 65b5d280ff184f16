// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/parse.h"

/* --- a stream --- */

void stream_begin(struct stream *s, const struct frame *frame)
{
	*s = (struct stream){.frame = *frame, .line = 1};
}

void stream_end(struct stream *s)
{
	free(s->text);
	s->text = NULL;
}

static uint32_t count_newlines(const char *text, size_t size)
{
	uint32_t n = 0;

	for (const char *end = text + size; text < end && (text = memchr(text, '\n', (size_t)(end - text)));
	     text++)
		n++;
	return n;
}

/* The document at `at` has been read, or is none: what follows begins afresh. */
static void pass(struct stream *s, size_t to)
{
	s->line += count_newlines(s->text + s->at, to - s->at);
	s->at = s->scanned = to;
	s->depth = 0;
	s->in_string = s->escaped = false;
}

int stream_put(struct stream *s, const char *bytes, size_t size)
{
	if (s->at) {
		s->used -= s->at;
		s->scanned -= s->at;
		memmove(s->text, s->text + s->at, s->used);
		s->at = 0;
	}
	if (s->used + size > DOCUMENT_MAX)
		return -EMSGSIZE;
	if (s->used + size > s->room) {
		size_t room = 2 * (s->used + size);
		char *larger = realloc(s->text, room);

		if (!larger)
			return -ENOMEM;
		s->text = larger;
		s->room = room;
	}
	if (size)
		memcpy(s->text + s->used, bytes, size);
	s->used += size;
	return 0;
}

void stream_drop(struct stream *s)
{
	if (s->text)
		pass(s, s->used);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool is_blank_line(const char *line, size_t length)
{
	while (length && is_blank(line[length - 1]))
		length--;
	return !length;
}

bool stream_is_pending(const struct stream *s)
{
	return !is_blank_line(s->text + s->at, s->used - s->at);
}

/* Where the document ends that began before `scanned`; 0: not yet. */
static size_t find_json(struct stream *s)
{
	for (; s->scanned < s->used; s->scanned++) {
		char c = s->text[s->scanned];

		if (s->in_string) {
			if (s->escaped)
				s->escaped = false;
			else if (c == '\\')
				s->escaped = true;
			else if (c == '"')
				s->in_string = false;
		} else if (c == '"') {
			s->in_string = true;
		} else if (c == '{' || c == '[') {
			s->depth++;
		} else if ((c == '}' || c == ']') && --s->depth == 0) {
			return ++s->scanned;
		}
	}
	return 0;
}

/* The end of the line at `from`, newline included; 0: it is not there yet. */
static size_t line_end(const struct stream *s, size_t from)
{
	const char *end = memchr(s->text + from, '\n', s->used - from);

	return end ? (size_t)(end - s->text) + 1 : 0;
}

/* Is it in front of this line that the document ends? `scanned` stands at whole lines only. */
static size_t find_text(struct stream *s)
{
	size_t end;

	for (; (end = line_end(s, s->scanned)); s->scanned = end) {
		const char *line = s->text + s->scanned;
		size_t length = end - s->scanned - 1;

		if (memchr(line, '\f', length))
			return end;
		if (s->scanned == s->at)
			continue;
		if (s->frame.empty_line && is_blank_line(line, length))
			return end;
		if (s->frame.heading && s->frame.heading(line, length))
			return s->scanned;
	}
	return 0;
}

static size_t find_end(struct stream *s)
{
	char first = s->text[s->at];

	switch (s->frame.framing) {
	case FRAMING_WHOLE:
		return 0;
	case FRAMING_TEXT:
		return find_text(s);
	case FRAMING_JSON:
		if (first == '{' || first == '[')
			return find_json(s);
		return line_end(s, s->at);
	case FRAMING_LINE:
		return line_end(s, s->at);
	}
	return 0;
}

/* What stands before a document: blanks, though in text only whole lines of them, because columns matter. */
static void skip_blanks(struct stream *s)
{
	size_t at = s->at;

	while (at < s->used && is_blank(s->text[at]))
		at++;
	if (s->frame.framing == FRAMING_TEXT || s->frame.framing == FRAMING_WHOLE)
		while (at > s->at && s->text[at - 1] != '\n' && s->text[at - 1] != '\f')
			at--;
	if (at > s->scanned)
		pass(s, at);
}

bool stream_take(struct stream *s, bool ended, struct document *d)
{
	size_t end;

	if (!s->text)
		return false;
	if (s->scanned == s->at)
		skip_blanks(s);
	if (s->at == s->used)
		return false;
	end = find_end(s);
	if (!end && (!ended || !stream_is_pending(s)))
		return false;
	end = end ? end : s->used;
	*d = (struct document){.text = s->text + s->at, .size = end - s->at, .line = s->line};
	pass(s, end);
	return true;
}

/* --- lines --- */

void lines_begin(struct lines *l, const struct document *d)
{
	l->at = d->text;
	l->end = d->text + d->size;
	l->number = d->line - 1;
	*l->text = '\0';
}

int lines_next(struct lines *l, char *why, size_t size)
{
	size_t left = (size_t)(l->end - l->at), length;
	const char *newline;

	if (!left)
		return 0;
	newline = memchr(l->at, '\n', left);
	length = newline ? (size_t)(newline - l->at) : left;
	l->number++;
	if (length >= sizeof(l->text))
		return refuse(-EINVAL, why, size,
			      "line %u: it is %zu bytes long, and %zu are the most that is read", l->number,
			      length, sizeof(l->text) - 1);
	if (memchr(l->at, '\0', length))
		return refuse(-EINVAL, why, size, "line %u: a zero byte: this is no text", l->number);
	memcpy(l->text, l->at, length);
	l->text[length] = '\0';
	l->text[strcspn(l->text, "\r")] = '\0';
	l->at += length + (newline ? 1 : 0);
	return 1;
}

char *trim(char *text)
{
	size_t length;

	while (is_blank(*text))
		text++;
	length = strlen(text);
	while (length && is_blank(text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}
