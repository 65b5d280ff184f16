/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One look at the store: every peer judged into the model, and what is said above the table. */
#ifndef KPHI_TOP_SAMPLE_H
#define KPHI_TOP_SAMPLE_H

#include "kernel/store.h"
#include "top/model.h"

/* What this host knows of its own stalls. */
struct top_guard {
	uint32_t stalled; /* CPUs that are stalled now */
	uint32_t cpu; /* one of them, and for how long: */
	uint64_t open_ns;
	uint64_t last_length_ns, last_end_ns; /* the last one that ended; 0: none */
	uint32_t last_cpu;
};

struct top_look {
	uint64_t now_ns;
	uint32_t capacity, busy; /* busy: peers that were being written all the time and are left out */
	struct top_guard guard;
	bool lives; /* the daemon; then: */
	struct kphi_daemon daemon;
};

/*
 * What the daemon thinks, into a row of the same life: what it withholds outranks what one look can tell, and
 * so does a suspicion at a lower threshold. What the peer has said of itself, down or left, stands.
 */
void sample_heed(struct top_row *row, const struct kphi_verdict *verdict);

void sample_take(struct top_look *look, struct top_model *m, const struct store *s, uint64_t now_ns);

/* The names of those consumers, with commas between; "" for none. Returns `text`. */
#define SAMPLE_NAMES 256
char *sample_consumers(const struct top_look *look, uint32_t bits, char text[SAMPLE_NAMES]);

/* "CPU 1 stalled for 812ms", "last stall 812ms, 4m05s ago" or "no stalls". Returns `text`. */
#define SAMPLE_GUARD 96
char *sample_guard(const struct top_look *look, char text[SAMPLE_GUARD]);

#endif
