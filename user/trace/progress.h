/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far a long command is: one line on standard error, if that is a terminal, and nothing otherwise. */
#ifndef KPHI_TRACE_PROGRESS_H
#define KPHI_TRACE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "reading week.trace" */
	uint64_t total; /* of what is done; 0: not known */
	uint64_t begin_ns, next_ns;
	bool on, shown;
};

void progress_begin(struct progress *p, const char *what, uint64_t total);

/* Redraws the line, a few times a second at most. Costs a look at the clock: not to be called for each
 * arrival. */
void progress_at(struct progress *p, uint64_t done);

/* The same where no end is known: "recording week.trace: 812 arrivals, ...". */
void progress_say(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the line away. */
void progress_end(struct progress *p);

#endif
