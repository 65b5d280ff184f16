// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/grace.h"

#include <kphi/record.h>

#include "core/silence.h"

/* The stalls of one silence, folded together. */
struct fold {
	uint64_t last_ns, interval_ns, min_std_ns; /* of the peer */
	uint64_t first_end_ns; /* of the first stall; 0: none */
	uint64_t until_ns, longest_ns;
};

static void add_stall(struct fold *f, uint64_t end_ns, uint64_t length_ns)
{
	uint64_t grace_ns = length_ns;

	if (end_ns <= f->last_ns || !length_ns || length_ns < f->min_std_ns)
		return;
	if (grace_ns < f->interval_ns)
		grace_ns = f->interval_ns;
	if (grace_ns > GRACE_INTERVALS * f->interval_ns)
		grace_ns = GRACE_INTERVALS * f->interval_ns;
	if (!f->first_end_ns || end_ns < f->first_end_ns)
		f->first_end_ns = end_ns;
	if (end_ns + grace_ns > f->until_ns)
		f->until_ns = end_ns + grace_ns;
	if (length_ns > f->longest_ns)
		f->longest_ns = length_ns;
}

struct grace grace_at(const struct kphi_record *r, const struct kphi_peer *p, const struct kphi_tick *t,
		      uint64_t now_ns)
{
	struct fold f = {r->last_ns, r->window.interval_ns, kphi_min_std(&r->window, p), 0, 0, 0};
	struct grace g = {0, 0};
	uint64_t bound_ns;

	if (r->state != KPHI_UP || !f.interval_ns)
		return g;
	for (uint32_t i = 0; i < KPHI_STALLS; i++)
		add_stall(&f, t->stall[i].end_ns, t->stall[i].length_ns);
	/* A suspend is in no ring. */
	if (t->stall_end_ns == t->stall_length_end_ns)
		add_stall(&f, t->stall_end_ns, t->stall_length_ns);
	add_stall(&f, now_ns, silence_open_stall_ns(t, now_ns));
	bound_ns = f.first_end_ns + GRACE_INTERVALS * f.interval_ns;
	if (f.until_ns > bound_ns)
		f.until_ns = bound_ns;
	if (f.until_ns > now_ns)
		g = (struct grace){f.until_ns, f.longest_ns};
	return g;
}
