// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 6 /* the first chunk has 2^6 peers */

/* Where a number is: chunk k begins at number 2^(k + 6) - 2^6. */
static uint32_t chunk_of(uint32_t number, uint32_t *offset)
{
	uint32_t shifted = number + (1U << FIRST_BITS), bit = 31 - (uint32_t)__builtin_clz(shifted);

	*offset = shifted - (1U << bit);
	return bit - FIRST_BITS;
}

int roster_add(struct roster *r, const struct trace_peer *peer)
{
	uint32_t offset, chunk = chunk_of(r->count, &offset);
	struct trace_peer *at;

	if (r->count >= KPHI_PEERS_MAX)
		return -ENOSPC;
	if (!r->chunks[chunk])
		r->chunks[chunk] = calloc((size_t)1 << (chunk + FIRST_BITS), sizeof(*peer));
	if (!r->chunks[chunk])
		return -ENOMEM;
	at = &r->chunks[chunk][offset];
	*at = *peer;
	memcpy(at->name, peer->settings.name, sizeof(at->name));
	r->count++;
	return 0;
}

const struct trace_peer *roster_peer(const struct roster *r, uint32_t number)
{
	uint32_t offset, chunk = chunk_of(number, &offset);

	return &r->chunks[chunk][offset];
}

void roster_free(struct roster *r)
{
	for (int i = 0; i < ROSTER_CHUNKS; i++)
		free(r->chunks[i]);
	*r = (struct roster){.count = 0};
}
