/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pinned map of verdicts, mapped for writing: this daemon is the only writer. Readers, BPF programs
 * included, take a verdict under its version word and believe it only until valid_until_ns.
 */
#ifndef KPHI_RUN_VERDICTS_H
#define KPHI_RUN_VERDICTS_H

#include <kphi/maps.h>

#include "kernel/pin.h"
#include "kernel/why.h"

struct verdicts {
	struct kphi_verdict *map;
	uint32_t slots;
	uint8_t *ours; /* a byte a slot: published in this life, so it is ours to keep fresh */
};

int verdicts_open(struct verdicts *v, const struct pin *pin, uint32_t slots, struct why *w);
void verdicts_close(struct verdicts *v);

/* What the last daemon left there, whatever has become of the slot since. */
struct kphi_verdict verdicts_read(const struct verdicts *v, uint32_t slot);

/* Highest token in any of them; 0: there is none. */
uint64_t verdicts_token(const struct verdicts *v);

void verdicts_write(struct verdicts *v, uint32_t slot, const struct kphi_verdict *verdict);

/* Those of the slots from `first` up to `end` that are ours are valid until then. */
void verdicts_refresh(struct verdicts *v, uint32_t first, uint32_t end, uint64_t valid_until_ns);

/* How many of ours are in this state. */
uint32_t verdicts_count(const struct verdicts *v, enum kphi_verdict_state state);

#endif
