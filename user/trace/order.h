/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The changes of each record in the order in which it took them. Two CPUs that take messages of one peer may
 * hand them to the recorder the other way round; but each change tells the record's version, which rises by
 * two from one to the next. So whoever is early waits for the ones before it, for a while: what was lost on
 * the way does not come any more.
 */
#ifndef KPHI_TRACE_ORDER_H
#define KPHI_TRACE_ORDER_H

#include <kphi/record.h>
#include <stdbool.h>

#define ORDER_HELD_MAX 256 /* changes that wait; when one more comes, the first one waits no longer */
#define ORDER_WAIT_NS  100000000ULL

/* `gap`: changes of this record are missing before it. 0, or a negative errno, which ends the call. */
typedef int order_taker(void *context, const struct kphi_arrival *arrival, bool gap);

struct order_held {
	uint64_t since_ns;
	struct kphi_arrival arrival;
};

/* By slot: where its record began to be followed, the change handed on last, and how many wait. */
struct order_slot {
	uint64_t from, version;
	uint32_t held;
};

struct order {
	order_taker *taker;
	void *context;
	uint32_t slots, held;
	uint64_t late; /* so far: came after what they should have come before was handed on */
	struct order_slot *slot;
	struct order_held waiting[ORDER_HELD_MAX + 1]; /* in the order in which they came */
};

/* 0 or -ENOMEM. */
int order_begin(struct order *o, uint32_t slots, order_taker *taker, void *context);
void order_end(struct order *o);

/* The record in this slot is known as of this version: what does not come after that is dropped. */
void order_follow(struct order *o, uint32_t slot, uint64_t version);

/* The last change that was handed on; 0: none yet, and it is not followed. */
uint64_t order_version(const struct order *o, uint32_t slot);

/* One more change: hands on what has its turn now. One of version 0, or of no such slot, is dropped. */
int order_take(struct order *o, const struct kphi_arrival *arrival, uint64_t now_ns);

/* Hands on what has waited for too long at now_ns; UINT64_MAX: all. */
int order_give_up(struct order *o, uint64_t now_ns);

#endif
