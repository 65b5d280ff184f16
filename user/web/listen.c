// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "io/format.h"
#include "io/parse.h"

#define BACKLOG      1024
#define PORT_DEFAULT 7441
#define UNIX         "unix:"

static int explain(int err, const char *where, char *why, size_t size)
{
	if (err == -EADDRINUSE)
		return refuse(err, why, size,
			      "%s: somebody listens there already. Stop that program, or say `listen` with "
			      "another address",
			      where);
	if (err == -EADDRNOTAVAIL)
		return refuse(err, why, size,
			      "%s: this host does not have that address. `ip address` lists those it has",
			      where);
	if (err == -ENOTSOCK)
		return refuse(err, why, size, "%s: there is something else than a socket. Name another path",
			      where);
	return refuse(err, why, size, "%s: cannot listen there: %s", where, strerror(-err));
}

static int open_unix(struct listener *l, const char *path, char *why, size_t size)
{
	char other[WHY_SIZE];
	int err = feed_socket_open(&l->file, path, NULL, other, sizeof(other));

	if (err)
		return explain(err, path, why, size);
	l->fd = l->file.fd;
	return listen(l->fd, BACKLOG) ? explain(-errno, path, why, size) : 0;
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int open_tcp(struct listener *l, const struct sockaddr_storage *address)
{
	int on = 1, err;

	l->fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(l->fd, (const struct sockaddr *)address, length_of(address)) && !listen(l->fd, BACKLOG))
		return 0;
	err = -errno;
	close(l->fd);
	l->fd = -1;
	return err;
}

static int take_from_systemd(struct listener *l, char *why, size_t size)
{
	int n = sd_listen_fds(1);

	if (n != 1 || sd_is_socket(SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
		return refuse(-ENOTSOCK, why, size,
			      "systemd: it has handed over no listening stream socket, or several (%d "
			      "descriptors). Start this as a service with one socket unit",
			      n > 0 ? n : 0);
	l->fd = SD_LISTEN_FDS_START;
	return fcntl(l->fd, F_SETFL, O_NONBLOCK) < 0 ? explain(-errno, "systemd", why, size) : 0;
}

int listener_open(struct listener *l, const char *where, char *why, size_t size)
{
	struct sockaddr_storage address;
	char text[ENDPOINT_SIZE], reason[WHY_SIZE];
	int err;

	*l = (struct listener){.fd = -1, .file.fd = -1};
	if (!strcmp(where, "systemd"))
		return take_from_systemd(l, why, size);
	if (!strncmp(where, UNIX, strlen(UNIX)))
		return open_unix(l, where + strlen(UNIX), why, size);
	if (parse_endpoint(where, PORT_DEFAULT, &address, reason, sizeof(reason)))
		return refuse(-EINVAL, why, size, "listen: %s; or write unix:PATH, or systemd", reason);
	err = open_tcp(l, &address);
	return err ? explain(err, format_endpoint(&address, text), why, size) : 0;
}

void listener_close(struct listener *l)
{
	if (l->file.fd >= 0)
		feed_socket_close(&l->file);
	else if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
