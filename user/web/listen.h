/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the server is reached. */
#ifndef KPHI_WEB_LISTEN_H
#define KPHI_WEB_LISTEN_H

#include "run/feed_socket.h"

struct listener {
	int fd;
	struct feed_socket file; /* if it is a Unix socket of our own */
};

/*
 * `where`: ADDRESS[:PORT], [ADDRESS]:PORT, unix:PATH (0660, of the store's group), or `systemd` for the
 * socket that was handed over by it. 0, or -errno with a sentence.
 */
int listener_open(struct listener *l, const char *where, char *why, size_t size);
void listener_close(struct listener *l);

#endif
