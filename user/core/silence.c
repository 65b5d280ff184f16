// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/silence.h"

static uint64_t elapsed_ns(const struct kphi_record *r, uint64_t now_ns)
{
	return now_ns > r->last_ns ? now_ns - r->last_ns : 0;
}

/* A tick that is overdue stands for a stall that goes on: softirq work runs before the timer can say so
 * itself. */
static uint64_t open_stall_ns(const struct kphi_tick *t, uint64_t now_ns)
{
	if (!t->last_ns || now_ns <= t->last_ns || now_ns - t->last_ns <= SILENCE_TICK_LIMIT_NS)
		return 0;
	return now_ns - t->last_ns;
}

uint64_t silence_discount_ns(const struct kphi_record *r, const struct kphi_tick *t, uint64_t now_ns)
{
	uint64_t stalled = t->stalled_total_ns + open_stall_ns(t, now_ns);
	uint64_t elapsed = elapsed_ns(r, now_ns);

	stalled = stalled > r->stalled_copy_ns ? stalled - r->stalled_copy_ns : 0;
	return stalled < elapsed ? stalled : elapsed;
}

uint64_t silence_ns(const struct kphi_record *r, const struct kphi_tick *t, uint64_t now_ns)
{
	return elapsed_ns(r, now_ns) - silence_discount_ns(r, t, now_ns);
}
