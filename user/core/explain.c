// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/explain.h"

#include <kphi/bfd.h>
#include <kphi/window.h>

#include "core/silence.h"

bool explain_models(struct explain_model models[KPHI_MODELS], const struct kphi_window *w,
		    const struct kphi_peer *peer, const uint64_t *ring, uint64_t silence_ns,
		    const struct explain_thresholds *thresholds)
{
	struct kphi_peer other = *peer;
	struct kphi_estimate e;

	for (unsigned model = 0; model < KPHI_MODELS; model++) {
		other.model = (uint8_t)model;
		if (!estimate_from_window(&e, w, &other, ring))
			return false;
		models[model].phi = estimate_phi(&e, silence_ns);
		for (size_t i = 0; i < thresholds->n; i++)
			models[model].reach_ns[i] = estimate_silence_at(&e, &thresholds->at[i]);
	}
	return true;
}

/* Keeps the newest first. */
static void insert_stall(struct explain_stall *stalls, size_t n, const struct explain_stall *s)
{
	for (; n && stalls[n - 1].end_ns < s->end_ns; n--)
		stalls[n] = stalls[n - 1];
	stalls[n] = *s;
}

/* A tick adds the whole of a stall to its total, and a beat in the midst of one takes note of what that came
 * to. */
static struct explain_stall stall_since(uint64_t last_ns, uint64_t end_ns, uint64_t length_ns)
{
	uint64_t since_ns = end_ns - last_ns;

	return (struct explain_stall){
		.end_ns = end_ns,
		.length_ns = length_ns,
		.discounted_ns = length_ns < since_ns ? length_ns : since_ns,
	};
}

size_t explain_stalls(struct explain_stall stalls[KPHI_STALLS + 1], const struct kphi_record *r,
		      const struct kphi_tick *t, uint64_t now_ns)
{
	uint64_t open_ns = silence_open_stall_ns(t, now_ns);
	struct explain_stall s;
	size_t n = 0;

	if (open_ns && now_ns > r->last_ns) {
		s = stall_since(r->last_ns, now_ns, open_ns);
		s.open = true;
		insert_stall(stalls, n++, &s);
	}
	for (uint32_t i = 0; i < KPHI_STALLS; i++) {
		if (!t->stall[i].length_ns || t->stall[i].end_ns <= r->last_ns)
			continue;
		s = stall_since(r->last_ns, t->stall[i].end_ns, t->stall[i].length_ns);
		insert_stall(stalls, n++, &s);
	}
	return n;
}

struct kphi_window explain_clean(const struct kphi_window *w)
{
	return (struct kphi_window){
		.n = w->clean_n,
		.sum_ns = w->clean_sum_ns,
		.squares_high = w->clean_squares_high,
		.squares_low = w->clean_squares_low,
	};
}

uint64_t explain_largest_ns(const uint64_t *ring, uint32_t n)
{
	uint64_t largest_ns = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((ring[i] & KPHI_RING_NS) > largest_ns)
			largest_ns = ring[i] & KPHI_RING_NS;
	return largest_ns;
}

void explain_chances(const struct kphi_losses *l, q32_t *lost, q32_t *again)
{
	struct loss_process process;

	loss_process_learn(&process, l);
	*lost = div_floor((u128)process.lost << 32, process.beats);
	*again = div_floor((u128)process.again << 32, process.losses);
}

enum explain_origin explain_interval_origin(const struct kphi_record *r, const struct kphi_peer *peer,
					    const struct kphi_rule *rule)
{
	bool bfd = rule && rule->decoder == KPHI_DECODER_BFD && r->state != KPHI_WAITING;
	uint64_t said_ns = bfd ? kphi_bfd_interval_ns(&r->bfd, rule->local_rx_ns) : peer->interval_ns;

	if (!r->window.interval_ns)
		return ORIGIN_UNKNOWN;
	if (!said_ns)
		return ORIGIN_LEARNED;
	if (r->window.interval_ns != said_ns)
		return ORIGIN_RETUNED;
	return bfd ? ORIGIN_ANNOUNCED : ORIGIN_CONFIGURED;
}

enum explain_origin explain_cap_origin(const struct kphi_window *w, const struct kphi_peer *peer)
{
	if (peer->max_interval_ns && w->cap_ns == kphi_window_cap(w->interval_ns, peer->max_interval_ns))
		return ORIGIN_CONFIGURED;
	return w->interval_ns ? ORIGIN_INTERVAL : ORIGIN_UNKNOWN;
}
