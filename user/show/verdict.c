// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/verdict.h"

const char *verdict_state_name(uint8_t state)
{
	static const char *const names[] = {
		[KPHI_VERDICT_UNKNOWN] = "unknown", [KPHI_VERDICT_TRUST] = "trust",
		[KPHI_VERDICT_SUSPECT] = "suspect", [KPHI_VERDICT_HELD] = "held",
		[KPHI_VERDICT_BLIND] = "blind",
	};

	return state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

const char *verdict_cause_name(uint8_t cause)
{
	static const char *const names[] = {
		[KPHI_BECAUSE_SILENCE] = "silence",
		[KPHI_BECAUSE_NEVER_HEARD] = "never_heard",
		[KPHI_BECAUSE_DECLARED_DOWN] = "declared_down",
		[KPHI_BECAUSE_STALL] = "stall",
		[KPHI_BECAUSE_CORRELATED] = "correlated",
		[KPHI_BECAUSE_CARRIER] = "carrier",
		[KPHI_BECAUSE_HOOK] = "hook",
		[KPHI_BECAUSE_MUTE] = "mute",
	};

	return cause < sizeof(names) / sizeof(*names) ? names[cause] : NULL;
}

void view_daemon(struct view *v, const struct store *s, const struct kphi_daemon *daemon)
{
	v->daemon = NULL;
	if (!daemon || !store_verdict(s, v->slot, v->now_ns, &v->verdict))
		return;
	if (v->verdict.life == (uint32_t)daemon->starts && v->verdict.generation == v->record.generation &&
	    v->verdict.epoch == v->record.epoch)
		v->daemon = daemon;
}

enum view_found view_take(struct view *v, const struct store *s, const struct kphi_daemon *daemon,
			  const struct threshold *suspect, uint32_t slot, uint64_t now_ns)
{
	/* A glance rules out almost every free slot. */
	if (s->records[slot].state == KPHI_FREE)
		return VIEW_NOBODY;
	if (store_read(s, slot, &v->record, &v->peer))
		return VIEW_BUSY;
	if (v->record.state == KPHI_FREE)
		return VIEW_NOBODY;
	view_judge(v, s, slot, suspect, now_ns);
	view_daemon(v, s, daemon);
	return VIEW_PEER;
}

/* The names behind the bits. */
static void say_consumers(struct out *o, const char *key, const char *title, const struct kphi_daemon *d,
			  uint32_t mask)
{
	out_open_array(o, key);
	for (uint32_t i = 0; d && i < d->consumers && i < KPHI_CONSUMERS; i++)
		if (mask & 1U << i)
			out_string(o, key, title, d->consumer[i].name);
	out_close_array(o);
}

void say_verdict(struct out *o, const struct view *v, bool detail)
{
	static const struct kphi_verdict none;
	const struct kphi_verdict *verdict = v->daemon ? &v->verdict : &none;
	const char *cause = verdict_cause_name(verdict->cause);
	bool news = detail && v->daemon && verdict->state != KPHI_VERDICT_TRUST;

	out_string(o, "verdict", news ? "verdict of kphi run" : NULL,
		   v->daemon ? verdict_state_name(verdict->state) : NULL);
	out_string(o, "verdict_cause", news && cause ? "because of" : NULL, cause);
	say_consumers(o, "suspected_by", detail ? "suspected by" : NULL, v->daemon, verdict->consumers);
	say_consumers(o, "held_for", detail ? "held for" : NULL, v->daemon, verdict->held);
	say_consumers(o, "shadow_suspected_by", detail ? "suspected by the shadow" : NULL, v->daemon,
		      verdict->shadows);
}
