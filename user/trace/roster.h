/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The peers of a trace by their numbers, each in a place where it stays. */
#ifndef KPHI_TRACE_ROSTER_H
#define KPHI_TRACE_ROSTER_H

#include "trace/format.h"

#define ROSTER_CHUNKS 16 /* of 64, 128, 256, ... peers: room for more than KPHI_PEERS_MAX */

struct roster {
	struct trace_peer *chunks[ROSTER_CHUNKS];
	uint32_t count;
};

/* A copy of one more, with its name as the settings have it. 0, -ENOMEM, or -ENOSPC: KPHI_PEERS_MAX are
 * there. */
int roster_add(struct roster *r, const struct trace_peer *peer);

/* `number` is below r->count. */
const struct trace_peer *roster_peer(const struct roster *r, uint32_t number);

void roster_free(struct roster *r);

#endif
