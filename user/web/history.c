// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "web/history.h"

#include <stdlib.h>
#include <string.h>

struct row {
	uint32_t slot, generation;
	uint64_t look; /* the last one that it was put in */
	uint8_t cell[HISTORY_SECONDS]; /* a ring: second s is at s % HISTORY_SECONDS */
};

struct history {
	uint64_t second; /* of the last look; 0: there was none */
	uint64_t look; /* counts them */
	uint32_t slots, rows;
	struct row **of_slot; /* NULL: none */
	struct row *row[HISTORY_PEERS];
};

struct history *history_new(uint32_t slots)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->slots = slots;
	h->of_slot = calloc(slots ? slots : 1, sizeof(struct row *));
	if (h->of_slot)
		return h;
	free(h);
	return NULL;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->rows; i++)
		free(h->row[i]);
	free(h->of_slot);
	free(h);
}

/* The ring has come round to seconds of which nothing is known yet. */
static void forget_oldest(struct row *row, uint64_t from, uint64_t n)
{
	uint64_t at = from % HISTORY_SECONDS, first = HISTORY_SECONDS - at;

	if (n < first)
		first = n;
	memset(row->cell + at, 0, first);
	memset(row->cell, 0, n - first);
}

void history_begin(struct history *h, uint64_t second)
{
	uint64_t passed = second > h->second ? second - h->second : 0;

	h->look++;
	if (!passed)
		return;
	if (passed > HISTORY_SECONDS)
		passed = HISTORY_SECONDS;
	for (uint32_t i = 0; i < h->rows; i++)
		forget_oldest(h->row[i], second - passed + 1, passed);
	h->second = second;
}

void history_end(struct history *h)
{
	for (uint32_t i = 0; i < h->rows;) {
		struct row *row = h->row[i];

		if (row->look == h->look) {
			i++;
			continue;
		}
		h->of_slot[row->slot] = NULL;
		h->row[i] = h->row[--h->rows];
		free(row);
	}
}

bool history_has_room(const struct history *h, uint32_t slot)
{
	return slot < h->slots && (h->of_slot[slot] || h->rows < HISTORY_PEERS);
}

static struct row *new_row(struct history *h, uint32_t slot)
{
	struct row *row = history_has_room(h, slot) ? calloc(1, sizeof(*row)) : NULL;

	if (row) {
		row->slot = slot;
		h->of_slot[slot] = h->row[h->rows++] = row;
	}
	return row;
}

bool history_put(struct history *h, uint32_t slot, uint32_t generation, uint8_t cell)
{
	struct row *row = slot < h->slots ? h->of_slot[slot] : NULL;
	uint8_t *now;

	if (row && row->generation != generation)
		memset(row->cell, 0, sizeof(row->cell));
	if (!row)
		row = new_row(h, slot);
	if (!row)
		return false;
	row->generation = generation;
	row->look = h->look;
	now = &row->cell[h->second % HISTORY_SECONDS];
	if (cell > *now)
		*now = cell;
	return true;
}

bool history_read(const struct history *h, uint32_t slot, uint32_t generation, uint32_t n, uint8_t *cells)
{
	const struct row *row = slot < h->slots ? h->of_slot[slot] : NULL;

	if (!row || row->generation != generation)
		return false;
	for (uint32_t i = 0; i < n; i++)
		cells[i] = row->cell[(h->second + HISTORY_SECONDS - (n - 1 - i)) % HISTORY_SECONDS];
	return true;
}

uint32_t history_peers(const struct history *h)
{
	return h->rows;
}
