// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/keyring.h"

#include <errno.h>
#include <string.h>

int keyring_find(const struct store *s, const char *name)
{
	for (int i = 0; i < KPHI_RINGS; i++)
		if (*s->rings[i].name && !strncmp(s->rings[i].name, name, KPHI_NAME_SIZE))
			return i;
	return -1;
}

uint32_t keyring_users(const struct store *s, int ring)
{
	uint32_t users = 0;

	for (uint32_t i = 0; i < s->header->peers; i++)
		users += s->records[i].state != KPHI_FREE && s->peers[i].demands & KPHI_DEMAND_KEY &&
			 s->peers[i].ring == ring;
	return users;
}

uint32_t keyring_keys(const struct kphi_ring *r)
{
	return (r->key_id[0] != 0) + (r->key_id[1] != 0);
}

int keyring_make(struct control *c, const struct store *s, const char *name, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_RING};
	int ring = keyring_find(s, name), err;

	for (int i = 0; ring < 0 && i < KPHI_RINGS; i++) {
		if (*s->rings[i].name)
			continue;
		q.ring = (uint16_t)i;
		memcpy(q.peer.name, name, strlen(name));
		err = control_ask(c, &q, w, name);
		return err ? err : i;
	}
	if (ring < 0)
		return why(w, -ENOSPC, "%s: a store has room for %d names of keys. `kphi key drop` frees one",
			   name, KPHI_RINGS);
	return ring;
}

static int place_of(const struct kphi_ring *r, uint32_t key_id)
{
	for (int i = 0; i < KPHI_RING_KEYS; i++)
		if (r->key_id[i] == key_id)
			return i;
	return -1;
}

static int put(struct control *c, const struct store *s, int ring, int place, const struct key *key,
	       struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_KEY, .ring = (uint16_t)ring, .place = (uint16_t)place};
	int err;

	if (key) {
		q.key_id = key->id;
		q.key[0] = key->word[0];
		q.key[1] = key->word[1];
		q.fingerprint = key_fingerprint(key);
	}
	err = control_ask(c, &q, w, s->rings[ring].name);
	explicit_bzero(&q, sizeof(q));
	return err;
}

int keyring_add(struct control *c, const struct store *s, int ring, const struct key *key, struct why *w)
{
	const struct kphi_ring *r = &s->rings[ring];
	int place = place_of(r, key->id);

	if (place >= 0 && r->fingerprint[place] == key_fingerprint(key))
		return 0;
	if (place >= 0)
		return why(w, -EEXIST,
			   "%s: has another key of the number %u. Each key has a number of its own: senders "
			   "say by it which one they use",
			   r->name, key->id);
	place = place_of(r, 0);
	if (place < 0)
		return why(w, -ENOSPC,
			   "%s: has two keys already, %u and %u. `kphi key drop %s id N` makes room, once no "
			   "sender uses that one any more",
			   r->name, r->key_id[0], r->key_id[1], r->name);
	return put(c, s, ring, place, key, w);
}

int keyring_drop(struct control *c, const struct store *s, int ring, uint32_t key_id, struct why *w)
{
	int place = place_of(&s->rings[ring], key_id);

	if (!key_id || place < 0)
		return why(w, -ENOENT, "%s: has no key %u. `kphi key show` lists them", s->rings[ring].name,
			   key_id);
	return put(c, s, ring, place, NULL, w);
}

int keyring_free(struct control *c, const struct store *s, int ring, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_RING, .ring = (uint16_t)ring};
	uint32_t users = keyring_users(s, ring);

	if (users)
		return why(w, -EBUSY,
			   "%s: %u peers have their key there. Delete them, or give them another with `kphi "
			   "key use`; `kphi key drop %s id N` drops one key",
			   s->rings[ring].name, users, s->rings[ring].name);
	return control_ask(c, &q, w, s->rings[ring].name);
}

static bool wanted(const struct key *keys, uint32_t count, const struct kphi_ring *r, int place)
{
	for (uint32_t i = 0; i < count; i++)
		if (r->key_id[place] == keys[i].id && r->fingerprint[place] == key_fingerprint(&keys[i]))
			return true;
	return false;
}

int keyring_set(struct control *c, const struct store *s, int ring, const struct key *keys, uint32_t count,
		struct why *w)
{
	const struct kphi_ring *r = &s->rings[ring];
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++) {
		int place = place_of(r, keys[i].id);

		if (place >= 0 && wanted(&keys[i], 1, r, place))
			continue;
		if (place < 0)
			place = place_of(r, 0);
		if (place < 0)
			place = wanted(keys, count, r, 0);
		err = put(c, s, ring, place, &keys[i], w);
	}
	for (int i = 0; !err && i < KPHI_RING_KEYS; i++)
		if (r->key_id[i] && !wanted(keys, count, r, i))
			err = put(c, s, ring, i, NULL, w);
	return err;
}

int keyring_use(struct control *c, uint32_t slot, uint32_t generation, int ring, struct why *w)
{
	struct kphi_control q = {.op = KPHI_CONTROL_USE, .slot = slot, .generation = generation};

	q.peer.ring = (uint16_t)ring;
	return control_ask(c, &q, w, "use");
}
