/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has been added, deleted, reset or muted meanwhile? No hint tells of what other kphi commands do, so the
 * daemon compares what it saw of each slot last time, and looks at those that differ.
 */
#ifndef KPHI_RUN_CENSUS_H
#define KPHI_RUN_CENSUS_H

#include <stdint.h>

#include "kernel/store.h"

struct census {
	uint64_t *seen; /* a digest of each slot */
	uint32_t slots;
	uint32_t peers; /* slots that are taken, as far as the last full round knows */
	uint32_t counting;
};

int census_open(struct census *c, uint32_t slots); /* 0 or -ENOMEM */
void census_close(struct census *c);

/* Compares the slots from `first` up to `end`, and calls changed() for those that differ. */
void census_take(struct census *c, const struct store *s, uint32_t first, uint32_t end,
		 void (*changed)(void *context, uint32_t slot), void *context);

#endif
