// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer show and window: what was heard, and what is thought of it. */
#include <inttypes.h>
#include <kphi/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/peer.h"
#include "cmd/peer_view.h"
#include "cmd/session.h"
#include "io/format.h"
#include "kernel/clock.h"

static void say_identity(struct out *o, const struct kphi_peer *p, bool detail)
{
	char text[ADDRESS_SIZE + 16], address[ADDRESS_SIZE];

	if (p->id.kind == KPHI_ID_NATIVE) {
		out_string(o, "id", detail ? "id" : NULL, format_uuid(p->id.bytes, text));
		out_null(o, "from", NULL);
		return;
	}
	snprintf(text, sizeof(text), "%s udp port %u", format_address(p->id.bytes, address), p->id.port);
	out_null(o, "id", NULL);
	out_string(o, "from", detail ? "from" : NULL, text);
}

static void say_settings(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_window *w = &v->record.window;
	const struct kphi_peer *p = &v->peer;

	out_duration(o, "interval_ns", detail ? "interval in force" : NULL, w->interval_ns);
	out_duration(o, "min_std_ns", detail ? "least standard deviation" : NULL, effective_min_std_ns(w, p));
	out_duration(o, "pause_ns", detail ? "acceptable pause" : NULL, effective_pause_ns(w, p));
	out_duration(o, "max_interval_ns", detail ? "cap" : NULL, w->cap_ns);
}

static void say_counts(struct out *o, const struct kphi_record *r, bool detail)
{
	out_u64(o, "beats", detail ? "beats" : "BEATS", r->beats);
	out_u64(o, "lost", detail ? "lost" : "LOST", r->sequence.lost);
	out_u64(o, "duplicates", detail ? "duplicates" : NULL, r->duplicates);
	out_u64(o, "reordered", detail ? "reordered" : NULL, r->reordered);
	out_u64(o, "stale", detail ? "stale" : NULL, r->stale);
	out_u64(o, "restarts", detail ? "restarts" : NULL, r->restarts);
	out_u64(o, "capped", detail ? "capped" : NULL, r->capped);
	out_u64(o, "retuned", detail ? "retuned" : NULL, r->retuned);
	out_u64(o, "unlearned", detail ? "unlearned" : NULL, r->unlearned);
	out_u64(o, "stamp_inverted", detail ? "stamps inverted" : NULL, r->stamp_inverted);
	out_u64(o, "epoch", detail ? "epoch" : NULL, r->epoch);
	out_u64(o, "sequence", detail ? "sequence" : NULL, r->sequence.highest);
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

static void say_last_message(struct out *o, const struct kphi_record *r, bool detail)
{
	bool degraded = r->flags & KPHI_WIRE_DEGRADED;

	out_bool(o, "degraded", detail && degraded ? "degraded" : NULL, degraded);
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

/* In a table only what fits a line has a title; detail has it all. JSON is the same either way. */
static void say_peer(struct out *o, const struct view *v, bool detail)
{
	const struct kphi_window *w = &v->record.window;
	char reason[VIEW_REASON];

	view_explain(v, reason, sizeof(reason));
	out_string(o, "name", detail ? "peer" : "PEER", v->peer.name);
	out_string(o, "host", detail && *v->peer.host ? "host" : NULL, *v->peer.host ? v->peer.host : NULL);
	say_identity(o, &v->peer, detail);
	out_string(o, "state", detail ? "state" : "STATE", view_state(v));
	say_judgement(o, v, detail);
	say_withheld(o, v);
	out_u64(o, "samples", detail ? "samples" : NULL, w->n);
	out_duration(o, "mean_ns", detail ? "mean" : "MEAN", window_mean_ns(w));
	out_duration(o, "stddev_ns", detail ? "standard deviation" : "STDDEV", window_stddev_ns(w));
	if (v->record.state == KPHI_WAITING)
		out_null(o, "last_ns", NULL);
	else
		out_u64(o, "last_ns", NULL, v->record.last_ns);
	say_counts(o, &v->record, detail);
	say_settings(o, v, detail);
	say_last_message(o, &v->record, detail);
	out_u64(o, "slot", NULL, v->slot);
	out_u64(o, "generation", NULL, v->record.generation);
	out_string(o, "reason", detail ? "reason" : "REASON", reason);
}

static int show_all(struct kphi_cli *cli, const struct session *s)
{
	struct out *o = out_new(stdout, cli->mode);
	uint64_t now = clock_monotonic_ns();
	struct threshold threshold;
	uint32_t busy = 0;
	bool suspect = false;
	struct view v;

	threshold_prepare(&threshold, POLICY_SUSPECT);
	out_open_table(o, NULL);
	for (uint32_t slot = 0; slot < s->store.header->peers; slot++) {
		if (s->store.records[slot].state == KPHI_FREE)
			continue;
		if (store_read(&s->store, slot, &v.record, &v.peer)) {
			busy++;
			continue;
		}
		if (v.record.state == KPHI_FREE)
			continue;
		view_judge(&v, &s->store, slot, &threshold, now);
		suspect |= view_is_suspect(&v);
		out_open_row(o);
		say_peer(o, &v, false);
		out_close_row(o);
	}
	out_close_table(o);
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	if (busy)
		warn("%u peers were being written all the time and are left out", busy);
	return suspect && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}

static int find_peer(const struct session *s, const char *name, int64_t *slot)
{
	*slot = store_find(&s->store, name);
	if (*slot >= 0)
		return KPHI_EXIT_OK;
	fail("%s: there is no peer of that name. `kphi peer show` lists them", name);
	return KPHI_EXIT_FAILED;
}

static int busy(const char *name)
{
	fail("%s: its record is busy: it was being written each of the 1,000 times it was read. Try again",
	     name);
	return KPHI_EXIT_FAILED;
}

static int show_one(struct kphi_cli *cli, const struct session *s, const char *name)
{
	struct threshold threshold;
	struct view v;
	struct out *o;
	int64_t slot;
	int exit = find_peer(s, name, &slot);

	if (exit)
		return exit;
	if (store_read(&s->store, slot, &v.record, &v.peer))
		return busy(name);
	threshold_prepare(&threshold, POLICY_SUSPECT);
	view_judge(&v, &s->store, slot, &threshold, clock_monotonic_ns());
	o = out_new(stdout, cli->mode);
	out_open_object(o, NULL);
	say_peer(o, &v, true);
	out_close_object(o);
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	return view_is_suspect(&v) && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}

int peer_show(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	bool one = args->argc;
	struct session s;
	int exit;

	if (one && (peer_name(args, name) || args_done(args)))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	if (!exit)
		exit = one ? show_one(cli, &s, name) : show_all(cli, &s);
	session_end(&s);
	return exit;
}

#define HISTOGRAM_BARS  24
#define HISTOGRAM_WIDTH 50

/* Equal bins from the smallest to the largest interval; the longest bar is HISTOGRAM_WIDTH wide. */
static void say_histogram(struct out *o, const uint64_t *ring, uint32_t n)
{
	uint64_t low = UINT64_MAX, high = 0, step;
	uint32_t bins[HISTOGRAM_BARS] = {0}, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		low = ring[i] < low ? ring[i] : low;
		high = ring[i] > high ? ring[i] : high;
	}
	step = n ? (high - low) / HISTOGRAM_BARS + 1 : 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *bin = &bins[(ring[i] - low) / step];

		most = ++*bin > most ? *bin : most;
	}
	out_open_table(o, "histogram");
	for (uint32_t i = 0; n && i < HISTOGRAM_BARS && low + i * step <= high; i++) {
		char bar[HISTOGRAM_WIDTH + 1] = "";

		memset(bar, '#',
		       (uint64_t)bins[i] * HISTOGRAM_WIDTH / most +
			       (bins[i] && bins[i] * HISTOGRAM_WIDTH < most));
		out_open_row(o);
		out_duration(o, "from_ns", "FROM", low + i * step);
		out_u64(o, "count", "COUNT", bins[i]);
		out_string(o, "bar", "", bar);
		out_close_row(o);
	}
	out_close_table(o);
}

static void say_window(struct out *o, const struct view *v, const uint64_t *ring)
{
	const struct kphi_window *w = &v->record.window;

	out_open_object(o, NULL);
	out_string(o, "name", "peer", v->peer.name);
	out_u64(o, "samples", "samples", w->n);
	out_duration(o, "mean_ns", "mean", window_mean_ns(w));
	out_duration(o, "stddev_ns", "standard deviation", window_stddev_ns(w));
	out_open_array(o, "intervals_ns");
	for (uint32_t i = 0; i < w->n; i++)
		out_duration(o, NULL, "interval, oldest first", ring[i]);
	out_close_array(o);
	say_histogram(o, ring, w->n);
	out_close_object(o);
}

int peer_window(struct kphi_cli *cli, struct args *args)
{
	char name[KPHI_NAME_SIZE];
	uint64_t *ring = NULL;
	struct session s;
	struct view v;
	struct out *o;
	int64_t slot;
	int exit;

	if (peer_name(args, name) || args_done(args))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	exit = exit ? exit : find_peer(&s, name, &slot);
	if (exit)
		goto end;
	ring = calloc(s.store.header->window, sizeof(*ring));
	if (!ring || store_read_ring(&s.store, slot, &v.record, ring)) {
		exit = busy(name);
		goto end;
	}
	memcpy(v.peer.name, name, sizeof(v.peer.name));
	o = out_new(stdout, cli->mode);
	say_window(o, &v, ring);
	exit = command_finish(o);
end:
	free(ring);
	session_end(&s);
	return exit;
}
