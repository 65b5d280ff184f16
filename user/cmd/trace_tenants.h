/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who lives in which slot while arrivals are recorded, and what the trace has to be told so that a replay
 * goes through the very states that each record goes through: what the record was when it began, each message
 * in the order in which the record took it, resets, and, behind arrivals that were lost, what became of it.
 */
#ifndef KPHI_CMD_TRACE_TENANTS_H
#define KPHI_CMD_TRACE_TENANTS_H

#include "kernel/store.h"
#include "trace/order.h"
#include "trace/writer.h"

#define TENANTS_NAMES_MAX 64

struct tenant {
	uint32_t generation;
	uint32_t number; /* in the trace */
	uint64_t interval_ns, max_interval_ns; /* of its settings */
	enum { TENANT_UNKNOWN, TENANT_WANTED, TENANT_UNWANTED } is;
	bool astray; /* changes of its record are missing: the trace needs to be told what it is */
};

/* Zeroed but for the settings. */
struct tenants {
	/* settings */
	const struct store *store;
	struct trace_writer *trace;
	char names[TENANTS_NAMES_MAX][KPHI_NAME_SIZE]; /* that are wanted; none: all */
	uint32_t names_count;
	bool vitals; /* what replay does not need: load, capacity, version of the cluster */

	struct order order;
	struct tenant *tenant; /* by slot */
	uint32_t astray;
	uint64_t *ring; /* room for one */
	int error; /* of the file, or of memory */
	uint64_t peers, written;
	uint64_t strangers; /* messages of peers that were deleted before anybody could ask who they were */
};

/* Writes everybody who is there, with the record as it is: what was in it before is not recorded again.
 * Arrivals have to be told from before on. 0 or t->error. */
int tenants_begin(struct tenants *t);

/* One more change, from the ring buffer. 0 or t->error. */
int tenants_take(struct tenants *t, const struct kphi_arrival *arrival, uint64_t now_ns);

/*
 * To be called now and then: does not wait any longer for what is missing, and tells the trace of each record
 * that has gone astray, as soon as all its arrivals are written. now_ns of UINT64_MAX: nothing more will
 * come.
 */
int tenants_tidy(struct tenants *t, uint64_t now_ns);

uint64_t
tenants_lost(const struct tenants *t); /* messages that were told, but are not in the trace, so far */

void tenants_end(struct tenants *t);

#endif
