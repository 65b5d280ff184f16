/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traces that no writer has made: any head, any block, any entries, with checksums that fit. */
#ifndef KPHI_TESTS_TRACE_BYTES_H
#define KPHI_TESTS_TRACE_BYTES_H

#include <endian.h>
#include <zlib.h>

#include "trace/codec.h"
#include "unit/trace_file.h"

static inline size_t put_head(uint8_t *to, struct trace_head head)
{
	head.crc = htole32((uint32_t)crc32(0, (const Bytef *)&head, offsetof(struct trace_head, crc)));
	memcpy(to, &head, sizeof(head));
	return sizeof(head);
}

static inline size_t put_block(uint8_t *to, uint32_t number, uint32_t arrivals, const uint8_t *entries,
			       size_t size)
{
	struct trace_block head = {.magic = htole32(TRACE_BLOCK_MAGIC),
				   .length = htole32((uint32_t)size),
				   .number = htole32(number),
				   .flags = htole32(number ? 0 : TRACE_KEY),
				   .arrivals = htole32(arrivals)};
	uLong crc = crc32(0, (const Bytef *)&head, offsetof(struct trace_block, crc));

	head.crc = htole32((uint32_t)crc32(crc, entries, (uInt)size));
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), entries, size);
	return sizeof(head) + size;
}

#define HEAD                                                                                                 \
	{                                                                                                    \
		.magic = TRACE_MAGIC, .version = TRACE_VERSION, .size = sizeof(struct trace_head),           \
		.window = 8                                                                                  \
	}

/* Reads a file of one block with these entries. Only the error counts. */
static inline int error_of(uint32_t arrivals, const uint8_t *entries, size_t size)
{
	const struct trace_head head = HEAD;
	uint8_t *bytes = malloc(sizeof(head) + sizeof(struct trace_block) + size);
	size_t at = put_head(bytes, head);
	struct kphi_beat beat;
	char why[WHY_SIZE];
	struct trace *t;
	uint32_t peer;
	int got;

	at += put_block(bytes + at, 0, arrivals, entries, size);
	t = trace_open_fd(bytes_fd(bytes, at), "it", why, sizeof(why));
	assert_non_null(t);
	do {
		got = trace_next_of_all(t, &peer, &beat);
		if (got > 0)
			assert_true(peer < trace_peers(t));
	} while (got > 0);
	trace_close(t);
	free(bytes);
	return got;
}

#define ENTRY(kind) ((kind) << 4 | 3 << 2)

static inline size_t put_peer(uint8_t *to, uint32_t number, const char *name)
{
	struct trace_peer p = {.settings.id.kind = KPHI_ID_NATIVE};
	uint8_t description[TRACE_ENTRY_MAX], *at = to;
	size_t size;

	snprintf(p.settings.name, sizeof(p.settings.name), "%s", name);
	size = describe_put(description, &p);
	*at++ = ENTRY(TRACE_PEER);
	at = codec_put_varint(at, number);
	at = codec_put_varint(at, size);
	memcpy(at, description, size);
	return (size_t)(at - to) + size;
}

#endif
