// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `kphi run`, as it tells of itself. What it counts goes on over its restarts, and stays when it is gone. */
#include <stddef.h>

#include "core/event.h"
#include "metrics/families.h"
#include "show/verdict.h"

#define BIT(cause) (1U << CAUSE_##cause)

_Static_assert(EVENT_TYPES <= KPHI_EVENT_ROWS && CAUSES <= KPHI_EVENT_CAUSES,
	       "every event has a place where it is counted");

/* Causes that an event may have: counted from 0 on, so that the first one is a rise. */
static uint32_t causes_of(enum event_type type)
{
	switch (type) {
	case EVENT_suspect:
		return BIT(SILENCE) | BIT(NEVER_HEARD) | BIT(DECLARED_DOWN);
	case EVENT_trust:
		return BIT(BEAT) | BIT(LEAVE) | BIT(RESTART) | BIT(RESET);
	case EVENT_hold:
		return BIT(STALL) | BIT(CORRELATED);
	case EVENT_release:
		return BIT(STALL) | BIT(CORRELATED) | BIT(BOUND) | BIT(BEAT);
	case EVENT_blind:
	case EVENT_sighted:
		return BIT(CARRIER) | BIT(HOOK);
	case EVENT_degraded:
	case EVENT_mute:
	case EVENT_carrier:
	case EVENT_hook:
		return BIT(BEGUN) | BIT(ENDED);
	default:
		return BIT(NONE);
	}
}

static void say_events(struct om *m, const struct kphi_daemon *d)
{
	om_family(m, "kphi_events", OM_COUNTER, NULL, "Events of the daemon.");
	for (int type = 0; type < EVENT_TYPES; type++) {
		for (int cause = 0; cause < CAUSES; cause++) {
			struct om_labels l = {.size = 0};

			if (!d->events[type][cause] && !(causes_of((enum event_type)type) >> cause & 1))
				continue;
			om_label(&l, "event", event_name((enum event_type)type));
			if (cause != CAUSE_NONE)
				om_label(&l, "cause", event_cause_name((enum event_cause)cause));
			om_u64(m, &l, d->events[type][cause]);
		}
	}
}

/* Two samples of one family, told apart by the label "result". */
static void say_results(struct om *m, const char *name, const char *help, const char *good, uint64_t done,
			const char *bad, uint64_t failed)
{
	struct om_labels l = {.size = 0}, other = {.size = 0};

	om_family(m, name, OM_COUNTER, NULL, help);
	om_label(&l, "result", good);
	om_u64(m, &l, done);
	om_label(&other, "result", bad);
	om_u64(m, &other, failed);
}

static void say_counts(struct om *m, const struct kphi_daemon *d)
{
	om_single(m, "kphi_daemon_starts", OM_COUNTER, d->starts,
		  "Daemons that were started over this store.");
	say_results(m, "kphi_daemon_configs", "Configurations that were read.", "applied", d->configs,
		    "refused", d->configs_refused);
	om_single(m, "kphi_daemon_commands", OM_COUNTER, d->commands, "Commands of consumers.");
	om_single(m, "kphi_daemon_commands_failed", OM_COUNTER, d->commands_failed,
		  "Commands of consumers that failed, timed out or were not run.");
	om_single(m, "kphi_daemon_events_dropped", OM_COUNTER, d->events_dropped,
		  "Events that a client of the event socket was too slow for.");
	say_events(m, d);
	om_family(m, "kphi_daemon_lateness_seconds", OM_HISTOGRAM, "seconds",
		  "How much later than it wanted to the daemon's loop woke.");
	om_histogram(m, &d->lateness);
	om_family(m, "kphi_verdict_latency_seconds", OM_HISTOGRAM, "seconds",
		  "From the moment at which phi crossed a threshold to the verdict.");
	om_histogram(m, &d->latency);
}

static void say_life(struct om *m, const struct kphi_daemon *d, uint64_t now_ns)
{
	om_family(m, "kphi_daemon_uptime_seconds", OM_GAUGE, "seconds", "Since the daemon was started.");
	if (d)
		om_seconds(m, NULL, now_ns > d->started_ns ? now_ns - d->started_ns : 0);
	om_family(m, "kphi_daemon_clients", OM_GAUGE, NULL, "Clients of the event socket now.");
	if (d)
		om_u64(m, NULL, d->clients);
}

/* --- consumers --- */

static struct om_labels labels_of(const struct kphi_consumer *c)
{
	struct om_labels l = {.size = 0};

	om_label(&l, "consumer", c->name);
	if (c->shadow)
		om_label(&l, "shadow", "true");
	return l;
}

static uint64_t suspect_phi(const struct kphi_consumer *c)
{
	return c->suspect;
}

static uint64_t clear_phi(const struct kphi_consumer *c)
{
	return c->clear;
}

static void say_thresholds(struct om *m, const struct kphi_daemon *d, const char *name, const char *help,
			   uint64_t (*phi)(const struct kphi_consumer *c))
{
	om_family(m, name, OM_GAUGE, NULL, help);
	for (uint32_t c = 0; d && c < d->consumers; c++) {
		struct om_labels l = labels_of(&d->consumer[c]);

		om_q32(m, &l, phi(&d->consumer[c]));
	}
}

static void say_peers(struct om *m, const struct kphi_daemon *d, const char *name, const char *help,
		      const uint32_t count[KPHI_CONSUMERS])
{
	om_family(m, name, OM_GAUGE, NULL, help);
	for (uint32_t c = 0; d && c < d->consumers; c++) {
		struct om_labels l = labels_of(&d->consumer[c]);

		om_u64(m, &l, count[c]);
	}
}

static void say_consumers(struct om *m, const struct kphi_daemon *d, const struct facts *f)
{
	say_thresholds(m, d, "kphi_consumer_suspect_phi", "From this phi on the consumer suspects a peer.",
		       suspect_phi);
	say_thresholds(m, d, "kphi_consumer_clear_phi",
		       "Down to this phi a beat has to bring a peer that it suspects.", clear_phi);
	say_peers(m, d, "kphi_consumer_peers_suspected", "Peers that the consumer suspects.", f->suspected);
	say_peers(m, d, "kphi_consumer_peers_held",
		  "Peers that it would suspect if the evidence were not against this host.", f->held);
	om_family(m, "kphi_consumer_suspicions", OM_COUNTER, NULL,
		  "Suspicions begun, by who bears this name at this place of the configuration.");
	for (uint32_t c = 0; d && c < d->consumers; c++) {
		struct om_labels l = labels_of(&d->consumer[c]);

		om_u64(m, &l, d->consumer[c].suspicions);
	}
}

/* --- verdicts --- */

#define BECAUSE(cause) (1U << KPHI_BECAUSE_##cause)

static void say_verdicts(struct om *m, bool alive, const struct facts *f)
{
	static const uint32_t causes[FACTS_VERDICTS] = {
		[KPHI_VERDICT_UNKNOWN] = BECAUSE(NOTHING) | BECAUSE(MUTE),
		[KPHI_VERDICT_TRUST] = BECAUSE(NOTHING),
		[KPHI_VERDICT_SUSPECT] = BECAUSE(SILENCE) | BECAUSE(NEVER_HEARD) | BECAUSE(DECLARED_DOWN),
		[KPHI_VERDICT_HELD] = BECAUSE(STALL) | BECAUSE(CORRELATED),
		[KPHI_VERDICT_BLIND] = BECAUSE(CARRIER) | BECAUSE(HOOK),
	};

	om_family(m, "kphi_verdicts", OM_GAUGE, NULL,
		  "Peers by the daemon's verdict on them, and its cause.");
	for (uint8_t v = 0; alive && v < FACTS_VERDICTS; v++) {
		for (uint8_t cause = 0; cause < FACTS_CAUSES; cause++) {
			struct om_labels l = {.size = 0};

			if (!f->verdicts[v][cause] && !(causes[v] >> cause & 1))
				continue;
			om_label(&l, "verdict", verdict_state_name(v));
			if (cause != KPHI_BECAUSE_NOTHING)
				om_label(&l, "cause", verdict_cause_name(cause));
			om_u64(m, &l, f->verdicts[v][cause]);
		}
	}
}

void families_daemon(struct om *m, const struct kphi_daemon *d, bool alive, const struct facts *f,
		     uint64_t now_ns)
{
	const struct kphi_daemon *living = alive ? d : NULL;

	om_single(m, "kphi_daemon_up", OM_GAUGE, alive, "1 while `kphi run` lives and watches this store.");
	say_life(m, living, now_ns);
	say_counts(m, d);
	say_consumers(m, living, f);
	say_verdicts(m, alive, f);
}
