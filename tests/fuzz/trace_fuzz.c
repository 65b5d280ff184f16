// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Traces. Chance finds no checksum, so unless the input begins with a NUL it is the entries of blocks, each
 * behind a byte that says how long it is (in eights) and whether it is a key, and is given all the rest.
 */
#include <errno.h>
#include <zlib.h>

#include "fuzz/fuzz.h"
#include "io/parse.h"
#include "replay/replay.h"
#include "trace/reader.h"

static uint32_t checksum(const void *head, size_t head_size, const void *body, size_t size)
{
	uLong crc = crc32(crc32(0, NULL, 0), head, (uInt)head_size);

	return (uint32_t)crc32(crc, body, (uInt)size);
}

static void write_head(FILE *to)
{
	struct trace_head head = {.version = TRACE_VERSION, .size = sizeof(head), .window = 100};

	memcpy(head.magic, TRACE_MAGIC, sizeof(head.magic));
	head.crc = checksum(&head, offsetof(struct trace_head, crc), NULL, 0);
	fwrite(&head, 1, sizeof(head), to);
}

static void write_block(FILE *to, uint32_t number, uint32_t flags, const uint8_t *entries, size_t size)
{
	struct trace_block block = {.magic = TRACE_BLOCK_MAGIC,
				    .length = (uint32_t)size,
				    .number = number,
				    .flags = flags,
				    .arrivals = (uint32_t)size / 4};

	block.crc = checksum(&block, offsetof(struct trace_block, crc), entries, size);
	fwrite(&block, 1, sizeof(block), to);
	fwrite(entries, 1, size, to);
}

static char *blocks(const uint8_t *data, size_t size, size_t *length)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, length);
	uint32_t number = 0;

	must(to);
	write_head(to);
	while (size > 1) {
		size_t entries = (size_t)(*data >> 1) * 8 + 1;

		entries = entries < size - 1 ? entries : size - 1;
		write_block(to, number, !number || *data & 1 ? TRACE_KEY : 0, data + 1, entries);
		number++;
		data += 1 + entries;
		size -= 1 + entries;
	}
	must(!fclose(to));
	return text;
}

static void read_all(struct trace *t)
{
	struct kphi_beat beat;
	uint32_t peer;
	int got;

	while ((got = trace_next(t, &peer, &beat)) > 0) {
		must(peer < trace_peers(t));
		must(memchr(trace_peer(t, peer)->name, '\0', KPHI_NAME_SIZE));
	}
	must(trace_next(t, &peer, &beat) == got);
	if (got < 0)
		must_say(trace_why(t));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool raw = size && !*data;
	size_t length;
	char *file = raw ? NULL : blocks(data, size, &length), why[WHY_SIZE] = "";
	struct trace *t = trace_open_fd(raw ? fuzz_file(data + 1, size - 1) : fuzz_file(file, length), "it",
					why, sizeof(why));

	if (t)
		read_all(t);
	else
		must_say(why);
	trace_close(t);
	free(file);
	return 0;
}
