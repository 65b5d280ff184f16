/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The past of the heat map: a byte for each peer and second, the highest of that second. Seconds are those of
 * CLOCK_MONOTONIC. Memory is taken only for peers that there are, and for so many of them at most.
 */
#ifndef KPHI_WEB_HISTORY_H
#define KPHI_WEB_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_SECONDS 3600
#define HISTORY_PEERS   4096

struct history;

/* For slots below `slots`. NULL: no memory. */
struct history *history_new(uint32_t slots);
void history_free(struct history *h); /* NULL is fine */

/*
 * A look at all peers, in this second or a later one than the last look's. Seconds without a look hold zeros.
 * Between begin and end, history_put() for each peer that there is; whoever was left out is forgotten.
 */
void history_begin(struct history *h, uint64_t second);
void history_end(struct history *h);

/* False: there is no room for it (or no memory). Another generation in the same slot is another peer. */
bool history_put(struct history *h, uint32_t slot, uint32_t generation, uint8_t cell);

/* Would history_put() have room for it? */
bool history_has_room(const struct history *h, uint32_t slot);

/* The last n (1 to HISTORY_SECONDS) seconds, oldest first, the last look's being the last. False: nothing is
 * kept of it. */
bool history_read(const struct history *h, uint32_t slot, uint32_t generation, uint32_t n, uint8_t *cells);

/* Peers of which something is kept. */
uint32_t history_peers(const struct history *h);

#endif
