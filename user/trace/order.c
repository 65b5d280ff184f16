// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int order_begin(struct order *o, uint32_t slots, order_taker *taker, void *context)
{
	o->taker = taker;
	o->context = context;
	o->slots = slots;
	o->held = 0;
	o->late = 0;
	o->slot = calloc(slots, sizeof(*o->slot));
	return o->slot ? 0 : -ENOMEM;
}

void order_end(struct order *o)
{
	free(o->slot);
	o->slot = NULL;
}

void order_follow(struct order *o, uint32_t slot, uint64_t version)
{
	o->slot[slot].from = o->slot[slot].version = version;
}

uint64_t order_version(const struct order *o, uint32_t slot)
{
	return o->slot[slot].version;
}

static int hand_on(struct order *o, const struct kphi_arrival *a)
{
	struct order_slot *s = &o->slot[a->slot];
	bool gap = a->version != s->version + 2;

	s->version = a->version;
	return o->taker(o->context, a, gap);
}

static void forget(struct order *o, uint32_t at)
{
	o->slot[o->waiting[at].arrival.slot].held--;
	o->held--;
	memmove(&o->waiting[at], &o->waiting[at + 1], (o->held - at) * sizeof(*o->waiting));
}

/* Which of those that wait in this slot is the first; o->held: none. */
static uint32_t first_of(const struct order *o, uint32_t slot)
{
	uint32_t first = o->held;

	for (uint32_t i = 0; i < o->held && o->slot[slot].held; i++)
		if (o->waiting[i].arrival.slot == slot &&
		    (first == o->held || o->waiting[i].arrival.version < o->waiting[first].arrival.version))
			first = i;
	return first;
}

/* Who was waiting for the one that was handed on just now has its turn. */
static int go_on(struct order *o, uint32_t slot)
{
	int err = 0;

	while (!err && o->slot[slot].held) {
		uint32_t at = first_of(o, slot);
		struct kphi_arrival a = o->waiting[at].arrival;

		if (a.version > o->slot[slot].version + 2)
			break;
		forget(o, at);
		err = hand_on(o, &a);
	}
	return err;
}

/* The one that waits there is no longer kept back by what is missing. */
static int release(struct order *o, uint32_t slot)
{
	uint32_t at = first_of(o, slot);
	struct kphi_arrival a = o->waiting[at].arrival;
	int err;

	forget(o, at);
	err = hand_on(o, &a);
	return err ? err : go_on(o, slot);
}

int order_take(struct order *o, const struct kphi_arrival *a, uint64_t now_ns)
{
	struct order_slot *s = a->slot < o->slots ? &o->slot[a->slot] : NULL;
	int err = 0;

	if (!s || !a->version)
		return 0;
	if (s->version && a->version <= s->version) {
		o->late += a->version > s->from;
		return 0;
	}
	if (!s->version || a->version == s->version + 2) {
		err = hand_on(o, a);
		return err || !s->held ? err : go_on(o, a->slot);
	}
	o->waiting[o->held++] = (struct order_held){now_ns, *a};
	s->held++;
	return o->held > ORDER_HELD_MAX ? release(o, o->waiting[0].arrival.slot) : 0;
}

int order_give_up(struct order *o, uint64_t now_ns)
{
	int err = 0;

	while (!err && o->held && now_ns - o->waiting[0].since_ns >= ORDER_WAIT_NS)
		err = release(o, o->waiting[0].arrival.slot);
	return err;
}
