// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/view.h"

#include <inttypes.h>
#include <kphi/record.h>
#include <stdio.h>
#include <string.h>

#include "core/silence.h"
#include "io/format.h"
#include "io/text.h"
#include "show/bfd.h"

#define PROTOCOL_VRRP 112 /* RFC 5798 */
#define BETWEEN       "; " /* two sentences */
#define RESTARTS_MANY 8 /* that no speaker would do in half of its packets */

/* NULL: the model does not ask for it, or it cannot be had. */
static const uint64_t *view_ring(struct view *v, const struct store *s, struct view_ring *ring)
{
	struct kphi_record newer;

	if (v->peer.model != KPHI_MODEL_EMPIRICAL || store_read_ring(s, v->slot, &newer, ring->entry) ||
	    newer.generation != v->record.generation)
		return NULL;
	v->record = newer;
	return ring->entry;
}

bool view_estimate(struct view *v, const struct store *s, struct view_ring *ring, struct kphi_estimate *e)
{
	const uint64_t *entries = view_ring(v, s, ring);

	return estimate_from_window(e, &v->record.window, &v->peer, entries);
}

void view_judge(struct view *v, const struct store *s, uint32_t slot, const struct threshold *suspect,
		uint64_t now_ns)
{
	const struct kphi_tick *tick;
	struct view_ring room;
	const uint64_t *ring;

	v->slot = slot;
	v->daemon = NULL;
	ring = view_ring(v, s, &room);
	tick = store_tick(s, v->record.cpu);
	v->is_rule = v->peer.id.kind == KPHI_ID_RULE;
	v->rule = s->rules[slot];
	v->seal = v->peer.demands ? s->seals[slot] : (struct kphi_seal){0};
	v->key = v->peer.demands & KPHI_DEMAND_KEY ? s->rings[v->peer.ring % KPHI_RINGS].name : NULL;
	v->now_ns = now_ns;
	v->discount_ns = v->record.state == KPHI_WAITING ? 0 : silence_discount_ns(&v->record, tick, now_ns);
	v->grace = grace_at(&v->record, &v->peer, tick, now_ns);
	v->muted = v->peer.mute_until_ns > now_ns;
	policy_judge(&v->opinion, &v->record, &v->peer, ring, tick, suspect, now_ns);
}

static bool is_held(const struct view *v)
{
	return v->opinion.state == PEER_SUSPECT && v->grace.until_ns;
}

enum view_state view_state(const struct view *v)
{
	static const enum view_state states[] = {
		[PEER_WAITING] = VIEW_WAITING, [PEER_LEARNING] = VIEW_LEARNING, [PEER_UP] = VIEW_UP,
		[PEER_SUSPECT] = VIEW_SUSPECT, [PEER_LEFT] = VIEW_LEFT,         [PEER_DOWN] = VIEW_DOWN,
	};

	if (is_held(v))
		return VIEW_HELD;
	return v->opinion.reason == REASON_DEGRADED ? VIEW_DEGRADED : states[v->opinion.state];
}

const char *view_state_name(enum view_state state)
{
	static const struct {
		enum peer_state policy;
		const char *own; /* NULL: as the policy calls it */
	} names[VIEW_STATES] = {
		[VIEW_WAITING] = {PEER_WAITING, NULL}, [VIEW_LEARNING] = {PEER_LEARNING, NULL},
		[VIEW_UP] = {PEER_UP, NULL},           [VIEW_DEGRADED] = {PEER_UP, "degraded"},
		[VIEW_SUSPECT] = {PEER_SUSPECT, NULL}, [VIEW_HELD] = {PEER_SUSPECT, "held"},
		[VIEW_LEFT] = {PEER_LEFT, NULL},       [VIEW_DOWN] = {PEER_DOWN, NULL},
	};

	return names[state].own ? names[state].own : policy_state_name(names[state].policy);
}

enum host_word view_host_word(const struct view *v)
{
	static const enum host_word words[] = {
		[PEER_WAITING] = HOST_UNHEARD, [PEER_LEARNING] = HOST_AUDIBLE, [PEER_UP] = HOST_AUDIBLE,
		[PEER_SUSPECT] = HOST_SILENT,  [PEER_LEFT] = HOST_LEFT,        [PEER_DOWN] = HOST_DOWN,
	};

	return v->opinion.reason == REASON_LEFT_EXPIRED ? HOST_LEFT : words[v->opinion.state];
}

const uint8_t *view_speaker(const struct view *v)
{
	bool may_change = v->is_rule && v->rule.any_source && v->rule.decoder == KPHI_DECODER_NONE;

	return may_change && v->record.state != KPHI_WAITING ? (const uint8_t *)v->record.speaker : NULL;
}

bool view_is_suspect(const struct view *v)
{
	bool suspect = v->opinion.state == PEER_SUSPECT && !is_held(v);

	return (suspect || v->opinion.state == PEER_DOWN) && !v->muted;
}

static const char *since(const struct view *v, char text[FORMAT_SIZE])
{
	return format_duration(v->now_ns > v->record.since_ns ? v->now_ns - v->record.since_ns : 0, text);
}

static void explain_waiting(const struct view *v, struct text *s)
{
	char ago[FORMAT_SIZE];

	text_join(s, BETWEEN, "no beat yet, for %s", since(v, ago));
	/* Only a restored peer refuses anything before it was heard. */
	if (v->record.stale_ns)
		text_join(s, BETWEEN,
			  "messages of an epoch before the saved one (%" PRIu64
			  "), or heard before, arrive: `kphi peer reset` accepts them",
			  v->record.epoch);
}

/* A BFD session's end is told by bfd_explain(). */
static const char *goodbye(const struct view *v)
{
	return v->is_rule && v->peer.id.protocol == PROTOCOL_VRRP ? "its master resigned (priority 0)"
								  : "left";
}

/* A forged goodbye of a high sequence makes a peer that lives look like this, and nobody would miss it. */
static void explain_left(const struct view *v, struct text *s)
{
	bool believed = v->opinion.state == PEER_LEFT;
	char ago[FORMAT_SIZE];

	if (!view_bfd(v))
		text_join(s, BETWEEN, "%s %s ago%s", goodbye(v), since(v, ago),
			  believed ? "" : ", which is believed for an hour only");
	else if (!believed && view_bfd(v)->state == KPHI_BFD_ADMIN_DOWN)
		text_join(s, BETWEEN, "a goodbye is believed for an hour only");
	if (v->record.stale_ns <= v->record.last_ns)
		return;
	if (v->is_rule)
		text_join(s, BETWEEN, "but packets arrive whose sequence numbers do not follow its last one");
	else
		text_join(
			s, BETWEEN,
			"but messages of an older epoch or sequence arrive: `kphi peer reset` accepts them");
}

static void explain_stale(const struct view *v, struct text *s)
{
	if (v->is_rule)
		text_join(s, BETWEEN,
			  "silent, but packets arrive whose sequence numbers do not follow its last one: is "
			  "that field of the rule the right one?");
	else
		text_join(s, BETWEEN,
			  "silent, but messages of an older epoch or sequence arrive (current epoch %" PRIu64
			  "): `kphi peer reset` accepts them",
			  v->record.epoch);
}

/* Why policy_judge() came to its opinion. */
static void explain_opinion(const struct view *v, struct text *s)
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
		text_join(s, BETWEEN, "learning its interval: %u of %d heard", v->record.window.n,
			  KPHI_LEARN_RUN);
		break;
	case REASON_SEED:
		text_join(s, BETWEEN, "judged by %s interval until two were heard",
			  view_bfd(v) ? "the announced" : "its configured");
		break;
	case REASON_DEGRADED:
		text_join(s, BETWEEN, "degraded: its own health check fails");
		break;
	case REASON_SILENT:
		text_join(s, BETWEEN, "silent for %s: phi has reached 8",
			  format_duration(v->opinion.silence_ns, text));
		break;
	case REASON_STALE:
		explain_stale(v, s);
		break;
	case REASON_DOWN:
		text_join(s, BETWEEN, "its own watcher declared it down %s ago", since(v, text));
		break;
	}
}

/* What the packets of a rule say besides. */
static void explain_rule(const struct view *v, struct text *s)
{
	const struct kphi_record *r = &v->record;
	const uint8_t *speaker = view_speaker(v);
	char address[ADDRESS_SIZE];

	if (view_bfd(v) && r->restarts >= RESTARTS_MANY && r->restarts > r->beats / 2)
		text_join(s, BETWEEN,
			  "its discriminator changes all the time: if its source has several sessions, give "
			  "each "
			  "a peer with `discriminator`");
	if (r->resync && v->rule.sequence_bits)
		text_join(s, BETWEEN,
			  "its sequence numbers have jumped: the next one decides whether it began anew");
	if (speaker)
		text_join(s, BETWEEN, v->opinion.state == PEER_UP ? "%s speaks" : "%s spoke last",
			  format_address(speaker, address));
}

/* As people know the counters of what was refused. */
static const char *refusal(uint32_t counter)
{
	switch (counter) {
	case KPHI_COUNT_peer_source:
		return "from an address that is not its own";
	case KPHI_COUNT_peer_device:
		return "by another device than its own";
	case KPHI_COUNT_peer_ttl:
		return "from beyond a router";
	case KPHI_COUNT_not_signed:
		return "without a tag";
	case KPHI_COUNT_unknown_key:
		return "signed with a key that it does not have";
	case KPHI_COUNT_bad_tag:
		return "with a wrong tag";
	default:
		return "for a reason that this kphi does not know";
	}
}

const char *view_refusal(const struct view *v)
{
	return v->seal.refused ? refusal(v->seal.refused_as) : NULL;
}

/* A message that was refused and then forgotten by better ones is no news. */
static void explain_refusal(const struct view *v, struct text *s)
{
	char ago[FORMAT_SIZE];

	if (!v->seal.refused || (v->record.state != KPHI_WAITING && v->seal.refused_ns < v->record.last_ns))
		return;
	text_join(s, BETWEEN, "%s ago a message in its name was refused: %s",
		  format_duration(v->now_ns > v->seal.refused_ns ? v->now_ns - v->seal.refused_ns : 0, ago),
		  view_refusal(v));
}

void view_explain(const struct view *v, char *text, size_t size)
{
	struct text s = {text, size};
	char stall[FORMAT_SIZE], rest[FORMAT_SIZE], bfd[128];

	*text = '\0';
	if (v->muted)
		text_join(&s, BETWEEN, "muted for another %s%s%s",
			  format_duration(v->peer.mute_until_ns - v->now_ns, rest),
			  *v->peer.mute_reason ? ": " : "", v->peer.mute_reason);
	bfd_explain(v, bfd, sizeof(bfd));
	if (*bfd)
		text_join(&s, BETWEEN, "%s", bfd);
	explain_opinion(v, &s);
	if (v->is_rule)
		explain_rule(v, &s);
	explain_refusal(v, &s);
	if (is_held(v))
		text_join(&s, BETWEEN, "held for another %s: this host stalled %s",
			  format_duration(v->grace.until_ns - v->now_ns, rest),
			  format_duration(v->grace.stall_ns, stall));
	/* What is shorter than its least deviation changes nothing that one could see. */
	if (v->discount_ns && v->discount_ns >= kphi_min_std(&v->record.window, &v->peer))
		text_join(&s, BETWEEN, "not counted: this host stalled %s",
			  format_duration(v->discount_ns, stall));
}
