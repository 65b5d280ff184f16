// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What each peer has series for. What is not known has no sample: a zero would be a lie. */
#include <stddef.h>

#include "core/models.h"
#include "metrics/families.h"
#include "show/verdict.h"

static void say_phi(struct om *m, const struct facts *f)
{
	struct om_labels l;

	om_family(m, "kphi_peer_phi", OM_GAUGE, NULL,
		  "Suspicion level: -log10 of the chance that a live peer would be silent for so long under "
		  "its "
		  "model. None while it is not judged.");
	for (uint32_t i = 0; i < f->count; i++) {
		if (!f->list[i].judged)
			continue;
		facts_labels(f, i, &l);
		om_label(&l, "model", model_name(f->list[i].model));
		om_q32(m, &l, f->list[i].phi);
	}
}

static void say_states(struct om *m, const struct facts *f)
{
	struct om_labels l;

	om_family(m, "kphi_peer_state", OM_GAUGE, NULL,
		  "1 for the state that the peer is in, judged at phi 8 without regard to any consumer. Its "
		  "other states have no sample.");
	for (uint32_t i = 0; i < f->count; i++) {
		facts_labels(f, i, &l);
		om_label(&l, "state", view_state_name(f->list[i].state));
		om_u64(m, &l, 1);
	}
}

static bool is_heard(const struct fact *f)
{
	return f->heard;
}

static bool has_window(const struct fact *f)
{
	return f->samples;
}

static bool is_numbered(const struct fact *f)
{
	return f->numbered;
}

static bool always(const struct fact *f)
{
	(void)f;
	return true;
}

static const struct figure {
	const char *name, *help;
	size_t offset; /* of a uint64_t in struct fact */
	bool (*known)(const struct fact *f);
	enum om_type type; /* gauges are durations */
} figures[] = {
	{"kphi_peer_silence_seconds", "Time since the last beat, less what this host was stalled meanwhile.",
	 offsetof(struct fact, silence_ns), is_heard, OM_GAUGE},
	{"kphi_peer_interval_mean_seconds", "Mean of the intervals in the peer's window.",
	 offsetof(struct fact, mean_ns), has_window, OM_GAUGE},
	{"kphi_peer_interval_stddev_seconds", "Standard deviation of the intervals in the peer's window.",
	 offsetof(struct fact, stddev_ns), has_window, OM_GAUGE},
	{"kphi_peer_beats", "Heartbeats accepted.", offsetof(struct fact, beats), always, OM_COUNTER},
	{"kphi_peer_lost",
	 "Sequence numbers that never came and no longer can; of the peer's present life, so it begins anew "
	 "with each.",
	 offsetof(struct fact, lost), is_numbered, OM_COUNTER},
	{"kphi_peer_duplicates", "Sequence numbers that came again.", offsetof(struct fact, duplicates),
	 is_numbered, OM_COUNTER},
	{"kphi_peer_reordered", "Sequence numbers that were overtaken by a newer one.",
	 offsetof(struct fact, reordered), is_numbered, OM_COUNTER},
	{"kphi_peer_stale", "Messages of an older epoch, or of a sequence number too old to place.",
	 offsetof(struct fact, stale), always, OM_COUNTER},
	{"kphi_peer_restarts", "New lives of the peer.", offsetof(struct fact, restarts), always, OM_COUNTER},
};

static void say_figure(struct om *m, const struct facts *f, const struct figure *figure)
{
	struct om_labels l;

	om_family(m, figure->name, figure->type, figure->type == OM_GAUGE ? "seconds" : NULL, figure->help);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct fact *fact = &f->list[i];
		uint64_t value = *(const uint64_t *)((const char *)fact + figure->offset);

		if (!figure->known(fact))
			continue;
		facts_labels(f, i, &l);
		if (figure->type == OM_GAUGE)
			om_seconds(m, &l, value);
		else
			om_u64(m, &l, value);
	}
}

static void say_muted(struct om *m, const struct facts *f)
{
	struct om_labels l;

	om_family(m, "kphi_peer_muted", OM_GAUGE, NULL,
		  "1 while the peer is muted for maintenance, else no sample.");
	for (uint32_t i = 0; i < f->count; i++) {
		if (!f->list[i].muted)
			continue;
		facts_labels(f, i, &l);
		om_u64(m, &l, 1);
	}
}

static void say_blind(struct om *m, const struct facts *f)
{
	struct om_labels l;

	om_family(m, "kphi_peer_blind", OM_GAUGE, NULL,
		  "1 while this host cannot hear the peer and the daemon knows it, else no sample.");
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->list[i].verdict != KPHI_VERDICT_BLIND)
			continue;
		facts_labels(f, i, &l);
		om_label(&l, "cause", verdict_cause_name(f->list[i].cause) ?: "");
		om_u64(m, &l, 1);
	}
}

/* The consumers' names, and that one is a shadow, behind the peer's labels. */
static void consumer_labels(const struct facts *f, uint32_t i, const struct kphi_consumer *c,
			    struct om_labels *l)
{
	facts_labels(f, i, l);
	om_label(l, "consumer", c->name);
	if (c->shadow)
		om_label(l, "shadow", "true");
}

/* Who is blind, held or muted has no opinion, and none is not the same as trust. */
static bool has_opinion(const struct fact *f, uint32_t c)
{
	if (f->held >> c & 1)
		return false;
	return f->verdict == KPHI_VERDICT_TRUST || f->verdict == KPHI_VERDICT_SUSPECT ||
	       f->verdict == KPHI_VERDICT_HELD || f->suspects >> c & 1;
}

static void say_suspected(struct om *m, const struct facts *f, const struct kphi_daemon *d)
{
	struct om_labels l;

	om_family(m, "kphi_peer_suspected", OM_GAUGE, NULL,
		  "1 if the consumer suspects the peer, 0 if not; no sample while it has no opinion: blind, "
		  "held, "
		  "muted, not judged, or no daemon.");
	for (uint32_t i = 0; d && i < f->count; i++) {
		for (uint32_t c = 0; c < d->consumers; c++) {
			if (!has_opinion(&f->list[i], c))
				continue;
			consumer_labels(f, i, &d->consumer[c], &l);
			om_u64(m, &l, f->list[i].suspects >> c & 1);
		}
	}
}

static void say_held(struct om *m, const struct facts *f, const struct kphi_daemon *d)
{
	struct om_labels l;

	om_family(
		m, "kphi_peer_held", OM_GAUGE, NULL,
		"1 while a consumer's suspicion of the peer is withheld because the evidence is against this "
		"host, else no sample.");
	for (uint32_t i = 0; d && i < f->count; i++) {
		for (uint32_t c = 0; f->list[i].held && c < d->consumers; c++) {
			if (!(f->list[i].held >> c & 1))
				continue;
			consumer_labels(f, i, &d->consumer[c], &l);
			om_u64(m, &l, 1);
		}
	}
}

void families_peer(struct om *m, const struct facts *f, const struct kphi_daemon *d)
{
	say_phi(m, f);
	say_states(m, f);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		say_figure(m, f, &figures[i]);
	say_muted(m, f);
	say_suspected(m, f, d);
	say_held(m, f, d);
	say_blind(m, f);
}
