/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines on their way to one reader. The queue is bounded: a reader that is too slow loses its own oldest
 * lines and is told, in their place, how many. Nobody waits for it.
 */
#ifndef KPHI_RUN_QUEUE_H
#define KPHI_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_LINES 1024

/* What is sent as a whole: a line, shared by the queues that hold it, or the whole current state. */
struct packet {
	char *text;
	size_t length;
	uint32_t holders;
	bool keep; /* not to be lost: somebody asked for it */
};

/* Takes the text over. NULL if there is no memory (or no text); then the text is freed. */
struct packet *packet_new(char *text, size_t length);
void packet_put(struct packet *p); /* NULL is fine */

struct queue {
	struct packet *ring[QUEUE_LINES];
	uint32_t first, count;
	struct packet *current; /* partly sent */
	size_t sent;
	uint64_t lost; /* not yet said */
	uint64_t lost_total;
};

void queue_clear(struct queue *q);
void queue_push(struct queue *q, struct packet *p); /* the caller's hold remains */
bool queue_empty(const struct queue *q);

/* Writes without waiting. 0: all is written. 1: the reader takes no more now. -errno: it takes nothing any
 * more. */
int queue_send(struct queue *q, int fd, bool is_socket);

#endif
