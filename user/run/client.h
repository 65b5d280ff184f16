/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The other end of the socket: for `kphi event` and `kphi run reload`. */
#ifndef KPHI_RUN_CLIENT_H
#define KPHI_RUN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct client {
	int fd;
	pid_t pid; /* of the daemon */
	char *line; /* with its newline and a zero behind it */
	size_t length, size; /* of the line */
	size_t used; /* bytes read, the line's included */
	char covered; /* the byte under that zero */
};

/* 0, or -errno with a sentence; client_close() is owed after 0 only. */
int client_open(struct client *c, const char *socket, char *why, size_t size);

/* The same without waiting, even if the daemon does not take it: -EAGAIN. */
int client_open_at_once(struct client *c, const char *socket, char *why, size_t size);
void client_close(struct client *c);

/* Asks for the current state. 0 or -errno. */
int client_ask_state(struct client *c);

/*
 * The next line into c->line. 1; 0: the daemon has closed; -ETIMEDOUT if nothing comes for timeout_ms (-1:
 * wait for ever); -errno.
 */
int client_next(struct client *c, int timeout_ms);

/* Does the line say that this client is not served? Then why, into `why`. */
bool client_refused(const struct client *c, char *why, size_t size);

/* What kind of line it is. */
bool client_line_is_current(const struct client *c); /* tells the current state */
bool client_line_is_type(const struct client *c, const char *type);

#endif
