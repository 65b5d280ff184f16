// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/parse.h"
#include "trace/codec.h"
#include "trace/roster.h"

#define BLOCK_BYTES (64U << 10) /* of entries, after which a block ends by itself */
#define KEY_BYTES   (16U << 20) /* of entries from one key to the next, or ... */
#define STATE_PART  (TRACE_ENTRY_MAX - 32) /* bytes of a state in one entry */
#define KEY_SHARE   64 /* ... so many times what the key's descriptions take, if that is more */

struct trace_writer {
	int fd;
	int error; /* what failed first; 0: nothing yet */
	uint64_t bytes; /* handed to the kernel */
	struct trace_start start;
	struct codec codec;
	struct roster peers;
	uint32_t number; /* of the block */
	uint32_t arrivals; /* in the block */
	uint32_t flags;
	uint64_t since_key, key_bytes; /* entries written since the last key; of those, descriptions */
	size_t length; /* of the entries in the block */
	uint8_t *block; /* its head, then the entries */
	uint8_t *state; /* STATE_MAX bytes, once a state was written */
};

static uint8_t *entries(struct trace_writer *w)
{
	return w->block + sizeof(struct trace_block);
}

/* A file that was written in part ends where it did before. */
static int write_all(struct trace_writer *w, const void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(w->fd, (const char *)bytes + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			w->error = -errno;
			if (done && ftruncate(w->fd, (off_t)w->bytes) < 0)
				return w->error; /* a torn tail, then, or a pipe */
			return w->error;
		}
		done += (size_t)n;
	}
	w->bytes += size;
	return 0;
}

/* Once, before everything else. */
static int write_head(struct trace_writer *w)
{
	struct trace_head head = {
		.magic = TRACE_MAGIC,
		.version = htole16(TRACE_VERSION),
		.size = htole16(sizeof(head)),
		.window = htole32(w->start.window),
		.wall_ns = htole64(w->start.wall_ns),
		.monotonic_ns = htole64(w->start.monotonic_ns),
	};

	if (w->bytes)
		return 0;
	head.crc = htole32((uint32_t)crc32(0, (const Bytef *)&head, offsetof(struct trace_head, crc)));
	return write_all(w, &head, sizeof(head));
}

/* A file that appeared in the meantime is as good as one that was there before. */
int trace_new_fd(const char *path)
{
	struct stat there;

	if (!strcmp(path, "-"))
		return dup(STDOUT_FILENO);
	if (!stat(path, &there) && !S_ISREG(there.st_mode))
		return open(path, O_WRONLY | O_CLOEXEC);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

struct trace_writer *trace_create(const char *path, const struct trace_start *start, char *why, size_t size)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	uint8_t *block = malloc(sizeof(struct trace_block) + BLOCK_BYTES + TRACE_ENTRY_MAX);
	int fd = w && block ? trace_new_fd(path) : -1, err = w && block ? errno : ENOMEM;

	if (fd < 0) {
		refuse(-err, why, size, "%s: cannot be written: %s%s", path, strerror(err),
		       err == EEXIST ? ". Remove it, or choose another name" : "");
		free(block);
		free(w);
		return NULL;
	}
	*w = (struct trace_writer){.fd = fd, .block = block, .flags = TRACE_KEY, .start = *start};
	codec_init(&w->codec);
	return w;
}

/* --- blocks --- */

static void begin_block(struct trace_writer *w)
{
	w->length = 0;
	w->arrivals = 0;
	w->flags = 0;
}

static int end_block(struct trace_writer *w)
{
	struct trace_block head = {
		.magic = htole32(TRACE_BLOCK_MAGIC),
		.length = htole32((uint32_t)w->length),
		.number = htole32(w->number),
		.flags = htole32(w->flags),
		.arrivals = htole32(w->arrivals),
	};
	uLong crc;

	if (w->error || write_head(w) || !w->length)
		return w->error;
	crc = crc32(0, (const Bytef *)&head, offsetof(struct trace_block, crc));
	crc = crc32(crc, entries(w), (uInt)w->length);
	head.crc = htole32((uint32_t)crc);
	memcpy(w->block, &head, sizeof(head));
	if (write_all(w, w->block, sizeof(head) + w->length))
		return w->error;
	w->number++;
	begin_block(w);
	return 0;
}

/* The entry behind the last one, of `size` bytes, was written in place. */
static int entry_added(struct trace_writer *w, size_t size)
{
	w->length += size;
	w->since_key += size;
	return w->length >= BLOCK_BYTES ? end_block(w) : 0;
}

static int put_peer(struct trace_writer *w, uint32_t number)
{
	uint8_t description[TRACE_ENTRY_MAX], *to = entries(w) + w->length, *at = to;
	size_t size = describe_put(description, roster_peer(&w->peers, number));

	*at++ = TRACE_PEER << 4 | 3 << 2;
	at = codec_put_varint(at, number);
	at = codec_put_varint(at, size);
	memcpy(at, description, size);
	size += (size_t)(at - to);
	w->key_bytes += size;
	return entry_added(w, size);
}

/* Begins from nothing, in a new block. */
static int put_key(struct trace_writer *w)
{
	int err = end_block(w);

	w->flags = TRACE_KEY;
	w->since_key = w->key_bytes = 0;
	codec_restart(&w->codec);
	for (uint32_t i = 0; i < w->codec.count && !err; i++) {
		codec_restart_peer(&w->codec, i, roster_peer(&w->peers, i)->settings.interval_ns);
		err = put_peer(w, i);
	}
	return err;
}

static bool key_is_due(const struct trace_writer *w)
{
	return w->since_key >= KEY_BYTES && w->since_key >= KEY_SHARE * w->key_bytes;
}

/* --- entries --- */

int64_t trace_add_peer(struct trace_writer *w, const struct trace_peer *peer)
{
	uint32_t number = w->peers.count;
	int err = w->error ? w->error : roster_add(&w->peers, peer);

	/* Without memory for both halves of it, there is no peer: later ones would have other numbers. */
	if (!err && codec_add(&w->codec, peer->settings.interval_ns))
		err = w->error = -ENOMEM;
	err = err ? err : put_peer(w, number);
	return err ? err : (int64_t)number;
}

int trace_write(struct trace_writer *w, uint32_t peer, const struct kphi_beat *beat)
{
	if (w->error)
		return w->error;
	if (peer >= w->codec.count)
		return -EINVAL;
	if (key_is_due(w) && put_key(w))
		return w->error;
	w->arrivals++;
	return entry_added(w, codec_put_arrival(&w->codec, entries(w) + w->length, peer, beat));
}

/* A part of w->state, with `left` bytes behind it. */
static int put_part(struct trace_writer *w, uint32_t peer, const uint8_t *part, size_t size, size_t left)
{
	uint8_t *to = entries(w) + w->length, *at = to;

	*at++ = TRACE_STATE << 4 | 3 << 2;
	at = codec_put_varint(at, peer);
	at = codec_put_varint(at, left);
	at = codec_put_varint(at, size);
	memcpy(at, part, size);
	return entry_added(w, (size_t)(at - to) + size);
}

int trace_write_state(struct trace_writer *w, uint32_t peer, const struct kphi_record *record,
		      const uint64_t *ring)
{
	uint32_t window = w->start.window;
	size_t size, done = 0;

	if (w->error)
		return w->error;
	if (peer >= w->codec.count || window < KPHI_WINDOW_MIN || window > KPHI_WINDOW_MAX)
		return -EINVAL;
	if (!w->state)
		w->state = malloc(STATE_MAX);
	if (!w->state)
		return w->error = -ENOMEM;
	size = state_put(w->state, roster_peer(&w->peers, peer), record, ring, window);
	while (done < size && !w->error) {
		size_t part = size - done < STATE_PART ? size - done : STATE_PART;

		put_part(w, peer, w->state + done, part, size - done - part);
		done += part;
	}
	return w->error;
}

int trace_write_lost(struct trace_writer *w, uint64_t n)
{
	uint8_t *to = entries(w) + w->length;

	if (w->error || !n)
		return w->error;
	*to = TRACE_LOST << 4 | 3 << 2;
	return entry_added(w, (size_t)(codec_put_varint(to + 1, n) - to));
}

int trace_flush(struct trace_writer *w)
{
	return end_block(w);
}

uint64_t trace_written(const struct trace_writer *w)
{
	return (w->bytes ? w->bytes : sizeof(struct trace_head)) +
	       (w->length ? sizeof(struct trace_block) + w->length : 0);
}

/* --- the end --- */

void trace_abandon(struct trace_writer *w)
{
	if (!w)
		return;
	roster_free(&w->peers);
	codec_free(&w->codec);
	free(w->block);
	free(w->state);
	close(w->fd);
	free(w);
}

int trace_finish(struct trace_writer *w)
{
	int err;

	if (!w)
		return 0;
	if (!w->error) {
		entries(w)[w->length] = TRACE_END << 4 | 3 << 2;
		entry_added(w, 1);
		end_block(w);
	}
	if (!w->error && fsync(w->fd) < 0 && errno != EINVAL && errno != EROFS)
		w->error = -errno; /* EINVAL: a pipe or the like */
	err = w->error;
	trace_abandon(w);
	return err;
}
