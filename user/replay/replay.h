/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replay: a stream of recorded arrivals through the very code that runs live, kphi_record_take() for what a
 * message does to a peer's record and core/models.h for the silence at which each threshold would be
 * reached. A beat that came later than that ends a mistake.
 *
 * One pass judges any number of contenders: kphi's models at several thresholds, yardsticks at several
 * parameters. Memory is bounded by the peers times the contenders; nothing is allocated for an arrival.
 *
 * All contenders judge the same intervals: those between two arrivals of one life whose sender is up, as soon
 * as its interval is known. What ends in a restart, a handover or a goodbye said before is nobody's mistake.
 * Holds are the daemon's and not replayed; but stalls of the recording host are taken off the silence, as
 * they are live, for the yardsticks too. An outage that looks like a silence counts as one: a trace does not
 * say who was dead.
 */
#ifndef KPHI_REPLAY_REPLAY_H
#define KPHI_REPLAY_REPLAY_H

#include <kphi/record.h>
#include <stdbool.h>

#include "core/models.h"
#include "replay/detector.h"
#include "replay/tally.h"

#define REPLAY_CONTENDERS_MAX 4096
#define REPLAY_GROUPS_MAX     256
#define REPLAY_OWN_MODEL      (-1) /* each peer is judged by the model it was given */

#define REPLAY_CRASHES_DEFAULT 1000

/*
 * Other settings than each peer has, in thousandths of its interval in force. Judging goes by them; what is
 * learned of an interval that a stall of this host has touched still depends on the peer's own min-std.
 */
struct replay_tuning {
	bool pause, min_std; /* which of them */
	uint32_t pause_permille, min_std_permille;
};

/* Contenders that differ only in their parameter. */
struct replay_group {
	const struct detector *detector; /* NULL: a model of kphi's */
	int model; /* enum kphi_model, or REPLAY_OWN_MODEL */
	struct replay_tuning tuning; /* of a model */
	uint32_t first, n; /* which contenders they are */
	uint32_t hastiest; /* of a model: the contender with the lowest threshold */
	int64_t z40; /* of a model: no threshold is within reach before so many deviations; < 0: not known */
	bool ascends; /* each grants at least the silence that the one before it grants */
};

/* Who is to be compared. Zeroed but for the settings, then filled by the functions below. */
struct replay_plan {
	uint32_t window; /* intervals a peer's window holds */
	uint32_t crashes; /* injected into each peer's stream, or fewer if it has no more intervals */
	uint32_t crash_every; /* only into that of each how manieth peer; 0: of each */
	uint64_t seed; /* of the crashes */
	bool yardsticks; /* there are detectors among the groups */
	bool sorts; /* and models that ask how many intervals were longer */
	/* Told of each interval that is judged; may be NULL. */
	void (*interval)(void *context, uint32_t peer, const struct kphi_window *w, uint64_t silence_ns);
	void *context;
	uint32_t groups, contenders;
	struct replay_group group[REPLAY_GROUPS_MAX];
	double parameter[REPLAY_CONTENDERS_MAX]; /* phi, or the detector's */
	struct threshold threshold[REPLAY_CONTENDERS_MAX]; /* of models */
};

/* 0, or -ENOSPC if the plan is full. */
int replay_plan_model(struct replay_plan *plan, int model, const q32_t *thresholds, uint32_t n);
int replay_plan_tuned(struct replay_plan *plan, int model, const struct replay_tuning *tuning,
		      const q32_t *thresholds, uint32_t n);
int replay_plan_detector(struct replay_plan *plan, const struct detector *detector, const double *parameters,
			 uint32_t n);

/* `peer` with these settings, where `w` is its window. */
void replay_tune(struct kphi_peer *peer, const struct replay_tuning *tuning, const struct kphi_window *w);

/* The group that a contender belongs to. */
const struct replay_group *replay_plan_group(const struct replay_plan *plan, uint32_t contender);

/* A peer's record as a whole, as a recorder found it. */
struct replay_state {
	const struct kphi_record *record;
	const uint64_t *ring; /* of KPHI_RING_SIZE(window) entries */
	uint32_t window;
};

/* Where arrivals come from. Peers are numbered from 0; all but next() is asked about what next() has said
 * last. */
struct replay_source {
	/* 1: an arrival; 2: a peer's record is something else from here on; 0: the end; or -errno */
	int (*next)(void *context, uint32_t *peer, struct kphi_beat *beat);
	struct replay_state (*state)(void *context); /* NULL: next() never says 2 */
	const struct kphi_peer *(*settings)(void *context, uint32_t peer); /* of one that next() has named */
	uint64_t (*lost)(void *context); /* arrivals missing from the stream so far; NULL: none ever */
	void *context;
};

struct replay;

/*
 * What is found of many peers together, in memory that does not grow with them. Zeroed at the beginning; one
 * replay after the other may add to it.
 */
struct replay_pool {
	uint32_t contenders;
	uint64_t intervals, alive_ns;
	struct tally *tallies; /* a contender each */
	uint64_t *detections; /* T_D: a row for each crash, of all contenders */
	uint64_t crashes, crashes_room;
};

void replay_pool_free(struct replay_pool *pool);

/*
 * A part of a stream: the peers whose numbers, divided by `shares`, leave `share`, which go into a pool. Of
 * all peers it is known how many intervals of theirs will be judged (survey.h): the crashes are chosen by
 * that.
 */
struct replay_share {
	uint32_t share, shares;
	struct replay_pool *pool;
	uint64_t (*intervals)(void *context, uint32_t peer);
	void *context;
};

/* `plan` is complete and must outlive it. NULL: no memory. */
struct replay *replay_new(const struct replay_plan *plan);
struct replay *replay_new_share(const struct replay_plan *plan, const struct replay_share *share);

/* What one peer takes in a share, in bytes. */
size_t replay_peer_size(const struct replay_plan *plan);
void replay_free(struct replay *r);

/*
 * Takes up to `most` arrivals: 1 if there are more, 0 at the end, -ENOMEM, -EINVAL for a peer without
 * settings, or what next() returned.
 */
int replay_run(struct replay *r, const struct replay_source *source, uint64_t most);

uint64_t replay_arrivals(const struct replay *r); /* messages taken, whatever they counted as */

/* Peers are 0 .. replay_peers() - 1; of those that were not heard there may be a record all the same. */
uint32_t replay_peers(const struct replay *r);
bool replay_heard(const struct replay *r, uint32_t peer);
bool replay_known(const struct replay *r, uint32_t peer); /* what is below can be asked */
const struct kphi_peer *replay_settings(const struct replay *r, uint32_t peer);
const struct kphi_record *replay_record(const struct replay *r, uint32_t peer);
const uint64_t *replay_ring(const struct replay *r, uint32_t peer);

/* Of one heard peer, or of all together, each crashing as often as the others; not of a share. 0 or -ENOMEM.
 */
int replay_qos(const struct replay *r, uint32_t peer, uint32_t contender, struct qos *q);
int replay_qos_all(const struct replay *r, uint32_t contender, struct qos *q);

/* Of a contender over all pools of a plan. 0 or -ENOMEM. */
int replay_qos_pools(const struct replay_pool *pools, uint32_t n, uint32_t contender, struct qos *q);

#endif
