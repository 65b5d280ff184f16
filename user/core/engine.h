/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From records to verdicts: consumers, hysteresis, holds, blindness, deadlines. Pure: `now` is an argument
 * and everything outside is reached through `struct engine_host`, so that a test can be the host and an hour
 * passes in a millisecond.
 *
 * Lazy deadlines: each peer has one entry in the schedule, the next moment at which its verdict could change
 * if nothing arrived. Beats do not touch it; when it expires the record is read again and the entry moves.
 * Hints (a watched peer's beat, a new epoch, leave, down, flags) make the engine look earlier; a lost hint is
 * repaired by engine_repair().
 *
 * Rules beyond the design's, or where it leaves a choice:
 *
 * - A look publishes the verdict first, then its events; all that it changes has one token.
 *
 * - A consumer for whom a peer has too few samples (min_samples, or the interval is still being learned)
 *   suspects it after a silence of five intervals, or of five times the mean of what was heard of it, but at
 *   least a minute: who dies in infancy is found too. After the very first beat of a peer without an interval
 *   nothing is known yet, and ten minutes have to do.
 *
 * - A suspicion that stands when a mute begins stays; it may end by a beat, but none begins. The verdict is
 *   UNKNOWN. One that stands when blindness begins stays as well: this host could hear when it was reached.
 *
 * - A hold keeps its cause while that lasts. Each consumer's holds of one silence are bounded together by
 *   hold_max_ns, and those by stalls by ten intervals from the beginning of the grace of the first.
 *
 * - A correlated hold outlasts its cause by the peer's own mean + 2 sd: what was silent together returns one
 *   after the other, and the last is not convicted because the first is back.
 *
 * - Peers that have been silent for ten times mean + 2 sd, and hold_max_ns on top, are counted neither as
 *   overdue nor as judged: deaths of last week are no evidence about this host today. The count is up to
 *   4 us old for each peer in it (0.4 s for 100,000). Who was never heard is not counted, so only a stall
 *   holds a first-beat deadline.
 *
 * - A goodbye is no alarm, however long ago: a BFD session that is administratively down for a day is silent
 * for a day. That an unsigned one is believed for an hour only concerns what is shown of the peer.
 *
 * - A look by a new engine announces what goes on (blind, mute, hold, suspect), not what has happened (leave,
 *   down, restart); after engine_recall() also what has happened since the last daemon's last verdict.
 */
#ifndef KPHI_CORE_ENGINE_H
#define KPHI_CORE_ENGINE_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "core/phi.h"

#define ENGINE_CONSUMERS KPHI_CONSUMERS

struct consumer {
	char name[KPHI_NAME_SIZE];
	q32_t suspect, clear; /* thresholds, 0 < clear <= suspect */
	uint32_t min_samples; /* no verdict by phi on fewer intervals */
	bool correlated; /* hold while too many peers are overdue together */
	bool shadow; /* events only: no verdict, no token */
};

struct engine_config {
	struct consumer consumer[ENGINE_CONSUMERS];
	uint32_t consumers;
	uint32_t correlated_ppm; /* hold if more than this part of the judged peers is overdue (500000) ... */
	uint32_t correlated_min; /* ... and at least so many (2) */
	uint64_t hold_max_ns; /* inferred causes withhold no longer than this (60 s) */
	uint64_t verdict_ttl_ns; /* how long a verdict is valid without being refreshed (3 s) */
};

/* How this host stands towards a peer's devices. */
struct engine_hearing {
	enum event_cause blind; /* CAUSE_CARRIER or CAUSE_HOOK if every device it was lately heard on is
				   affected; else NONE */
	uint64_t
		since_ns; /* latest of attach and end of blindness on a device that could hear it; 0: never */
};

struct engine_host {
	void *context;
	/* A consistent copy of a slot, free ones included. False: busy, try again soon. */
	bool (*read)(void *context, uint32_t slot, struct kphi_record *record, struct kphi_peer *peer);
	const struct kphi_tick *(*tick)(void *context, uint32_t cpu);
	/* How the packets of the rule in this slot are read. Asked of peers that are rules. */
	const struct kphi_rule *(*rule)(void *context, uint32_t slot);
	/*
	 * The ring of the window in *record, which may become a newer one of the same life. NULL if it cannot
	 * be had now. Good until the next call. Asked of peers of the empirical model.
	 */
	const uint64_t *(*ring)(void *context, uint32_t slot, struct kphi_record *record);
	struct engine_hearing (*hearing)(void *context, const struct kphi_record *record);
	/* Bit i: consumer i of the configuration cares about this peer. */
	uint32_t (*consumers)(void *context, const struct kphi_peer *peer);
	void (*event)(void *context, const struct event *event);
	void (*watch)(void *context, uint32_t slot, uint32_t generation, bool on);
	/* A verdict to publish. `verdict->version` is the host's. */
	void (*verdict)(void *context, uint32_t slot, const struct kphi_verdict *verdict);
	uint64_t (*token)(void *context); /* the next fencing token */
};

struct engine;

/* `slots`: the store's capacity. NULL if there is no memory. */
struct engine *engine_new(const struct engine_config *config, const struct engine_host *host, uint32_t slots);
void engine_free(struct engine *e);

/* Before the first look: the verdict of the daemon's last life on the slot. Consumer bits are those of the
 * present configuration. */
void engine_recall(struct engine *e, uint32_t index, const struct kphi_verdict *v);

/* A changed configuration: what has not changed is not announced again. `map[i]`: the old consumer's new
 * index, or -1. False if there is no memory: the old one stays in force. */
bool engine_configure(struct engine *e, const struct engine_config *config, const int map[ENGINE_CONSUMERS],
		      uint64_t now_ns);

/* Look at one slot; at all that is due. */
void engine_look(struct engine *e, uint32_t index, uint64_t now_ns);

/*
 * Something has changed at this slot. Looks, but no more than once in 10 ms: a sender that flips its flags or
 * its epoch with every packet must not keep the daemon, and everybody who reads its events, busy with nothing
 * else.
 */
void engine_hint(struct engine *e, uint32_t index, uint64_t now_ns);
void engine_advance(struct engine *e, uint64_t now_ns);

/*
 * Look at every slot: at the start, and whenever something changed that no hint tells of, that is what
 * `hearing` and `consumers` answer, a mute, a peer that was added, deleted or reset.
 */
void engine_scan(struct engine *e, uint64_t now_ns);

/* Makes those due within the next second, spread over it, that somebody suspects, or that are held, blind, or
 * silent while muted: to be called once a second while there are any, because a hint may have been lost. */
void engine_repair(struct engine *e, uint64_t now_ns);

/* When engine_advance() wants to be called next; UINT64_MAX: never. */
uint64_t engine_next_ns(const struct engine *e);

/* How many there are that engine_repair() would look at. */
uint32_t engine_unsettled(const struct engine *e);

/* Once a second: the stalls that have ended since the last time as `stall` events, and `blind_stall` when
 * more than half of a CPU's last minute was stalled. */
void engine_observe_ticks(struct engine *e, const struct kphi_tick *ticks, uint32_t cpus, uint64_t now_ns);

/* Every suspicion, hold, blindness and mute as `kphi guard show` and the socket's "current state" tell it:
 * calls say() for each, with the token that was published. */
void engine_recite(struct engine *e, uint64_t now_ns, void (*say)(void *context, const struct event *event),
		   void *context);

#endif
