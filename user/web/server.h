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
};

/* Looks at all peers now. 0, or -ENOMEM. */
int server_look(struct server *s);

/* http.c: requests that have come are answered from within MHD_run(). NULL, with errno. */
struct MHD_Daemon *http_start(struct server *s);

#endif
