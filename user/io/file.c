// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_synced(const char *path, const void *bytes, size_t size)
{
	int err = 0, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, bytes, size);
	if (written < 0 || fsync(fd) < 0)
		err = -errno;
	else if ((size_t)written != size)
		err = -ENOSPC;
	if (close(fd) < 0 && !err)
		err = -errno;
	return err;
}

/* The name is on disk only when the directory is. */
static int sync_directory_of(const char *path)
{
	char directory[PATH_MAX];
	char *slash;
	int fd, err = 0;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

int file_replace(const char *path, const void *bytes, size_t size)
{
	char fresh[PATH_MAX];
	struct stat old;
	int err;

	/* A rename would put a file in the place of /dev/null just as well. */
	if (!stat(path, &old) && !S_ISREG(old.st_mode))
		return S_ISDIR(old.st_mode) ? -EISDIR : -ENOTSUP;
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	err = write_synced(fresh, bytes, size);
	if (!err && rename(fresh, path) < 0)
		err = -errno;
	if (err) {
		unlink(fresh);
		return err;
	}
	return sync_directory_of(path);
}

ssize_t file_read(const char *path, void *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, bytes, size);
	if (got < 0)
		got = -errno;
	close(fd);
	return got;
}

int file_make_parents(const char *path)
{
	char part[PATH_MAX];

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, strlen(path) + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int file_make_directory(const char *path)
{
	int err = file_make_parents(path);

	return !err && mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : err;
}
