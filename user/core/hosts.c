// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_number(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_host(const void *left, const void *right)
{
	const struct host_stream *a = left, *b = right;
	int order = strcmp(a->host, b->host);

	return order ? order : by_number(a->slot, b->slot);
}

static int by_place(const void *left, const void *right)
{
	const struct host_stream *a = left, *b = right;
	int order = by_number(a->place, b->place);

	return order ? order : by_number(a->slot, b->slot);
}

void hosts_arrange(struct host_stream *streams, size_t n)
{
	qsort(streams, n, sizeof(*streams), by_host);
	for (size_t i = 0; i < n; i++) {
		const struct host_stream *before = i ? &streams[i - 1] : NULL;

		if (before && *streams[i].host && !strcmp(before->host, streams[i].host))
			streams[i].place = before->place;
		else
			streams[i].place = streams[i].slot;
	}
	qsort(streams, n, sizeof(*streams), by_place);
}

void host_summary_add(struct host_summary *s, const char *name, enum host_word word)
{
	if (s->count[word] < HOST_NAMES)
		snprintf(s->name[word][s->count[word]], KPHI_NAME_SIZE, "%s", name);
	s->count[word]++;
}

char *host_summary_text(const struct host_summary *s, char text[HOST_SUMMARY])
{
	static const char *const words[] = {
		[HOST_AUDIBLE] = "audible by",       [HOST_SILENT] = "silent by",
		[HOST_DOWN] = "declared down by",    [HOST_LEFT] = "left by",
		[HOST_UNHEARD] = "not heard yet by",
	};
	int length = 0;

	*text = '\0';
	for (int word = 0; word < HOST_WORDS; word++) {
		uint32_t count = s->count[word], named = count < HOST_NAMES ? count : HOST_NAMES;

		for (uint32_t i = 0; i < named; i++)
			length += snprintf(text + length, HOST_SUMMARY - (size_t)length, "%s%s %s",
					   i || !length ? "" : ", ", i ? " and" : words[word],
					   s->name[word][i]);
		if (count > named)
			length += snprintf(text + length, HOST_SUMMARY - (size_t)length, " and %u more",
					   count - named);
	}
	return text;
}
