/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is behind the handle of <kphi.h>: nothing in it changes after kphi_open(). */
#ifndef KPHI_LIB_HANDLE_H
#define KPHI_LIB_HANDLE_H

#include <kphi.h>
#include <sys/types.h>

#include "core/policy.h"
#include "kernel/pin.h"
#include "kernel/store.h"

#define HANDLE_READY 16
#define HANDLE_USUAL (POLICY_SUSPECT / Q32_ONE) /* 8: where no threshold is named */

struct kphi {
	struct store store;
	struct pin pin;
	struct threshold
		ready[HANDLE_READY]; /* of phi 1, 2 and so on: making one takes longer than a query */
	dev_t device; /* of the pin of the store's header, by which it is known again */
	ino_t inode;
};

/* Makes the thresholds ready. */
static inline void handle_prepare(struct kphi *k)
{
	for (uint32_t phi = 1; phi <= HANDLE_READY; phi++)
		threshold_prepare(&k->ready[phi - 1], phi * Q32_ONE);
}

#endif
