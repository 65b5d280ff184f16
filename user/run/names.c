// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/names.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "io/file.h"

/* A line with the time to live, then one name a line: names hold no control characters. */
#define HEAD      "kphi consumers ttl "
#define FILE_SIZE (64 + ENGINE_CONSUMERS * KPHI_NAME_SIZE)

static int path_of(const char *directory, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/consumers", directory) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int names_write(const char *directory, const struct names *names)
{
	char path[PATH_MAX], text[FILE_SIZE + 1];
	size_t length;

	if (path_of(directory, path))
		return -ENAMETOOLONG;
	length = (size_t)snprintf(text, sizeof(text), HEAD "%" PRIu64 "\n", names->ttl_ns);
	for (uint32_t i = 0; i < names->count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s\n", names->name[i]);
	return file_replace(path, text, length);
}

int names_read(const char *directory, struct names *names)
{
	char path[PATH_MAX], text[FILE_SIZE + 1], *line = text, *end;
	ssize_t got;

	memset(names, 0, sizeof(*names));
	if (path_of(directory, path))
		return -ENAMETOOLONG;
	got = file_read(path, text, FILE_SIZE);
	if (got < 0)
		return got == -ENOENT ? 0 : (int)got;
	text[got] = '\0';
	end = strchr(line, '\n');
	if (!end || sscanf(text, HEAD "%" SCNu64, &names->ttl_ns) != 1)
		return 0;
	line = end + 1;
	for (; names->count < ENGINE_CONSUMERS && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		snprintf(names->name[names->count++], KPHI_NAME_SIZE, "%.63s", line);
	}
	return 0;
}

void names_of(struct names *names, const struct engine_config *config)
{
	memset(names, 0, sizeof(*names));
	names->ttl_ns = config->verdict_ttl_ns;
	names->count = config->consumers;
	for (uint32_t i = 0; i < config->consumers; i++)
		memcpy(names->name[i], config->consumer[i].name, KPHI_NAME_SIZE);
}

void names_map(const struct names *old, const struct names *new, int map[ENGINE_CONSUMERS])
{
	for (uint32_t i = 0; i < ENGINE_CONSUMERS; i++) {
		map[i] = -1;
		for (uint32_t k = 0; i < old->count && k < new->count; k++)
			if (!strcmp(old->name[i], new->name[k]))
				map[i] = (int)k;
	}
}

uint32_t names_move(uint32_t bits, const int map[ENGINE_CONSUMERS])
{
	uint32_t moved = 0;

	for (uint32_t i = 0; i < ENGINE_CONSUMERS; i++)
		if (bits >> i & 1 && map[i] >= 0)
			moved |= 1U << map[i];
	return moved;
}
