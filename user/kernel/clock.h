/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one clock: CLOCK_MONOTONIC, which is what the kernel side stamps with. */
#ifndef KPHI_KERNEL_CLOCK_H
#define KPHI_KERNEL_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "kernel/why.h"

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is it that one here? 0, or -EXDEV with a sentence: a time namespace has another. */
int clock_check(struct why *w);

#endif
