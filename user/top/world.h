/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The store that is looked at, which may be purged and made anew meanwhile. */
#ifndef KPHI_TOP_WORLD_H
#define KPHI_TOP_WORLD_H

#include <sys/stat.h>

#include "kernel/pin.h"
#include "kernel/store.h"

struct world {
	struct pin pin;
	struct store store;
	struct stat seen; /* its pin */
	bool open;
};

/* `root` as --pin has it. 0, or a negative errno with the sentence in `reason`. */
int world_open(struct world *w, const char *root, struct why *reason);
void world_close(struct world *w);

/* Is what is mapped still what is pinned? */
bool world_is_current(const struct world *w);

#endif
