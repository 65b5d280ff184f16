// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A peer's silence in sentences. */
#include <stdio.h>
#include <string.h>

#include "cmd/peer_explain.h"
#include "io/format.h"
#include "io/text.h"
#include "io/utf8.h"

#define LINE 78 /* columns */

/* What `kphi peer show` gives as the reason, save for what is said here in another place. */
static void plain_reason(const struct view *v, char text[VIEW_REASON])
{
	struct view plain = *v;

	plain.muted = false;
	plain.discount_ns = 0;
	plain.grace = (struct grace){0};
	view_explain(&plain, text, VIEW_REASON);
}

/* How often does it beat? By the intervals without loss, as far as there are any. */
static uint64_t rhythm_ns(const struct kphi_window *w)
{
	struct kphi_window clean = explain_clean(w);

	if (clean.n >= 2)
		return window_mean_ns(&clean);
	return w->n >= 2 ? window_mean_ns(w) : w->interval_ns;
}

static void say_silence(struct text *w, const struct view *v)
{
	char silence[FORMAT_SIZE], rhythm[FORMAT_SIZE];

	text_add(w, "%s has been silent for %s", v->peer.name,
		 format_duration(v->opinion.silence_ns, silence));
	if (v->discount_ns)
		text_add(w, " (not counting %s in which this host itself stalled)",
			 format_duration(v->discount_ns, rhythm));
	if (rhythm_ns(&v->record.window))
		text_add(w, "; it beats every %s", format_duration(rhythm_ns(&v->record.window), rhythm));
	text_add(w, ". ");
}

static const char *how_unusual(q32_t phi)
{
	if (phi < Q32_ONE)
		return "nothing unusual";
	return phi < 3 * Q32_ONE ? "late, as happens now and then" : "rare for a peer that lives";
}

static void say_phi(struct text *w, const struct view *v)
{
	uint64_t pause_ns = effective_pause_ns(&v->record.window, &v->peer);
	char text[FORMAT_SIZE];

	text_add(w, "Under its model (%s", model_name(v->peer.model));
	if (pause_ns)
		text_add(w, ", pause %s", format_duration(pause_ns, text));
	text_add(w, ") that is phi %s", format_q32(v->opinion.phi, 1, text));
}

static void say_judgement(struct text *w, const struct explain *x)
{
	const struct view *v = &x->view;
	struct threshold suspect;
	struct kphi_estimate e;
	char text[FORMAT_SIZE];

	say_phi(w, v);
	if (v->opinion.state != PEER_SUSPECT) {
		text_add(w, ": %s. It ", how_unusual(v->opinion.phi));
		if (v->opinion.suspect_in_ns == UINT64_MAX)
			text_add(w, "would never be suspected at phi 8.");
		else
			text_add(w, "would be suspected at phi 8 in %s, if nothing arrives.",
				 format_duration(v->opinion.suspect_in_ns, text));
		return;
	}
	threshold_prepare(&suspect, POLICY_SUSPECT);
	estimate_from_window(&e, &v->record.window, &v->peer, x->ring.entry);
	text_add(w, ". Phi 8, where it %s suspected, was reached %s ago.",
		 v->grace.until_ns ? "would be" : "is",
		 format_duration(v->opinion.silence_ns - estimate_silence_at(&e, &suspect), text));
}

/* What else one should know before acting on it. */
static void say_circumstances(struct text *w, const struct view *v)
{
	char rest[FORMAT_SIZE], stall[FORMAT_SIZE];

	if (v->record.window.n < 2)
		text_add(w,
			 " Fewer than two of its intervals were heard, so until then it is judged by the "
			 "interval that was %s, with a quarter of it for the standard deviation.",
			 v->peer.interval_ns ? "configured" : "announced");
	if (v->opinion.reason == REASON_DEGRADED)
		text_add(w, " Its beats say that its own health check fails.");
	if (v->grace.until_ns)
		text_add(w, " But this host itself stalled for %s: there is no verdict on it for another %s.",
			 format_duration(v->grace.stall_ns, stall),
			 format_duration(v->grace.until_ns - v->now_ns, rest));
}

static void say_muted(struct text *w, const struct view *v)
{
	char rest[FORMAT_SIZE];

	if (!v->muted)
		return;
	text_add(w, " It is muted for another %s", format_duration(v->peer.mute_until_ns - v->now_ns, rest));
	if (*v->peer.mute_reason)
		text_add(w, " (%s)", v->peer.mute_reason);
	text_add(w, ": whatever is said here, nobody is to act on it.");
}

void explain_summary(const struct explain *x, char *text, size_t size)
{
	const struct view *v = &x->view;
	const char *name = v->peer.name;
	struct text w = {text, size};
	char reason[VIEW_REASON];

	*text = '\0';
	plain_reason(v, reason);
	switch (v->opinion.state) {
	case PEER_WAITING:
		text_add(&w, "%s is waiting: %s. There is no silence to judge before its %s beat.", name,
			 reason, v->opinion.reason == REASON_NO_BEAT ? "first" : "next");
		break;
	case PEER_LEARNING:
		say_silence(&w, v);
		text_add(
			&w,
			"No model judges it yet: its interval is not known, and %u of the %d intervals it is "
			"learned from were heard.",
			v->record.window.n, KPHI_LEARN_RUN);
		break;
	case PEER_LEFT:
		text_add(&w, "%s is not expected to beat: %s. No silence is judged after a goodbye.", name,
			 reason);
		break;
	case PEER_DOWN:
		text_add(&w,
			 "%s is down: %s. That is a message and no judgement of its silence; a beat of a "
			 "higher "
			 "epoch ends it.",
			 name, reason);
		break;
	default:
		say_silence(&w, v);
		say_judgement(&w, x);
		say_circumstances(&w, v);
		if (*reason && (v->is_rule || v->opinion.reason == REASON_STALE))
			text_add(&w, " Besides: %s.", reason);
	}
	say_muted(&w, v);
}

/* How many bytes of the text go on a line: up to a blank, or to the end; never less than a word. */
static size_t line_length(const char *text)
{
	size_t length = strcspn(text, " "), next;

	while (text[length]) {
		next = length + 1 + strcspn(text + length + 1, " ");
		if (utf8_width(text, next) > LINE)
			break;
		length = next;
	}
	return length;
}

void explain_prose(struct out *o, const char *key, const char *text)
{
	size_t length;

	out_string(o, key, NULL, text);
	for (; *text; text += length + (text[length] == ' ')) {
		length = line_length(text);
		out_text(o, "%.*s\n", (int)length, text);
	}
}
