/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a window of intervals to a suspicion level and back: what the rest of the program calls.
 *
 * The models differ in how they read a silence t, given n intervals with mean m and standard deviation s:
 *
 *   normal        -log10 of the normal tail at z = (t - m - pause) / max(s, floor)
 *   akka          the same z, the tail by Akka's logistic approximation
 *   exponential   t / (m ln 10); has neither floor nor pause
 *   loss          phi_loss.h: m and s of the intervals without loss, and how often beats are lost; no pause
 *   empirical     phi_empirical.h: the share of the intervals that were longer; no pause
 *
 * A phi means nothing without its model: print both.
 */
#ifndef KPHI_CORE_MODELS_H
#define KPHI_CORE_MODELS_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stdint.h>

#include "phi.h"
#include "phi_empirical.h"
#include "phi_loss.h"

/* What a peer may be given, wherever it is given. Windows hold intervals of up to KPHI_INTERVAL_MAX_NS, 39 h.
 */
#define PEER_INTERVAL_MIN_NS 1000ULL
#define PEER_INTERVAL_MAX_NS 7200000000000ULL /* 2 h */
#define PEER_SETTING_MAX_NS  86400000000000ULL /* min-std, pause, max-interval: a day */

/* What a model judges by: the window's sums or the virtual seed, floor and pause applied. */
struct kphi_estimate {
	uint64_t n; /* samples; 1..KPHI_WINDOW_MAX; of `loss`, those without loss */
	uint64_t sum_ns; /* of those; < 2^63 */
	uint64_t scale_ns; /* n * standard deviation, floor applied; >= 1 (all but exponential) */
	uint64_t pause_ns; /* acceptable pause, moves the mean (normal, akka) */
	uint8_t model; /* enum kphi_model */
	union {
		struct loss_curve loss;
		struct empirical_summary empirical;
	};
	const uint64_t *ring; /* empirical: must outlive the estimate */
};

/*
 * False while the peer is learning its interval: no judgement is possible then, and *e is left alone. With
 * fewer than two intervals heard, the interval in force stands in for the mean and a quarter of it for the
 * standard deviation. That is what Akka's two seeds, mean -+ mean / 4, amount to, except that these never
 * enter the window.
 *
 * `ring` has the window's n intervals, in any order; only the empirical model looks at it, and NULL is as if
 * none had been heard.
 */
bool estimate_from_window(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p,
			  const uint64_t *ring);

/*
 * The same, where `sorted` has the window's intervals in ascending order, without steps: cheap for the
 * empirical model, too.
 */
bool estimate_from_sorted(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p,
			  const uint64_t *sorted);

/* n, sum_ns and scale_ns alone: enough to say what is late, but not for phi or its inverse. */
bool estimate_moments(struct kphi_estimate *e, const struct kphi_window *w, const struct kphi_peer *p);

/* The suspicion level after a silence of any length. Non-decreasing in silence_ns; capped at PHI_MAX. */
q32_t estimate_phi(const struct kphi_estimate *e, uint64_t silence_ns);

/*
 * The exact inverse: the smallest silence whose phi is at least the threshold. UINT64_MAX if there is none,
 * the threshold being above PHI_MAX or the time beyond 64 bits.
 */
uint64_t estimate_silence(const struct kphi_estimate *e, q32_t threshold);

/*
 * A threshold made ready: where the curve of a model reaches it does not depend on the window, and finding
 * that is all the work of estimate_silence(). Whoever asks about many peers, or one many times, prepares it
 * once.
 */
struct threshold {
	q32_t phi;
	int64_t z40[KPHI_MODELS]; /* of the models that judge by z, if 0 < phi <= PHI_MAX */
};

void threshold_prepare(struct threshold *t, q32_t phi); /* for every model */
void threshold_prepare_for(struct threshold *t, q32_t phi, uint8_t model); /* for this one */

/* estimate_silence(e, t->phi) by one division; t is prepared for the estimate's model. */
uint64_t estimate_silence_at(const struct kphi_estimate *e, const struct threshold *t);

/* The window's own statistics, without seed, floor or pause; rounded down; 0 for an empty window. */
uint64_t window_mean_ns(const struct kphi_window *w);
uint64_t window_stddev_ns(const struct kphi_window *w); /* of the population: divided by n, not by n - 1 */

/* What the loss model takes the path for, in millionths, rounded down: p and q of phi_loss.h. */
void window_loss_ppm(const struct kphi_window *w, uint64_t *lost_ppm, uint64_t *again_ppm);

/* Has the model an acceptable pause? A floor of the standard deviation? */
bool model_has_pause(uint8_t model);
bool model_has_min_std(uint8_t model);

/* Settings in force: as configured, else following the interval in force. 0 for a model that has none. */
uint64_t effective_min_std_ns(const struct kphi_window *w, const struct kphi_peer *p);
uint64_t effective_pause_ns(const struct kphi_window *w, const struct kphi_peer *p);

/* By enum kphi_model, with a NULL at the end. */
extern const char *const model_names[KPHI_MODELS + 1];

/* "normal", "akka", ...; "unknown" for anything else. */
const char *model_name(uint8_t model);

/* The model of exactly this name, -1 if there is none. */
int model_by_name(const char *name);

#endif
