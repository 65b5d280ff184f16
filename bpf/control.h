/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes that user space asks for, made here under the same lock as a beat: user space itself can write no
 * record. One request is one run of the program, so whoever is killed while asking leaves nothing half done.
 */
#ifndef KPHI_BPF_CONTROL_H
#define KPHI_BPF_CONTROL_H

#include <kphi/window.h>
#include <linux/in.h>

#include "arrivals.h"
#include "maps.h"
#include "tick.h"

/* Where in `ports` the packets of a rule are looked up. */
static __always_inline uint32_t control_row(uint8_t protocol, uint16_t port)
{
	return protocol == IPPROTO_UDP ? port : KPHI_PORTS + protocol;
}

static __always_inline void control_port(uint32_t row, uint16_t bit, int on)
{
	if (row >= KPHI_PORT_ROWS)
		return;
	if (on)
		ports.bits[row] |= bit;
	else
		ports.bits[row] &= ~bit;
}

/* A rule becomes audible: where it looks, then for which packets. */
static __always_inline void control_hear(const struct kphi_control *q)
{
	uint32_t n = q->peer.id.shape & 15; /* as it is; but the verifier wants to see the bound */

	ports.shape[n] = q->shape;
	control_port(control_row(q->peer.id.protocol, q->peer.id.port), KPHI_PORT_SHAPE(n), 1);
}

/* A slot as it is before anything was heard. The version keeps counting, the generation is the caller's
 * business. */
static __always_inline void control_clear(struct kphi_record *r, const struct kphi_peer *peer,
					  uint64_t now_ns)
{
	uint32_t generation = r->generation;

	/* Never the version: a reader that met a zero there twice would believe what it read in between. */
	__builtin_memset((void *)r + sizeof(r->version), 0, sizeof(*r) - sizeof(r->version));
	r->generation = generation;
	r->state = KPHI_WAITING;
	r->since_ns = now_ns;
	kphi_window_begin(&r->window, peer);
}

/* The change is told to whoever records. */
static __always_inline struct telling control_tells(const struct kphi_control *q, uint32_t generation,
						    uint32_t what)
{
	struct telling t = arrival_begin(q->slot, generation, what, bpf_ktime_get_ns());

	if (t.on)
		t.arrival->beat = (struct kphi_beat){};
	return t;
}

/* What the messages of whoever lived there showed. */
static __always_inline void control_clear_seal(uint32_t slot)
{
	struct kphi_seal *seal = bpf_map_lookup_elem(&seals, &slot);

	if (seal)
		__builtin_memset(seal, 0, sizeof(*seal));
}

/* Must every native peer have a key, and this one has none? */
static __always_inline int control_is_keyless(const struct kphi_peer *peer)
{
	uint32_t zero = 0;
	struct kphi_store *header = bpf_map_lookup_elem(&store, &zero);

	return header && header->flags & KPHI_STORE_KEYED && peer->id.kind == KPHI_ID_NATIVE &&
	       !(peer->demands & KPHI_DEMAND_KEY);
}

static __always_inline int control_add(const struct kphi_control *q, struct place *p)
{
	struct kphi_slot to = {.slot = q->slot, .generation = p->record->generation};
	struct telling telling;

	if (control_is_keyless(&q->peer))
		return KPHI_CONTROL_KEYLESS;
	if (q->peer.id.kind == KPHI_ID_RULE && (q->peer.id.shape < 1 || q->peer.id.shape > KPHI_SHAPES))
		return KPHI_CONTROL_BAD;
	/* Commands queue for the store's lock file, so nothing takes the slot between this look and the lock
	 * below. */
	if (p->record->state != KPHI_FREE)
		return KPHI_CONTROL_BUSY;
	if (bpf_map_lookup_elem(&ids, &q->peer.id))
		return KPHI_CONTROL_TAKEN;

	telling = control_tells(q, to.generation, KPHI_ARRIVAL_CLEARED);
	control_clear_seal(q->slot);
	bpf_spin_lock(&p->lock->lock);
	version_move(p->record);
	*p->peer = q->peer;
	*p->rule = q->rule;
	control_clear(p->record, p->peer, q->now_ns);
	p->record->epoch = q->epoch_floor;
	p->record->sequence.highest = q->sequence_floor;
	version_move(p->record);
	arrival_cleared(&telling, p->record);
	bpf_spin_unlock(&p->lock->lock);
	arrival_end(&telling);

	/* Only now can a packet find the slot: before, it would be judged by the rule of whoever lived there.
	 */
	if (bpf_map_update_elem(&ids, &q->peer.id, &to, BPF_NOEXIST)) {
		bpf_spin_lock(&p->lock->lock);
		version_move(p->record);
		p->record->state = KPHI_FREE;
		version_move(p->record);
		bpf_spin_unlock(&p->lock->lock);
		return KPHI_CONTROL_FULL;
	}
	if (q->peer.id.kind == KPHI_ID_RULE)
		control_hear(q);
	return KPHI_CONTROL_OK;
}

static __always_inline int control_delete(const struct kphi_control *q, struct place *p)
{
	struct telling telling = control_tells(q, q->generation, KPHI_ARRIVAL_OTHER);
	struct kphi_id id = p->peer->id;
	int gone = 1;

	bpf_spin_lock(&p->lock->lock);
	if (p->record->generation == q->generation && p->record->state != KPHI_FREE) {
		version_move(p->record);
		p->record->state = KPHI_FREE;
		p->record->generation++;
		version_move(p->record);
		arrival_order(&telling, p->record);
		gone = 0;
	}
	bpf_spin_unlock(&p->lock->lock);
	arrival_end(&telling);

	if (gone)
		return KPHI_CONTROL_GONE;
	bpf_map_delete_elem(&ids, &id);
	if (id.kind == KPHI_ID_RULE && q->last_of_shape)
		control_port(control_row(id.protocol, id.port), KPHI_PORT_SHAPE(id.shape & 15), 0);
	return KPHI_CONTROL_OK;
}

static __always_inline int control_reset(const struct kphi_control *q, struct place *p)
{
	struct telling telling = control_tells(q, q->generation, KPHI_ARRIVAL_CLEARED);
	int gone = 1;

	control_clear_seal(q->slot);
	bpf_spin_lock(&p->lock->lock);
	if (p->record->generation == q->generation && p->record->state != KPHI_FREE) {
		version_move(p->record);
		control_clear(p->record, p->peer, q->now_ns);
		version_move(p->record);
		arrival_cleared(&telling, p->record);
		gone = 0;
	}
	bpf_spin_unlock(&p->lock->lock);
	arrival_end(&telling);
	return gone ? KPHI_CONTROL_GONE : KPHI_CONTROL_OK;
}

/* A device that vanished is back under another ifindex: the rule that names it follows. */
static __always_inline int control_move(const struct kphi_control *q, struct place *p)
{
	struct kphi_slot to = {.slot = q->slot, .generation = q->generation};
	struct kphi_id old = p->peer->id, id = old;
	struct telling telling;

	if (p->record->generation != q->generation || p->record->state == KPHI_FREE)
		return KPHI_CONTROL_GONE;
	if (!*p->rule->device) /* nobody would look for it with a device */
		return KPHI_CONTROL_BAD;
	if (old.kind != KPHI_ID_RULE) {
		p->rule->ifindex = q->peer.id.device;
		return KPHI_CONTROL_OK;
	}
	id.device = q->peer.id.device;
	if (id.device == old.device)
		return KPHI_CONTROL_OK;
	if (bpf_map_lookup_elem(&ids, &id))
		return KPHI_CONTROL_TAKEN;
	if (bpf_map_update_elem(&ids, &id, &to, BPF_NOEXIST))
		return KPHI_CONTROL_FULL;
	telling = control_tells(q, q->generation, KPHI_ARRIVAL_OTHER);
	bpf_spin_lock(&p->lock->lock);
	version_move(p->record);
	p->peer->id.device = id.device;
	version_move(p->record);
	arrival_order(&telling, p->record);
	bpf_spin_unlock(&p->lock->lock);
	arrival_end(&telling);
	bpf_map_delete_elem(&ids, &old);
	return KPHI_CONTROL_OK;
}

/* A ring begins without keys, and ends so. */
static __always_inline int control_ring(const struct kphi_control *q, struct kphi_ring *ring,
					struct kphi_keys *k)
{
	__builtin_memset(k, 0, sizeof(*k));
	__builtin_memset(ring, 0, sizeof(*ring));
	__builtin_memcpy(ring->name, q->peer.name, sizeof(ring->name));
	return KPHI_CONTROL_OK;
}

/* The number comes last, by an exchange that nothing passes: a packet that knows it finds the whole key. */
static __always_inline int control_key(const struct kphi_control *q, struct kphi_ring *ring,
				       struct kphi_keys *k)
{
	uint32_t place = q->place;

	if (place >= KPHI_RING_KEYS || !*ring->name)
		return KPHI_CONTROL_BAD;
	__sync_lock_test_and_set(&k->key_id[place], 0);
	k->key[place][0] = q->key[0];
	k->key[place][1] = q->key[1];
	__sync_lock_test_and_set(&k->key_id[place], q->key_id);
	ring->key_id[place] = q->key_id;
	ring->fingerprint[place] = q->fingerprint;
	ring->added_ns[place] = q->now_ns;
	return KPHI_CONTROL_OK;
}

static __always_inline int control_keys(const struct kphi_control *q)
{
	uint32_t number = q->ring;
	struct kphi_ring *ring = bpf_map_lookup_elem(&rings, &number);
	struct kphi_keys *k = bpf_map_lookup_elem(&keys, &number);

	if (!ring || !k)
		return KPHI_CONTROL_NO_SLOT;
	return q->op == KPHI_CONTROL_RING ? control_ring(q, ring, k) : control_key(q, ring, k);
}

/* watch, unwatch, mute, use: what is configured of a peer that goes on. */
static __always_inline int control_configure(const struct kphi_control *q, struct place *p)
{
	struct telling telling;
	int gone = 1;

	if (q->op == KPHI_CONTROL_USE && p->peer->id.kind != KPHI_ID_NATIVE) /* what it hears is not signed */
		return KPHI_CONTROL_BAD;
	telling = control_tells(q, q->generation, KPHI_ARRIVAL_OTHER);
	bpf_spin_lock(&p->lock->lock);
	if (p->record->generation == q->generation && p->record->state != KPHI_FREE) {
		version_move(p->record);
		if (q->op == KPHI_CONTROL_MUTE) {
			p->peer->mute_until_ns = q->peer.mute_until_ns;
			__builtin_memcpy(p->peer->mute_reason, q->peer.mute_reason,
					 sizeof(p->peer->mute_reason));
		} else if (q->op == KPHI_CONTROL_USE) {
			p->peer->ring = q->peer.ring;
			p->peer->demands |= KPHI_DEMAND_KEY;
		} else {
			p->peer->watched = q->op == KPHI_CONTROL_WATCH;
		}
		version_move(p->record);
		arrival_order(&telling, p->record);
		gone = 0;
	}
	bpf_spin_unlock(&p->lock->lock);
	arrival_end(&telling);
	return gone ? KPHI_CONTROL_GONE : KPHI_CONTROL_OK;
}

/* Who records has to say so again and again: it ends by itself with him. */
static __always_inline int control_record(const struct kphi_control *q)
{
	ports.record_until_ns = q->until_ns;
	return KPHI_CONTROL_OK;
}

/* The same for who asks who knocks. */
static __always_inline int control_discover(const struct kphi_control *q)
{
	ports.discover_until_ns = q->until_ns;
	return KPHI_CONTROL_OK;
}

/* One request a CPU: q->slot is the CPU. */
static __always_inline int control_stop_tick(const struct kphi_control *q)
{
	tick_stop(q->slot);
	return KPHI_CONTROL_OK;
}

/* --- verdicts: one daemon asks, one request after the other, so there is no lock --- */

static __always_inline int control_verdict(const struct kphi_control *q)
{
	const uint64_t *from = (const uint64_t *)&q->verdict;
	uint32_t slot = q->slot;
	struct kphi_verdict *v = bpf_map_lookup_elem(&verdicts, &slot);
	uint64_t *to = (uint64_t *)v;

	if (!v)
		return KPHI_CONTROL_NO_SLOT;
	version_step(&v->version);
	/* Word by word, as readers copy it; never the version, see control_clear(). */
#pragma unroll
	for (uint32_t i = 1; i < sizeof(*v) / sizeof(*to); i++)
		to[i] = from[i];
	version_step(&v->version);
	return KPHI_CONTROL_OK;
}

struct refresh {
	uint64_t until_ns;
	uint32_t first, life;
};

/* One word that only rises, stored at once: whichever a reader sees goes with all else it sees, so the
 * version need not move. */
static long refresh_one(uint32_t i, struct refresh *r)
{
	uint32_t slot = r->first + i;
	struct kphi_verdict *v = bpf_map_lookup_elem(&verdicts, &slot);

	if (!v)
		return 1;
	if (v->life == r->life)
		v->valid_until_ns = r->until_ns;
	return 0;
}

static __always_inline int control_refresh(const struct kphi_control *q)
{
	struct refresh r = {.until_ns = q->until_ns, .first = q->slot, .life = q->verdict.life};
	uint32_t slots = q->end - q->slot;

	if (q->end < q->slot || slots > KPHI_REFRESH_SLOTS)
		return KPHI_CONTROL_BAD;
	bpf_loop(slots, refresh_one, &r, 0);
	return KPHI_CONTROL_OK;
}

static __always_inline int control(const struct kphi_control *q)
{
	struct place p;

	if (q->op == KPHI_CONTROL_LISTEN || q->op == KPHI_CONTROL_DEAFEN) {
		control_port(q->port, KPHI_PORT_NATIVE, q->op == KPHI_CONTROL_LISTEN);
		return KPHI_CONTROL_OK;
	}
	if (q->op == KPHI_CONTROL_RECORD)
		return control_record(q);
	if (q->op == KPHI_CONTROL_DISCOVER)
		return control_discover(q);
	if (q->op == KPHI_CONTROL_STOP_TICK)
		return control_stop_tick(q);
	if (q->op == KPHI_CONTROL_VERDICT)
		return control_verdict(q);
	if (q->op == KPHI_CONTROL_REFRESH)
		return control_refresh(q);
	if (q->op == KPHI_CONTROL_RING || q->op == KPHI_CONTROL_KEY)
		return control_keys(q);
	if (place_find(&p, q->slot))
		return KPHI_CONTROL_NO_SLOT;
	p.rule = bpf_map_lookup_elem(&rules, &q->slot);
	if (!p.rule)
		return KPHI_CONTROL_NO_SLOT;
	switch (q->op) {
	case KPHI_CONTROL_ADD:
		return control_add(q, &p);
	case KPHI_CONTROL_DELETE:
		return control_delete(q, &p);
	case KPHI_CONTROL_RESET:
		return control_reset(q, &p);
	case KPHI_CONTROL_MOVE:
		return control_move(q, &p);
	case KPHI_CONTROL_WATCH:
	case KPHI_CONTROL_UNWATCH:
	case KPHI_CONTROL_MUTE:
	case KPHI_CONTROL_USE:
		return control_configure(q, &p);
	default:
		return KPHI_CONTROL_BAD;
	}
}

#endif
