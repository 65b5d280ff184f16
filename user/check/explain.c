// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A verdict as a sentence: what they say, what the wire says, what that is likely to mean. */
#include <stdio.h>
#include <string.h>

#include "check/verdict.h"
#include "io/format.h"
#include "io/text.h"

/* A stall of this host that ended longer ago than this explains nothing that is said now. */
#define STALL_MATTERS_NS 60000000000ULL

/* "Serf says failed (unreachable for 2 observers)" */
static void say_theirs(struct text *s, const struct claim *c, const char *called)
{
	text_add(s, "%s says %s", called, *c->word ? c->word : claim_state_name(c->state));
	if (*c->detail)
		text_add(s, " (%s)", c->detail);
}

/* "phi 9.12 (normal)" */
static void say_phi(struct text *s, const struct check_ours *o)
{
	char phi[FORMAT_SIZE];

	text_add(s, "phi %s (%s)", format_q32(o->phi, 3, phi), model_name(o->model));
}

/* "last beat 9.98ms ago, phi 0.000 (normal), on average every 100ms" */
static void say_beat(struct text *s, const struct check_ours *o)
{
	char silence[FORMAT_SIZE], mean[FORMAT_SIZE];

	text_add(s, "last beat %s ago", format_duration(o->silence_ns, silence));
	if (o->judged) {
		text_add(s, ", ");
		say_phi(s, o);
	}
	if (o->mean_ns)
		text_add(s, ", on average every %s", format_duration(o->mean_ns, mean));
}

static void say_silence(struct text *s, const struct check_ours *o)
{
	char threshold[FORMAT_SIZE], stall[FORMAT_SIZE];

	if (o->state == PEER_LEFT) {
		text_add(s, "it said goodbye");
		return;
	}
	if (o->state == PEER_DOWN) {
		text_add(s, "its own watcher declared it down");
		return;
	}
	say_beat(s, o);
	if (o->judged && o->phi >= o->threshold)
		text_add(s, ", the threshold is %s", format_q32(o->threshold, 3, threshold));
	if (o->stalled_ns)
		text_add(s, ", not counting %s that this host stalled",
			 format_duration(o->stalled_ns, stall));
}

static void say_doubt(struct text *s, const struct check_ours *o)
{
	static const char *const doubts[] = {
		[DOUBT_NONE] = "",
		[DOUBT_BUSY] = "its record is being written all the time: try again",
		[DOUBT_MUTED] = "verdicts on it are muted here",
		[DOUBT_BLIND] =
			"this host cannot hear it (carrier or program lost), so its silence says nothing",
		[DOUBT_HELD] = "the evidence is against this host, so its silence says nothing yet",
		[DOUBT_WAITING] = "there is nothing to judge here",
		[DOUBT_LEARNING] = "too little was heard here to judge it",
	};

	text_add(s, "%s", doubts[o->doubt]);
	if (*o->reason)
		text_add(s, ": %s", o->reason);
}

/* An observer that runs here was stopped as well, and may have missed what the kernel has heard. */
static void say_stall(struct text *s, const struct check_ours *o)
{
	char stall[FORMAT_SIZE], ago[FORMAT_SIZE];

	if (o->last_stall_ns && o->last_stall_ago_ns < STALL_MATTERS_NS)
		text_add(s, "; this host stalled for %s, %s ago, and an observer on it with it",
			 format_duration(o->last_stall_ns, stall),
			 format_duration(o->last_stall_ago_ns, ago));
}

static void say_scale(struct text *s, const struct claim *c)
{
	if (!*c->phi)
		return;
	text_add(s, "; their phi %s is on another scale than ours: %s", c->phi,
		 *c->scale ? c->scale : "which one they do not say");
}

static void say_they_suspect(struct text *s, const struct check_ours *o, const struct claim *c,
			     const char *called)
{
	say_theirs(s, c, called);
	text_add(s, ", but the wire is on time: ");
	say_beat(s, o);
	if (c->state == CLAIM_LEFT)
		text_add(s, ": that program has left, but this stream of its host goes on");
	else
		text_add(s, ": their observer stalls, or the peer's application does");
	say_stall(s, o);
}

static void say_they_trust(struct text *s, const struct check_ours *o, const struct claim *c,
			   const char *called)
{
	say_theirs(s, c, called);
	text_add(s, ", but the wire is silent: ");
	say_silence(s, o);
	if (o->state == PEER_LEFT)
		text_add(s, ": they have not noticed, or speak of another program of its host");
	else if (o->audible)
		text_add(s,
			 ": but %s, of the same host, is on time, so it is this stream that is dead and not "
			 "the "
			 "host",
			 o->audible);
	else
		text_add(s, ": their liveness is relayed or cached, or this path is dead");
}

void check_explain(const struct check_ours *o, const struct claim *c, const char *called, char *text,
		   size_t size)
{
	struct text s = {text, size};

	*text = '\0';
	switch (check_decide(o, c)) {
	case CHECK_unknown_to_us:
		say_theirs(&s, c, called);
		text_add(&s, c->itself ? ": it is the node that was asked"
				       : ": no peer here has that name, host label or address");
		break;
	case CHECK_unknown_to_them:
		text_add(&s, "%s does not name it; here: ", called);
		if (o->doubt == DOUBT_NONE)
			say_silence(&s, o);
		else
			say_doubt(&s, o);
		break;
	case CHECK_agree_up:
		say_beat(&s, o);
		text_add(&s, "; ");
		say_theirs(&s, c, called);
		break;
	case CHECK_agree_down:
		say_silence(&s, o);
		text_add(&s, "; ");
		say_theirs(&s, c, called);
		break;
	case CHECK_they_suspect:
		say_they_suspect(&s, o, c, called);
		break;
	case CHECK_they_trust:
		say_they_trust(&s, o, c, called);
		break;
	default:
		say_theirs(&s, c, called);
		text_add(&s, "; ");
		if (o->doubt != DOUBT_NONE)
			say_doubt(&s, o);
		else
			say_silence(&s, o);
	}
	if (c && o)
		say_scale(&s, c);
}
