/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_SHOW_WINDOW_H
#define KPHI_SHOW_WINDOW_H

#include "core/models.h"
#include "io/output.h"

#define HISTOGRAM_BARS 24

/* Equal bins from the smallest to the largest interval. */
struct histogram {
	uint64_t low_ns, step_ns; /* where the first begins; how wide each is */
	uint32_t count[HISTOGRAM_BARS], most;
	uint32_t bars; /* in use; 0: there are no intervals */
};

/* In at most `bars` bins, HISTOGRAM_BARS at most themselves. Entries may have their steps above KPHI_RING_NS.
 */
struct histogram window_histogram(const uint64_t *ring, uint32_t n, uint32_t bars);

/* How long the bar of a bin is, if that of the fullest is `width`: at least 1 unless it is empty. */
uint32_t histogram_bar(const struct histogram *h, uint32_t bar, uint32_t width);

/* A window and its histogram, into an open object. `ring`: its n entries, oldest first; taken apart on the
 * way. */
void say_window(struct out *o, const char *name, const struct kphi_window *w, uint64_t *ring);

#endif
