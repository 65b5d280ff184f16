// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A binary heap in one array, and for each slot where in it its entry stands: a deadline that moves is found
 * at once and sifted from there.
 */
#include "core/schedule.h"

#include <stdlib.h>

struct entry {
	uint64_t at_ns;
	uint32_t slot;
};

struct schedule {
	struct entry *heap;
	uint32_t *place; /* of a slot: 1 + its index in the heap; 0: none */
	uint32_t entries, slots;
};

struct schedule *schedule_new(uint32_t slots)
{
	struct schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->slots = slots;
	s->heap = calloc(slots ? slots : 1, sizeof(*s->heap));
	s->place = calloc(slots ? slots : 1, sizeof(*s->place));
	if (s->heap && s->place)
		return s;
	schedule_free(s);
	return NULL;
}

void schedule_free(struct schedule *s)
{
	if (!s)
		return;
	free(s->heap);
	free(s->place);
	free(s);
}

static void put(struct schedule *s, uint32_t i, struct entry entry)
{
	s->heap[i] = entry;
	s->place[entry.slot] = i + 1;
}

/* The entry belongs at i or above it. */
static void rise(struct schedule *s, uint32_t i, struct entry entry)
{
	while (i && s->heap[(i - 1) / 2].at_ns > entry.at_ns) {
		put(s, i, s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(s, i, entry);
}

/* The entry belongs at i or below it. Indices in 64 bits: twice the last one may not fit 32. */
static void sink(struct schedule *s, uint32_t i, struct entry entry)
{
	for (uint64_t child = 2 * (uint64_t)i + 1; child < s->entries; child = 2 * (uint64_t)i + 1) {
		if (child + 1 < s->entries && s->heap[child + 1].at_ns < s->heap[child].at_ns)
			child++;
		if (s->heap[child].at_ns >= entry.at_ns)
			break;
		put(s, i, s->heap[child]);
		i = (uint32_t)child;
	}
	put(s, i, entry);
}

static void settle(struct schedule *s, uint32_t i, struct entry entry)
{
	if (i && s->heap[(i - 1) / 2].at_ns > entry.at_ns)
		rise(s, i, entry);
	else
		sink(s, i, entry);
}

static void drop(struct schedule *s, uint32_t slot)
{
	uint32_t i = s->place[slot] - 1;
	struct entry last = s->heap[--s->entries];

	s->place[slot] = 0;
	if (i < s->entries)
		settle(s, i, last);
}

void schedule_set(struct schedule *s, uint32_t slot, uint64_t at_ns)
{
	struct entry entry = {at_ns, slot};

	if (slot >= s->slots)
		return;
	if (at_ns == UINT64_MAX) {
		if (s->place[slot])
			drop(s, slot);
		return;
	}
	if (s->place[slot])
		settle(s, s->place[slot] - 1, entry);
	else
		rise(s, s->entries++, entry);
}

void schedule_hasten(struct schedule *s, uint32_t slot, uint64_t at_ns)
{
	if (slot < s->slots && s->place[slot] && s->heap[s->place[slot] - 1].at_ns <= at_ns)
		return;
	schedule_set(s, slot, at_ns);
}

uint64_t schedule_next_ns(const struct schedule *s)
{
	return s->entries ? s->heap[0].at_ns : UINT64_MAX;
}

bool schedule_take(struct schedule *s, uint64_t now_ns, uint32_t *slot)
{
	if (!s->entries || s->heap[0].at_ns > now_ns)
		return false;
	*slot = s->heap[0].slot;
	drop(s, *slot);
	return true;
}
