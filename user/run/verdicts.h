/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pinned map of verdicts. It is frozen, so it is written by way of the control program, by one daemon at
 * a time; readers, BPF programs included, take a verdict under its version word and believe it only until
 * valid_until_ns.
 */
#ifndef KPHI_RUN_VERDICTS_H
#define KPHI_RUN_VERDICTS_H

#include <kphi/maps.h>

#include "kernel/control.h"
#include "kernel/store.h"
#include "kernel/why.h"

struct verdicts {
	const struct kphi_verdict *map; /* the store's */
	struct control *control;
	uint32_t slots;
	uint32_t life; /* of this daemon: what is written in it is ours to keep fresh */
};

/* Highest token in any of them; 0: there is none. */
uint64_t verdicts_token(const struct store *s);

int verdicts_write(struct verdicts *v, uint32_t slot, const struct kphi_verdict *verdict, struct why *w);

/* Those of the slots from `first` up to `end` that are ours are valid until then. */
int verdicts_refresh(struct verdicts *v, uint32_t first, uint32_t end, uint64_t valid_until_ns,
		     struct why *w);

#define VERDICT_STATES (KPHI_VERDICT_BLIND + 1)

/* How many of ours are in each state. */
void verdicts_count(const struct verdicts *v, uint32_t count[VERDICT_STATES]);

#endif
