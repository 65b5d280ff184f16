/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of `kphi peer explain` share: one peer at one instant, with all that is said of it. */
#ifndef KPHI_CMD_PEER_EXPLAIN_H
#define KPHI_CMD_PEER_EXPLAIN_H

#include "core/explain.h"
#include "io/output.h"
#include "show/view.h"

#define EXPLAIN_SUMMARY 2048

struct explain {
	struct view view;
	struct view_ring ring; /* the window's, oldest first */
	struct explain_thresholds thresholds;
	struct explain_model models[KPHI_MODELS]; /* if view.opinion.judged */
	struct explain_stall stalls[KPHI_STALLS + 1];
	size_t stalls_n;
	uint32_t prior_ppb; /* chance that it had failed, before its silence is looked at; 0: not given */
	bool text; /* it is said to people: what is too wide for one table is said in two */
};

/* Fills in models and stalls; view, ring, thresholds and the rest are there. `tick` as for view_judge(). */
void explain_judge(struct explain *x, const struct kphi_tick *tick);

/* The whole document: one object. */
void explain_say(struct out *o, const struct explain *x);

/* --- its parts --- */

/* A few sentences on it, as somebody would say them. */
void explain_summary(const struct explain *x, char *text, size_t size);

/* Sentences: a string in JSON, lines of less than 80 columns in text. */
void explain_prose(struct out *o, const char *key, const char *text);

/* Models side by side, and what they are not. */
void explain_say_models(struct out *o, const struct explain *x);

/* The window, the settings in force, losses, the last intervals, what was not learned, sequence numbers. */
void explain_say_window(struct out *o, const struct explain *x);

/* --- Bayes' rule --- */

/*
 * A probability above 0 and below 1, as a decimal number (0.0001) or a percentage (0.01%), exactly, in parts
 * per billion. 0 or -EINVAL with a reason.
 */
int prior_parse(const char *text, uint32_t *ppb, char *why, size_t size);

/* It reads that way again. Returns `text`. */
char *prior_format(uint32_t ppb, char *text, size_t size);

/*
 * P(failed | silent) = p / (p + (1 - p) 10^-phi), where who failed is silent for certain and who lives is
 * with the chance that phi stands for.
 */
double prior_posterior(uint32_t ppb, q32_t phi);

#endif
