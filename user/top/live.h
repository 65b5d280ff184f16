/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `kphi top` on a terminal. */
#ifndef KPHI_TOP_LIVE_H
#define KPHI_TOP_LIVE_H

#include "top/model.h"
#include "top/world.h"

struct live_options {
	const char *pin; /* as --pin; NULL: the default */
	uint64_t interval_ns; /* between two looks */
};

/*
 * Looks, draws and obeys until the user has had enough. The world is open, the model has its sort and filter;
 * both are closed. 0, or a negative errno with the sentence in `reason`. A signal that ended it is raised
 * anew once the terminal is as it was.
 */
int live_run(const struct live_options *options, struct world *w, struct top_model *m, struct why *reason);

#endif
