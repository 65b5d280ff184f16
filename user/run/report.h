/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon tells of itself, in the pinned map `daemon`, mapped for writing: this daemon is the only
 * writer. What is counted goes on over its restarts; readers use store_daemon().
 */
#ifndef KPHI_RUN_REPORT_H
#define KPHI_RUN_REPORT_H

#include <kphi/maps.h>
#include <stdbool.h>

#include "core/engine.h"
#include "kernel/pin.h"
#include "kernel/why.h"

struct report {
	struct kphi_daemon *map; /* NULL: not open */
	uint64_t dropped; /* as it was last said */
};

int report_open(struct report *r, const struct pin *pin, struct why *w);

/* In order: whoever looks knows at once that no daemon lives. Does nothing if it is not open. */
void report_close(struct report *r);

/* A life begins. Whatever the last one left half done is made whole. */
void report_begin(struct report *r, uint32_t starts, uint64_t now_ns, uint64_t alive_until_ns);

void report_alive(struct report *r, uint64_t alive_until_ns);

/* Who they are now. What was counted of a consumer stays its own if it has the same place as before. */
void report_consumers(struct report *r, const struct engine_config *config);

/* Said at `said_ns`, and its verdict published by then. */
void report_event(struct report *r, const struct event *event, uint64_t said_ns);

void report_lateness(struct report *r, uint64_t late_ns);
void report_config(struct report *r, bool applied);
void report_command(struct report *r); /* one was started; of its failure an event tells */

/* `dropped`: lines that this life's readers were too slow for. */
void report_clients(struct report *r, uint32_t clients, uint64_t dropped);

#endif
