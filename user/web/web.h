/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The HTTP server behind `kphi web serve`, which `kphi run` starts as a child. It is one more reader: it maps
 * the store, is a client of the event socket, and holds nothing that the daemon needs, so whatever its own
 * clients do, no verdict waits for it.
 */
#ifndef KPHI_WEB_WEB_H
#define KPHI_WEB_WEB_H

#include "metrics/metrics.h"

#define WEB_LISTEN_DEFAULT "127.0.0.1:7441"

struct web_options {
	const char *pin; /* as --pin; NULL: the default */
	const char *listen; /* ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH or systemd (socket activation) */
	const char *socket; /* of the daemon's events */
	const char
		*hosts; /* further names by which a browser may call this server, with commas; NULL: none */
	struct metrics_options metrics;
};

/*
 * Serves until SIGTERM or SIGINT. It waits for a store and for a daemon, and for their return. 0, or a
 * negative errno once it has said why through fail().
 */
int web_run(const struct web_options *options);

#endif
