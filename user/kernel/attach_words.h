/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an attachment means, for people: why it is what it is, and what that does to the stamps. */
#ifndef KPHI_KERNEL_ATTACH_WORDS_H
#define KPHI_KERNEL_ATTACH_WORDS_H

#include "kernel/attach.h"
#include "kernel/why.h"

struct attach_words {
	const char *attach; /* "link" or "filter": what holds it */
	const char *state; /* "attached", "gone", or "unknown": a filter in another network namespace */
	struct why why; /* it is not native XDP, a sentence; "" if it is */
	char stamps[512]; /* where beats are stamped, and what that means */
	uint32_t occupant; /* id of somebody else's XDP program on the device; 0: none, or not to be seen */
	char occupant_name[64];
};

void attach_words(const struct attachment *a, struct attach_words *t);

#endif
