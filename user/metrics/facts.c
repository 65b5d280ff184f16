// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "metrics/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/verdict.h"
#include "show/view.h"

/* peer="", host="" and two names, of which every byte may have become three. */
#define LABELS_MAX (20 + 2 * 3 * KPHI_NAME_SIZE)

static void take_verdict(struct fact *fact, const struct view *v)
{
	const struct kphi_verdict *verdict = &v->verdict;

	if (!v->daemon || verdict->state >= FACTS_VERDICTS || verdict->cause >= FACTS_CAUSES)
		return;
	fact->verdict = verdict->state;
	fact->cause = verdict->cause;
	fact->suspects = verdict->consumers | verdict->shadows;
	fact->held = verdict->held;
}

static void take(struct fact *fact, const struct view *v)
{
	const struct kphi_record *r = &v->record;

	*fact = (struct fact){
		.state = (uint8_t)view_state(v),
		.model = v->peer.model,
		.judged = v->opinion.judged,
		.heard = r->state != KPHI_WAITING,
		.numbered = !v->is_rule || v->rule.sequence_bits,
		.muted = v->muted,
		.samples = r->window.n,
		.phi = v->opinion.phi,
		.silence_ns = v->opinion.silence_ns,
		.mean_ns = window_mean_ns(&r->window),
		.stddev_ns = window_stddev_ns(&r->window),
		.beats = r->beats,
		/* What may still arrive would be taken back, and a counter must not fall. */
		.lost = r->sequence.settled_lost,
		.duplicates = r->duplicates,
		.reordered = r->reordered,
		.stale = r->stale,
		.restarts = r->restarts,
	};
}

static void add_up(struct facts *f, const struct fact *fact, bool has_daemon)
{
	f->peers++;
	f->muted += fact->muted;
	f->states[fact->state]++;
	if (!has_daemon)
		return;
	f->verdicts[fact->verdict][fact->cause]++;
	for (uint32_t c = 0; c < KPHI_CONSUMERS; c++) {
		f->suspected[c] += fact->suspects >> c & 1;
		f->held[c] += fact->held >> c & 1;
	}
}

static bool is_simply_up(const struct fact *fact)
{
	return fact->state == VIEW_UP && !fact->suspects && !fact->held &&
	       fact->verdict != KPHI_VERDICT_BLIND;
}

/* Where there is room for it: among the others, or else in the place of somebody who is simply up. */
static struct fact *place_for(struct facts *f, const struct fact *fact, uint32_t room)
{
	if (f->count < room)
		return &f->list[f->count++];
	if (is_simply_up(fact))
		return NULL;
	while (f->replaced < f->count && !is_simply_up(&f->list[f->replaced]))
		f->replaced++;
	return f->replaced < f->count ? &f->list[f->replaced] : NULL;
}

static void keep(struct facts *f, const struct fact *fact, const struct kphi_peer *peer, uint32_t room)
{
	struct om_labels l = {.size = 0};
	struct fact *to;

	f->omitted[OMITTED_MAX] += f->count == room;
	to = place_for(f, fact, room);
	if (!to)
		return;
	om_label(&l, "peer", peer->name);
	if (*peer->host)
		om_label(&l, "host", peer->host);
	*to = *fact;
	to->labels = f->labels_used;
	to->labels_size = (uint32_t)l.size;
	memcpy(f->labels + to->labels, l.text, l.size);
	f->labels_used += to->labels_size;
}

static void read_one(struct facts *f, const struct store *s, uint32_t slot, const struct threshold *threshold,
		     const struct metrics_options *options, uint32_t room, const struct kphi_daemon *daemon,
		     uint64_t now_ns)
{
	struct fact fact;
	struct view v;

	switch (view_take(&v, s, daemon, threshold, slot, now_ns)) {
	case VIEW_NOBODY:
		return;
	case VIEW_BUSY:
		f->peers++;
		f->omitted[OMITTED_BUSY]++;
		return;
	case VIEW_PEER:
		break;
	}
	take(&fact, &v);
	take_verdict(&fact, &v);
	add_up(f, &fact, daemon != NULL);
	if (options->peers == METRICS_NONE || (options->peers == METRICS_SUSPECT && is_simply_up(&fact)))
		f->omitted[OMITTED_PER_PEER]++;
	else
		keep(f, &fact, &v.peer, room);
}

int facts_read(struct facts *f, const struct store *s, const struct metrics_options *options,
	       const struct kphi_daemon *daemon, uint64_t now_ns)
{
	uint32_t room = options->peers == METRICS_NONE ? 0 : store_used(s);
	struct threshold threshold;

	room = room < options->peers_max ? room : options->peers_max;
	*f = (struct facts){0};
	f->list = malloc((room + 1) * sizeof(*f->list));
	/* Everybody may be replaced once. What is not touched costs nothing. */
	f->labels = malloc((2 * (size_t)room + 1) * LABELS_MAX);
	if (!f->list || !f->labels)
		return -ENOMEM;
	threshold_prepare(&threshold, POLICY_SUSPECT);
	for (uint32_t slot = 0; slot < s->header->peers; slot++)
		read_one(f, s, slot, &threshold, options, room, daemon, now_ns);
	return 0;
}

void facts_free(struct facts *f)
{
	free(f->list);
	free(f->labels);
}

void facts_labels(const struct facts *f, uint32_t i, struct om_labels *l)
{
	l->size = f->list[i].labels_size;
	memcpy(l->text, f->labels + f->list[i].labels, l->size);
}
