/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The store as OpenMetrics text. Read when it is asked for: nothing is copied in the background, so a figure
 * is as old as the scrape.
 */
#ifndef KPHI_METRICS_METRICS_H
#define KPHI_METRICS_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "kernel/pin.h"
#include "kernel/store.h"

/* Which peers have series of their own; the sums over all of them are always there. */
enum metrics_peers {
	METRICS_ALL,
	METRICS_SUSPECT, /* those that are not simply up */
	METRICS_NONE,
};

/*
 * OpenMetrics is what HTTP serves. The older format of Prometheus differs in a few lines of metadata:
 * promtool and the node exporter know that one only. They read OpenMetrics, too, but lose the types of
 * counters.
 */
enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS,
};

struct metrics_options {
	enum metrics_peers peers;
	uint32_t
		peers_max; /* no more peers than this have series of their own; what is left out is counted */
	enum metrics_format format;
};

#define METRICS_PEERS_MAX_DEFAULT 10000
#define METRICS_CONTENT_TYPE      "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * The whole exposition, "# EOF" included, as seen at now_ns (CLOCK_MONOTONIC). Without a `pin` nothing is
 * said of devices. 0, -ENOMEM before anything was written, or -errno of the stream, which is not flushed.
 */
int metrics_write(FILE *to, const struct pin *pin, const struct store *s,
		  const struct metrics_options *options, uint64_t now_ns);

#endif
