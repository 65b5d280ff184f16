/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the engine share. Nobody else includes this. */
#ifndef KPHI_CORE_ENGINE_STATE_H
#define KPHI_CORE_ENGINE_STATE_H

#include <stddef.h>

#include "core/engine.h"
#include "core/models.h"
#include "core/schedule.h"

#define ENGINE_FIRST_BEAT_INTERVALS 5
#define ENGINE_FIRST_BEAT_NS        60000000000ULL /* where no interval is known */
#define ENGINE_FIRST_SILENCE_NS                                                                              \
	600000000000ULL /* after the very first beat of a peer without an interval                           \
			 */
#define ENGINE_INFANT_LOOK_NS                                                                                \
	10000000ULL /* of a peer of which no interval is known, look so soon, then half as often ... */
#define ENGINE_GRACE_INTERVALS    10
#define ENGINE_CORRELATED_SAMPLES 8 /* a peer with fewer intervals is no evidence about this host */
#define ENGINE_BUSY_NS            1000000ULL /* a record that is being written is read again so soon */
#define ENGINE_HINT_NS            10000000ULL /* hints of one peer are followed this far apart */
#define ENGINE_REPAIR_NS          1000000000ULL /* how often engine_repair() is called */
#define ENGINE_RECHECK_NS         100000000ULL /* how often correlated holds and open stalls are judged again */

/*
 * Counting the overdue costs about 0.3 us a peer. The answer is kept for this long a peer counted, so that
 * counting never takes more than a tenth of a core: 80 us for twenty peers, 0.4 s for 100,000.
 */
#define ENGINE_COUNT_KEEP_NS 4000ULL

/* Events of one look: facts, and for each consumer at most the end of a hold or suspicion, another release,
 * and what begins. */
#define ENGINE_QUEUE (3 * ENGINE_CONSUMERS + 16)

enum slot_flag {
	SLOT_KNOWN = 1 << 0, /* the rest means something */
	SLOT_DEGRADED = 1 << 1,
	SLOT_MUTED = 1 << 2,
	SLOT_UNSETTLED = 1 << 3, /* counted in engine.unsettled */
	SLOT_WATCHED = 1 << 4, /* we asked for hints of its beats */
	SLOT_RECALLED = 1 << 5, /* the last daemon's verdict; not yet looked at by this one */
	SLOT_CONFIGURE = 1 << 6, /* not looked at since the configuration changed */
};

/* What the engine remembers of a peer. */
struct slot {
	uint64_t epoch;
	uint64_t token, since_ns, published_epoch; /* as published */
	uint64_t suspect_ns; /* first suspicion, since somebody who is no shadow suspects it */
	uint64_t retuned; /* record's at the last look */
	uint64_t speaker[2]; /* rules: the record's; BFD: [0] is the interval it announced, in us */
	uint64_t never_ns; /* record.since_ns for which never_heard was announced; 0: none */
	uint64_t sight_ns, sight_stalled_ns; /* hearing.since_ns, and stalled_total_ns at that time */
	uint64_t hinted_ns; /* last look because of a hint */
	uint64_t hold_from_ns; /* when the silence began that is held */
	uint64_t looked_ns; /* the last look; 0: none yet */
	uint32_t generation;
	uint32_t cares; /* consumers that care about it */
	uint32_t suspects, stalled, correlated; /* consumers that suspect; whose suspicion is held, and why */
	uint32_t published_mask, published_held, published_shadows;
	uint8_t published; /* enum kphi_verdict_state */
	uint8_t published_cause; /* enum kphi_verdict_cause */
	uint8_t state; /* record.state at the last look */
	uint8_t blind; /* enum event_cause */
	uint8_t flags; /* enum slot_flag */
};

/* One consumer's suspicion of one peer, or, while it does not suspect it, what it knows of having withheld
 * one. */
struct suspicion {
	uint64_t since_ns; /* latched: `now` of the first conviction; first hold of this silence */
	uint64_t from_ns; /* the arrival (waiting: the add or reset) before it: only a later one ends it; when
			     the silence began that was held */
	uint64_t grace_bound_ns; /* stalls do not hold this silence any longer; 0: they never have */
};

struct engine {
	struct engine_config config;
	struct engine_host host;
	struct threshold threshold[ENGINE_CONSUMERS];
	uint32_t shadows; /* consumers that get events only */
	uint32_t slots, used; /* used: one beyond the last slot in which a peer was seen */
	struct slot *slot;
	struct suspicion *suspicion; /* [slots][consumers] */
	struct schedule *schedule; /* one entry more than slots: the recheck of correlated holds */
	uint32_t unsettled;
	uint64_t alive_ns; /* the last daemon still published then; 0: there was none */
	uint64_t counted_ns; /* correlated was counted then, and the answer is kept until */
	uint64_t count_until_ns;
	bool correlated;
	bool scanning; /* not every slot has been looked at yet */
	uint64_t correlated_ns; /* when it last was */
	uint64_t recheck_ns; /* of correlated holds; UINT64_MAX: none */
	struct engine_cpu *cpu; /* what engine_observe_ticks() has seen */
	uint32_t cpus;
	struct event queue[ENGINE_QUEUE];
	uint32_t queued;
};

/* One look at one peer: what was read at `now_ns`, and what follows from it. */
struct look {
	struct engine *e;
	struct slot *slot;
	uint32_t index;
	uint64_t now_ns;
	struct kphi_record record;
	struct kphi_peer peer;
	const struct kphi_tick *tick;
	struct engine_hearing hearing;
	const struct kphi_rule *rule; /* NULL: a native sender */
	bool muted;
	bool judged; /* `estimate` means something */
	struct kphi_estimate estimate;
	uint64_t from_ns; /* silence counts from here: last arrival, add, or when we could hear again */
	uint64_t discount_ns; /* stalls since */
	uint64_t silence_ns;
	uint32_t overdue; /* consumers that would suspect it, were it not muted or blind */
	uint64_t token; /* of what this look changes; 0: nothing yet */
	uint64_t next_ns; /* look again then */
};

/* --- engine.c: a consistent view of a peer --- */

/* Record, hearing, silence and estimate of the slot at now_ns. False: busy. */
bool look_read(struct look *l, struct engine *e, uint32_t index, uint64_t now_ns);

/*
 * The same for who only compares silences: of the estimate, n, sum_ns and scale_ns. It may be had while
 * another peer is looked at, for it leaves the host's ring alone.
 */
bool look_glance(struct look *l, struct engine *e, uint32_t index, uint64_t now_ns);

static inline void look_again_at(struct look *l, uint64_t at_ns)
{
	if (at_ns < l->next_ns)
		l->next_ns = at_ns;
}

static inline uint32_t look_held(const struct look *l)
{
	return l->slot->stalled | l->slot->correlated;
}

static inline struct suspicion *look_suspicion(const struct look *l, uint32_t consumer)
{
	return &l->e->suspicion[(size_t)l->index * l->e->config.consumers + consumer];
}

/* UINT64_MAX stands for never. */
static inline uint64_t later(uint64_t at_ns, uint64_t by_ns)
{
	return by_ns < UINT64_MAX - at_ns ? at_ns + by_ns : UINT64_MAX;
}

/* --- engine_memory.c: what is known of a slot before anything is judged --- */

/* False: there is no peer, and whatever was known of one is forgotten. */
bool look_remember(struct look *l);

/* --- engine_facts.c: what has become of the peer, whoever suspects it --- */

/* New life, goodbye, down, degraded, retuned, handover, mute, blindness: their events, and the end of what
 * they end. */
void look_facts(struct look *l);

/* What the slot remembers of who speaks, and how often; 0, 0 for native senders. */
void look_speaker(const struct look *l, uint64_t speaker[2]);

/* --- engine_judge.c: consumers --- */

void look_judge(struct look *l);
/* End the suspicions, or the holds, of the consumers in `mask` that have one. */
void look_trust(struct look *l, uint32_t mask, enum event_cause cause);
void look_release(struct look *l, uint32_t mask, enum event_cause cause);

/* --- engine_hold.c: evidence against this host --- */

/* After stalls of the CPU that takes the peer's beats, or while one is open: nothing is concluded from
 * silence. */
struct grace_span {
	uint64_t begin_ns; /* 0: a stall is open, it has not begun yet */
	uint64_t until_ns; /* 0: the peer is in none */
};

struct grace_span hold_grace(const struct look *l);
uint64_t hold_grace_most_ns(const struct look *l); /* how long a grace may last */
bool hold_correlated(struct engine *e, uint64_t now_ns);
/* When what was silent together returns, it does so one after the other: until then each is given the time in
 * which its beat is not overdue. */
uint64_t hold_correlated_until(const struct look *l);
void hold_recheck_at(struct engine *e, uint64_t at_ns);
void hold_recheck(struct engine *e, uint64_t now_ns);

/* --- engine_tell.c: events and verdicts --- */

struct event *tell(struct look *l, enum event_type type, enum event_cause cause);
struct event *tell_consumer(struct look *l, enum event_type type, enum event_cause cause, uint32_t consumer,
			    uint64_t since_ns);
/* The verdict if it has changed, then the events of this look. */
void tell_all(struct look *l);

#define FOR_EACH_BIT(i, mask)                                                                                \
	for (uint32_t rest_ = (mask), i = 0; rest_ && (i = (uint32_t)__builtin_ctz(rest_), true);            \
	     rest_ &= rest_ - 1)

#endif
