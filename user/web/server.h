/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The server's parts. One thread, one loop; nothing in it waits. */
#ifndef KPHI_WEB_SERVER_H
#define KPHI_WEB_SERVER_H

#include <limits.h>
#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "web/history.h"
#include "web/limits.h"
#include "web/listen.h"
#include "web/look.h"
#include "web/news.h"
#include "web/source.h"
#include "web/stream.h"
#include "web/web.h"

/*
 * The last answer to a question that many may ask at once. It is dear to make and the same for all, so those
 * who ask within a moment share it, and its memory.
 */
struct common {
	char path[32]; /* "": none */
	struct MHD_Response *response;
	size_t length;
	uint64_t made_ns;
};

#define COMMON_ANSWERS 4
#define COMMON_NS      100000000ULL /* a moment */

struct server {
	const struct web_options *options;
	char own_name[HOST_NAME_MAX + 1];
	sd_event *loop;
	sd_event_source *mhd_wait; /* when libmicrohttpd wants to run although nothing has come */
	sd_event_source *tick;
	struct listener listener;
	struct MHD_Daemon *mhd;
	struct limits limits;
	struct source source;
	uint64_t life; /* of the store that history and look are about */
	struct history *history;
	struct look look;
	struct news *news;
	struct streams streams;
	struct common common[COMMON_ANSWERS];
};

/* Looks at all peers now. 0, or -ENOMEM. */
int server_look(struct server *s);

/* http.c: requests that have come are answered from within MHD_run(). NULL, with errno. */
struct MHD_Daemon *http_start(struct server *s);

/* Forgets answers that are too old to be given again. */
void http_forget(struct server *s, uint64_t now_ns);

#endif
