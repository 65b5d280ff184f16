/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrivals as the packet path takes them, and what else changes a record, for one recorder at a time. The
 * kernel writes them into a ring buffer for as long as a lease runs that the recorder renews; when he is
 * gone, it ends by itself.
 */
#ifndef KPHI_KERNEL_ARRIVALS_H
#define KPHI_KERNEL_ARRIVALS_H

#include <kphi/record.h>
#include <stdbool.h>

#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

struct arrivals;

/* A negative value is an errno: it ends the turn, whose rest comes with the next one. */
typedef int arrivals_taker(void *context, const struct kphi_arrival *arrival);

/*
 * Begins: what comes from now on is recorded, what a recorder before has left is thrown away. Needs root.
 * `store` has to outlive it. NULL after a sentence; *w says so if somebody else records already.
 */
struct arrivals *arrivals_begin(const struct pin *p, const struct store *store, arrivals_taker *taker,
				void *context, struct why *w);

int arrivals_fd(const struct arrivals *a); /* readable: there is something to take */

/*
 * Hands what is there to the taker, but no more than the ring holds, and renews the lease: to be called at
 * least once a second. 1: there may be more. 0: not now. Else what the taker said, or a negative errno with a
 * sentence in *w.
 *
 * What arrivals_lost() has risen by then got lost behind the arrivals of this turn, as far as can be told.
 */
int arrivals_turn(struct arrivals *a, struct why *w);

/* How many did not fit the ring or came while the lease had run out, so far. Whose they were is not known. */
uint64_t arrivals_lost(const struct arrivals *a);

/* The store was purged meanwhile: nothing will come any more. */
bool arrivals_are_over(const struct arrivals *a);

/* Nothing more is recorded; what is in the ring can still be taken by one last turn, which renews nothing. */
int arrivals_stop(struct arrivals *a, struct why *w);

/* Stops, if that was not done, and frees. NULL is fine. */
void arrivals_end(struct arrivals *a);

#endif
