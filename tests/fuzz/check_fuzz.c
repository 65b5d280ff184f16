// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What other detectors print. The first byte chooses the source, the second how the text comes in pieces. */
#include "check/source.h"
#include "fuzz/fuzz.h"
#include "io/parse.h"

static void read_document(const struct source *s, const struct document *d)
{
	struct claims claims = {0};
	char why[WHY_SIZE] = "";

	if (s->read(d, &claims, why, sizeof(why)))
		must_say(why);
	claims_free(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct source *s;
	struct document d;
	struct stream stream;
	size_t piece;

	if (size < 2)
		return 0;
	s = &sources[data[0] % sources_count];
	piece = data[1] ? data[1] : size;
	data += 2;
	size -= 2;
	stream_begin(&stream, &s->frame);
	while (size) {
		size_t part = size < piece ? size : piece;

		must(!stream_put(&stream, (const char *)data, part));
		while (stream_take(&stream, false, &d))
			read_document(s, &d);
		data += part;
		size -= part;
	}
	while (stream_take(&stream, true, &d))
		read_document(s, &d);
	stream_end(&stream);
	return 0;
}
