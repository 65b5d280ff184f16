/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What detection is worth: traces x detectors. Every detector has one parameter that makes it hastier or more
 * patient, so on one trace, and on traces pooled, each can be set to make as many mistakes as the others;
 * then their detection times are compared. Or the other way round.
 *
 * A mistake is an interval at whose end the silence had lasted longer than the detector granted it. For every
 * detector and interval there is a score, the parameter up to which that is so: the mistakes at any parameter
 * are the scores at or above it, and one pass over a trace finds all of them. The same pass keeps, here and
 * there, all that it takes to say how long a silence would be granted at any parameter.
 *
 * Times are in intervals of the sender. The first intervals of a trace are learned from and not judged.
 */
#ifndef KPHI_BENCH_QUALITY_H
#define KPHI_BENCH_QUALITY_H

#include <kphi/record.h>
#include <stdbool.h>

#include "bench.h"
#include "core/models.h"
#include "replay/detector.h"

#define QUALITY_WINDOW     1000
#define QUALITY_CONTENDERS 16
#define QUALITY_MODELS     7 /* of them, kphi's own; they come first */
#define QUALITY_GRID       40 /* parameters of a detector that learns by its own verdicts */
#define QUALITY_SAMPLES    256 /* of a trace */
#define QUALITY_AGES       8 /* crashes in a sample's interval */
#define QUALITY_RATES      3
#define QUALITY_PHI        6 /* reliability is told for phi = 1 to this */

extern const double quality_rates[QUALITY_RATES]; /* mistakes a beat */

/* --- traces: quality_path.c, quality_real.c */

enum quality_set {
	QUALITY_LOSSY, /* simulated: losses, bursts and jitter of all kinds, and paths that turn lossy */
	QUALITY_PLANETLAB, /* real senders, simulated losses */
	QUALITY_PAUSING, /* a sender that pauses like a garbage collector */
	QUALITY_BARE, /* real senders as they were recorded: too different to be pooled */
	QUALITY_BFD, /* real runs, short */
	QUALITY_OWN, /* real beats over bad paths: tools/own-traces */
	QUALITY_OWN_TROUBLE, /* the same with senders that pause, or that others keep from running */
	QUALITY_SETS,
};

extern const char *const quality_set_names[QUALITY_SETS];

enum quality_jitter {
	QUALITY_SMALL,
	QUALITY_LARGE,
	QUALITY_TAIL,
	QUALITY_JITTERS,
};

/* Beats lost, all told, and how many in a row on average; 0: independently of each other. */
struct quality_loss {
	double share, burst;
};

struct quality_path {
	char name[96];
	enum quality_set set;
	struct kphi_peer settings;
	uint32_t beats; /* sent */
	uint32_t warm; /* intervals that are not judged */
	uint64_t seed;
	/* Recorded: arrivals as they are, or, with `impaired`, when beats were sent. NULL: at the interval.
	 */
	const struct kphi_beat *recorded;
	bool impaired;
	enum quality_jitter jitter;
	struct quality_loss loss, later; /* of the first and of the second half */
	double pauses; /* after a beat, nothing is sent for a while: how often */
};

#define QUALITY_PATHS_MAX 96

struct quality_paths {
	uint32_t n;
	struct quality_path path[QUALITY_PATHS_MAX];
};

/* A sender and the path to here, on the way. */
struct quality_walk {
	const struct quality_path *path;
	uint64_t random;
	uint32_t sent;
	double sent_ns, arrived_ns;
	bool lost; /* the last beat */
};

void quality_add_simulated(struct quality_paths *paths, uint32_t beats, uint64_t seed);

/* The beats of a recorded sender over bad paths. */
void quality_add_impaired(struct quality_paths *paths, const char *sender, const struct kphi_beat *recorded,
			  uint32_t beats, uint64_t seed);

/* What lies in ../shared, and what tools/own-traces has made; sentences on standard error if nothing does. */
void quality_add_real(struct quality_paths *paths, uint32_t beats, uint64_t seed);

struct quality_path *quality_add(struct quality_paths *paths, enum quality_set set);
void quality_walk_begin(struct quality_walk *w, const struct quality_path *path);
bool quality_walk_on(struct quality_walk *w, struct kphi_beat *beat); /* the next arrival; false: no more */

/* --- detectors, and what they made of a trace: quality_judge.c */

struct quality_contender {
	const char *name;
	int model; /* of kphi's own */
	uint32_t pause; /* and its pause, in intervals */
	const struct detector *detector; /* of the others */
	bool by_y; /* its deadline is a straight line in Akka's y, not in the parameter, which is phi */
	bool tells_phi; /* the parameter is to be one */
	bool rival; /* `loss` is compared with it */
};

extern const struct quality_contender quality_contenders[QUALITY_CONTENDERS];
extern const double quality_grid[QUALITY_GRID];

/* A silence, and what it takes to say how long each of the contenders would have waited for its end. */
struct quality_sample {
	double silence_ns, interval_ns;
	struct kphi_estimate estimate[QUALITY_MODELS];
	double base_ns[QUALITY_CONTENDERS], slope_ns[QUALITY_CONTENDERS]; /* deadlines, if they are lines */
	double grid_ns[QUALITY_GRID]; /* of who learns by its verdicts */
	uint64_t *ring;
};

struct quality_outcome {
	const struct quality_path *path;
	uint32_t beats; /* heard and judged */
	uint32_t kept; /* scores of each contender, the highest first */
	float *score[QUALITY_CONTENDERS];
	uint32_t exceeded[QUALITY_CONTENDERS][QUALITY_PHI + 1];
	uint32_t grid_mistakes[QUALITY_GRID];
	uint32_t samples;
	struct quality_sample *sample;
};

void quality_judge(struct quality_outcome *o, const struct quality_path *path);
void quality_forget(struct quality_outcome *o);

/* The parameter as its source has it, from the one that makes the deadline a line. */
double quality_parameter(uint32_t contender, double x);

/* --- outcomes, one or pooled, under one parameter: quality_pool.c */

struct quality_pool {
	const char *name, *set;
	uint32_t n;
	const struct quality_outcome *outcome[QUALITY_PATHS_MAX];
};

struct quality_detection {
	double mean, p99; /* intervals */
};

uint64_t quality_beats(const struct quality_pool *p);
/* At least so many; more than that only where a trace has more mistakes than scores were kept. */
double quality_mistakes(const struct quality_pool *p, uint32_t contender, double x);
double quality_exceeded(const struct quality_pool *p, uint32_t contender, uint32_t phi);

/* The least x with no more mistakes than the rate allows. */
double quality_at_rate(const struct quality_pool *p, uint32_t contender, double rate);
/* The x whose mean detection time is that. */
double quality_at_detection(const struct quality_pool *p, uint32_t contender, double mean);
void quality_detect(const struct quality_pool *p, uint32_t contender, double x, struct quality_detection *d);

/* --- figures: quality.c, quality_table.c */

struct quality_figure {
	double x, mistakes;
	struct quality_detection detection;
};

/* What a pool says of a contender. */
struct quality_row {
	struct quality_figure at_rate[QUALITY_RATES];
	double mistakes_at[QUALITY_RATES]; /* where it detects as soon as `loss` does at that rate */
};

struct quality_result {
	const struct quality_pool *pool;
	struct quality_row row[QUALITY_CONTENDERS];
};

void quality_measure(struct quality_result *r, const struct quality_pool *pool);
/* The rival that detects soonest at this rate. */
uint32_t quality_best_rival(const struct quality_result *r, uint32_t rate);
void quality_print_lines(const struct quality_result *r); /* JSON, to standard output */
void quality_print_table(const struct quality_result *results, uint32_t n); /* to standard error */

/* What is wanted of `loss`, and what it is: both ways. */
void quality_print_wanted(const struct quality_result *results, uint32_t n);

#endif
