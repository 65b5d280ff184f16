/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kphi trace calibrate: what its parts share. */
#ifndef KPHI_CMD_TRACE_CALIBRATE_H
#define KPHI_CMD_TRACE_CALIBRATE_H

#include "cmd/trace_replay.h"
#include "replay/calibrate.h"
#include "replay/survey.h"

#define CALIBRATE_TARGETS_MAX 16
#define CALIBRATE_NAMES_MAX   32 /* models and yardsticks */

/* A model with all its settings, or a yardstick: so many curves from `first` on. */
struct calibrate_rival {
	const char *name;
	uint32_t first, n;
	uint32_t best; /* the curve among them that serves the targets best */
};

struct calibration {
	const char *path, *peer; /* NULL: all peers */
	uint32_t window;
	uint64_t seed, torn;
	struct trace_start start;
	struct target targets[CALIBRATE_TARGETS_MAX];
	uint32_t targets_count;
	struct survey survey;
	struct sweep_curve curves[SWEEP_CURVES_MAX]; /* models first */
	uint32_t curves_count, models_count; /* all curves; of those the models' */
	struct calibrate_rival rivals[CALIBRATE_NAMES_MAX];
	uint32_t rivals_count;
	uint32_t best; /* the curve that is recommended */
	bool said; /* what went wrong */
};

/* The point of this curve that the target gets, or NULL. */
const struct sweep_point *calibrate_point(const struct sweep_curve *c, const struct target *t);

/* The pause and the least deviation of a curve, in thousandths of the interval; false: each peer's own. */
bool calibrate_pause(const struct calibration *c, const struct sweep_curve *curve, uint32_t *permille);
bool calibrate_min_std(const struct calibration *c, const struct sweep_curve *curve, uint32_t *permille);

/* The lines to paste, to be freed; "" if no target is met, NULL if there is no memory. */
char *calibrate_yaml(const struct calibration *c);

/* The document of standard output. Returns an enum kphi_exit. */
int calibrate_report(const struct kphi_cli *cli, const struct calibration *c);

/* The report as a page. 0, or -errno. */
int calibrate_write_html(FILE *to, const struct calibration *c);

#endif
