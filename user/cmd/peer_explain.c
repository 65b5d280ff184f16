// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi peer explain: why it is suspected, or not. */
#include "cmd/peer_explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/peer.h"
#include "cmd/peer_show.h"
#include "cmd/session.h"
#include "io/format.h"
#include "io/parse.h"
#include "kernel/clock.h"
#include "run/config.h"
#include "show/bfd.h"

#define THRESHOLDS_DEFAULT "1,3,5,8,12"
#define TRIES              100 /* a beat comes between record and ring */

struct explain_options {
	const char *prior; /* or NULL */
	const char *thresholds;
};

const struct option_spec peer_explain_specs[] = {
	{"prior", OPT_STRING, offsetof(struct explain_options, prior), OPT_NO_HAS, .value = "P",
	 .help = "chance that it has failed, before its silence is looked at: 0.0001 or 0.01%"},
	{"threshold", OPT_STRING, offsetof(struct explain_options, thresholds), OPT_NO_HAS, .value = "T,...",
	 .help = "whose crossing times are told, six at most (" THRESHOLDS_DEFAULT ")"},
};
const size_t peer_explain_specs_count = COUNT(peer_explain_specs);

void explain_judge(struct explain *x, const struct kphi_tick *tick)
{
	const struct view *v = &x->view;

	if (v->opinion.judged)
		explain_models(x->models, &v->record.window, &v->peer, x->ring.entry, v->opinion.silence_ns,
			       &x->thresholds);
	x->stalls_n = v->discount_ns ? explain_stalls(x->stalls, &v->record, tick, v->now_ns) : 0;
}

/* --- what is said --- */

static void say_stalls(struct out *o, const struct explain *x)
{
	out_open_table(o, "stalls");
	for (size_t i = 0; i < x->stalls_n; i++) {
		const struct explain_stall *s = &x->stalls[i];
		char ago[FORMAT_SIZE], text[FORMAT_SIZE + 8];

		snprintf(text, sizeof(text), "%s ago", format_duration(x->view.now_ns - s->end_ns, ago));
		out_open_row(o);
		out_u64(o, "cpu", "STALLED CPU", x->view.record.cpu);
		out_duration(o, "length_ns", "FOR", s->length_ns);
		out_u64(o, "ended_ago_ns", NULL, x->view.now_ns - s->end_ns);
		out_bool(o, "open", NULL, s->open);
		out_string(o, "ended", "ENDED", s->open ? "goes on" : text);
		out_duration(o, "discounted_ns", "NOT COUNTED", s->discounted_ns);
		out_close_row(o);
	}
	out_close_table(o);
}

/* What withholds a verdict. */
static void say_withheld(struct out *o, const struct view *v)
{
	const char *why = v->muted && *v->peer.mute_reason ? v->peer.mute_reason : NULL;

	if (v->grace.until_ns)
		out_duration(o, "grace_for_ns", "no verdict for another", v->grace.until_ns - v->now_ns);
	else
		out_null(o, "grace_for_ns", NULL);
	if (v->muted)
		out_duration(o, "muted_for_ns", "muted for another", v->peer.mute_until_ns - v->now_ns);
	else
		out_null(o, "muted_for_ns", NULL);
	out_string(o, "mute_reason", why ? "muted because of" : NULL, why);
}

static void say_silence(struct out *o, const struct explain *x)
{
	const struct view *v = &x->view;
	bool heard = v->record.state != KPHI_WAITING, stalled = v->discount_ns;
	uint64_t elapsed_ns = v->opinion.silence_ns + v->discount_ns;

	if (heard || v->muted)
		out_text(o, "\n");
	if (v->opinion.judged)
		out_q32(o, "phi", "phi", v->opinion.phi);
	else
		out_null(o, "phi", NULL);
	out_string(o, "model", v->opinion.judged ? "model" : NULL, model_name(v->peer.model));
	out_duration(o, "silence_ns", heard ? "silence" : NULL, v->opinion.silence_ns);
	out_duration(o, "since_last_beat_ns", stalled ? "since the last beat" : NULL, elapsed_ns);
	out_duration(o, "stalled_ns", stalled ? "not counted of that: this host stalled" : NULL,
		     v->discount_ns);
	say_withheld(o, v);
	if (x->stalls_n)
		out_text(o, "\n");
	say_stalls(o, x);
}

/* As it said last, and what a BFD would make of it. */
static void say_other_view(struct out *o, const struct view *v)
{
	if (view_bfd(v))
		out_text(o, "\n");
	say_bfd(o, v, true);
}

void explain_say(struct out *o, const struct explain *x)
{
	const struct view *v = &x->view;
	char summary[EXPLAIN_SUMMARY], reason[VIEW_REASON];

	explain_summary(x, summary, sizeof(summary));
	view_explain(v, reason, sizeof(reason));
	out_open_object(o, NULL);
	explain_prose(o, "summary", summary);
	out_text(o, "\n");
	out_string(o, "name", "peer", v->peer.name);
	out_string(o, "host", *v->peer.host ? "host" : NULL, *v->peer.host ? v->peer.host : NULL);
	out_string(o, "state", "state", view_state_name(view_state(v)));
	out_string(o, "reason", NULL, reason);
	say_silence(o, x);
	explain_say_models(o, x);
	explain_say_window(o, x);
	say_other_view(o, v);
	out_close_object(o);
}

/* --- the command --- */

/* Puts a threshold where it belongs. One that is there already is not told twice. */
static int add_threshold(struct explain_thresholds *t, q32_t phi)
{
	size_t at = t->n;

	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].phi == phi)
			return 0;
	if (t->n == EXPLAIN_THRESHOLDS)
		return -E2BIG;
	for (; at && t->at[at - 1].phi > phi; at--)
		t->at[at] = t->at[at - 1];
	threshold_prepare(&t->at[at], phi);
	t->n++;
	return 0;
}

/* -EINVAL, having said why. */
static int read_thresholds(const char *where, const char *text, struct explain_thresholds *t)
{
	char word[64], why[WHY_SIZE];

	for (const char *at = text; at;) {
		size_t length = strcspn(at, ",");
		q32_t phi;

		if (!length || length >= sizeof(word)) {
			fail("%s: threshold: " QUOTED " is no list: write numbers with single commas between "
			     "them, such as 5,8",
			     where, text);
			return -EINVAL;
		}
		memcpy(word, at, length);
		word[length] = '\0';
		if (config_threshold(word, &phi, why, sizeof(why))) {
			fail("%s: threshold: %s", where, why);
			return -EINVAL;
		}
		if (add_threshold(t, phi)) {
			fail("%s: threshold: %d thresholds at once are the most", where, EXPLAIN_THRESHOLDS);
			return -EINVAL;
		}
		at = at[length] ? at + length + 1 : NULL;
	}
	return 0;
}

static int read_words(struct args *args, struct explain *x)
{
	struct explain_options options = {.thresholds = THRESHOLDS_DEFAULT};
	char why[WHY_SIZE];

	if (options_parse(args, peer_explain_specs, peer_explain_specs_count, &options) ||
	    read_thresholds(args->where, options.thresholds, &x->thresholds))
		return -EINVAL;
	if (!options.prior || !prior_parse(options.prior, &x->prior_ppb, why, sizeof(why)))
		return 0;
	fail("%s: prior: %s", args->where, why);
	return -EINVAL;
}

/* Record, settings and ring of one instant: a beat between two readings is seen by the record's version. */
static int look(const struct store *s, uint32_t slot, struct explain *x)
{
	struct view *v = &x->view;
	struct threshold suspect;
	struct kphi_record after;

	threshold_prepare(&suspect, POLICY_SUSPECT);
	for (int i = 0; i < TRIES; i++) {
		if (store_read(s, slot, &v->record, &v->peer) || v->record.state == KPHI_FREE)
			return -EBUSY;
		view_judge(v, s, slot, &suspect, clock_monotonic_ns());
		if (store_read_ring(s, slot, &after, x->ring.entry))
			return -EBUSY;
		if (after.version != v->record.version)
			continue;
		explain_judge(x, store_tick(s, v->record.cpu));
		return 0;
	}
	return -EBUSY;
}

static int explain_one(struct kphi_cli *cli, const struct session *s, const char *name, struct explain *x)
{
	struct out *o;
	int64_t slot;
	int exit = show_find(s, name, &slot);

	if (exit)
		return exit;
	if (look(&s->store, (uint32_t)slot, x))
		return show_busy(name);
	o = out_new(stdout, cli->mode);
	explain_say(o, x);
	if (command_finish(o))
		return KPHI_EXIT_FAILED;
	return view_is_suspect(&x->view) && cli->exit_status ? KPHI_EXIT_SUSPECT : KPHI_EXIT_OK;
}

int peer_explain(struct kphi_cli *cli, struct args *args)
{
	struct explain x = {.text = cli->mode == OUT_TEXT};
	char name[KPHI_NAME_SIZE];
	struct session s;
	int exit;

	if (peer_name(args, name) || read_words(args, &x))
		return KPHI_EXIT_USAGE;
	exit = session_read(&s, cli);
	exit = exit ? exit : explain_one(cli, &s, name, &x);
	session_end(&s);
	return exit;
}
