/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/epoch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/format.h"
#include "io/parse.h"

#define HEAD         "kphi epoch "
#define MIDDLE       " node "
#define EPOCH_DIGITS 20 /* of UINT64_MAX */
#define LINE_LENGTH  (strlen(HEAD) + EPOCH_DIGITS + strlen(MIDDLE) + UUID_SIZE - 1 + strlen("\n"))

/* With room for the end of the string, or for a byte too many. */
#define LINE_SIZE 96

static int path_with_suffix(char out[PATH_MAX], const char *path, const char *suffix)
{
	int length = snprintf(out, PATH_MAX, "%s%s", path, suffix);

	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The width is fixed so that a lost digit shows. */
static void print_line(char line[LINE_SIZE], uint64_t epoch, const uint8_t node_id[16])
{
	char uuid[UUID_SIZE];

	snprintf(line, LINE_SIZE, HEAD "%0*" PRIu64 MIDDLE "%s\n", EPOCH_DIGITS, epoch,
		 format_uuid(node_id, uuid));
}

/*
 * What was read must be, byte for byte, what would be written for the numbers in it: a file cut short, with a
 * digit lost or with something appended is never taken for a lower epoch.
 */
static int parse_line(const char *line, size_t length, const uint8_t node_id[16], uint64_t *epoch)
{
	char digits[EPOCH_DIGITS + 1] = "", uuid[UUID_SIZE] = "", again[LINE_SIZE], why[WHY_SIZE];
	uint8_t found[16];

	if (length != LINE_LENGTH)
		return -EBADMSG;
	memcpy(digits, line + strlen(HEAD), EPOCH_DIGITS);
	memcpy(uuid, line + strlen(HEAD) + EPOCH_DIGITS + strlen(MIDDLE), UUID_SIZE - 1);
	if (parse_u64(digits, 0, UINT64_MAX, epoch, why, sizeof(why)) ||
	    parse_uuid(uuid, found, why, sizeof(why)))
		return -EBADMSG;
	print_line(again, *epoch, found);
	if (memcmp(line, again, length) != 0)
		return -EBADMSG;
	return memcmp(found, node_id, sizeof(found)) == 0 ? 0 : -EBADSLT;
}

/* A file that does not exist yet holds epoch 0. */
static int read_saved(const char *path, const uint8_t node_id[16], uint64_t *epoch)
{
	char line[LINE_SIZE];
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*epoch = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	length = read(fd, line, sizeof(line));
	if (length < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	close(fd);
	return parse_line(line, (size_t)length, node_id, epoch);
}

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

static int write_synced(const char *path, const char *line, size_t length)
{
	int err = 0;
	ssize_t written;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return -errno;
	written = write(fd, line, length);
	if (written < 0 || fsync(fd) < 0)
		err = -errno;
	else if ((size_t)written != length)
		err = -ENOSPC;
	if (close(fd) < 0 && !err)
		err = -errno;
	return err;
}

/* After a crash at any point the path holds the old line or the new one, whole. */
static int save(const char *path, const uint8_t node_id[16], uint64_t epoch)
{
	char fresh[PATH_MAX], line[LINE_SIZE];
	int err = path_with_suffix(fresh, path, ".new");

	if (err)
		return err;
	print_line(line, epoch, node_id);
	err = write_synced(fresh, line, LINE_LENGTH);
	if (!err && rename(fresh, path) < 0)
		err = -errno;
	if (err) {
		unlink(fresh);
		return err;
	}
	return sync_directory_of(path);
}

static int lock(const char *path)
{
	char name[PATH_MAX];
	int fd, err = path_with_suffix(name, path, ".lock");

	if (err)
		return err;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int raise_epoch(const char *path, const uint8_t node_id[16], uint64_t wall_s, uint64_t *epoch)
{
	uint64_t saved;
	int err = read_saved(path, node_id, &saved);

	if (err)
		return err;
	if (saved == UINT64_MAX)
		return -EOVERFLOW;
	*epoch = saved + 1 > wall_s ? saved + 1 : wall_s;
	return save(path, node_id, *epoch);
}

int epoch_take(const char *path, const uint8_t node_id[16], uint64_t wall_s, uint64_t *epoch)
{
	int err, fd = lock(path);

	if (fd < 0)
		return fd;
	err = raise_epoch(path, node_id, wall_s, epoch);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
