// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/silence.h"

static uint64_t elapsed_ns(const struct kphi_record *r, uint64_t now_ns)
{
	return now_ns > r->last_ns ? now_ns - r->last_ns : 0;
}

/* A tick that is overdue stands for a stall that goes on: softirq work runs before the timer can say so
 * itself. */
uint64_t silence_open_stall_ns(const struct kphi_tick *t, uint64_t now_ns)
{
	uint64_t last_ns = __atomic_load_n(&t->last_ns, __ATOMIC_ACQUIRE);
	uint64_t gap = last_ns && now_ns > last_ns ? now_ns - last_ns : 0;

	return gap > KPHI_TICK_LIMIT_NS && gap <= SILENCE_OPEN_MAX_NS ? gap : 0;
}

uint64_t silence_discount_ns(const struct kphi_record *r, const struct kphi_tick *t, uint64_t now_ns)
{
	/*
	 * The open stall first: a late tick adds to the total before it moves last_ns, so whoever no longer
	 * sees the stall open sees it in the total. The other way round it could be missed for one look.
	 */
	uint64_t open = silence_open_stall_ns(t, now_ns);
	uint64_t stalled = __atomic_load_n(&t->stalled_total_ns, __ATOMIC_RELAXED) + open;
	uint64_t most = SILENCE_DISCOUNT_MAX_NS + SILENCE_DISCOUNT_INTERVALS * r->window.interval_ns;
	uint64_t elapsed = elapsed_ns(r, now_ns);

	stalled = stalled > r->stalled_copy_ns ? stalled - r->stalled_copy_ns : 0;
	if (stalled > most)
		stalled = most;
	return stalled < elapsed ? stalled : elapsed;
}

uint64_t silence_ns(const struct kphi_record *r, const struct kphi_tick *t, uint64_t now_ns)
{
	return elapsed_ns(r, now_ns) - silence_discount_ns(r, t, now_ns);
}
