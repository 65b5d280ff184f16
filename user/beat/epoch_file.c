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

#include "io/file.h"
#include "io/format.h"
#include "io/parse.h"

#define HEAD         "kphi epoch "
#define MIDDLE       " node "
#define EPOCH_DIGITS 20 /* of UINT64_MAX */
#define LINE_LENGTH  (strlen(HEAD) + EPOCH_DIGITS + strlen(MIDDLE) + UUID_SIZE - 1 + strlen("\n"))

/* With room for the end of the string, or for a byte too many. */
#define LINE_SIZE 96

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
	ssize_t length = file_read(path, line, sizeof(line));

	*epoch = 0;
	if (length < 0)
		return length == -ENOENT ? 0 : (int)length;
	return parse_line(line, (size_t)length, node_id, epoch);
}

static int save(const char *path, const uint8_t node_id[16], uint64_t epoch)
{
	char line[LINE_SIZE];

	print_line(line, epoch, node_id);
	return file_replace(path, line, LINE_LENGTH);
}

static int lock(const char *path)
{
	char name[PATH_MAX];
	int fd, err;

	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
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

void epoch_explain(int err, const char *path, const char *uuid, char *why, size_t size)
{
	switch (err) {
	case -EBUSY:
		refuse(err, why, size,
		       "%s: locked by another sender. One id beats once on a host: stop the other sender, or "
		       "give this one an `id UUID` of its own.",
		       path);
		return;
	case -EBADMSG:
		refuse(err, why, size,
		       "%s: damaged, so the last epoch of %s is not known. Delete the file if this host's "
		       "clock is right: the next epoch is the clock's. If the clock is behind, observers "
		       "need "
		       "`kphi peer reset` too.",
		       path, uuid);
		return;
	case -EBADSLT:
		refuse(err, why, size,
		       "%s: belongs to another node, not to %s. Name another `state FILE`, or give the `id` "
		       "that it was written for.",
		       path, uuid);
		return;
	case -EOVERFLOW:
		refuse(err, why, size,
		       "%s: no epoch is left above the one in it. Delete the file; observers need `kphi peer "
		       "reset` too.",
		       path);
		return;
	default:
		refuse(err, why, size, "%s: cannot save the epoch: %s. Name another place with `state FILE`.",
		       path, file_trouble(err));
	}
}
