// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/news.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/error.h"
#include "run/client.h"

#define RETRY_US     500000
#define LINES_A_TURN 32 /* then readers get their turn, so that a burst does not run away from them */

struct item {
	struct packet *packet;
	uint64_t seq;
};

struct news {
	sd_event *loop;
	const char *socket;
	void (*tell)(void *context);
	void *context;
	struct client client;
	bool connected;
	sd_event_source *io, *retry;
	sd_event_source *more; /* lines that were read already wake nobody */
	struct item ring[NEWS_KEPT]; /* number i is at i % NEWS_KEPT */
	uint64_t base, last;
};

uint64_t news_last(const struct news *n)
{
	return n->last;
}

static uint64_t first_kept(const struct news *n)
{
	return n->last - n->base > NEWS_KEPT ? n->last - NEWS_KEPT + 1 : n->base + 1;
}

uint64_t news_next(const struct news *n, uint64_t number)
{
	return number < first_kept(n) || number > n->last ? first_kept(n) : number + 1;
}

const struct packet *news_at(const struct news *n, uint64_t number)
{
	return n->ring[number % NEWS_KEPT].packet;
}

uint64_t news_by_seq(const struct news *n, uint64_t seq)
{
	for (uint64_t number = n->last; number >= first_kept(n); number--)
		if (n->ring[number % NEWS_KEPT].seq == seq)
			return number;
	return 0;
}

static bool begins(const char *line, size_t length, const char *with)
{
	return length > strlen(with) && !memcmp(line, with, strlen(with));
}

/* What is none is an error, or the end of the state that was asked for. */
static bool is_event(const char *line, size_t length, uint64_t *seq)
{
	char text[64];
	const char *at;

	if (!begins(line, length, "{\"type\":\"") || begins(line, length, "{\"type\":\"state\""))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text) - 1), line);
	at = strstr(text, "\"seq\":");
	*seq = at ? strtoull(at + strlen("\"seq\":"), NULL, 10) : 0; /* "lost" has none */
	return true;
}

void news_take(struct news *n, const char *line, size_t length)
{
	struct packet *packet;
	struct item *item;
	uint64_t seq;

	if (!is_event(line, length, &seq))
		return;
	packet = packet_new(strndup(line, length), length);
	if (!packet)
		return;
	item = &n->ring[++n->last % NEWS_KEPT];
	packet_put(item->packet);
	*item = (struct item){packet, seq};
	n->tell(n->context);
}

static void disconnect(struct news *n)
{
	if (!n->connected)
		return;
	n->io = sd_event_source_disable_unref(n->io);
	client_close(&n->client);
	n->connected = false;
	sd_event_source_set_time_relative(n->retry, RETRY_US);
	sd_event_source_set_enabled(n->retry, SD_EVENT_ONESHOT);
}

static void take_lines(struct news *n)
{
	int got = 1;

	for (int i = 0; got > 0 && i < LINES_A_TURN; i++) {
		got = client_next(&n->client, 0);
		if (got > 0)
			news_take(n, n->client.line, n->client.length - 1);
	}
	if (got > 0)
		sd_event_source_set_enabled(n->more, SD_EVENT_ONESHOT);
	else if (got != -ETIMEDOUT && got != -EINTR)
		disconnect(n);
}

static int on_line(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	take_lines(context);
	return 0;
}

static int on_more(sd_event_source *source, void *context)
{
	struct news *n = context;

	(void)source;
	if (n->connected)
		take_lines(n);
	return 0;
}

static bool connect_now(struct news *n)
{
	char why[1024];

	if (client_open_at_once(&n->client, n->socket, why, sizeof(why)) < 0) {
		error_debug("%s", why);
		return false;
	}
	if (sd_event_add_io(n->loop, &n->io, n->client.fd, EPOLLIN, on_line, n) < 0) {
		client_close(&n->client);
		return false;
	}
	n->connected = true;
	/* What is suspected already, and what it said before it took us in: there is no other way to hear of
	 * it. */
	client_ask_state(&n->client);
	return true;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *context)
{
	(void)usec;
	if (connect_now(context))
		return 0;
	sd_event_source_set_time_relative(source, RETRY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

struct news *news_new(sd_event *loop, const char *socket, uint64_t base, void (*tell)(void *context),
		      void *context)
{
	struct news *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct news){
		.loop = loop, .socket = socket, .tell = tell, .context = context, .base = base, .last = base};
	if (!loop || (sd_event_add_time_relative(loop, &n->retry, CLOCK_MONOTONIC, 0, 0, on_retry, n) >= 0 &&
		      sd_event_add_defer(loop, &n->more, on_more, n) >= 0))
		return n;
	news_free(n);
	return NULL;
}

void news_free(struct news *n)
{
	if (!n)
		return;
	if (n->connected)
		disconnect(n);
	sd_event_source_disable_unref(n->retry);
	sd_event_source_disable_unref(n->more);
	for (size_t i = 0; i < NEWS_KEPT; i++)
		packet_put(n->ring[i].packet);
	free(n);
}
