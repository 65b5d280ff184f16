// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a peer is judged by: what was heard of it, what was configured, and what was left out. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/peer_explain.h"
#include "io/format.h"

#define LAST 10 /* intervals that are listed */

static void say_sums(struct out *o, const struct kphi_window *w, const char *n, const char *mean,
		     const char *stddev)
{
	out_u64(o, "samples", n, w->n);
	out_duration(o, "mean_ns", w->n ? mean : NULL, window_mean_ns(w));
	out_duration(o, "stddev_ns", w->n ? stddev : NULL, window_stddev_ns(w));
}

static void say_window(struct out *o, const struct explain *x)
{
	const struct kphi_window *w = &x->view.record.window;
	struct kphi_window clean = explain_clean(w);
	bool any = w->n;

	out_open_object(o, "window");
	say_sums(o, w, any ? "intervals" : NULL, "mean", "standard deviation");
	out_duration(o, "largest_ns", any ? "largest" : NULL, explain_largest_ns(x->ring.entry, w->n));
	out_open_object(o, "clean");
	say_sums(o, &clean, any ? "of these without loss" : NULL, "mean", "standard deviation");
	out_close_object(o);
	out_close_object(o);
}

static void say_last(struct out *o, const struct explain *x)
{
	uint32_t n = x->view.record.window.n;

	if (n)
		out_text(o, "\nThe last intervals, newest first:\n\n");
	out_open_table(o, "last");
	for (uint32_t i = 0; i < n && i < LAST; i++) {
		uint64_t entry = x->ring.entry[n - 1 - i], steps = entry >> KPHI_RING_STEPS_SHIFT;

		out_open_row(o);
		out_duration(o, "interval_ns", "INTERVAL", entry & KPHI_RING_NS);
		out_u64(o, "steps", "STEPS", steps);
		out_u64(o, "lost", "LOST", steps ? steps - 1 : 0);
		out_close_row(o);
	}
	out_close_table(o);
}

/* --- settings --- */

static void say_setting(struct out *o, const char *name, uint64_t ns, const char *from, const char *used_by)
{
	out_open_row(o);
	out_string(o, "setting", "SETTING", name);
	out_duration(o, "value_ns", "IN FORCE", ns);
	out_string(o, "from", "FROM", from);
	out_string(o, "used_by", "USED BY", used_by);
	out_close_row(o);
}

static const char *interval_from(enum explain_origin origin)
{
	static const char *const words[] = {
		[ORIGIN_CONFIGURED] = "configured",
		[ORIGIN_ANNOUNCED] = "announced by BFD",
		[ORIGIN_LEARNED] = "learned",
		[ORIGIN_RETUNED] = "8 capped ones in a row",
	};

	return words[origin];
}

/* Those of every model, not of the peer's own alone. While the interval is not known, there are none. */
static void say_settings(struct out *o, const struct view *v)
{
	const struct kphi_window *w = &v->record.window;
	struct kphi_peer normal = v->peer;

	normal.model = KPHI_MODEL_NORMAL; /* it has them all */
	if (w->interval_ns)
		out_text(o, "\nSettings in force:\n\n");
	out_open_table(o, "settings");
	if (w->interval_ns) {
		enum explain_origin from =
			explain_interval_origin(&v->record, &v->peer, v->is_rule ? &v->rule : NULL);
		bool capped_by_hand = explain_cap_origin(w, &v->peer) == ORIGIN_CONFIGURED;

		say_setting(o, "interval", w->interval_ns, interval_from(from), "the seed; what follows it");
		say_setting(o, "least deviation", effective_min_std_ns(w, &normal),
			    v->peer.set & KPHI_SET_MIN_STD ? "configured" : "interval / 10",
			    "all models but exponential");
		say_setting(o, "pause", effective_pause_ns(w, &normal),
			    v->peer.set & KPHI_SET_PAUSE ? "configured" : "3 intervals", "normal, akka");
		say_setting(o, "cap", w->cap_ns, capped_by_hand ? "configured" : "10 intervals",
			    "the window: what it learns");
	}
	out_close_table(o);
}

/* --- losses --- */

static bool has_numbers(const struct view *v)
{
	return !v->is_rule || v->rule.sequence_bits;
}

static void loss_words(const struct explain *x, q32_t lost, q32_t again, char *text, size_t size)
{
	const struct kphi_losses *l = &x->view.record.window.losses;
	char p[FORMAT_SIZE], q[FORMAT_SIZE], n[64];

	format_percent((uint32_t)((lost * 10000 + Q32_ONE / 2) >> 32) * 100, p);
	format_percent((uint32_t)((again * 1000 + Q32_ONE / 2) >> 32) * 1000, q);
	snprintf(n, sizeof(n), "%" PRIu32 " beats were lost in %" PRIu32 " of", l->lost, l->runs);
	snprintf(
		text, size,
		"Losses: %s the %" PRIu32 " intervals that are remembered%s. With a prior, so that a "
		"spotless history is no certainty, the loss model takes p = %s for the chance that the next "
		"beat is lost, and q = %s that another one is lost after it.",
		l->lost ? n : "nothing was lost in", l->beats,
		has_numbers(&x->view)
			? ""
			: " (its packets have no sequence numbers: an interval of several means is taken for "
			  "beats that were lost)",
		p, q);
}

static void say_losses(struct out *o, const struct explain *x)
{
	const struct kphi_losses *l = &x->view.record.window.losses;
	char text[512];
	q32_t p, q;

	explain_chances(l, &p, &q);
	loss_words(x, p, q, text, sizeof(text));
	out_open_object(o, "losses");
	out_q32(o, "p", NULL, p);
	out_q32(o, "q", NULL, q);
	out_u64(o, "intervals", NULL, l->beats);
	out_u64(o, "intervals_with_loss", NULL, l->runs);
	out_u64(o, "lost", NULL, l->lost);
	out_u64(o, "lost_long", NULL, l->lost_long);
	out_bool(o, "guessed", NULL, !has_numbers(&x->view));
	if (l->beats && x->view.record.window.interval_ns) {
		out_text(o, "\n");
		explain_prose(o, "words", text);
	} else {
		out_null(o, "words", NULL);
	}
	out_close_object(o);
}

/* --- what is in no window --- */

/* A line if there are any. */
static void say_left_out(struct out *o, const char *key, const char *why, uint64_t n)
{
	out_u64(o, key, n ? why : NULL, n);
}

static void say_not_learned(struct out *o, const struct view *v)
{
	const struct kphi_record *r = &v->record;
	char cap[FORMAT_SIZE], capped[96];

	snprintf(capped, sizeof(capped), "capped (longer than %s: an outage, no rhythm)",
		 format_duration(r->window.cap_ns, cap));
	if (r->capped || r->unlearned || r->stamp_inverted)
		out_text(o, "\nIntervals that were not learned:\n");
	else if (r->window.n)
		out_text(o, "\nEvery interval was learned.\n");
	out_open_object(o, "not_learned");
	say_left_out(o, "capped", capped, r->capped);
	say_left_out(o, "retuned", "so often eight of these in a row began the window anew", r->retuned);
	out_u64(o, "capped_run", NULL, r->window.capped_run);
	say_left_out(o, "unlearned", "this host had stalled, and what was queued came in a burst",
		     r->unlearned);
	say_left_out(o, "stamp_inverted", "two CPUs took two beats in the other order", r->stamp_inverted);
	out_close_object(o);
}

/* Where packets have no number, how many are lost is not known, which is another thing than none. */
static void say_numbered(struct out *o, bool numbered, const char *key, const char *title, uint64_t n)
{
	if (numbered)
		out_u64(o, key, title, n);
	else
		out_null(o, key, NULL);
}

static void say_sequence(struct out *o, const struct view *v)
{
	const struct kphi_record *r = &v->record;
	bool numbered = has_numbers(v), heard = r->state != KPHI_WAITING;

	if (heard)
		out_text(o, "\nAll that was heard of it:\n");
	out_open_object(o, "sequence");
	out_u64(o, "beats", heard ? "beats" : NULL, r->beats);
	say_numbered(o, numbered, "lost", heard ? "lost" : NULL, r->sequence.lost);
	say_numbered(o, numbered, "reordered", heard ? "reordered" : NULL, r->reordered);
	say_numbered(o, numbered, "duplicates", heard ? "duplicates" : NULL, r->duplicates);
	say_left_out(o, "stale", "refused as stale", r->stale);
	say_left_out(o, "restarts", "restarts", r->restarts);
	out_close_object(o);
}

void explain_say_window(struct out *o, const struct explain *x)
{
	if (x->view.record.window.n)
		out_text(o, "\nThe window behind it:\n");
	say_window(o, x);
	say_last(o, x);
	say_losses(o, x);
	say_settings(o, &x->view);
	say_not_learned(o, &x->view);
	say_sequence(o, &x->view);
}
