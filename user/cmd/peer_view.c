// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/peer_view.h"

#include <inttypes.h>
#include <kphi/record.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/silence.h"
#include "io/format.h"

void view_judge(struct view *v, const struct store *s, uint32_t slot, const struct threshold *suspect,
		uint64_t now_ns)
{
	const struct kphi_tick *tick = &s->ticks[v->record.cpu < s->header->cpus ? v->record.cpu : 0];

	v->slot = slot;
	v->now_ns = now_ns;
	v->discount_ns = v->record.state == KPHI_WAITING ? 0 : silence_discount_ns(&v->record, tick, now_ns);
	v->grace = grace_at(&v->record, &v->peer, tick, now_ns);
	v->muted = v->peer.mute_until_ns > now_ns;
	policy_judge(&v->opinion, &v->record, &v->peer, tick, suspect, now_ns);
}

static bool is_held(const struct view *v)
{
	return v->opinion.state == PEER_SUSPECT && v->grace.until_ns;
}

const char *view_state(const struct view *v)
{
	if (is_held(v))
		return "held";
	return v->opinion.reason == REASON_DEGRADED ? "degraded" : policy_state_name(v->opinion.state);
}

bool view_is_suspect(const struct view *v)
{
	bool suspect = v->opinion.state == PEER_SUSPECT && !is_held(v);

	return (suspect || v->opinion.state == PEER_DOWN) && !v->muted;
}

/* Sentences one after the other, as far as there is room. */
struct sentences {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentences *s, const char *format, ...)
{
	size_t length = strlen(s->text);
	va_list args;

	if (length)
		length += (size_t)snprintf(s->text + length, s->size - length, "; ");
	if (length >= s->size)
		return;
	va_start(args, format);
	vsnprintf(s->text + length, s->size - length, format, args);
	va_end(args);
}

static const char *since(const struct view *v, char text[FORMAT_SIZE])
{
	return format_duration(v->now_ns > v->record.since_ns ? v->now_ns - v->record.since_ns : 0, text);
}

static void explain_waiting(const struct view *v, struct sentences *s)
{
	char ago[FORMAT_SIZE];

	say(s, "no beat yet, for %s", since(v, ago));
	/* Only a restored peer refuses anything before it was heard. */
	if (v->record.stale_ns)
		say(s,
		    "messages of an epoch before the saved one (%" PRIu64
		    ") arrive: `kphi peer reset` accepts them",
		    v->record.epoch);
}

/* A forged goodbye of a high sequence makes a peer that lives look like this, and nobody would miss it. */
static void explain_left(const struct view *v, struct sentences *s)
{
	char ago[FORMAT_SIZE];

	say(s,
	    v->opinion.state == PEER_LEFT ? "left %s ago" : "left %s ago, which is believed for an hour only",
	    since(v, ago));
	if (v->record.stale_ns > v->record.last_ns)
		say(s, "but messages of an older epoch or sequence arrive: `kphi peer reset` accepts them");
}

/* Why policy_judge() came to its opinion. */
static void explain_opinion(const struct view *v, struct sentences *s)
{
	char text[FORMAT_SIZE];

	switch (v->opinion.reason) {
	case REASON_NONE:
		break;
	case REASON_NO_BEAT:
		explain_waiting(v, s);
		break;
	case REASON_LEFT_EXPIRED:
	case REASON_LEFT:
		explain_left(v, s);
		break;
	case REASON_LEARNING:
		say(s, "learning its interval: %u of %d heard", v->record.window.n, KPHI_LEARN_RUN);
		break;
	case REASON_SEED:
		say(s, "judged by its configured interval until two were heard");
		break;
	case REASON_DEGRADED:
		say(s, "degraded: its own health check fails");
		break;
	case REASON_SILENT:
		say(s, "silent for %s: phi has reached 8", format_duration(v->opinion.silence_ns, text));
		break;
	case REASON_STALE:
		say(s,
		    "silent, but messages of an older epoch or sequence arrive (current epoch %" PRIu64
		    "): `kphi peer reset` accepts them",
		    v->record.epoch);
		break;
	case REASON_DOWN:
		say(s, "its own watcher declared it down %s ago", since(v, text));
		break;
	}
}

void view_explain(const struct view *v, char *text, size_t size)
{
	struct sentences s = {text, size};
	char stall[FORMAT_SIZE], rest[FORMAT_SIZE];

	*text = '\0';
	if (v->muted)
		say(&s, "muted for another %s%s%s", format_duration(v->peer.mute_until_ns - v->now_ns, rest),
		    *v->peer.mute_reason ? ": " : "", v->peer.mute_reason);
	explain_opinion(v, &s);
	if (is_held(v))
		say(&s, "held for another %s: this host stalled %s",
		    format_duration(v->grace.until_ns - v->now_ns, rest),
		    format_duration(v->grace.stall_ns, stall));
	/* What is shorter than its least deviation changes nothing that one could see. */
	if (v->discount_ns && v->discount_ns >= kphi_min_std(&v->record.window, &v->peer))
		say(&s, "not counted: this host stalled %s", format_duration(v->discount_ns, stall));
}
