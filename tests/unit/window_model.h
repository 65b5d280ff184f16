/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window as one would explain it: a list of intervals, oldest first, summed anew whenever somebody asks;
 * and all that was ever learned in this life, as numbers of steps, for what is lost.
 */
#ifndef KPHI_TESTS_WINDOW_MODEL_H
#define KPHI_TESTS_WINDOW_MODEL_H

#include <kphi/window.h>
#include <string.h>

__extension__ typedef unsigned __int128 model_u128;

struct model_interval {
	uint64_t ns, steps;
};

struct window_model {
	struct model_interval list[KPHI_WINDOW_MAX], run[KPHI_RETUNE_RUN];
	uint32_t n, size, in_a_row;
	uint64_t interval_ns, cap_ns, max_interval_ns;
	uint64_t learned; /* in this life */
	struct kphi_losses losses;
};

static inline uint64_t window_model_cap(uint64_t interval_ns, uint64_t max_interval_ns)
{
	model_u128 cap = max_interval_ns ? max_interval_ns : (model_u128)interval_ns * 10;

	if (!interval_ns && !max_interval_ns)
		return KPHI_INTERVAL_MAX_NS;
	return cap < KPHI_INTERVAL_MAX_NS ? (uint64_t)cap : KPHI_INTERVAL_MAX_NS;
}

/* An empty window that goes by these settings. */
static inline void window_model_begin(struct window_model *m, uint32_t size, const struct kphi_peer *peer)
{
	m->n = 0;
	m->in_a_row = 0;
	m->size = size;
	m->interval_ns = peer->interval_ns;
	m->max_interval_ns = peer->max_interval_ns;
	m->cap_ns = window_model_cap(m->interval_ns, m->max_interval_ns);
	m->learned = 0;
	memset(&m->losses, 0, sizeof(m->losses));
}

/* Of all intervals, or of those of one step. */
struct model_sums {
	uint32_t n;
	model_u128 sum, squares;
};

static inline struct model_sums window_model_sums(const struct window_model *m, int clean)
{
	struct model_sums s = {0};

	for (uint32_t i = 0; i < m->n; i++) {
		if (clean && m->list[i].steps != 1)
			continue;
		s.n++;
		s.sum += m->list[i].ns;
		s.squares += (model_u128)m->list[i].ns * m->list[i].ns;
	}
	return s;
}

static inline void window_model_learn(struct window_model *m, uint64_t x, uint64_t steps)
{
	if (m->n == m->size) {
		memmove(m->list, m->list + 1, (m->n - 1) * sizeof(*m->list));
		m->n--;
	}
	m->list[m->n++] = (struct model_interval){x, steps};
}

/* Within a quarter of a mean of a multiple of the mean, two or more: then it is that many. */
static inline uint64_t window_model_guess(const struct window_model *m, uint64_t x)
{
	struct model_sums clean = window_model_sums(m, 1);
	uint64_t mean = clean.n >= 8 ? (uint64_t)(clean.sum / clean.n) : m->interval_ns;
	uint64_t whole = mean ? x / mean : 0, after = mean ? x % mean : 0;

	if (whole >= 2 && after <= mean / 4)
		return whole;
	if (whole >= 1 && mean - after <= mean / 4)
		return whole + 1;
	return 1;
}

/*
 * The memory is full with 4096 intervals; half of it is forgotten then, so it is full again 2048 later. The
 * long one goes by the number of intervals alone.
 */
static inline void window_model_lose(struct window_model *m, uint64_t steps)
{
	struct kphi_losses *l = &m->losses;

	if (m->learned >= 4096 && m->learned % 2048 == 0) {
		l->runs /= 2;
		l->lost /= 2;
	}
	if (m->learned && m->learned % 65536 == 0)
		l->lost_long /= 2;
	l->beats = (uint32_t)(m->learned < 4096 ? m->learned : 2048 + m->learned % 2048) + 1;
	l->beats_long = (uint32_t)(m->learned % 65536) + 1;
	l->runs += steps != 1;
	l->lost += (uint32_t)steps - 1;
	l->lost_long += (uint32_t)steps - 1;
	m->learned++;
}

static inline uint32_t window_model_cap_one(struct window_model *m, uint64_t x, uint64_t steps)
{
	m->run[m->in_a_row++] =
		(struct model_interval){x < KPHI_INTERVAL_MAX_NS ? x : KPHI_INTERVAL_MAX_NS, steps};
	if (m->in_a_row < KPHI_RETUNE_RUN)
		return KPHI_NOTE(capped);
	memcpy(m->list, m->run, sizeof(m->run));
	m->n = KPHI_RETUNE_RUN;
	m->in_a_row = 0;
	m->interval_ns = (uint64_t)(window_model_sums(m, 0).sum / KPHI_RETUNE_RUN);
	m->cap_ns = window_model_cap(m->interval_ns, 0);
	return KPHI_NOTE(capped) | KPHI_NOTE(retuned);
}

/* Takes an interval of so many steps (0: not known), returns the notes. */
static inline uint32_t window_model_take(struct window_model *m, uint64_t x, uint64_t steps)
{
	uint64_t known = steps < 65535 ? steps : 65535;

	if (x > m->cap_ns)
		return window_model_cap_one(m, x, known);
	m->in_a_row = 0;
	if (!steps)
		known = window_model_guess(m, x);
	known = known < 65535 ? known : 65535;
	window_model_learn(m, x, known);
	window_model_lose(m, known);
	if (!m->interval_ns && m->n == KPHI_LEARN_RUN) {
		m->interval_ns = (uint64_t)window_model_sums(m, 0).sum / KPHI_LEARN_RUN;
		m->interval_ns += !m->interval_ns;
		m->cap_ns = window_model_cap(m->interval_ns, m->max_interval_ns);
	}
	return 0;
}

/* The k-th oldest entry of a ring. */
static inline uint64_t window_ring_at(const struct kphi_window *w, const uint64_t *ring, uint32_t size,
				      uint32_t k)
{
	uint32_t next = w->next < size ? w->next : 0;

	return ring[(next + size - w->n + k) % size];
}

/* Is this what a ring has for interval k? */
static inline int window_model_entry(const struct window_model *m, uint32_t k, uint64_t entry)
{
	return entry == (m->list[k].steps << 48 | m->list[k].ns);
}

static inline int window_model_same_sums(const struct window_model *m, const struct kphi_window *w)
{
	struct model_sums all = window_model_sums(m, 0), clean = window_model_sums(m, 1);

	return all.sum == w->sum_ns && all.squares == ((model_u128)w->squares_high << 64 | w->squares_low) &&
	       clean.n == w->clean_n && clean.sum == w->clean_sum_ns &&
	       clean.squares == ((model_u128)w->clean_squares_high << 64 | w->clean_squares_low);
}

/* Does the window hold exactly what the model says? With `deep` its sums and every interval, else the cheap
 * part. */
static inline int window_model_same(const struct window_model *m, const struct kphi_window *w,
				    const uint64_t *ring, int deep)
{
	if (w->n != m->n || w->interval_ns != m->interval_ns || w->cap_ns != m->cap_ns ||
	    w->capped_run != m->in_a_row || memcmp(&w->losses, &m->losses, sizeof(m->losses)))
		return 0;
	if (!deep)
		return 1;
	if (!window_model_same_sums(m, w))
		return 0;
	for (uint32_t k = 0; k < m->n; k++)
		if (!window_model_entry(m, k, window_ring_at(w, ring, m->size, k)))
			return 0;
	return 1;
}

#endif
