// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi check: both sides of a peer as text and JSON. */
#include <stdio.h>
#include <string.h>

#include "cmd/check.h"
#include "io/format.h"

uint64_t check_wall_ns(const struct event_clock *clock, uint64_t monotonic_ns)
{
	return clock->realtime_ns - (clock->monotonic_ns - monotonic_ns);
}

static void say_text(struct out *o, const char *key, const char *title, const char *text)
{
	if (text && *text)
		out_string(o, key, title, text);
	else
		out_null(o, key, title);
}

static void say_time(struct out *o, const char *key, uint64_t realtime_ns)
{
	char text[EVENT_TIME_SIZE];

	say_text(o, key, NULL, realtime_ns ? event_time(realtime_ns, text) : NULL);
}

static const char *state_of(const struct check_seen *seen)
{
	switch (seen->ours.doubt) {
	case DOUBT_BUSY:
		return "busy";
	case DOUBT_MUTED:
		return "muted";
	case DOUBT_BLIND:
		return "blind";
	case DOUBT_HELD:
		return "held";
	default:
		return view_state_name(view_state(&seen->view));
	}
}

static void say_ours(struct out *o, const struct check_seen *s, const struct event_clock *clock)
{
	const struct kphi_record *r = &s->view.record;
	bool heard = s->ours.doubt != DOUBT_BUSY && r->state != KPHI_WAITING;

	out_string(o, "state", "OURS", state_of(s));
	if (s->ours.judged)
		out_q32(o, "phi", NULL, s->ours.phi);
	else
		out_null(o, "phi", NULL);
	out_string(o, "model", NULL, model_name(s->view.peer.model));
	if (heard)
		out_u64(o, "silence_ns", NULL, s->ours.silence_ns);
	else
		out_null(o, "silence_ns", NULL);
	out_u64(o, "stalled_ns", NULL, s->ours.stalled_ns);
	say_time(o, "last_beat", heard ? check_wall_ns(clock, r->last_ns) : 0);
	say_time(o, "gone", s->gone_ns ? check_wall_ns(clock, s->gone_ns) : 0);
}

static void say_no_ours(struct out *o)
{
	static const char *const keys[] = {"phi", "model", "silence_ns", "stalled_ns", "last_beat", "gone"};

	out_null(o, "state", "OURS");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		out_null(o, keys[i], NULL);
}

static void say_address(struct out *o, const struct claim *c)
{
	char address[ADDRESS_SIZE];

	say_text(o, "their_address", NULL, c->has_address ? format_address(c->address, address) : NULL);
	if (c->port)
		out_u64(o, "their_port", NULL, c->port);
	else
		out_null(o, "their_port", NULL);
}

static void say_claim(struct out *o, const struct claim *c)
{
	say_address(o, c);
	out_string(o, "their_state", NULL, claim_state_name(c->state));
	out_string(o, "their_word", "THEIRS", *c->word ? c->word : claim_state_name(c->state));
	say_text(o, "their_phi", NULL, c->phi);
	say_text(o, "their_scale", NULL, c->scale);
	say_text(o, "their_incarnation", NULL, c->incarnation);
	say_time(o, "their_time", c->time_ns);
	say_text(o, "their_detail", NULL, c->detail);
	out_u64(o, "line", NULL, c->line);
}

static void say_no_claim(struct out *o)
{
	static const char *const keys[] = {"their_address", "their_port",   "their_state",
					   "their_phi",     "their_scale",  "their_incarnation",
					   "their_time",    "their_detail", "line"};

	out_null(o, "their_word", "THEIRS");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		out_null(o, keys[i], NULL);
}

void check_say(struct out *o, const struct check_seen *seen, const struct claim *claim, const char *called,
	       const struct event_clock *clock)
{
	const struct check_ours *ours = seen ? &seen->ours : NULL;
	enum check_verdict verdict = check_decide(ours, claim);
	char why[CHECK_WHY];

	check_explain(ours, claim, called, why, sizeof(why));
	/* A stranger stands under their name. */
	out_string(o, "peer", seen ? "PEER" : NULL, seen ? ours->peer : NULL);
	out_string(o, "their_name", seen ? NULL : "PEER", claim ? claim->name : NULL);
	say_text(o, "host", "HOST", seen ? ours->host : NULL);
	out_string(o, "verdict", "VERDICT", check_verdict_name(verdict));
	if (seen)
		say_ours(o, seen, clock);
	else
		say_no_ours(o);
	if (claim)
		say_claim(o, claim);
	else
		say_no_claim(o);
	out_string(o, "why", "WHY", why);
}
