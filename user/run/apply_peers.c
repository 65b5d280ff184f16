// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peers of the file against those of the store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/keyring.h"
#include "rule/same.h"
#include "run/apply.h"

/* A peer of the store; or of the file, to look for one. */
struct stored {
	const struct kphi_peer *peer;
	const struct kphi_rule *rule;
	uint32_t slot, generation;
	bool named; /* by the file */
	bool replaced; /* it has another of this name: this one goes */
};

struct plan {
	struct apply *a;
	struct stored *by_name, *by_identity; /* `used` of each; what the file says is kept in by_name */
	uint32_t used;
	uint32_t *wanted; /* to be added: which of the configuration's */
	uint32_t wanted_count;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct stored *)a)->peer->name, ((const struct stored *)b)->peer->name);
}

static int compare_identities(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;

	return rule_compare_identity(x->peer, x->rule, y->peer, y->rule);
}

static void plan_free(struct plan *p)
{
	free(p->by_name);
	free(p->by_identity);
	free(p->wanted);
}

static int plan_open(struct plan *p, struct apply *a)
{
	const struct store *s = a->store;
	size_t slots = s->header->peers;

	*p = (struct plan){
		.a = a,
		.by_name = calloc(slots, sizeof(*p->by_name)),
		.by_identity = calloc(slots, sizeof(*p->by_identity)),
		.wanted = calloc((size_t)a->config->peers_count + 1, sizeof(*p->wanted)),
	};
	if (!p->by_name || !p->by_identity || !p->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots; i++)
		if (s->records[i].state != KPHI_FREE)
			p->by_name[p->used++] = (struct stored){.peer = &s->peers[i],
								.rule = &s->rules[i],
								.slot = i,
								.generation = s->records[i].generation};
	memcpy(p->by_identity, p->by_name, p->used * sizeof(*p->by_name));
	qsort(p->by_name, p->used, sizeof(*p->by_name), compare_names);
	qsort(p->by_identity, p->used, sizeof(*p->by_identity), compare_identities);
	return 0;
}

static struct stored *find_name(const struct plan *p, const struct kphi_peer *like)
{
	struct stored key = {.peer = like};

	return bsearch(&key, p->by_name, p->used, sizeof(key), compare_names);
}

static const struct stored *find_identity(const struct plan *p, const struct kphi_peer *like,
					  const struct kphi_rule *rule)
{
	struct stored key = {.peer = like, .rule = rule};

	return bsearch(&key, p->by_identity, p->used, sizeof(key), compare_identities);
}

/* The ring of the store that a peer of the file has its key in; -1: it has none. apply_keys() has made it. */
static int ring_of(const struct apply *a, uint32_t index)
{
	int key = a->config->natives[index].key;

	return key < 0 ? -1 : keyring_find(a->store, a->config->keys[key].name);
}

/* But for the key, which may change in a peer that goes on, as long as it does not end. */
static bool is_same(const struct stored *old, const struct kphi_peer *b, const struct kphi_rule *rule)
{
	const struct kphi_peer *a = old->peer;
	uint8_t demands = a->demands ^ b->demands;

	return !(demands & ~KPHI_DEMAND_KEY) && !(a->demands & ~b->demands) &&
	       rule_is_same(a, old->rule, b, rule) && !strcmp(a->host, b->host) &&
	       a->interval_ns == b->interval_ns && a->min_std_ns == b->min_std_ns &&
	       a->pause_ns == b->pause_ns && a->max_interval_ns == b->max_interval_ns &&
	       a->model == b->model && a->set == b->set;
}

static void plan_changes(struct plan *p)
{
	const struct config *config = p->a->config;

	for (uint32_t i = 0; i < config->peers_count; i++) {
		const struct kphi_peer *peer = &config->peers[i];
		struct stored *old = find_name(p, peer);

		if (old)
			old->named = true;
		if (old && is_same(old, peer, &config->rules[i])) {
			p->a->kept++;
			continue;
		}
		if (old)
			old->replaced = true;
		p->wanted[p->wanted_count++] = i;
		p->a->changed += old != NULL;
		p->a->added += !old;
	}
	p->a->others = p->used - p->a->kept - p->a->changed;
}

static int compare_peers(const void *a, const void *b)
{
	const struct kphi_peer *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Peers that are here by the former file alone: they may be missed by somebody. */
static void note_forgotten(const struct plan *p)
{
	struct apply *a = p->a;
	const struct config *former = a->former;

	a->forgotten = 0;
	a->first_forgotten = NULL;
	for (uint32_t i = 0; former && former->peers_count && i < p->used; i++) {
		const struct kphi_peer *known =
			p->by_name[i].named ? NULL
					    : bsearch(p->by_name[i].peer, former->peers, former->peers_count,
						      sizeof(*known), compare_peers);

		if (known && !a->forgotten++)
			a->first_forgotten = known->name;
	}
}

/* An identity may only come from a peer that goes. */
static int check_identities(const struct plan *p, struct why *w)
{
	const struct config *config = p->a->config;

	for (uint32_t i = 0; i < p->wanted_count; i++) {
		const struct kphi_peer *peer = &config->peers[p->wanted[i]];
		const struct stored *owner = find_identity(p, peer, &config->rules[p->wanted[i]]);

		if (!owner || find_name(p, owner->peer)->replaced)
			continue;
		return why(w, -EEXIST,
			   "peer %s: its identity belongs to peer %s, which was added by hand or under an "
			   "earlier "
			   "name. `kphi peer del %s` frees it",
			   peer->name, owner->peer->name, owner->peer->name);
	}
	return 0;
}

static int check_room(const struct plan *p, struct why *w)
{
	uint32_t room = p->a->store->header->peers;

	if ((uint64_t)p->used + p->a->added <= room)
		return 0;
	return why(w, -ENOSPC,
		   "%u peers to add, but only %u of the store's %u slots are free. Make a larger one (`kphi "
		   "store "
		   "purge`, then `kphi store create peers N`)",
		   p->a->added, room - p->used, room);
}

/* With those rules of the store that stay. */
static int check_shapes(const struct plan *p, struct why *w)
{
	const struct config *config = p->a->config;
	struct control_shapes shapes = {.count = 0};

	for (uint32_t i = 0; i < p->used; i++)
		if (p->by_name[i].peer->id.kind == KPHI_ID_RULE && !p->by_name[i].replaced)
			control_shapes_take(&shapes, p->by_name[i].rule);
	for (uint32_t i = 0; i < p->wanted_count; i++) {
		const struct kphi_peer *peer = &config->peers[p->wanted[i]];

		if (peer->id.kind != KPHI_ID_RULE ||
		    control_shapes_take(&shapes, &config->rules[p->wanted[i]]))
			continue;
		return why(
			w, -ENOSPC,
			"peer %s: with it the rules would look at packets in more than the %d ways that a "
			"store has. Delete rules of one kind, or give this one the same offsets and masks as "
			"others",
			peer->name, KPHI_SHAPES);
	}
	return 0;
}

/* A mute is about the peer of this name, whatever its settings. */
static void keep_mute(const struct plan *p, struct kphi_peer *peer)
{
	const struct stored *old = find_name(p, peer);

	if (!old)
		return;
	peer->mute_until_ns = old->peer->mute_until_ns;
	memcpy(peer->mute_reason, old->peer->mute_reason, sizeof(peer->mute_reason));
}

/* Rules of devices that are not there are heard when they come; the first is named. */
static void note_absent(struct apply *a, const struct kphi_peer *peer, const struct kphi_rule *rule,
			uint32_t count)
{
	if (count)
		apply_note(a, "%s: its device %s is not there yet, so nothing is heard of it%s", peer->name,
			   rule->device, count > 1 ? ", and so it is with others" : "");
}

/* What is to be added, with what of its past must not be forgotten: else a recorded message of it would be
 * news. */
struct fresh {
	struct kphi_peer peer;
	struct control_floor floor;
};

static void keep_floor(const struct plan *p, uint32_t index, struct fresh *f)
{
	const struct config *config = p->a->config;
	const struct stored *old = find_identity(p, &f->peer, &config->rules[index]);
	struct kphi_record r;

	f->floor.epoch = config->natives[index].min_epoch;
	if (!old || f->peer.id.kind != KPHI_ID_NATIVE || store_read(p->a->store, old->slot, &r, NULL) ||
	    r.epoch < f->floor.epoch)
		return;
	f->floor.epoch = r.epoch;
	f->floor.sequence = f->peer.demands & KPHI_DEMAND_KEY ? r.sequence.highest : 0;
}

/* What is stored of them goes with them. */
static void prepare(const struct plan *p, struct fresh *fresh)
{
	for (uint32_t i = 0; i < p->wanted_count; i++) {
		int ring = ring_of(p->a, p->wanted[i]);

		fresh[i].peer = p->a->config->peers[p->wanted[i]];
		fresh[i].peer.ring = (uint16_t)(ring < 0 ? 0 : ring);
		keep_mute(p, &fresh[i].peer);
		keep_floor(p, p->wanted[i], &fresh[i]);
	}
}

static int add_wanted(const struct plan *p, struct fresh *fresh, struct why *w)
{
	struct apply *a = p->a;
	uint32_t slot = 0, absent = 0, first_absent = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < p->wanted_count; i++) {
		struct kphi_rule rule = a->config->rules[p->wanted[i]];

		if (!rule_find_device(&fresh[i].peer, &rule) && !absent++)
			first_absent = i;
		err = control_restore(a->control, a->store, &fresh[i].peer, &rule, &fresh[i].floor, &slot, w);
	}
	note_absent(a, &fresh[first_absent].peer, &a->config->rules[p->wanted[first_absent]], absent);
	return err;
}

static int delete_replaced(const struct plan *p, struct why *w)
{
	struct kphi_slot *which = calloc((size_t)p->used + 1, sizeof(*which));
	uint32_t count = 0;
	int err = 0;

	if (!which)
		return why(w, -ENOMEM, "no memory to replace peers");
	for (uint32_t i = 0; i < p->used; i++)
		if (p->by_name[i].replaced)
			which[count++] = (struct kphi_slot){p->by_name[i].slot, p->by_name[i].generation};
	if (count)
		err = control_delete_all(p->a->control, p->a->store, which, count, w);
	free(which);
	return err;
}

/* Peers that stay have the key that the file says. */
static int use_keys(const struct plan *p, struct why *w)
{
	struct apply *a = p->a;
	int err = 0;

	for (uint32_t i = 0; !err && i < a->config->peers_count; i++) {
		const struct stored *old = find_name(p, &a->config->peers[i]);
		int ring = old && !old->replaced ? ring_of(a, i) : -1;

		if (ring >= 0 && (!(old->peer->demands & KPHI_DEMAND_KEY) || old->peer->ring != ring))
			err = keyring_use(a->control, old->slot, old->generation, ring, w);
	}
	return err;
}

/* All that goes goes first, so that identities are free when they are wanted again. */
static int execute(const struct plan *p, struct why *w)
{
	struct apply *a = p->a;
	struct fresh *fresh = calloc((size_t)p->wanted_count + 1, sizeof(*fresh));
	int err;

	if (!fresh)
		return why(w, -ENOMEM, "no memory for %u peers", p->wanted_count);
	err = apply_keys(a, w);
	err = err ? err : use_keys(p, w);
	if (!err)
		prepare(p, fresh);
	err = err ? err : delete_replaced(p, w);
	err = err ? err : add_wanted(p, fresh, w);
	free(fresh);
	return err;
}

int apply_peers(struct apply *a, struct why *w)
{
	struct plan p;
	int err = plan_open(&p, a);

	if (err)
		why(w, err, "no memory to compare the peers of the file with those of the store");
	if (!err) {
		a->added = a->changed = a->kept = a->others = 0;
		plan_changes(&p);
		note_forgotten(&p);
		err = check_identities(&p, w);
		err = err ? err : check_room(&p, w);
		err = err ? err : check_shapes(&p, w);
		err = err ? err : execute(&p, w);
	}
	plan_free(&p);
	return err;
}
