// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Saved stores. Chance finds no checksum, so unless the input begins with a NUL each of its lines is given
 * the one that it needs. What can be read is printed, and read again as the same.
 */
#include <inttypes.h>
#include <zlib.h>

#include "fuzz/fuzz.h"
#include "io/parse.h"
#include "io/saved.h"

/* The input's lines, each with its checksum. To be freed. */
static char *with_checksums(const uint8_t *data, size_t size, size_t *length)
{
	uLong crc = crc32(0, NULL, 0);
	char *text = NULL;
	FILE *to = open_memstream(&text, length);

	must(to);
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t line = end ? (size_t)(end - data) : size;

		crc = crc32(crc, data, (uInt)line);
		crc = crc32(crc, (const Bytef *)"\n", 1);
		fprintf(to, "%08lx ", crc);
		fwrite(data, 1, line, to);
		fputc('\n', to);
		data += line + !!end;
		size -= line + !!end;
	}
	must(!fclose(to));
	return text;
}

static char *printed(const struct saved_store *store, size_t *length)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, length);

	must(to);
	saved_print(to, store);
	must(!ferror(to) && !fclose(to));
	return text;
}

static void print_and_read_again(const struct saved_store *store)
{
	size_t length, length_again;
	char *text = printed(store, &length), *again, why[WHY_SIZE];
	struct saved_store same = {0};

	must(!saved_parse(text, length, &same, why, sizeof(why)) && same.count == store->count);
	again = printed(&same, &length_again);
	must(length == length_again && !memcmp(text, again, length));
	free(same.peers);
	free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct saved_store store = {0};
	char why[WHY_SIZE] = "", *text;
	size_t length = size;
	int err;

	if (size && !*data)
		text = fuzz_text(data + 1, --length);
	else
		text = with_checksums(data, size, &length);
	err = saved_parse(text, length, &store, why, sizeof(why));
	if (err)
		must_say(why);
	else
		print_and_read_again(&store);
	free(store.peers);
	free(text);
	return 0;
}
