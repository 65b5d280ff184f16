/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sequence numbers as one would explain them: remember every number of this life, and count anew when
 * somebody asks. */
#ifndef KPHI_TESTS_SEQUENCE_MODEL_H
#define KPHI_TESTS_SEQUENCE_MODEL_H

#include <kphi/sequence.h>
#include <stdbool.h>

#define SEQUENCE_MODEL_MAX 256 /* numbers in one life */

struct sequence_model {
	uint64_t taken[SEQUENCE_MODEL_MAX]; /* the first one first */
	uint32_t n;
	uint64_t highest;
};

static inline void sequence_model_begin(struct sequence_model *m, uint64_t first)
{
	m->taken[0] = first;
	m->n = 1;
	m->highest = first;
}

static inline bool sequence_model_has(const struct sequence_model *m, uint64_t number)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->taken[i] == number)
			return true;
	return false;
}

static inline enum kphi_counter sequence_model_take(struct sequence_model *m, uint64_t number)
{
	enum kphi_counter result = KPHI_COUNT_reordered;

	if (number <= m->highest && m->highest - number > 63)
		return KPHI_COUNT_stale_sequence;
	if (sequence_model_has(m, number))
		return KPHI_COUNT_duplicate;
	if (number > m->highest) {
		m->highest = number;
		result = KPHI_COUNT_beat;
	}
	m->taken[m->n++] = number;
	return result;
}

/* How many numbers from the first one to `last` were not taken. */
static inline uint64_t sequence_model_missing(const struct sequence_model *m, uint64_t last)
{
	uint64_t first = m->taken[0], missing = last - first;

	for (uint32_t i = 1; i < m->n; i++)
		missing -= m->taken[i] > first && m->taken[i] <= last;
	return missing;
}

static inline uint64_t sequence_model_lost(const struct sequence_model *m)
{
	return sequence_model_missing(m, m->highest);
}

/* Of the lost, those that the window has left behind. */
static inline uint64_t sequence_model_settled(const struct sequence_model *m)
{
	if (m->highest - m->taken[0] < 64)
		return 0;
	return sequence_model_missing(m, m->highest - 64);
}

/* Bit i: highest - i was taken. */
static inline uint64_t sequence_model_seen(const struct sequence_model *m)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->highest - m->taken[i] < 64)
			seen |= 1ULL << (m->highest - m->taken[i]);
	return seen;
}

static inline bool sequence_model_same(const struct sequence_model *m, const struct kphi_sequence *s)
{
	return s->first == m->taken[0] && s->highest == m->highest && s->seen == sequence_model_seen(m) &&
	       s->lost == sequence_model_lost(m) && s->settled_lost == sequence_model_settled(m);
}

/* --- numbers that come round, of senders without an epoch --- */

__extension__ typedef unsigned __int128 sequence_wide;

struct resync_model {
	struct sequence_model life;
	uint32_t bits;
	uint64_t refused; /* the last number, if it was refused as old or as a jump ... */
	uint32_t row; /* ... and how many in a row were, each one more than the one before */
};

/* How many steps of one lead from number a to number b. */
static inline uint64_t resync_model_steps(const struct resync_model *m, uint64_t a, uint64_t b)
{
	sequence_wide round = (sequence_wide)1 << m->bits;

	return (uint64_t)((round + b % round - a % round) % round);
}

static inline void resync_model_begin(struct resync_model *m, uint64_t first)
{
	sequence_model_begin(&m->life, first);
	m->row = 0;
}

/* Refused as old or as a jump: true if it is the last of so many in a row that a new life begins. */
static inline bool resync_model_row(struct resync_model *m, uint64_t number, uint32_t enough)
{
	m->row = m->row && resync_model_steps(m, m->refused, number) == 1 ? m->row + 1 : 1;
	m->refused = number;
	return m->row >= enough;
}

static inline enum kphi_counter resync_model_take(struct resync_model *m, uint64_t number, bool *restart)
{
	uint64_t forward = resync_model_steps(m, m->life.highest, number);
	uint64_t back = resync_model_steps(m, number, m->life.highest);
	bool is_ahead = forward && forward < back; /* half way round is behind */
	bool jump = is_ahead ? forward > 3000 || (sequence_wide)m->life.highest + forward > UINT64_MAX
			     : back > 63 || back > m->life.highest;

	*restart = false;
	if (is_ahead && !jump) {
		m->row = 0;
		return sequence_model_take(&m->life, m->life.highest + forward);
	}
	if (resync_model_row(m, number, jump ? 2 : 3)) {
		*restart = true;
		resync_model_begin(m, number);
		return KPHI_COUNT_beat;
	}
	return jump ? KPHI_COUNT_stale_sequence : sequence_model_take(&m->life, m->life.highest - back);
}

#endif
