/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where events go: standard output, and every client of a Unix stream socket. A client gets each event from
 * its connection on; the line `state` asks for the current state, which ends with a line of type `state`.
 */
#ifndef KPHI_RUN_FEED_H
#define KPHI_RUN_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "core/event.h"

#define FEED_CLIENTS 64

struct feed;

typedef void feed_say_fn(void *context, const struct event *event);

/* NULL if there is no memory. `recite` says the current state, event by event, through say(). */
struct feed *feed_new(sd_event *loop, void (*recite)(void *context, feed_say_fn *say, void *say_context),
		      void *context);
void feed_free(struct feed *f); /* NULL is fine; removes the socket */

/* Events on descriptor `fd` from now on, or not any more (-1). 0 or -errno. */
int feed_standard(struct feed *f, int fd);

/*
 * Listens at `path`, readable by `group` (NULL: "kphi" if there is such a group, else root's). A path that is
 * listened at already stays as it is. The clients of a former path are kept. 0 or -errno with a sentence.
 */
int feed_listen(struct feed *f, const char *path, const char *group, char *why, size_t size);

/* To be called once a second: what had to wait is tried again, and a socket that somebody removed is made
 * anew. */
void feed_round(struct feed *f, const char *group);

/* To everybody, and never waiting. Returns the line, valid until the next event, or NULL (no memory). */
const char *feed_say(struct feed *f, const struct event *event, size_t *length);

uint32_t feed_clients(const struct feed *f);

/* Lines that readers were too slow for, those that have gone included. */
uint64_t feed_dropped(const struct feed *f);

#endif
