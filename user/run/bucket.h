/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rate limit with a burst, as one number: when the bucket will be full again. */
#ifndef KPHI_RUN_BUCKET_H
#define KPHI_RUN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One token every `period_ns`, at most `burst` of them saved up; *full_ns starts at 0, a full bucket. True: a
 * token was taken.
 */
static inline bool bucket_take(uint64_t *full_ns, uint64_t now_ns, uint64_t period_ns, uint64_t burst)
{
	uint64_t from_ns = *full_ns > now_ns ? *full_ns : now_ns;

	if (from_ns - now_ns > (burst - 1) * period_ns)
		return false;
	*full_ns = from_ns + period_ns;
	return true;
}

#endif
