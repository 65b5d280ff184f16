// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is said of one peer, to people and to programs. */
#include <kphi/wire.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "io/format.h"
#include "rule/describe.h"
#include "rule/native.h"
#include "show/bfd.h"
#include "show/peer.h"
#include "show/verdict.h"

/* The source that a rule asks for; of one that asks for none, or of a native sender, null. */
static void say_from(struct out *o, const struct view *v)
{
	static const uint8_t none[16];
	const struct kphi_id *id = &v->peer.id;
	char text[ADDRESS_SIZE + 24], address[ADDRESS_SIZE];

	if (!v->is_rule || !memcmp(id->bytes, none, sizeof(none))) {
		out_null(o, "from", NULL);
		return;
	}
	format_address(id->bytes, address);
	if (id->protocol == IPPROTO_UDP)
		snprintf(text, sizeof(text), "%s udp port %u", address, id->port);
	else
		snprintf(text, sizeof(text), "%s protocol %u", address, id->protocol);
	out_string(o, "from", NULL, text);
}

static void say_speaker(struct out *o, const struct view *v, bool detail)
{
	const uint8_t *speaker = view_speaker(v);
	char address[ADDRESS_SIZE];

	if (speaker)
		out_string(o, "speaker", detail ? "last spoken by" : NULL, format_address(speaker, address));
	else
		out_null(o, "speaker", NULL);
}

static void say_identity(struct out *o, const struct view *v, bool detail)
{
	char uuid[UUID_SIZE], words[RULE_WORDS];

	if (v->is_rule) {
		rule_words(&v->peer, &v->rule, words);
		out_null(o, "id", NULL);
		out_string(o, "proto", NULL, rule_preset(&v->peer, &v->rule));
		out_string(o, "rule", detail ? "rule" : NULL, words);
	} else {
		out_string(o, "id", detail ? "id" : NULL, format_uuid(v->peer.id.bytes, uuid));
		out_null(o, "proto", NULL);
		out_null(o, "rule", NULL);
	}
	say_from(o, v);
	say_speaker(o, v, detail);
}

void say_settings(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_window *w = &v->record.window;
	const struct kphi_peer *p = &v->peer;

	out_duration(o, "interval_ns", detail ? "interval in force" : NULL, w->interval_ns);
	out_duration(o, "min_std_ns", detail ? "least standard deviation" : NULL, effective_min_std_ns(w, p));
	out_duration(o, "pause_ns", detail ? "acceptable pause" : NULL, effective_pause_ns(w, p));
	out_duration(o, "max_interval_ns", detail ? "cap" : NULL, w->cap_ns);
}

/* Where packets have no number, how many are lost is not known, which is another thing than none. */
static void say_lost(struct out *o, const struct view *v, bool detail)
{
	const char *title = detail ? "lost" : "LOST";

	if (v->is_rule && !v->rule.sequence_bits)
		out_null(o, "lost", title);
	else
		out_u64(o, "lost", title, v->record.sequence.lost);
}

/* What the loss model judges by besides; with its priors, so neither is ever nothing. */
static void say_losses(struct out *o, const struct view *v, bool detail)
{
	uint64_t lost_ppm, again_ppm;

	detail = detail && v->peer.model == KPHI_MODEL_LOSS;
	out_u64(o, "clean_samples", detail ? "samples without loss" : NULL, v->record.window.clean_n);
	if (v->peer.model != KPHI_MODEL_LOSS) {
		out_null(o, "loss_p_ppm", NULL);
		out_null(o, "loss_q_ppm", NULL);
		return;
	}
	window_loss_ppm(&v->record.window, &lost_ppm, &again_ppm);
	out_u64(o, "loss_p_ppm", detail ? "lost, of a million" : NULL, lost_ppm);
	out_u64(o, "loss_q_ppm", detail ? "and the next one, too" : NULL, again_ppm);
}

static void say_counts(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_record *r = &v->record;
	bool numbered = !v->is_rule || v->rule.sequence_bits;

	out_u64(o, "beats", detail ? "beats" : "BEATS", r->beats);
	say_lost(o, v, detail);
	out_u64(o, "duplicates", detail ? "duplicates" : NULL, r->duplicates);
	out_u64(o, "reordered", detail ? "reordered" : NULL, r->reordered);
	out_u64(o, "stale", detail ? "stale" : NULL, r->stale);
	out_u64(o, "restarts", detail ? "restarts" : NULL, r->restarts);
	out_u64(o, "capped", detail ? "capped" : NULL, r->capped);
	out_u64(o, "retuned", detail ? "retuned" : NULL, r->retuned);
	out_u64(o, "unlearned", detail ? "unlearned" : NULL, r->unlearned);
	out_u64(o, "stamp_inverted", detail ? "stamps inverted" : NULL, r->stamp_inverted);
	out_u64(o, "epoch", detail && !v->is_rule ? "epoch" : NULL, r->epoch);
	if (numbered)
		out_u64(o, "sequence", detail ? "sequence" : NULL, r->sequence.highest);
	else
		out_null(o, "sequence", NULL);
}

/* IEEE 754 bits as a sender put them on the wire; anything that is no ordinary number below 2^31 is null. */
static void say_float(struct out *o, const char *key, const char *title, uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	if (value >= 0 && value < 0x1p31f)
		out_q32(o, key, title, (uint64_t)(value * 0x1p32));
	else
		out_null(o, key, title);
}

/* What the last message said besides; a rule's packets have nothing of a native sender's, nor that of BFD's.
 */
static void say_last_message(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_record *r = &v->record;
	bool degraded = r->flags & KPHI_WIRE_DEGRADED;

	out_bool(o, "degraded", detail && degraded ? "degraded" : NULL, degraded);
	if (v->is_rule) {
		out_null(o, "load_average", NULL);
		out_null(o, "available_capacity", NULL);
		out_null(o, "cluster_version", NULL);
		return;
	}
	say_float(o, "load_average", detail ? "load average" : NULL, r->load_average);
	say_float(o, "available_capacity", detail ? "available capacity" : NULL, r->available_capacity);
	out_u64(o, "cluster_version", NULL, r->cluster_version);
}

/* What withholds a verdict on it; people read it in the reason. */
static void say_withheld(struct out *o, const struct view *v)
{
	if (v->muted) {
		out_u64(o, "muted_until_ns", NULL, v->peer.mute_until_ns);
		out_duration(o, "muted_for_ns", NULL, v->peer.mute_until_ns - v->now_ns);
		out_string(o, "mute_reason", NULL, *v->peer.mute_reason ? v->peer.mute_reason : NULL);
	} else {
		out_null(o, "muted_until_ns", NULL);
		out_null(o, "muted_for_ns", NULL);
		out_null(o, "mute_reason", NULL);
	}
	if (v->grace.until_ns)
		out_duration(o, "grace_for_ns", NULL, v->grace.until_ns - v->now_ns);
	else
		out_null(o, "grace_for_ns", NULL);
}

static void say_judgement(struct out *o, const struct view *v, bool detail)
{
	const struct opinion *j = &v->opinion;
	const char *in = detail ? "suspect in" : "SUSPECT IN";

	if (j->judged)
		out_q32(o, "phi", detail ? "phi" : "PHI", j->phi);
	else
		out_null(o, "phi", detail ? "phi" : "PHI");
	out_string(o, "model", detail ? "model" : "MODEL", model_name(v->peer.model));
	out_duration(o, "silence_ns", detail ? "silence" : "SILENCE", j->silence_ns);
	out_duration(o, "stalled_ns", detail && v->discount_ns ? "not counted: this host stalled" : NULL,
		     v->discount_ns);
	if (j->judged && j->suspect_in_ns != UINT64_MAX)
		out_duration(o, "suspect_in_ns", in, j->suspect_in_ns);
	else
		out_null(o, "suspect_in_ns", in);
}

static void say_host(struct out *o, const struct view *v, enum show_place place)
{
	const char *host = *v->peer.host ? v->peer.host : NULL;
	const char *title = place == SHOW_HOST_ROW ? "HOST" : place == SHOW_DETAIL && host ? "host" : NULL;

	if (host)
		out_string(o, "host", title, host);
	else
		out_null(o, "host", title);
}

/* What its messages must show, and whether they do. */
static void say_demands(struct out *o, const struct view *v, bool detail)
{
	bool is_signed = v->record.flags & KPHI_WIRE_SIGNED;
	const char *refused = detail && v->seal.refused ? "refused in its name" : NULL;
	char bound[NATIVE_WORDS] = "";

	if (!v->is_rule)
		native_words(&v->peer, &v->rule, bound);
	out_string(o, "bound", detail && *bound ? "bound to" : NULL, *bound ? bound : NULL);
	out_string(o, "key", detail && v->key ? "key" : NULL, v->key);
	out_bool(o, "signed", detail && v->key ? "signed" : NULL, is_signed);
	if (v->seal.key_id)
		out_u64(o, "key_id", detail ? "by its key number" : NULL, v->seal.key_id);
	else
		out_null(o, "key_id", NULL);
	out_u64(o, "refused", refused, v->seal.refused);
	if (!v->seal.refused) {
		out_null(o, "refused_as", NULL);
		out_null(o, "refused_ago_ns", NULL);
		return;
	}
	out_string(o, "refused_as", refused ? "the last one" : NULL, view_refusal(v));
	out_duration(o, "refused_ago_ns", refused ? "so long ago" : NULL,
		     v->now_ns > v->seal.refused_ns ? v->now_ns - v->seal.refused_ns : 0);
}

void say_peer(struct out *o, const struct view *v, enum show_place place)
{
	const struct kphi_window *w = &v->record.window;
	bool detail = place == SHOW_DETAIL;
	char reason[VIEW_REASON];

	view_explain(v, reason, sizeof(reason));
	out_string(o, "name", detail ? "peer" : "PEER", v->peer.name);
	say_host(o, v, place);
	say_identity(o, v, detail);
	say_demands(o, v, detail);
	out_string(o, "state", detail ? "state" : "STATE", view_state_name(view_state(v)));
	say_judgement(o, v, detail);
	say_withheld(o, v);
	say_verdict(o, v, detail);
	out_u64(o, "samples", detail ? "samples" : NULL, w->n);
	out_duration(o, "mean_ns", detail ? "mean" : "MEAN", window_mean_ns(w));
	out_duration(o, "stddev_ns", detail ? "standard deviation" : "STDDEV", window_stddev_ns(w));
	say_losses(o, v, detail);
	if (v->record.state == KPHI_WAITING)
		out_null(o, "last_ns", NULL);
	else
		out_u64(o, "last_ns", NULL, v->record.last_ns);
	say_counts(o, v, detail);
	say_settings(o, v, detail);
	say_last_message(o, v, detail);
	say_bfd(o, v, detail);
	out_u64(o, "slot", NULL, v->slot);
	out_u64(o, "generation", NULL, v->record.generation);
	out_string(o, "reason", detail ? "reason" : "REASON", reason);
	if (!detail)
		out_null(o, "siblings", NULL);
}
