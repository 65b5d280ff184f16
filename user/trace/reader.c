// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/reader.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/parse.h"
#include "trace/codec.h"
#include "trace/roster.h"

#define BUFFER_BYTES   (256U << 10) /* holds any block, whose head may be anywhere in it */
#define CANDIDATES_MAX 1000 /* how often something behind a damage may look like a block and be none */

_Static_assert(BUFFER_BYTES >= sizeof(struct trace_block) + TRACE_BLOCK_MAX, "a block fits the buffer");

struct trace {
	int fd;
	int error;
	bool done; /* the end was reached */
	bool ended;
	bool file_ended; /* read() has said so */
	uint32_t number; /* of the next block */
	uint32_t arrivals; /* that the block has left */
	uint64_t lost, torn, size;
	uint64_t offset; /* in the file, of `begin` */
	uint8_t *buffer, *begin, *end; /* `begin`: of what was not taken yet */
	const uint8_t *at, *block_end; /* entries */
	struct codec codec;
	struct roster peers;
	struct trace_start start;
	uint16_t version;
	struct {
		uint32_t peer;
		size_t have, left; /* bytes; left of one that is not whole yet */
		uint8_t *bytes; /* STATE_MAX, once there was one; the ring, too */
		uint64_t *ring;
		struct trace_state whole;
	} state;
	const char *name;
	char why[WHY_SIZE];
};

/* --- bytes --- */

/* At least `size` (up to BUFFER_BYTES) bytes from `begin` on, if the file has so many. Returns how many there
 * are, or -errno. */
static ssize_t need(struct trace *t, size_t size)
{
	size_t have = (size_t)(t->end - t->begin);

	if (have >= size)
		return (ssize_t)have;
	memmove(t->buffer, t->begin, have);
	t->begin = t->buffer;
	t->end = t->buffer + have;
	while (have < size && !t->file_ended) {
		ssize_t n = read(t->fd, t->end, BUFFER_BYTES - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		t->file_ended = n == 0;
		t->end += n;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static void take(struct trace *t, size_t size)
{
	t->begin += size;
	t->offset += size;
}

__attribute__((format(printf, 3, 4))) static int wrong(struct trace *t, int err, const char *format, ...)
{
	char reason[WHY_SIZE / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	t->error = err;
	return refuse(err, t->why, sizeof(t->why), "%s: %s", t->name, reason);
}

/* --- opening --- */

static int get_head(struct trace *t)
{
	struct trace_head head = {.version = 0};
	ssize_t have = need(t, sizeof(head));
	uint16_t size;

	if (have < 0)
		return wrong(t, (int)have, "cannot be read: %s", strerror((int)-have));
	memcpy(&head, t->begin, (size_t)have < sizeof(head) ? (size_t)have : sizeof(head));
	if (memcmp(head.magic, TRACE_MAGIC, sizeof(head.magic)) != 0)
		return wrong(t, -EBADMSG, "it is no trace: those begin with other bytes%s",
			     have ? "" : ", and this is empty");
	if ((size_t)have < sizeof(head))
		return wrong(t, -EBADMSG, "it was cut off within the %zu bytes of its head", sizeof(head));
	t->version = le16toh(head.version);
	if (t->version < 1 || t->version > TRACE_VERSION)
		return wrong(t, -EBADMSG, "it is of version %u, and this kphi knows those up to %u",
			     t->version, TRACE_VERSION);
	size = le16toh(head.size);
	if (crc32(0, t->begin, offsetof(struct trace_head, crc)) != le32toh(head.crc) || size < sizeof(head))
		return wrong(t, -EBADMSG, "its head is damaged: its checksum is another");
	if (need(t, size) < size)
		return wrong(t, -EBADMSG, "it was cut off within the %u bytes of its head", size);
	t->start =
		(struct trace_start){le64toh(head.wall_ns), le64toh(head.monotonic_ns), le32toh(head.window)};
	take(t, size);
	return 0;
}

struct trace *trace_open_fd(int fd, const char *name, char *why, size_t size)
{
	struct trace *t = calloc(1, sizeof(*t));
	uint8_t *buffer = calloc(1, BUFFER_BYTES + TRACE_ENTRY_MAX);
	struct stat file;

	if (!t || !buffer) {
		refuse(-ENOMEM, why, size, "%s: cannot be read: %s", name, strerror(ENOMEM));
		free(t);
		free(buffer);
		close(fd);
		return NULL;
	}
	*t = (struct trace){.fd = fd, .name = name, .buffer = buffer, .begin = buffer, .end = buffer};
	t->size = !fstat(fd, &file) && S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
	codec_init(&t->codec);
	if (!get_head(t))
		return t;
	refuse(t->error, why, size, "%s", t->why);
	trace_close(t);
	return NULL;
}

struct trace *trace_open(const char *path, char *why, size_t size)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return trace_open_fd(fd, standard ? "standard input" : path, why, size);
	refuse(-errno, why, size, "%s: cannot be read: %s", path, strerror(errno));
	return NULL;
}

/* --- blocks --- */

enum soundness { SOUND, DAMAGED, CUT_OFF };

/* Is there a whole block at `begin`? Fills *head, in this host's order. Below 0: reading failed. */
static int look_at_block(struct trace *t, struct trace_block *head)
{
	ssize_t have = need(t, sizeof(*head));
	uLong crc;

	if (have < (ssize_t)sizeof(*head))
		return have < 0 ? (int)have : CUT_OFF;
	memcpy(head, t->begin, sizeof(*head));
	head->magic = le32toh(head->magic);
	head->length = le32toh(head->length);
	head->number = le32toh(head->number);
	head->flags = le32toh(head->flags);
	head->arrivals = le32toh(head->arrivals);
	if (head->magic != TRACE_BLOCK_MAGIC || !head->length || head->length > TRACE_BLOCK_MAX)
		return DAMAGED;
	have = need(t, sizeof(*head) + head->length);
	if (have < (ssize_t)(sizeof(*head) + head->length))
		return have < 0 ? (int)have : CUT_OFF;
	crc = crc32(0, t->begin, offsetof(struct trace_block, crc));
	crc = crc32(crc, t->begin + sizeof(*head), head->length);
	return crc == le32toh(head->crc) ? SOUND : DAMAGED;
}

/* Moves on to the next place that may be the beginning of a block. Returns 1, 0 at the end, -errno. */
static int next_candidate(struct trace *t)
{
	const uint32_t magic = htole32(TRACE_BLOCK_MAGIC);
	ssize_t have;

	take(t, 1);
	while ((have = need(t, sizeof(struct trace_block))) >= (ssize_t)sizeof(struct trace_block)) {
		const uint8_t *found = memmem(t->begin, (size_t)have, &magic, sizeof(magic));

		take(t, found ? (size_t)(found - t->begin) : (size_t)have - sizeof(magic) + 1);
		if (found)
			return 1;
	}
	return have < 0 ? (int)have : 0;
}

/* Is there a whole block further on? 1, 0, or -errno. What looks like one too often is taken for one. */
static int find_sound(struct trace *t)
{
	struct trace_block head;

	for (int i = 0; i < CANDIDATES_MAX; i++) {
		int got = next_candidate(t);

		if (got <= 0)
			return got;
		got = look_at_block(t, &head);
		if (got < 0)
			return got;
		if (got == SOUND)
			return 1;
	}
	return 1;
}

/*
 * There is no whole block where one should be. Torn off, or damaged? What follows tells. Returns 0 if the
 * trace ends here.
 */
static int judge_damage(struct trace *t)
{
	uint64_t from = t->offset;
	int found = find_sound(t);

	if (found < 0)
		return wrong(t, found, "cannot be read: %s", strerror(-found));
	if (found)
		return wrong(t, -EBADMSG,
			     "damaged at byte %" PRIu64 ", with more of the trace behind it: what was "
			     "recorded before is sound",
			     from);
	take(t, (size_t)(t->end - t->begin));
	t->torn = t->offset - from;
	t->done = true;
	return 0;
}

/* Sets t->at to the entries of the next block: 1, 0 at the end, or what is wrong. */
static int next_block(struct trace *t)
{
	struct trace_block head = {.magic = 0};
	int got;

	if (need(t, 1) == 0) {
		t->done = true;
		return 0;
	}
	got = look_at_block(t, &head);
	if (got < 0)
		return wrong(t, got, "cannot be read: %s", strerror(-got));
	if (got != SOUND)
		return judge_damage(t);
	if (head.number != t->number)
		return wrong(t, -EBADMSG, "a part is missing: block %u follows %u at byte %" PRIu64,
			     head.number, t->number - 1, t->offset);
	if (head.flags & TRACE_KEY)
		codec_restart(&t->codec);
	t->number++;
	t->arrivals = head.arrivals;
	t->at = t->begin + sizeof(head);
	t->block_end = t->at + head.length;
	take(t, sizeof(head) + head.length);
	return 1;
}

/* --- entries --- */

static int bad_entry(struct trace *t)
{
	return wrong(t, -EBADMSG,
		     "the block before byte %" PRIu64 " is whole, but has no meaning: it was "
		     "not written by kphi, or by a newer one",
		     t->offset);
}

static int add_peer(struct trace *t, const struct trace_peer *peer)
{
	int err = roster_add(&t->peers, peer);

	return err ? err : codec_add(&t->codec, peer->settings.interval_ns);
}

/* A number is new, and the next one, or comes again behind a key, with the description that it had. */
static int get_peer(struct trace *t)
{
	uint64_t number, size;
	struct trace_peer peer;

	if (!codec_get_varint(&t->at, &number) || !codec_get_varint(&t->at, &size) || t->at > t->block_end ||
	    size > (size_t)(t->block_end - t->at) || describe_get(t->at, size, &peer))
		return -EBADMSG;
	t->at += size;
	if (number == t->codec.count)
		return add_peer(t, &peer);
	if (number > t->codec.count || t->codec.peers[number].heard ||
	    memcmp((const void *)roster_peer(&t->peers, (uint32_t)number), (const void *)&peer,
		   sizeof(peer)) != 0)
		return -EBADMSG;
	codec_restart_peer(&t->codec, (uint32_t)number, peer.settings.interval_ns);
	return 0;
}

static int make_state(struct trace *t)
{
	size_t ring = KPHI_RING_SIZE(t->start.window) * sizeof(uint64_t);

	if (t->start.window < KPHI_WINDOW_MIN || t->start.window > KPHI_WINDOW_MAX)
		return -EBADMSG;
	if (!t->state.bytes)
		t->state.bytes = malloc(STATE_MAX);
	if (!t->state.ring)
		t->state.ring = malloc(ring);
	if (!t->state.bytes || !t->state.ring)
		return -ENOMEM;
	memset(t->state.ring, 0, ring);
	return 0;
}

/* A part of a state: 1 if it is the last one, and then the state is there; 0 or -errno. */
static int get_state(struct trace *t, uint32_t *peer)
{
	uint64_t number, left, size;
	int err = make_state(t);

	if (err)
		return err;
	if (!codec_get_varint(&t->at, &number) || !codec_get_varint(&t->at, &left) ||
	    !codec_get_varint(&t->at, &size) || t->at > t->block_end || !size ||
	    size > (size_t)(t->block_end - t->at) || number >= t->codec.count || left > STATE_MAX)
		return -EBADMSG;
	if (!t->state.left) {
		t->state.have = 0;
		t->state.peer = (uint32_t)number;
		t->state.left = size + left;
	}
	if (number != t->state.peer || size + left != t->state.left ||
	    t->state.have + size + left > STATE_MAX)
		return -EBADMSG;
	memcpy(t->state.bytes + t->state.have, t->at, size);
	t->at += size;
	t->state.have += size;
	t->state.left = left;
	if (left)
		return 0;
	*peer = t->state.peer;
	t->state.whole.ring = t->state.ring;
	err = state_get(t->state.bytes, t->state.have, roster_peer(&t->peers, *peer), &t->state.whole.record,
			t->state.ring, t->start.window);
	return err ? err : 1;
}

/* What is neither an arrival nor a state. 0 or -errno. */
static int get_other(struct trace *t, int entry)
{
	uint64_t lost;

	if (entry == TRACE_PEER)
		return get_peer(t);
	if (entry == TRACE_LOST) {
		if (!codec_get_varint(&t->at, &lost))
			return -EBADMSG;
		t->lost += lost;
	}
	t->ended = entry == TRACE_END;
	return 0;
}

/* Entries up to the next arrival or state, or to the block's end. 1, 2, 0, or what is wrong. */
static int next_entry(struct trace *t, uint32_t *peer, struct kphi_beat *beat)
{
	while (t->at < t->block_end) {
		int entry = codec_get(&t->codec, &t->at, peer, beat), got = 0;

		if (entry == TRACE_STATE)
			got = get_state(t, peer);
		else if (entry > 0)
			got = get_other(t, entry);
		if (got == -ENOMEM)
			return wrong(t, got, "there is no memory for another peer");
		if (got < 0 || entry < 0 || t->at > t->block_end ||
		    (entry != TRACE_STATE && t->state.left)) /* parts follow each other */
			return bad_entry(t);
		if (entry == TRACE_STATE || entry == TRACE_ARRIVAL)
			t->ended = false;
		if (got)
			return 2;
		if (entry == TRACE_ARRIVAL)
			return t->arrivals-- ? 1 : bad_entry(t);
	}
	return t->arrivals ? bad_entry(t) : 0;
}

int trace_next(struct trace *t, uint32_t *peer, struct kphi_beat *beat)
{
	int got;

	do {
		got = trace_next_of_all(t, peer, beat);
	} while (got > 1);
	return got;
}

int trace_next_of_all(struct trace *t, uint32_t *peer, struct kphi_beat *beat)
{
	int got;

	if (t->error)
		return t->error;
	for (;;) {
		if (t->at < t->block_end || t->arrivals) {
			got = next_entry(t, peer, beat);
			if (got)
				return got;
		}
		if (t->done)
			return 0;
		got = next_block(t);
		if (got <= 0)
			return got;
	}
}

/* --- what is known --- */

const struct trace_start *trace_start(const struct trace *t)
{
	return &t->start;
}

uint32_t trace_peers(const struct trace *t)
{
	return t->codec.count;
}

const struct trace_peer *trace_peer(const struct trace *t, uint32_t peer)
{
	return roster_peer(&t->peers, peer);
}

uint16_t trace_version(const struct trace *t)
{
	return t->version;
}

const struct trace_state *trace_state(const struct trace *t)
{
	return &t->state.whole;
}

const char *trace_why(const struct trace *t)
{
	return t->why;
}

uint64_t trace_lost(const struct trace *t)
{
	return t->lost;
}

uint64_t trace_torn(const struct trace *t)
{
	return t->torn;
}

bool trace_ended(const struct trace *t)
{
	return t->ended;
}

uint64_t trace_taken(const struct trace *t)
{
	return t->offset;
}

uint64_t trace_size(const struct trace *t)
{
	return t->size;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	roster_free(&t->peers);
	codec_free(&t->codec);
	free(t->state.bytes);
	free(t->state.ring);
	free(t->buffer);
	close(t->fd);
	free(t);
}
