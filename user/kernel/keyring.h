/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keys that native peers prove themselves with. A ring is a name under which peers have their key; it
 * holds at most two, so that senders can change from one to the next while both are accepted. Changes are
 * made by the control program; callers hold the store's lock.
 */
#ifndef KPHI_KERNEL_KEYRING_H
#define KPHI_KERNEL_KEYRING_H

#include <kphi/maps.h>

#include "io/key_file.h"
#include "kernel/control.h"
#include "kernel/store.h"
#include "kernel/why.h"

/* The ring of this name, or -1. */
int keyring_find(const struct store *s, const char *name);

/* How many peers have their key there. */
uint32_t keyring_users(const struct store *s, int ring);

/* How many keys it holds. */
uint32_t keyring_keys(const struct kphi_ring *r);

/* The ring of this name, made without keys if there is none. Its number, or -errno. */
int keyring_make(struct control *c, const struct store *s, const char *name, struct why *w);

/* Adds the key, which is accepted from then on; the same one once more is no error. */
int keyring_add(struct control *c, const struct store *s, int ring, const struct key *key, struct why *w);

/* That key is not accepted any more. -ENOENT: it was not there. */
int keyring_drop(struct control *c, const struct store *s, int ring, uint32_t key_id, struct why *w);

/* The name with all its keys; -EBUSY while peers have it. */
int keyring_free(struct control *c, const struct store *s, int ring, struct why *w);

/* These keys (one or two) and no other: each one is in before another goes. */
int keyring_set(struct control *c, const struct store *s, int ring, const struct key *keys, uint32_t count,
		struct why *w);

/* The peer in `slot`, if it still has this generation, accepts only what a key of the ring has signed. */
int keyring_use(struct control *c, uint32_t slot, uint32_t generation, int ring, struct why *w);

#endif
