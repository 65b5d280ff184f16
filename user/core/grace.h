/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The grace after a stall of this host, as far as one look can tell: for those who ask without a daemon. */
#ifndef KPHI_CORE_GRACE_H
#define KPHI_CORE_GRACE_H

#include <kphi/maps.h>
#include <stdint.h>

#define GRACE_INTERVALS 10

struct grace {
	uint64_t until_ns; /* no verdict on the peer before; 0: it is not in grace */
	uint64_t stall_ns; /* the longest stall of this silence */
};

/*
 * After a stall that matters to a peer (of its least standard deviation, at least) no verdict is given on it
 * for the stall's length, between 1 and 10 of its own intervals, and not beyond 10 of them after the first
 * such stall since its last beat. A stall that still goes on counts as one that ends now. `tick` is of the
 * CPU that took the last beat; of its stalls the last KPHI_STALLS are known.
 */
struct grace grace_at(const struct kphi_record *record, const struct kphi_peer *peer,
		      const struct kphi_tick *tick, uint64_t now_ns);

#endif
