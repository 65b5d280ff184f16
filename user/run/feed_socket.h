/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Unix socket on which events are handed out. */
#ifndef KPHI_RUN_FEED_SOCKET_H
#define KPHI_RUN_FEED_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

struct feed_socket {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	ino_t file; /* the number of the one that was made there */
};

/*
 * Binds and listens, 0660 root:group, over a socket that nobody listens at any more; directories on the way
 * are made. 0 or -errno with a sentence.
 */
int feed_socket_open(struct feed_socket *s, const char *path, const char *group, char *why, size_t size);

/* Another group. */
int feed_socket_grant(const struct feed_socket *s, const char *group, char *why, size_t size);

/* Whether the path still leads to it. */
bool feed_socket_is_there(const struct feed_socket *s);

/* Closes it, and removes the file if it is still this one's; fd -1 is fine. */
void feed_socket_close(struct feed_socket *s);

/*
 * Connects to the daemon that listens at `path`. With flags SOCK_NONBLOCK, for who must not wait until it
 * takes the connection, too. A descriptor, or -errno with a sentence.
 */
int feed_socket_connect(const char *path, int flags, char *why, size_t size);

#endif
