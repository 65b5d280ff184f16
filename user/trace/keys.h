/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which number has a peer? By its name, or by what of its packets tells whose they are. */
#ifndef KPHI_TRACE_KEYS_H
#define KPHI_TRACE_KEYS_H

#include <kphi/maps.h>
#include <stdbool.h>

/* All zero where nothing is said. */
struct key {
	char bytes[KPHI_NAME_SIZE];
};

struct keys {
	struct key *keys; /* by number */
	uint32_t *table; /* number + 1; 0: free */
	uint32_t count, room; /* of keys; the table has twice the room, a power of two */
};

/* The key's number; *fresh if it is new, and then the next one: 0, 1, 2, ... Or -ENOMEM. */
int64_t keys_find(struct keys *k, const struct key *key, bool *fresh);

void keys_free(struct keys *k);

#endif
