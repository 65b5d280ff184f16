// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/stream.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/clock.h"
#include "web/reply.h"
#include "web/say.h"

#define BLOCK_SIZE (16 * 1024)

struct stream {
	struct streams *all;
	struct MHD_Connection *connection;
	struct visitor *visitor;
	struct packet *current; /* on its way */
	size_t sent; /* of it */
	uint64_t roster_number, frame_number; /* of the last ones that it has got */
	uint64_t event_number; /* of the next one that it is to get */
	uint64_t moved_ns; /* when it last took something */
	bool suspended, ending;
};

/* --- what is sent --- */

/* "event: NAME\ndata: TEXT\n\n" as a packet; the text is freed. `number` 0: it has none. */
static struct packet *as_event(const char *name, uint64_t number, char *text, size_t length)
{
	struct document d;
	char *whole;
	size_t size = 0;

	if (!text)
		return NULL;
	while (length && text[length - 1] == '\n')
		length--;
	document_begin(&d);
	if (d.stream) {
		fprintf(d.stream, "event: %s\n", name);
		if (number)
			fprintf(d.stream, "id: %llu\n", (unsigned long long)number);
		fputs("data: ", d.stream);
		fwrite(text, 1, length, d.stream);
		fputs("\n\n", d.stream);
	}
	free(text);
	whole = document_end(&d, &size);
	return packet_new(whole, size);
}

char *stream_roster(const struct look *look, const struct store *store, size_t *length)
{
	struct json_document d;

	if (json_begin(&d)) {
		out_open_object(d.out, NULL);
		out_u64(d.out, "roster", NULL, look->roster);
		out_open_table(d.out, "peers");
		for (uint32_t i = 0; i < look->n; i++) {
			out_open_row(d.out);
			say_who(d.out, store, &look->peer[i]);
			out_close_row(d.out);
		}
		out_close_table(d.out);
		out_close_object(d.out);
	}
	return json_end(&d, length);
}

char *stream_frame(const struct look *look, size_t *length)
{
	struct json_document d;

	if (json_begin(&d)) {
		out_open_object(d.out, NULL);
		out_u64(d.out, "roster", NULL, look->roster);
		out_u64(d.out, "now_ns", NULL, look->now_ns);
		out_u64(d.out, "realtime_ns", NULL, look->realtime_ns);
		out_u64(d.out, "column", NULL, look->now_ns / 1000000000);
		say_cells(d.out, look->cell, look->n);
		out_bool(d.out, "stalled", NULL, look->stalled);
		out_u64(d.out, "held", NULL, look->held);
		out_u64(d.out, "blind", NULL, look->blind);
		out_u64(d.out, "suspect", NULL, look->suspect);
		out_bool(d.out, "daemon", NULL, look->daemon_lives);
		out_bool(d.out, "store", NULL, look->has_store);
		out_close_object(d.out);
	}
	return json_end(&d, length);
}

/* --- one reader --- */

static void wake(struct stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	MHD_resume_connection(s->connection);
}

static void end(struct stream *s)
{
	if (s->ending)
		return;
	s->ending = true;
	limits_send_away(s->all->limits, s->visitor);
	wake(s);
}

/* The next event, which the news keep until it is read; a reader who is later than that has missed some. */
static struct packet *next_event(struct stream *s)
{
	const struct news *news = s->all->news;
	const struct packet *event;
	struct packet *p;

	if (s->event_number > news_last(news))
		return NULL;
	if (s->event_number != news_next(news, s->event_number - 1)) {
		end(s);
		return NULL;
	}
	event = news_at(news, s->event_number);
	p = as_event("event", s->event_number, strndup(event->text, event->length), event->length);
	s->event_number += p != NULL;
	return p;
}

/* The roster goes before the frames that are in its order. */
static struct packet *next_packet(struct stream *s)
{
	struct streams *all = s->all;
	struct packet *event;

	if (all->roster && s->roster_number != all->roster_number) {
		s->roster_number = all->roster_number;
		all->roster->holders++;
		return all->roster;
	}
	event = next_event(s);
	if (event)
		return event;
	if (all->frame && s->frame_number != all->frame_number) {
		s->frame_number = all->frame_number;
		all->frame->holders++;
		return all->frame;
	}
	return NULL;
}

/* The next bytes; 0 if there are none, or none any more. */
static size_t put_bytes(struct stream *s, char *buffer, size_t size)
{
	size_t part;

	if (!s->current) {
		s->current = next_packet(s);
		s->sent = 0;
	}
	if (!s->current || s->ending)
		return 0;
	part = s->current->length - s->sent;
	if (part > size)
		part = size;
	memcpy(buffer, s->current->text + s->sent, part);
	s->sent += part;
	if (s->sent == s->current->length) {
		packet_put(s->current);
		s->current = NULL;
	}
	return part;
}

/* What libmicrohttpd asks for when the reader has room: as much as there is, for it asks once a turn. */
static ssize_t give(void *context, uint64_t position, char *buffer, size_t size)
{
	struct stream *s = context;
	size_t used = 0, part = 1;

	(void)position;
	while (part && used < size) {
		part = put_bytes(s, buffer + used, size - used);
		used += part;
	}
	if (s->ending)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!used) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	s->moved_ns = clock_monotonic_ns();
	return (ssize_t)used;
}

static void gone(void *context)
{
	struct stream *s = context;
	struct streams *all = s->all;

	for (uint32_t i = 0; i < all->count; i++) {
		if (all->stream[i] != s)
			continue;
		all->stream[i] = all->stream[--all->count];
		break;
	}
	packet_put(s->current);
	free(s);
}

struct MHD_Response *stream_new(struct streams *all, struct MHD_Connection *connection,
				struct visitor *visitor, uint64_t after, uint64_t now_ns)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct MHD_Response *response;

	if (!s)
		return NULL;
	*s = (struct stream){
		.all = all,
		.connection = connection,
		.visitor = visitor,
		.moved_ns = now_ns,
		.event_number = after ? news_next(all->news, after) : news_last(all->news) + 1,
	};
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, give, s, gone);
	if (!response) {
		free(s);
		return NULL;
	}
	all->stream[all->count++] = s;
	limits_stream(all->limits, visitor, now_ns);
	return response;
}

/* --- all of them --- */

bool streams_has_room(const struct streams *s)
{
	return s->count < STREAMS_MAX;
}

static void replace(struct packet **packet, struct packet *by)
{
	packet_put(*packet);
	*packet = by;
}

void streams_show(struct streams *s, const struct look *look, const struct store *store)
{
	size_t length = 0;
	char *text;

	if (!s->roster || s->roster_number != look->roster) {
		text = stream_roster(look, store, &length);
		replace(&s->roster, as_event("roster", 0, text, length));
		s->roster_number = look->roster;
	}
	text = stream_frame(look, &length);
	replace(&s->frame, as_event("frame", 0, text, length));
	s->frame_number++;
	streams_wake(s);
}

void streams_wake(struct streams *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		wake(s->stream[i]);
}

void streams_check(struct streams *s, uint64_t now_ns)
{
	for (uint32_t i = s->count; i-- > 0;)
		if (!s->stream[i]->suspended && now_ns - s->stream[i]->moved_ns > STREAM_STUCK_NS)
			end(s->stream[i]);
}

void streams_end(struct streams *s)
{
	for (uint32_t i = s->count; i-- > 0;)
		end(s->stream[i]);
}

void streams_free(struct streams *s)
{
	replace(&s->roster, NULL);
	replace(&s->frame, NULL);
}
