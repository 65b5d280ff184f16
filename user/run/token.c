// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/token.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/file.h"
#include "io/parse.h"

#define HEAD        "kphi token "
#define DIGITS      8
#define LINE_LENGTH (sizeof(HEAD) - 1 + DIGITS + 1)
#define COUNTER_MAX ((1ULL << (64 - TOKEN_BITS)) - 1)

static void print_line(char line[LINE_LENGTH + 1], uint64_t counter)
{
	snprintf(line, LINE_LENGTH + 1, HEAD "%0*" PRIu64 "\n", DIGITS, counter % 100000000);
}

/* What was read must be, byte for byte, what would be written: a digit lost is never taken for a lower
 * counter. A file that does not exist yet holds 0. */
static int read_counter(const char *path, uint64_t *counter)
{
	char line[LINE_LENGTH + 2], digits[DIGITS + 1] = "", again[LINE_LENGTH + 1], why[WHY_SIZE];
	ssize_t got = file_read(path, line, sizeof(line));

	*counter = 0;
	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return (int)got;
	if (got != (ssize_t)LINE_LENGTH)
		return -EBADMSG;
	memcpy(digits, line + strlen(HEAD), DIGITS);
	if (parse_u64(digits, 0, COUNTER_MAX, counter, why, sizeof(why)))
		return -EBADMSG;
	print_line(again, *counter);
	return memcmp(line, again, LINE_LENGTH) ? -EBADMSG : 0;
}

static int take_lock(const char *path)
{
	char name[PATH_MAX];
	int fd;

	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int err = errno == EWOULDBLOCK ? -EBUSY : -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int raise_counter(const char *path, uint64_t seen, uint64_t *counter)
{
	char line[LINE_LENGTH + 1];
	int err = read_counter(path, counter);

	if (err)
		return err;
	if (seen >> TOKEN_BITS > *counter)
		*counter = seen >> TOKEN_BITS;
	if (*counter == COUNTER_MAX)
		return -EOVERFLOW;
	++*counter;
	print_line(line, *counter);
	return file_replace(path, line, LINE_LENGTH);
}

static int explain(int err, const char *path, char *why, size_t size)
{
	switch (err) {
	case -EBUSY:
		return refuse(err, why, size,
			      "%s: another `kphi run` has it. Stop that one, or give this one a `state` "
			      "directory of "
			      "its own",
			      path);
	case -EBADMSG:
		return refuse(
			err, why, size,
			"%s: damaged, so it is not known which fencing tokens were handed out. Write \"" HEAD
			"N\" with eight digits, above any token's first 24 bits, or delete the file if no "
			"consumer remembers one",
			path);
	case -EOVERFLOW:
		return refuse(
			err, why, size,
			"%s: no fencing token is left above those handed out. Delete the file, and reset the "
			"consumers that remember one",
			path);
	default:
		return refuse(err, why, size,
			      "%s: cannot save the fencing token: %s. Name another `state` directory", path,
			      file_trouble(err));
	}
}

int token_open(struct token *t, const char *directory, uint64_t seen, char *why, size_t size)
{
	char path[PATH_MAX];
	uint64_t counter;
	int err = file_make_directory(directory);

	*t = (struct token){.lock = -1};
	if (snprintf(path, sizeof(path), "%s/token", directory) >= (int)sizeof(path))
		err = -ENAMETOOLONG;
	if (err)
		return explain(err, directory, why, size);
	t->lock = take_lock(path);
	err = t->lock < 0 ? t->lock : raise_counter(path, seen, &counter);
	if (err) {
		token_close(t);
		return explain(err, path, why, size);
	}
	t->last = counter << TOKEN_BITS;
	return 0;
}

void token_close(struct token *t)
{
	if (t->lock >= 0)
		close(t->lock);
	t->lock = -1;
}

uint32_t token_starts(const struct token *t)
{
	return (uint32_t)(t->last >> TOKEN_BITS);
}

uint64_t token_next(struct token *t)
{
	return ++t->last;
}
