// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/feed_socket.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/parse.h"
#include "kernel/store.h"

static int make_address(const char *path, struct sockaddr_un *to)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(to->sun_path))
		return -ENAMETOOLONG;
	memcpy(to->sun_path, path, strlen(path) + 1);
	return 0;
}

static int connect_to(const char *path, int flags)
{
	struct sockaddr_un address;
	int fd, err = make_address(path, &address);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* A socket file outlives a daemon that was killed. */
static int remove_stale(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = connect_to(path, SOCK_NONBLOCK);
	if (fd == -EAGAIN) /* somebody listens, but is busy */
		return -EADDRINUSE;
	if (fd >= 0) {
		close(fd);
		return -EADDRINUSE;
	}
	return unlink(path) < 0 ? -errno : 0;
}

static int explain(int err, const char *path, char *why, size_t size)
{
	if (err == -EADDRINUSE)
		return refuse(
			err, why, size,
			"%s: somebody listens there already. Stop that `kphi run`, or name another `socket` "
			"under `outputs`",
			path);
	if (err == -ENOTSOCK)
		return refuse(
			err, why, size,
			"%s: there is something else than a socket. Name another `socket` under `outputs`",
			path);
	return refuse(err, why, size, "%s: cannot listen for clients there: %s", path, strerror(-err));
}

int feed_socket_grant(const struct feed_socket *s, const char *group, char *why, size_t size)
{
	const struct group *g = getgrnam(group ? group : STORE_GROUP_DEFAULT);
	gid_t gid = g ? g->gr_gid : 0;

	if (!chown(s->path, (uid_t)-1, gid) && !chmod(s->path, 0660))
		return 0;
	return explain(-errno, s->path, why, size);
}

/* Whatever the daemon's umask keeps to itself: who may use the socket must get to it. */
static int make_way(const char *path)
{
	mode_t mask = umask(0022);
	int err = file_make_parents(path);

	umask(mask);
	return err;
}

static int bind_and_listen(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0177);
	int err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;

	umask(mask);
	return !err && listen(fd, 16) < 0 ? -errno : err;
}

/* The number of the file, not of the socket behind it, so that a successor's is not taken for ours. */
static ino_t number_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_ino;
}

bool feed_socket_is_there(const struct feed_socket *s)
{
	return s->file && number_of(s->path) == s->file;
}

int feed_socket_open(struct feed_socket *s, const char *path, const char *group, char *why, size_t size)
{
	struct sockaddr_un address;
	int err = make_address(path, &address);

	*s = (struct feed_socket){.fd = -1};
	err = err ? err : make_way(path);
	err = err ? err : remove_stale(path);
	if (err)
		return explain(err, path, why, size);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = s->fd < 0 ? -errno : bind_and_listen(s->fd, &address);
	if (err) {
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
		return explain(err, path, why, size);
	}
	memcpy(s->path, address.sun_path, sizeof(s->path));
	s->file = number_of(path);
	err = feed_socket_grant(s, group, why, size);
	if (err)
		feed_socket_close(s);
	return err;
}

void feed_socket_close(struct feed_socket *s)
{
	if (s->fd < 0)
		return;
	if (feed_socket_is_there(s))
		unlink(s->path);
	close(s->fd);
	s->fd = -1;
}

int feed_socket_connect(const char *path, int flags, char *why, size_t size)
{
	int fd = connect_to(path, flags);

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return refuse(
			fd, why, size,
			"%s: no `kphi run` listens there. Start it, or say `socket PATH` if it has another",
			path);
	if (fd == -EACCES)
		return refuse(fd, why, size,
			      "%s: permission denied. Run it as root, or join the group that owns the socket",
			      path);
	if (fd < 0)
		return refuse(fd, why, size, "%s: cannot connect: %s", path, strerror(-fd));
	return fd;
}
