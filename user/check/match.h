/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whom do they mean? A claim is about a stream of ours if their name, or the host's name in their address, is
 * the stream's name or its host label (letters of either case are the same), or their address is the one the
 * stream comes from; and then about every stream of that host, too. A claim about a path (a BFD session) is
 * only about the streams that come from its address, if there are any: the host's other streams take others.
 */
#ifndef KPHI_CHECK_MATCH_H
#define KPHI_CHECK_MATCH_H

#include <kphi/maps.h>

#include "check/claim.h"

/* What there is to be known by. */
struct match_peer {
	char name[KPHI_NAME_SIZE];
	char host[KPHI_NAME_SIZE]; /* label, or "" */
	bool has_address;
	uint8_t address[16];
	uint32_t slot, generation;
	uint64_t seen; /* match.h's own */
};

struct match {
	struct match_peer *peer;
	uint32_t peers;
	uint32_t *by_name, *by_host, *by_address; /* indices of peers, sorted; those without one come first */
	uint32_t *found; /* room for all of them */
	uint64_t round;
};

/* `peer` stays the caller's and must not move. 0 or -ENOMEM; match_end() is owed after 0. */
int match_begin(struct match *m, struct match_peer *peer, uint32_t peers);
void match_end(struct match *m);

/* Indices of the peers that the claim is about, streams of one host next to each other, until the next call.
 */
const uint32_t *match_claim(struct match *m, const struct claim *claim, uint32_t *count);

#endif
