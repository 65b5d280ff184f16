// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queries of libkphi: no system call, no allocation, nothing that changes. */
#include <errno.h>
#include <kphi/wire.h>
#include <string.h>

#include "core/grace.h"
#include "core/policy.h"
#include "lib/handle.h"

/* The public header repeats what of the contract it shows, so that it needs no other one. */
#define SAME(ours, theirs, size)                                                                             \
	_Static_assert(offsetof(struct kphi_judgement, ours) == offsetof(struct kphi_verdict, theirs) &&     \
			       sizeof(((struct kphi_judgement *)0)->ours) == (size) &&                       \
			       sizeof(((struct kphi_verdict *)0)->theirs) == (size),                         \
		       "struct kphi_judgement is an element of `verdicts`")
SAME(version, version, 8);
SAME(valid_until_ns, valid_until_ns, 8);
SAME(token, token, 8);
SAME(epoch, epoch, 8);
SAME(since_ns, since_ns, 8);
SAME(generation, generation, 4);
SAME(consumers, consumers, 4);
SAME(stance, state, 1);
SAME(because, cause, 1);
SAME(held, held, 4);
SAME(shadows, shadows, 4);
SAME(life, life, 4);
KPHI_ASSERT_SIZE(struct kphi_judgement, sizeof(struct kphi_verdict));
_Static_assert((int)KPHI_STANCE_BLIND == KPHI_VERDICT_BLIND && (int)KPHI_STANCE_HELD == KPHI_VERDICT_HELD &&
		       (int)KPHI_STANCE_SUSPECT == KPHI_VERDICT_SUSPECT &&
		       (int)KPHI_STANCE_TRUST == KPHI_VERDICT_TRUST &&
		       (int)KPHI_OF_SILENCE == KPHI_BECAUSE_SILENCE &&
		       (int)KPHI_OF_MUTE == KPHI_BECAUSE_MUTE && KPHI_NAME_ROOM == KPHI_NAME_SIZE,
	       "the numbers of the public header are those of the contract");

/* --- who is there --- */

/* Is there still the peer that was found? Two words, each of which is read at once. */
static bool is_there(const struct kphi *k, struct kphi_ref peer)
{
	const struct kphi_record *r;

	if (peer.slot >= k->store.header->peers)
		return false;
	r = &k->store.records[peer.slot];
	return __atomic_load_n(&r->generation, __ATOMIC_RELAXED) == peer.generation &&
	       __atomic_load_n(&r->state, __ATOMIC_RELAXED) != KPHI_FREE;
}

static void tell(struct kphi_about *about, uint32_t slot, const struct kphi_record *r,
		 const struct kphi_peer *p)
{
	*about = (struct kphi_about){
		.ref = {slot, r->generation},
		.interval_ns = p->interval_ns,
		.model = p->model,
		.is_rule = p->id.kind == KPHI_ID_RULE,
	};
	memcpy(about->name, p->name, sizeof(about->name));
	memcpy(about->host, p->host, sizeof(about->host));
	if (!about->is_rule)
		memcpy(about->id, p->id.bytes, sizeof(about->id));
}

int kphi_next(const struct kphi *k, uint32_t *cursor, struct kphi_about *about)
{
	struct kphi_record record;
	struct kphi_peer peer;

	for (uint32_t slot = *cursor; slot < k->store.header->peers; slot++) {
		/* A glance rules out almost every free slot. */
		if (k->store.records[slot].state == KPHI_FREE ||
		    store_read(&k->store, slot, &record, &peer) || record.state == KPHI_FREE)
			continue;
		tell(about, slot, &record, &peer);
		*cursor = slot + 1;
		return 1;
	}
	*cursor = k->store.header->peers;
	return 0;
}

/* Is that his name, or (NULL) his id? */
static bool is_he(const struct kphi_peer *p, const char *name, const uint8_t *id)
{
	if (name)
		return !strncmp(p->name, name, sizeof(p->name));
	return id && p->id.kind == KPHI_ID_NATIVE && !memcmp(p->id.bytes, id, sizeof(p->id.bytes));
}

static int find(const struct kphi *k, const char *name, const uint8_t *id, struct kphi_ref *ref)
{
	struct kphi_record record;
	struct kphi_peer peer;

	for (uint32_t slot = 0; slot < k->store.header->peers; slot++) {
		/* A glance without a copy rules out almost every slot; the copy decides. */
		if (k->store.records[slot].state == KPHI_FREE || !is_he(&k->store.peers[slot], name, id) ||
		    store_read(&k->store, slot, &record, &peer) || record.state == KPHI_FREE ||
		    !is_he(&peer, name, id))
			continue;
		*ref = (struct kphi_ref){slot, record.generation};
		return 0;
	}
	return -ENOENT;
}

int kphi_find(const struct kphi *k, const char *name, struct kphi_ref *peer)
{
	return find(k, name, NULL, peer);
}

int kphi_find_id(const struct kphi *k, const uint8_t id[16], struct kphi_ref *peer)
{
	return find(k, NULL, id, peer);
}

/* --- verdicts --- */

/*
 * True: a verdict that holds, on this peer and its present life. The record is looked at after the verdict,
 * so that a life that has ended meanwhile is noticed.
 */
static bool holds(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns, struct kphi_verdict *v)
{
	if (!store_verdict(&k->store, peer.slot, now_ns, v) || v->generation != peer.generation)
		return false;
	return __atomic_load_n(&k->store.records[peer.slot].epoch, __ATOMIC_RELAXED) == v->epoch;
}

int kphi_suspected(const struct kphi *k, struct kphi_ref peer, int consumer, uint64_t now_ns)
{
	uint32_t mask = consumer == KPHI_ANY ? UINT32_MAX : 1U << (consumer & (KPHI_CONSUMERS - 1));
	struct kphi_verdict v;
	bool valid;

	if (consumer < KPHI_ANY || consumer >= KPHI_CONSUMERS)
		return -EINVAL;
	if (peer.slot >= k->store.header->peers)
		return -ESTALE;
	/* Comes while the verdict comes: among many peers both are far away. */
	__builtin_prefetch(&k->store.records[peer.slot]);
	valid = holds(k, peer, now_ns, &v);
	if (!is_there(k, peer))
		return -ESTALE;
	if (!valid)
		return KPHI_UNKNOWN;
	if (v.consumers & mask)
		return KPHI_SUSPECTED;
	if (v.held & mask || v.state == KPHI_VERDICT_UNKNOWN || v.state == KPHI_VERDICT_BLIND)
		return KPHI_UNKNOWN;
	return KPHI_NOT_SUSPECTED;
}

int kphi_judge(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns, struct kphi_judgement *judgement)
{
	struct kphi_verdict v;
	bool valid;

	if (peer.slot >= k->store.header->peers)
		return -ESTALE;
	valid = holds(k, peer, now_ns, &v);
	if (!is_there(k, peer))
		return -ESTALE;
	memset(judgement, 0, sizeof(*judgement));
	if (valid)
		memcpy(judgement, &v, sizeof(*judgement));
	return 0;
}

/* --- phi --- */

int kphi_model(const char *name)
{
	int model = model_by_name(name);

	return model < 0 ? -EINVAL : model;
}

const char *kphi_model_name(int model)
{
	return model >= 0 && model < KPHI_MODELS ? model_name((uint8_t)model) : NULL;
}

struct look {
	struct kphi_record record;
	struct kphi_peer peer;
	struct opinion opinion;
	bool held; /* suspect, but in grace after a stall of this host */
	const struct threshold *threshold;
	uint64_t now_ns;
};

static void conclude(const struct kphi *k, struct look *l, const uint64_t *ring)
{
	const struct kphi_tick *tick = store_tick(&k->store, l->record.cpu);

	policy_judge(&l->opinion, &l->record, &l->peer, ring, tick, l->threshold, l->now_ns);
	l->held =
		l->opinion.state == PEER_SUSPECT && grace_at(&l->record, &l->peer, tick, l->now_ns).until_ns;
}

/* A function of its own, because only this one needs room for a ring. */
static __attribute__((noinline)) int conclude_by_ring(const struct kphi *k, struct look *l, uint32_t slot)
{
	uint64_t ring[KPHI_WINDOW_MAX];
	struct kphi_record newer;

	if (store_read_ring(&k->store, slot, &newer, ring))
		return -EBUSY;
	if (newer.generation != l->record.generation)
		return -ESTALE;
	l->record = newer;
	conclude(k, l, ring);
	return 0;
}

static uint8_t condition(const struct look *l)
{
	static const uint8_t conditions[] = {
		[PEER_WAITING] = KPHI_IS_WAITING, [PEER_LEARNING] = KPHI_IS_LEARNING,
		[PEER_UP] = KPHI_IS_UP,           [PEER_SUSPECT] = KPHI_IS_SUSPECT,
		[PEER_LEFT] = KPHI_IS_LEFT,       [PEER_DOWN] = KPHI_IS_DOWN,
	};

	return l->held ? KPHI_IS_HELD : conditions[l->opinion.state];
}

static void report(const struct look *l, struct kphi_reading *reading)
{
	*reading = (struct kphi_reading){
		.phi_q32 = l->opinion.judged ? l->opinion.phi : 0,
		.suspect_in_ns = l->opinion.judged ? l->opinion.suspect_in_ns : UINT64_MAX,
		.silence_ns = l->opinion.silence_ns,
		.beats = l->record.beats,
		.epoch = l->record.epoch,
		.samples = l->record.window.n,
		.model = l->peer.model,
		.condition = condition(l),
		.judged = l->opinion.judged,
		.degraded = l->record.flags & KPHI_WIRE_DEGRADED ? 1 : 0,
		.muted = l->peer.mute_until_ns > l->now_ns,
	};
}

static const struct threshold *threshold_at(const struct kphi *k, uint64_t q32, uint8_t model,
					    struct threshold *room)
{
	if (!q32)
		return &k->ready[HANDLE_USUAL - 1];
	if (q32 % Q32_ONE == 0 && q32 <= HANDLE_READY * Q32_ONE)
		return &k->ready[q32 / Q32_ONE - 1];
	threshold_prepare_for(room, q32, model);
	return room;
}

int kphi_read(const struct kphi *k, struct kphi_ref peer, int model, uint64_t threshold_q32, uint64_t now_ns,
	      struct kphi_reading *reading)
{
	struct threshold asked;
	struct look l;
	int err = 0;

	if (model < KPHI_OWN_MODEL || model >= KPHI_MODELS)
		return -EINVAL;
	if (!is_there(k, peer))
		return -ESTALE;
	if (store_read(&k->store, peer.slot, &l.record, &l.peer))
		return -EBUSY;
	if (l.record.generation != peer.generation || l.record.state == KPHI_FREE)
		return -ESTALE;
	if (model != KPHI_OWN_MODEL)
		l.peer.model = (uint8_t)model;
	l.now_ns = now_ns;
	l.threshold = threshold_at(k, threshold_q32, l.peer.model, &asked);
	if (l.peer.model == KPHI_MODEL_EMPIRICAL && l.record.state != KPHI_WAITING)
		err = conclude_by_ring(k, &l, peer.slot);
	else
		conclude(k, &l, NULL);
	if (!err)
		report(&l, reading);
	return err;
}
