// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The file that is going to take the place of the other, locked: of two who replace the same file at once,
 * one waits, and then finds that what it has a lock on is the file itself by now.
 */
static int open_fresh(const char *path)
{
	struct stat locked, named;

	for (;;) {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

		if (fd < 0)
			return -errno;
		if (!flock(fd, LOCK_EX) && !fstat(fd, &locked) && !stat(path, &named) &&
		    locked.st_dev == named.st_dev && locked.st_ino == named.st_ino)
			return fd;
		close(fd);
	}
}

static int write_synced(int fd, const void *bytes, size_t size)
{
	ssize_t written = ftruncate(fd, 0) ? -1 : write(fd, bytes, size);

	if (written < 0 || fsync(fd) < 0)
		return -errno;
	return (size_t)written == size ? 0 : -ENOSPC;
}

static int open_directory_of(const char *path, int flags)
{
	char directory[PATH_MAX];
	char *slash;
	int fd;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", flags | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* The name is on disk only when the directory is. */
static int sync_directory_of(const char *path)
{
	int err = 0, fd = open_directory_of(path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd;
	if (fsync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Has no name before it is whole; some file systems cannot do that. */
static int create_whole(const char *path, const void *bytes, size_t size)
{
	char unnamed[64];
	int err, fd = open_directory_of(path, O_WRONLY | O_TMPFILE);

	if (fd < 0)
		return fd;
	err = fchmod(fd, 0600) ? -errno : write_synced(fd, bytes, size);
	snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", fd);
	if (!err && linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int create_named(const char *path, const void *bytes, size_t size)
{
	int err, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0600) ? -errno : write_synced(fd, bytes, size);
	if (err)
		unlink(path);
	close(fd);
	return err;
}

int file_create_private(const char *path, const void *bytes, size_t size)
{
	int err;

	if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	err = create_whole(path, bytes, size);
	if (err == -EOPNOTSUPP || err == -EISDIR || err == -EINVAL)
		err = create_named(path, bytes, size);
	return err ? err : sync_directory_of(path);
}

int file_replace(const char *path, const void *bytes, size_t size)
{
	char fresh[PATH_MAX];
	struct stat old;
	int fd, err;

	/* A rename would put a file in the place of /dev/null just as well. */
	if (!stat(path, &old) && !S_ISREG(old.st_mode))
		return S_ISDIR(old.st_mode) ? -EISDIR : -ENOTSUP;
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	fd = open_fresh(fresh);
	if (fd < 0)
		return fd;
	err = write_synced(fd, bytes, size);
	if (!err && rename(fresh, path) < 0)
		err = -errno;
	if (err)
		unlink(fresh);
	close(fd);
	return err ? err : sync_directory_of(path);
}

/* Whoever waits for the writer of a pipe, or reads a terminal, reads no file of ours. */
static ssize_t read_regular(int fd, void *bytes, size_t size)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	got = read(fd, bytes, size);
	return got < 0 ? -errno : got;
}

ssize_t file_read(const char *path, void *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read_regular(fd, bytes, size);
	close(fd);
	return got;
}

const char *file_trouble(int err)
{
	return err == -ENOTSUP ? "it is no ordinary file" : strerror(-err);
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
