/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What other detectors print, from tests/unit/data/check. */
#ifndef KPHI_TESTS_UNIT_CROSSCHECK_FIXTURE_H
#define KPHI_TESTS_UNIT_CROSSCHECK_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/source.h"
#include "io/parse.h"

#define FIXTURES "tests/unit/data/check/"

/* The whole file, to be freed. */
static inline char *fixture(const char *name, size_t *size)
{
	char path[256], *text = malloc(1 << 16);
	FILE *from;

	snprintf(path, sizeof(path), FIXTURES "%s", name);
	from = fopen(path, "r");
	if (!from || !text)
		fail_msg("%s: cannot read", path);
	*size = fread(text, 1, 1 << 16, from);
	fclose(from);
	return text;
}

static inline const struct source *source_of(const char *name)
{
	for (size_t i = 0; i < sources_count; i++)
		if (!strcmp(sources[i].name, name))
			return &sources[i];
	fail_msg("no source %s", name);
	return NULL;
}

/* Exactly `size` bytes on the heap, so that a sanitizer sees who reads behind them. */
static inline int read_text(const char *source, const char *text, size_t size, struct claims *claims,
			    char *why)
{
	char *copy = malloc(size ? size : 1);
	struct document d = {.text = copy, .size = size, .line = 1};
	int err;

	memcpy(copy, text, size);
	*claims = (struct claims){0};
	*why = '\0';
	err = source_of(source)->read(&d, claims, why, WHY_SIZE);
	free(copy);
	return err;
}

#endif
