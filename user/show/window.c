// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/window.h"

#include <string.h>

#define HISTOGRAM_BARS  24
#define HISTOGRAM_WIDTH 50

/* Equal bins from the smallest to the largest interval; the longest bar is HISTOGRAM_WIDTH wide. */
static void say_histogram(struct out *o, const uint64_t *interval_ns, uint32_t n)
{
	uint64_t low = UINT64_MAX, high = 0, step;
	uint32_t bins[HISTOGRAM_BARS] = {0}, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		low = interval_ns[i] < low ? interval_ns[i] : low;
		high = interval_ns[i] > high ? interval_ns[i] : high;
	}
	step = n ? (high - low) / HISTOGRAM_BARS + 1 : 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *bin = &bins[(interval_ns[i] - low) / step];

		most = ++*bin > most ? *bin : most;
	}
	out_open_table(o, "histogram");
	for (uint32_t i = 0; n && i < HISTOGRAM_BARS && low + i * step <= high; i++) {
		char bar[HISTOGRAM_WIDTH + 1] = "";

		memset(bar, '#',
		       (uint64_t)bins[i] * HISTOGRAM_WIDTH / most +
			       (bins[i] && bins[i] * HISTOGRAM_WIDTH < most));
		out_open_row(o);
		out_duration(o, "from_ns", "FROM", low + i * step);
		out_u64(o, "count", "COUNT", bins[i]);
		out_string(o, "bar", "", bar);
		out_close_row(o);
	}
	out_close_table(o);
}

void say_window(struct out *o, const char *name, const struct kphi_window *w, uint64_t *ring)
{
	out_string(o, "name", "peer", name);
	out_u64(o, "samples", "samples", w->n);
	out_duration(o, "mean_ns", "mean", window_mean_ns(w));
	out_duration(o, "stddev_ns", "standard deviation", window_stddev_ns(w));
	out_u64(o, "clean_samples", "without loss", w->clean_n);
	out_u64(o, "lost_beats", "lost lately", w->losses.lost);
	out_u64(o, "lost_runs", "in so many intervals", w->losses.runs);
	out_open_array(o, "steps");
	for (uint32_t i = 0; i < w->n; i++)
		out_u64(o, NULL, NULL, ring[i] >> KPHI_RING_STEPS_SHIFT);
	out_close_array(o);
	out_open_array(o, "intervals_ns");
	for (uint32_t i = 0; i < w->n; i++) {
		ring[i] &= KPHI_RING_NS;
		out_duration(o, NULL, "interval, oldest first", ring[i]);
	}
	out_close_array(o);
	say_histogram(o, ring, w->n);
}
