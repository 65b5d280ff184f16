/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in the OpenMetrics format 1.0, or in Prometheus' older one: families, each with its samples together.
 * Numbers are exact decimals made from integers.
 */
#ifndef KPHI_METRICS_OPENMETRICS_H
#define KPHI_METRICS_OPENMETRICS_H

#include <kphi/maps.h>
#include <stdio.h>

#include "metrics/metrics.h"

#define OM_NAME   96
#define OM_LABELS 1024 /* bytes of all labels of a sample together */

enum om_type { OM_GAUGE, OM_COUNTER, OM_HISTOGRAM };

struct om {
	FILE *to;
	enum metrics_format format;
	enum om_type type; /* of the family that is open */
	char name[OM_NAME]; /* of its samples */
	uint64_t samples; /* so far */
};

/* name="value",name="value"; all zero is none. */
struct om_labels {
	size_t size;
	char text[OM_LABELS];
};

void om_begin(struct om *m, FILE *to, enum metrics_format format);

/*
 * Samples belong to the family begun last. `name` has the unit as its end, if there is one ("seconds",
 * "bytes"; else NULL), and no "_total". `help` is one line without quotes and backslashes.
 */
void om_family(struct om *m, const char *name, enum om_type type, const char *unit, const char *help);

/*
 * The value may be any bytes: quotes, backslashes and newlines are escaped, and what is no UTF-8 becomes
 * U+FFFD. A label for which there is no room is left out.
 */
void om_label(struct om_labels *l, const char *name, const char *value);
void om_label_u64(struct om_labels *l, const char *name, uint64_t value);

/* One sample; `l` may be NULL. */
void om_u64(struct om *m, const struct om_labels *l, uint64_t value);
void om_seconds(struct om *m, const struct om_labels *l, uint64_t ns);
void om_q32(struct om *m, const struct om_labels *l, uint64_t q32); /* six decimals */

/* A family of one sample: a number without unit or labels. */
void om_single(struct om *m, const char *name, enum om_type type, uint64_t value, const char *help);

/*
 * Buckets, count and sum, in seconds, of a family without labels. Of the powers of two, those between a
 * microsecond and ten seconds have a bucket of their own. Whole nanoseconds below 2^i are those up to 2^i -
 * 1, and that is what `le` says.
 */
void om_histogram(struct om *m, const struct kphi_histogram *h);

/* 0 or -EIO: the stream has failed. */
int om_end(struct om *m);

#endif
