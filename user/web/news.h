/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's events, of which the last are kept. It is connected to when it is there, and again when it
 * returns; nothing here waits for it.
 */
#ifndef KPHI_WEB_NEWS_H
#define KPHI_WEB_NEWS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "run/queue.h"

#define NEWS_KEPT 1000

struct news;

/*
 * `tell` is called whenever an event has come. Their numbers rise by one with each, from `base` + 1: readers
 * that knew an earlier server are not misled if that is a time. NULL: no memory.
 */
struct news *news_new(sd_event *loop, const char *socket, uint64_t base, void (*tell)(void *context),
		      void *context);
void news_free(struct news *n);

/* A line that came, without its newline; only events are taken. For the socket, and for tests. */
void news_take(struct news *n, const char *line, size_t length);

/*
 * The number of the first event after the one with `number`: of all that are kept, if it is not one of them.
 * news_last() + 1 if there is none.
 */
uint64_t news_next(const struct news *n, uint64_t number);
uint64_t news_last(const struct news *n);

/* The object as it came, without a newline; it must be kept. */
const struct packet *news_at(const struct news *n, uint64_t number);

/*
 * The number of the event that has this `seq` of the daemon's, 0 if none has. A daemon that was restarted
 * counts anew, so it is the last one that has it.
 */
uint64_t news_by_seq(const struct news *n, uint64_t seq);

#endif
