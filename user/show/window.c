// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "show/window.h"

#include <string.h>

#define HISTOGRAM_WIDTH 50

struct histogram window_histogram(const uint64_t *ring, uint32_t n, uint32_t bars)
{
	struct histogram h = {.low_ns = UINT64_MAX, .step_ns = 1, .most = 1};
	uint64_t high_ns = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t ns = ring[i] & KPHI_RING_NS;

		h.low_ns = ns < h.low_ns ? ns : h.low_ns;
		high_ns = ns > high_ns ? ns : high_ns;
	}
	if (!n)
		return h;
	h.step_ns = (high_ns - h.low_ns) / bars + 1;
	h.bars = (uint32_t)((high_ns - h.low_ns) / h.step_ns) + 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *bin = &h.count[((ring[i] & KPHI_RING_NS) - h.low_ns) / h.step_ns];

		h.most = ++*bin > h.most ? *bin : h.most;
	}
	return h;
}

uint32_t histogram_bar(const struct histogram *h, uint32_t bar, uint32_t width)
{
	uint64_t length = (uint64_t)h->count[bar] * width / h->most;

	return (uint32_t)(length ? length : h->count[bar] > 0);
}

static void say_histogram(struct out *o, const uint64_t *interval_ns, uint32_t n)
{
	struct histogram h = window_histogram(interval_ns, n, HISTOGRAM_BARS);

	out_open_table(o, "histogram");
	for (uint32_t i = 0; i < h.bars; i++) {
		char bar[HISTOGRAM_WIDTH + 1] = "";

		memset(bar, '#', histogram_bar(&h, i, HISTOGRAM_WIDTH));
		out_open_row(o);
		out_duration(o, "from_ns", "FROM", h.low_ns + i * h.step_ns);
		out_u64(o, "count", "COUNT", h.count[i]);
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
