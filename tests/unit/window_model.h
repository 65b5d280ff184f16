/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The window as one would explain it: a list of intervals, oldest first, summed anew whenever somebody asks.
 */
#ifndef KPHI_TESTS_WINDOW_MODEL_H
#define KPHI_TESTS_WINDOW_MODEL_H

#include <kphi/window.h>
#include <string.h>

__extension__ typedef unsigned __int128 model_u128;

struct window_model {
	uint64_t list[KPHI_WINDOW_MAX], run[KPHI_RETUNE_RUN];
	uint32_t n, size, in_a_row;
	uint64_t interval_ns, cap_ns, max_interval_ns;
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
}

static inline model_u128 window_model_sum(const struct window_model *m)
{
	model_u128 sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		sum += m->list[i];
	return sum;
}

static inline model_u128 window_model_squares(const struct window_model *m)
{
	model_u128 sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		sum += (model_u128)m->list[i] * m->list[i];
	return sum;
}

static inline void window_model_learn(struct window_model *m, uint64_t x)
{
	if (m->n == m->size) {
		memmove(m->list, m->list + 1, (m->n - 1) * sizeof(*m->list));
		m->n--;
	}
	m->list[m->n++] = x;
}

/* Takes an interval, returns the notes. */
static inline uint32_t window_model_take(struct window_model *m, uint64_t x)
{
	if (x <= m->cap_ns) {
		m->in_a_row = 0;
		window_model_learn(m, x);
		if (!m->interval_ns && m->n == KPHI_LEARN_RUN) {
			m->interval_ns = (uint64_t)window_model_sum(m) / KPHI_LEARN_RUN;
			m->interval_ns += !m->interval_ns;
			m->cap_ns = window_model_cap(m->interval_ns, m->max_interval_ns);
		}
		return 0;
	}
	m->run[m->in_a_row++] = x < KPHI_INTERVAL_MAX_NS ? x : KPHI_INTERVAL_MAX_NS;
	if (m->in_a_row < KPHI_RETUNE_RUN)
		return KPHI_NOTE(capped);
	memcpy(m->list, m->run, sizeof(m->run));
	m->n = KPHI_RETUNE_RUN;
	m->in_a_row = 0;
	m->interval_ns = (uint64_t)(window_model_sum(m) / KPHI_RETUNE_RUN);
	m->cap_ns = window_model_cap(m->interval_ns, 0);
	return KPHI_NOTE(capped) | KPHI_NOTE(retuned);
}

/* The k-th oldest interval of a ring. */
static inline uint64_t window_ring_at(const struct kphi_window *w, const uint64_t *ring, uint32_t size,
				      uint32_t k)
{
	uint32_t next = w->next < size ? w->next : 0;

	return ring[(next + size - w->n + k) % size];
}

/* Does the window hold exactly what the model says? With `deep` its sums and every interval, else the cheap
 * part. */
static inline int window_model_same(const struct window_model *m, const struct kphi_window *w,
				    const uint64_t *ring, int deep)
{
	if (w->n != m->n || w->interval_ns != m->interval_ns || w->cap_ns != m->cap_ns ||
	    w->capped_run != m->in_a_row)
		return 0;
	if (!deep)
		return 1;
	if (window_model_sum(m) != w->sum_ns)
		return 0;
	if (window_model_squares(m) != ((model_u128)w->squares_high << 64 | w->squares_low))
		return 0;
	for (uint32_t k = 0; k < m->n; k++)
		if (window_ring_at(w, ring, m->size, k) != m->list[k])
			return 0;
	return 1;
}

#endif
