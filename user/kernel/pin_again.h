/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A store whose bpffs was unmounted under whoever holds a descriptor of its folder. */
#ifndef KPHI_KERNEL_PIN_AGAIN_H
#define KPHI_KERNEL_PIN_AGAIN_H

#include "kernel/pin.h"

enum pin_place {
	PIN_THERE, /* where its path says */
	PIN_HIDDEN, /* whole, but its bpffs is mounted nowhere, or something is mounted over it */
	PIN_GONE, /* purged, or removed by hand */
	PIN_REPLACED, /* hidden, and another store is where its path says */
};

/* What has become of the store with this folder. */
enum pin_place pin_where(const struct pin *p, int folder);

/*
 * Pins everything of a hidden store where its path says, as soon as a bpffs is mounted at the root again. The
 * descriptor `folder` becomes one of the new folder, locked as the old one was (flock). 0, or -errno: nothing
 * has changed.
 */
int pin_again(struct pin *p, int folder, struct why *w);

/* The first pin of a store that is missing in its folder; NULL: it is whole. */
const char *pin_missing(int folder);

#endif
