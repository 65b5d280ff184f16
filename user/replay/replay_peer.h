/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What replay keeps of a peer. Only replay's own files include this. */
#ifndef KPHI_REPLAY_PEER_H
#define KPHI_REPLAY_PEER_H

#include "replay/crashes.h"
#include "replay/replay.h"

#define REPLAY_ALIGNMENT 16 /* of what lies behind a peer */

struct replay_peer {
	uint32_t number;
	struct kphi_peer settings, judged; /* its own; and with the model and the tuning of who judges */
	bool heard; /* there was an arrival */
	bool open; /* the present silence is judged */
	bool mistaken; /* a contender may still be in a mistake */
	struct kphi_record record;
	uint64_t lost; /* of the source, at the last arrival */
	uint64_t intervals, alive_ns;
	struct crashes crashes;
	uint64_t *ring;
	uint64_t *sorted; /* what is in it, ascending; NULL: nobody asks for that */
	struct tally *tallies; /* a contender each; in a share they are the pool's */
	uint64_t *mistakes_ns; /* of each contender, the mistake that may still go on; 0: there is none */
	uint64_t *detections; /* T_D: a row for each crash, of all contenders; NULL in a share */
	unsigned char *states; /* of the yardsticks, a group after the other */
};

struct replay {
	const struct replay_plan *plan;
	struct replay_share share; /* its pool is NULL: of all */
	uint32_t peers;
	struct replay_peer **peer; /* NULL: neither heard nor told of */
	uint64_t arrivals;
	uint64_t *stalled; /* by CPU: the latest stalled_total_ns it showed */
	/* By group: where a full window reaches the threshold of its hastiest contender, by the empirical
	 * model. */
	uint32_t *rank;
	uint32_t *reach; /* by group: how many of its contenders the present silence concerns */
};

/* What those of a peer take, in bytes. */
size_t replay_states_size(const struct replay_plan *plan);

/* The yardsticks of a peer: a first arrival, or one more. */
void replay_states_begin(const struct replay *r, struct replay_peer *p);
void replay_states_arrive(const struct replay *r, struct replay_peer *p, const struct detector_arrival *a);

/* What they grant after the last arrival, into the tallies: of all, or of those whom this silence concerns.
 */
void replay_states_judge(const struct replay *r, struct replay_peer *p, uint64_t silence_ns, bool all);

/*
 * Does this silence concern nobody behind this contender either, in a group that ascends? It trusts, and was
 * in no mistake that would end now; and so it is with all who grant more.
 */
static inline bool replay_is_unmoved(const struct replay_peer *p, uint32_t contender, uint64_t silence_ns)
{
	return silence_ns <= p->tallies[contender].deadline_ns && !p->mistakes_ns[contender];
}

/* The peer of this number, made at its first arrival; NULL: no memory. */
struct replay_peer *replay_peer_new(struct replay *r, uint32_t number, const struct kphi_peer *settings);
void replay_peer_free(struct replay_peer *p);

#endif
