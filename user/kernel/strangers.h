/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Native messages of node ids that were never added, for one at a time who asks for them. The kernel tells of
 * them for as long as a lease runs that is renewed here; when nobody renews it, it ends by itself.
 */
#ifndef KPHI_KERNEL_STRANGERS_H
#define KPHI_KERNEL_STRANGERS_H

#include <kphi/maps.h>
#include <stdbool.h>

#include "kernel/pin.h"
#include "kernel/ring.h"
#include "kernel/store.h"
#include "kernel/why.h"

#define STRANGERS_REST_MS 10 /* between two turns: so 80,000 messages a second are too few to be lost */

typedef void strangers_taker(void *context, const struct kphi_stranger *stranger);

struct strangers {
	const struct store *store;
	struct ring_reader ring;
	strangers_taker *taker;
	void *context;
	uint32_t left; /* of this turn */
	uint64_t undiscovered; /* by the counters of the store when it began */
	uint32_t pauses; /* so often the lease had run out, because this process did not run */
};

/*
 * Begins: what comes from now on is told. Needs root. `store` has to outlive it. 0 or a negative errno with a
 * sentence; *w says so if somebody else asks already. strangers_end() is owed in either case.
 */
int strangers_begin(struct strangers *s, const struct pin *p, const struct store *store,
		    strangers_taker *taker, void *context, struct why *w);

/* Hands what is there to the taker, but no more than the ring holds, and renews the lease. To be called every
 * STRANGERS_REST_MS. 0 or a negative errno with a sentence. */
int strangers_turn(struct strangers *s, struct why *w);

/* So many messages did not fit the ring, so far. */
uint64_t strangers_lost(const struct strangers *s);

/* The store was purged meanwhile: nothing will come any more. */
bool strangers_are_over(const struct strangers *s);

/* Nothing more is told, and what is in the ring is handed on. */
void strangers_stop(struct strangers *s);

void strangers_end(struct strangers *s);

#endif
