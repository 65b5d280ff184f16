// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/event_line.h"

struct packet *packet_new(char *text, size_t length)
{
	struct packet *p = text ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		free(text);
		return NULL;
	}
	*p = (struct packet){.text = text, .length = length, .holders = 1};
	return p;
}

void packet_put(struct packet *p)
{
	if (!p || --p->holders)
		return;
	free(p->text);
	free(p);
}

static struct packet *take_first(struct queue *q)
{
	struct packet *p = q->ring[q->first];

	q->first = (q->first + 1) % QUEUE_LINES;
	q->count--;
	return p;
}

void queue_clear(struct queue *q)
{
	while (q->count)
		packet_put(take_first(q));
	packet_put(q->current);
	*q = (struct queue){.lost_total = q->lost_total};
}

bool queue_empty(const struct queue *q)
{
	return !q->count && !q->current && !q->lost;
}

/* The oldest line goes. At most one packet is to be kept; the line behind it goes in its stead. */
static void lose_oldest(struct queue *q)
{
	struct packet *oldest = take_first(q);

	if (oldest->keep) {
		struct packet *kept = oldest;

		oldest = q->ring[q->first];
		q->ring[q->first] = kept;
	}
	packet_put(oldest);
	q->lost++;
	q->lost_total++;
}

void queue_push(struct queue *q, struct packet *p)
{
	if (q->count == QUEUE_LINES)
		lose_oldest(q);
	p->holders++;
	q->ring[(q->first + q->count++) % QUEUE_LINES] = p;
}

/* What is gone is older than all that is left, so it is told first. */
static void take_next(struct queue *q)
{
	if (q->lost) {
		size_t length = 0;
		char *text = event_lost_line(q->lost, &length);

		q->current = packet_new(text, length);
		if (q->current)
			q->lost = 0;
	}
	if (!q->current && q->count)
		q->current = take_first(q);
	q->sent = 0;
}

static ssize_t put_bytes(const struct queue *q, int fd, bool is_socket)
{
	const char *from = q->current->text + q->sent;
	size_t left = q->current->length - q->sent;

	return is_socket ? send(fd, from, left, MSG_DONTWAIT | MSG_NOSIGNAL) : write(fd, from, left);
}

int queue_send(struct queue *q, int fd, bool is_socket)
{
	for (;;) {
		ssize_t put;

		if (!q->current)
			take_next(q);
		if (!q->current)
			return 0;
		put = put_bytes(q, fd, is_socket);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 1 : -errno;
		q->sent += (size_t)put;
		if (q->sent < q->current->length)
			continue;
		packet_put(q->current);
		q->current = NULL;
	}
}
