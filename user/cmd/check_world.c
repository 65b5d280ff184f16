// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi check: our side of it. Judged as `kphi peer show` does, without a daemon; what only a daemon knows is
 * added. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/check.h"
#include "kernel/clock.h"

int check_world_open(struct check_world *w, const struct kphi_cli *cli)
{
	struct why ignored;
	int exit;

	*w = (struct check_world){0};
	exit = session_read(&w->session, cli);
	if (exit)
		return exit;
	threshold_prepare(&w->threshold, POLICY_SUSPECT);
	w->devices = devices_new(&w->session.pin, &ignored);
	if (!check_world_load(w))
		return KPHI_EXIT_OK;
	fail("no memory for %u peers", w->session.store.header->peers);
	return KPHI_EXIT_FAILED;
}

void check_world_close(struct check_world *w)
{
	match_end(&w->match);
	free(w->peer);
	devices_free(w->devices);
	session_end(&w->session);
}

/* The address that a rule names. This is all that check knows of identities. */
static bool source_address(const struct kphi_id *id, uint8_t address[16])
{
	static const uint8_t nowhere[16];

	memcpy(address, id->bytes, 16);
	return id->kind == KPHI_ID_RULE && memcmp(address, nowhere, 16) != 0;
}

static void describe(struct match_peer *m, const struct kphi_peer *p, uint32_t slot, uint32_t generation)
{
	*m = (struct match_peer){.slot = slot, .generation = generation};
	memcpy(m->name, p->name, sizeof(m->name));
	memcpy(m->host, p->host, sizeof(m->host));
	m->has_address = source_address(&p->id, m->address);
}

int check_world_load(struct check_world *w)
{
	const struct store *s = &w->session.store;
	struct kphi_record record;
	struct kphi_peer peer;

	match_end(&w->match);
	w->peers = 0;
	if (!w->peer)
		w->peer = malloc(s->header->peers * sizeof(*w->peer));
	if (!w->peer)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		if (s->records[slot].state == KPHI_FREE)
			continue;
		/* One that is written all the time is known by a glance. */
		if (store_read(s, slot, &record, &peer))
			describe(&w->peer[w->peers++], &s->peers[slot], slot, s->records[slot].generation);
		else if (record.state != KPHI_FREE)
			describe(&w->peer[w->peers++], &peer, slot, record.generation);
	}
	return match_begin(&w->match, w->peer, w->peers);
}

/* The daemon's verdict on this life of the slot, as long as it is valid. */
static bool daemon_says(const struct check_world *w, const struct view *v, enum kphi_verdict_state state)
{
	struct kphi_verdict verdict;

	return store_verdict(&w->session.store, v->slot, v->now_ns, &verdict) && verdict.state == state &&
	       verdict.generation == v->record.generation;
}

static bool is_blind(struct check_world *w, const struct view *v)
{
	return daemon_says(w, v, KPHI_VERDICT_BLIND) ||
	       (w->devices && devices_hearing(w->devices, &v->record, v->now_ns).blind != CAUSE_NONE);
}

/* The longest stall of the last minute, as the CPU tells that took the last beat. */
static void add_stall(const struct check_world *w, const struct view *v, struct check_ours *o)
{
	const struct kphi_tick *tick = store_tick(&w->session.store, v->record.cpu);
	uint64_t end_ns = tick->stall_length_end_ns;

	if (!end_ns || end_ns > v->now_ns || v->now_ns - end_ns > KPHI_STALL_FADE_NS)
		return;
	o->last_stall_ns = tick->stall_length_ns;
	o->last_stall_ago_ns = v->now_ns - end_ns;
}

/* When the stream was gone by our account. */
static uint64_t gone_ns(const struct check_world *w, struct view *v)
{
	struct kphi_estimate e;
	struct view_ring ring;

	if (v->opinion.state == PEER_LEFT || v->opinion.state == PEER_DOWN)
		return v->record.since_ns;
	if (v->opinion.state != PEER_SUSPECT || !view_estimate(v, &w->session.store, &ring, &e))
		return 0;
	return v->record.last_ns + v->discount_ns + estimate_silence_at(&e, &w->threshold);
}

void check_find_audible(struct check_seen *seen, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct check_ours *o = &seen[i].ours;

		if (o->state != PEER_SUSPECT || !*o->host)
			continue;
		for (uint32_t k = 0; k < count && !o->audible; k++)
			if (seen[k].ours.state == PEER_UP && seen[k].ours.doubt == DOUBT_NONE &&
			    !strcasecmp(seen[k].ours.host, o->host))
				o->audible = seen[k].ours.peer;
	}
}

static void judge(struct check_world *w, struct check_seen *seen)
{
	struct view *v = &seen->view;
	struct check_ours *o = &seen->ours;
	bool suspect = v->opinion.state == PEER_SUSPECT;

	*o = (struct check_ours){
		.peer = v->peer.name,
		.host = v->peer.host,
		.state = v->opinion.state,
		.judged = v->opinion.judged,
		.phi = v->opinion.phi,
		.threshold = w->threshold.phi,
		.model = v->peer.model,
		.silence_ns = v->opinion.silence_ns,
		.mean_ns = window_mean_ns(&v->record.window),
		.stalled_ns = v->discount_ns,
		.reason = seen->reason,
	};
	o->doubt = check_doubt(o->state, false, v->muted, suspect && is_blind(w, v),
			       suspect && (v->grace.until_ns || daemon_says(w, v, KPHI_VERDICT_HELD)));
	view_explain(v, seen->reason, sizeof(seen->reason));
	add_stall(w, v, o);
	seen->gone_ns = gone_ns(w, v);
}

bool check_world_look(struct check_world *w, uint32_t slot, uint32_t generation, uint64_t now_ns,
		      struct check_seen *seen)
{
	const struct store *s = &w->session.store;
	struct view *v = &seen->view;

	memset(seen, 0, sizeof(*seen));
	if (store_read(s, slot, &v->record, &v->peer)) {
		memcpy(v->peer.name, s->peers[slot].name, sizeof(v->peer.name));
		v->now_ns = now_ns;
		v->slot = slot;
		seen->ours = (struct check_ours){.peer = v->peer.name,
						 .host = v->peer.host,
						 .doubt = DOUBT_BUSY,
						 .reason = seen->reason};
		return true;
	}
	if (v->record.state == KPHI_FREE || v->record.generation != generation)
		return false;
	view_judge(v, s, slot, &w->threshold, now_ns);
	judge(w, seen);
	return true;
}
