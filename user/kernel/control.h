/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changing the store: requests to the pinned control program. Callers hold the store's lock (pin_lock), which
 * is what makes "find a free slot, then take it" one step among kphi commands.
 */
#ifndef KPHI_KERNEL_CONTROL_H
#define KPHI_KERNEL_CONTROL_H

#include <kphi/maps.h>

#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

struct control {
	int program; /* descriptor of the pinned control program */
};

int control_open(struct control *c, const struct pin *p, struct why *w);
void control_close(struct control *c);

/*
 * Add `peer` (name, identity, settings) to the first free slot at or after *slot; *slot becomes the one it
 * took. -EEXIST: the identity belongs to another peer. -ENOSPC: the store is full. Names are the caller's to
 * check.
 */
int control_add(struct control *c, const struct store *s, struct kphi_peer *peer, uint32_t *slot,
		struct why *w);

/* Delete or reset the peer of this generation in `slot`. -ESTALE: another one lives there by now. */
int control_delete(struct control *c, const struct store *s, uint32_t slot, uint32_t generation,
		   struct why *w);
int control_reset(struct control *c, uint32_t slot, uint32_t generation, struct why *w);

/* Listen for native heartbeats on a port, or stop. */
int control_listen(struct control *c, uint16_t port, bool on, struct why *w);

#endif
