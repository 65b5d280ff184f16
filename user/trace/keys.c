// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over words, with a last stir because the table takes the low bits. */
static uint64_t hash(const struct key *key)
{
	uint64_t h = 0xcbf29ce484222325U, word;

	for (size_t i = 0; i < sizeof(*key); i += sizeof(word)) {
		memcpy(&word, key->bytes + i, sizeof(word));
		h = (h ^ word) * 0x100000001b3U;
		h ^= h >> 29;
	}
	return h;
}

static uint32_t *place(const struct keys *k, const struct key *key)
{
	uint32_t mask = 2 * k->room - 1, at = (uint32_t)hash(key) & mask;

	while (k->table[at] && memcmp(&k->keys[k->table[at] - 1], key, sizeof(*key)) != 0)
		at = (at + 1) & mask;
	return &k->table[at];
}

static int grow(struct keys *k)
{
	struct keys larger = {.room = k->room ? 2 * k->room : 64, .count = k->count};

	larger.table = calloc(2 * (size_t)larger.room, sizeof(*larger.table));
	larger.keys = larger.table ? reallocarray(k->keys, larger.room, sizeof(*larger.keys)) : NULL;
	if (!larger.keys) {
		free(larger.table);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < larger.count; i++)
		*place(&larger, &larger.keys[i]) = i + 1;
	free(k->table);
	*k = larger;
	return 0;
}

int64_t keys_find(struct keys *k, const struct key *key, bool *fresh)
{
	uint32_t *at;

	*fresh = false;
	if (k->count == k->room && grow(k))
		return -ENOMEM;
	at = place(k, key);
	if (*at)
		return *at - 1;
	*fresh = true;
	k->keys[k->count++] = *key;
	*at = k->count;
	return *at - 1;
}

void keys_free(struct keys *k)
{
	free(k->keys);
	free(k->table);
	*k = (struct keys){0};
}
