/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `kphi run` has to say. One list makes the names, the JSON and the tests. */
#ifndef KPHI_CORE_EVENT_H
#define KPHI_CORE_EVENT_H

#include <kphi/maps.h>
#include <stdint.h>

#include "core/phi.h"

/* X(name, whether it is about a peer, help) */
#define KPHI_EVENTS(X)                                                                                       \
	X(suspect, 1, "a consumer's threshold was reached")                                                  \
	X(trust, 1, "a consumer trusts the peer again")                                                      \
	X(hold, 1, "a suspicion is withheld: the evidence is against this host")                             \
	X(release, 1, "a hold has ended; `cause` says how")                                                  \
	X(blind, 1, "this host cannot hear the peer")                                                        \
	X(sighted, 1, "it can again; silence counts from here")                                              \
	X(restart, 1, "the peer began a new life")                                                           \
	X(leave, 1, "the peer said goodbye")                                                                 \
	X(down, 1, "the peer's own watcher declared it dead")                                                \
	X(degraded, 1, "the peer's own health check began to fail, or ceased to")                            \
	X(retuned, 1, "the peer's window was restarted from a run of capped intervals")                      \
	X(renegotiated, 1, "the BFD speaker announced another interval: a new window")                       \
	X(handover, 1, "somebody else speaks for the peer, as a new VRRP master does")                       \
	X(never_heard, 1, "no first beat within its deadline")                                               \
	X(mute, 1, "verdicts on the peer are switched off, or on again")                                     \
	X(stall, 0, "a CPU of this host ran no softirq work for a while")                                    \
	X(blind_stall, 0, "more than half of the last minute was stalled")                                   \
	X(carrier, 0, "a device's carrier went or came")                                                     \
	X(hook, 0, "the program was lost from a device, or is back")                                         \
	X(loop_late, 0, "this daemon woke later than it wanted to")                                          \
	X(config, 0, "a configuration was applied, or refused")                                              \
	X(exec, 0, "a consumer's command failed, timed out or was not run")                                  \
	X(web, 0, "the HTTP server was started, failed or ended")

enum event_type {
#define X(name, peer, help) EVENT_##name,
	KPHI_EVENTS(X)
#undef X
		EVENT_TYPES,
};

enum event_cause {
	CAUSE_NONE,
	CAUSE_SILENCE, /* suspect: phi reached the threshold */
	CAUSE_NEVER_HEARD, /* suspect */
	CAUSE_DECLARED_DOWN, /* suspect */
	CAUSE_BEAT, /* trust, release: a beat came */
	CAUSE_LEAVE, /* trust: it said goodbye */
	CAUSE_RESTART, /* trust: a new life */
	CAUSE_RESET, /* trust: the peer was reset or its settings now say otherwise */
	CAUSE_STALL, /* hold, release: grace after a stall of this host, over */
	CAUSE_CORRELATED, /* hold, release: too many peers overdue at once, no longer so many */
	CAUSE_BOUND, /* release: a hold may last 60 s */
	CAUSE_CARRIER, /* blind, sighted */
	CAUSE_HOOK, /* blind, sighted */
	CAUSE_BEGUN,
	CAUSE_ENDED, /* degraded, mute, carrier, hook */
	CAUSE_MUTE, /* release: verdicts were switched off */
	CAUSES,
};

struct event {
	enum event_type type;
	enum event_cause cause;
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	/* about a peer: */
	uint32_t slot, generation;
	uint64_t epoch;
	const char *peer; /* name; NULL if the event is about none */
	const char *host; /* label of the host it runs on, or NULL */
	const char *consumer; /* name; NULL if it is about none */
	uint8_t model;
	int judged; /* phi, threshold and silence mean something */
	q32_t phi, threshold;
	uint64_t silence_ns;
	uint64_t since_ns; /* first suspicion of this run, latched */
	uint64_t crossed_ns; /* suspect: when silence reached the consumer's threshold, if that was for the
				engine to say at once; else 0 */
	uint64_t token; /* fencing token; 0: the event carries no verdict */
	uint64_t interval_ns; /* retuned, renegotiated: the one in force now */
	uint64_t speaker[2]; /* handover: who speaks now, an address as in kphi_id.bytes; else 0 */
	/* about this host: */
	uint32_t cpu; /* stall */
	uint64_t length_ns; /* stall, loop_late */
	const char *subject; /* device, file, command */
	const char *detail; /* a sentence, or NULL */
};

const char *event_name(enum event_type type);
const char *event_cause_name(enum event_cause cause); /* snake_case; NULL for CAUSE_NONE */

#endif
