// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "io/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <kphi/siphash.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/parse.h"

#define KEY_BYTES 16
#define FILE_MAX  4096
#define NO_KEY    "no key: it has one line, ID:KEY, the key in 32 hexadecimal digits"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void to_words(const uint8_t bytes[KEY_BYTES], struct key *key)
{
	memcpy(key->word, bytes, KEY_BYTES);
	key->word[0] = kphi_le64(key->word[0]);
	key->word[1] = kphi_le64(key->word[1]);
}

/* One line without its end. */
static int parse_line(const char *line, size_t size, struct key *key)
{
	uint8_t bytes[KEY_BYTES] = {0};
	const char *hex;
	uint64_t id = 0;
	size_t i = 0;

	while (i < size && line[i] >= '0' && line[i] <= '9' && id <= UINT32_MAX)
		id = id * 10 + (uint64_t)(line[i++] - '0');
	if (!id || id > UINT32_MAX || i + 1 + 2 * KEY_BYTES != size || line[i] != ':')
		return -EINVAL;
	hex = line + i + 1;
	for (i = 0; i < 2 * KEY_BYTES; i++) {
		if (digit(hex[i]) < 0)
			return -EINVAL;
		bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | digit(hex[i]));
	}
	key->id = (uint32_t)id;
	to_words(bytes, key);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int key_parse(const char *text, size_t size, struct key *key, char *why, size_t why_size)
{
	const char *end = text + size;
	unsigned int number = 0;
	bool found = false;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);

		number++;
		if (length && *text != '#') {
			if (found)
				return refuse(-EINVAL, why, why_size,
					      "line %u: a second key. Each key has a file of its own",
					      number);
			if (parse_line(text, length, key))
				return refuse(-EINVAL, why, why_size, "line %u: " NO_KEY, number);
			found = true;
		}
		text += length + (newline != NULL);
	}
	return found ? 0 : refuse(-EINVAL, why, why_size, NO_KEY);
}

/* A key that others can read is theirs, too; and whoever owns the file may have changed it. */
static int check_file(int fd, const char *path, char *why, size_t why_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return refuse(-EINVAL, why, why_size, "%.512s: cannot be read: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return refuse(-EINVAL, why, why_size, "%.512s: no key file", path);
	if (st.st_mode & 077)
		return refuse(
			-EINVAL, why, why_size,
			"%.512s: others than its owner have access (mode %04o). `chmod 600 %.512s`; and if "
			"anybody may have read it, make another key",
			path, (unsigned int)st.st_mode & 07777, path);
	if (st.st_uid && st.st_uid != geteuid())
		return refuse(-EINVAL, why, why_size,
			      "%.512s: belongs to user %u, who may change it. `chown 0 %.512s`", path,
			      (unsigned int)st.st_uid, path);
	return 0;
}

int key_read(const char *path, struct key *key, char *why, size_t why_size)
{
	char text[FILE_MAX], reason[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	ssize_t size = 0;

	if (fd < 0)
		return refuse(-EINVAL, why, why_size, "%.512s: cannot be read: %s", path, strerror(errno));
	err = check_file(fd, path, why, why_size);
	if (!err)
		size = read(fd, text, sizeof(text));
	if (size < 0)
		err = refuse(-EINVAL, why, why_size, "%.512s: cannot be read: %s", path, strerror(errno));
	close(fd);
	if (!err && key_parse(text, (size_t)size, key, reason, sizeof(reason)))
		err = refuse(-EINVAL, why, why_size, "%.512s: %s", path, reason);
	explicit_bzero(text, sizeof(text));
	return err;
}

static size_t print_line(char *line, size_t size, uint32_t id, const uint8_t bytes[KEY_BYTES])
{
	size_t at = (size_t)snprintf(line, size, "%" PRIu32 ":", id);

	for (int i = 0; i < KEY_BYTES; i++)
		at += (size_t)snprintf(line + at, size - at, "%02x", bytes[i]);
	line[at++] = '\n';
	return at;
}

int key_generate(const char *path, uint32_t id, struct key *key, char *why, size_t why_size)
{
	char line[16 + 2 * KEY_BYTES];
	uint8_t bytes[KEY_BYTES];
	int err;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return refuse(-EIO, why, why_size, "the kernel has no randomness for a key");
	err = file_create_private(path, line, print_line(line, sizeof(line), id, bytes));
	if (err) {
		refuse(err, why, why_size, "%.512s: cannot be made: %s%s", path, strerror(-err),
		       err == -EEXIST ? ". `file FILE` takes the key that is in it" : "");
	} else {
		key->id = id;
		to_words(bytes, key);
	}
	explicit_bzero(line, sizeof(line));
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

/* The tag of something that is no heartbeat, so that it is nobody's tag. */
uint64_t key_fingerprint(const struct key *key)
{
	struct kphi_wire w;

	memset(&w, 0, sizeof(w));
	memcpy(&w, "key fingerprint", 15);
	return kphi_wire_tag(&w, key->word);
}
