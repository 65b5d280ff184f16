/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sequence numbers of one life, with a 64-wide window behind the highest one (the idea of RFC 4303,
 * section 3.4.3). Only a newer number is a beat; an older one that was not seen is `reordered`, one that was
 * is a `duplicate`, one behind the window is stale. The kernel, replay and the tests run this same text.
 */
#ifndef KPHI_SEQUENCE_H
#define KPHI_SEQUENCE_H

#include "maps.h"

#define KPHI_SEQUENCE_WIDTH 64

KPHI_INLINE void kphi_sequence_begin(struct kphi_sequence *s, uint64_t first)
{
	s->first = first;
	s->highest = first;
	s->seen = 1;
	s->lost = 0;
	s->settled_lost = 0;
}

KPHI_INLINE uint64_t kphi_ones(uint64_t x)
{
	x = x - ((x >> 1) & 0x5555555555555555ULL);
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

/* How many unseen numbers of this life leave the window when it moves forward by `step` > 0. */
KPHI_INLINE uint64_t kphi_sequence_settle(const struct kphi_sequence *s, uint64_t step)
{
	uint64_t behind = s->highest - s->first; /* numbers of this life below the highest */
	uint64_t unseen = ~s->seen;

	if (behind < KPHI_SEQUENCE_WIDTH - 1)
		unseen &= (2ULL << behind) - 1;
	if (step >= KPHI_SEQUENCE_WIDTH)
		return kphi_ones(unseen) + (step - KPHI_SEQUENCE_WIDTH);
	return kphi_ones(unseen >> (KPHI_SEQUENCE_WIDTH - step));
}

/* Classify and remember a number: returns KPHI_COUNT_beat, _duplicate, _reordered or _stale_sequence. */
KPHI_INLINE enum kphi_counter kphi_sequence_take(struct kphi_sequence *s, uint64_t number)
{
	uint64_t bit;

	if (number > s->highest) {
		uint64_t step = number - s->highest;

		s->settled_lost += kphi_sequence_settle(s, step);
		s->lost += step - 1;
		s->seen = step < KPHI_SEQUENCE_WIDTH ? s->seen << step | 1 : 1;
		s->highest = number;
		return KPHI_COUNT_beat;
	}
	if (s->highest - number >= KPHI_SEQUENCE_WIDTH)
		return KPHI_COUNT_stale_sequence;
	bit = 1ULL << (s->highest - number);
	if (s->seen & bit)
		return KPHI_COUNT_duplicate;
	s->seen |= bit;
	if (number > s->first) /* what came before the first one was never counted as lost */
		s->lost--;
	return KPHI_COUNT_reordered;
}

/*
 * How far a number of `bits` bits (8 to 64) is ahead of the highest one, or, below zero, behind it: the
 * shorter way round.
 */
KPHI_INLINE int64_t kphi_sequence_ahead(const struct kphi_sequence *s, uint64_t number, uint32_t bits)
{
	uint32_t rest = (64 - bits) & 63;

	return (int64_t)((number - s->highest) << rest) >> rest;
}

#define KPHI_SEQUENCE_DROPOUT 3000 /* a larger step forward is a jump, as is one behind the window */
#define KPHI_SEQUENCE_JUMPED  2 /* so many numbers in a row after a jump are a new life */
#define KPHI_SEQUENCE_AGAIN   3 /* and so many in a row of which each was old already */

/* How such a row is remembered in 32 bits: its length, and of the number that would go on with it the low
 * bits. */
#define KPHI_RESYNC_SHIFT 24
#define KPHI_RESYNC_NEXT  ((1U << KPHI_RESYNC_SHIFT) - 1)

/*
 * The same for senders without an epoch, whose numbers are of `bits` bits and come round. A restarted sender
 * begins somewhere else, and so does a forged or long delayed packet: only the very next number after such a
 * jump says that it was a restart (the idea of RFC 3550, A.1). A sender that restarts before it has left the
 * window behind says again what it has said; that much a network can do, too, but hardly three times in a
 * row with nothing new in between. *resync remembers the row between the calls; *restart is set if a new life
 * begins with this number.
 */
KPHI_INLINE enum kphi_counter kphi_sequence_resync(struct kphi_sequence *s, uint64_t number, uint32_t bits,
						   uint32_t *resync, uint32_t *restart)
{
	uint32_t mask = bits < KPHI_RESYNC_SHIFT ? (1U << bits) - 1 : KPHI_RESYNC_NEXT;
	int64_t ahead = kphi_sequence_ahead(s, number, bits);
	uint64_t back = -(uint64_t)ahead;
	uint32_t row = 1, jumped;

	if (*resync && (*resync & KPHI_RESYNC_NEXT) == (number & mask))
		row += *resync >> KPHI_RESYNC_SHIFT;
	*resync = 0;
	if (ahead > 0 && ahead <= KPHI_SEQUENCE_DROPOUT && (uint64_t)ahead <= ~s->highest)
		return kphi_sequence_take(s, s->highest + (uint64_t)ahead);
	jumped = ahead > 0 || back >= KPHI_SEQUENCE_WIDTH || back > s->highest;
	if (row >= (jumped ? KPHI_SEQUENCE_JUMPED : KPHI_SEQUENCE_AGAIN)) {
		*restart = 1;
		return KPHI_COUNT_beat;
	}
	*resync = row << KPHI_RESYNC_SHIFT | ((uint32_t)(number + 1) & mask);
	return jumped ? KPHI_COUNT_stale_sequence : kphi_sequence_take(s, s->highest - back);
}

#endif
