/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Those who watch: server-sent events. A roster and a frame are made once for all; of both a reader gets the
 * newest when it has room for it. Events it gets one after the other, as long as the news keep them.
 */
#ifndef KPHI_WEB_STREAM_H
#define KPHI_WEB_STREAM_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "web/limits.h"
#include "web/look.h"
#include "web/news.h"

#define STREAMS_MAX     32
#define STREAM_STUCK_NS 60000000000ULL /* a reader that has taken nothing for so long is none */

struct streams {
	uint32_t count;
	struct stream *stream[STREAMS_MAX];
	struct packet *roster, *frame; /* NULL: none was made yet */
	uint64_t roster_number, frame_number; /* the first is the look's */
	struct limits *limits;
	const struct news *news;
};

/* False: there are STREAMS_MAX already. */
bool streams_has_room(const struct streams *s);

/*
 * One more, to which events after number `after` (0: only those to come) are sent. The response for it, or
 * NULL: no memory.
 */
struct MHD_Response *stream_new(struct streams *all, struct MHD_Connection *connection,
				struct visitor *visitor, uint64_t after, uint64_t now_ns);

/* What there is to see now. MHD_run() is owed afterwards, as it is after streams_wake(). */
void streams_show(struct streams *s, const struct look *look, const struct store *store);

/* There is an event more. */
void streams_wake(struct streams *s);

/* Ends those whose readers take nothing any more. */
void streams_check(struct streams *s, uint64_t now_ns);

/* Ends all, so that the server can. */
void streams_end(struct streams *s);
void streams_free(struct streams *s);

/* {"roster": ...} and so on, without the head of a server-sent event; NULL: no memory. Names are read now. */
char *stream_roster(const struct look *look, const struct store *store, size_t *length);
char *stream_frame(const struct look *look, size_t *length);

#endif
