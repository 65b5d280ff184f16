/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the next heartbeat is due: pure arithmetic on an absolute grid of slots. `now` is an argument.
 *
 * The grid is k * interval + phase on CLOCK_MONOTONIC; the phase comes from the node id, so that a thousand
 * nodes that boot together do not fire together. A slot's beat goes out at the slot, or, with jitter, a
 * uniformly random moment of at most `jitter_ns` after it. The jitter belongs to the beat and never moves the
 * grid, so the mean interval stays exact and nothing accumulates.
 *
 * A sender that wakes late (stopped, starved, stalled) sends one beat at once, since it is alive now, and
 * returns to the grid. The slots it slept through are skipped: they are counted, and nothing catches up.
 */
#ifndef KPHI_CORE_PACE_H
#define KPHI_CORE_PACE_H

#include <stdint.h>

/* In parts per million. Half: above it neighbours of an undisturbed sender would nearly touch. */
#define PACE_JITTER_MAX_PPM 500000

/* A beat is skipped when it would follow the one before by less than interval / PACE_GAP_DIVISOR. */
#define PACE_GAP_DIVISOR 4

struct pace {
	uint64_t interval_ns;
	uint64_t jitter_ns; /* the most that a beat follows its slot by */
	uint64_t random; /* state of the jitter's generator */
	uint64_t slot_ns; /* the slot being waited for, without its jitter */
	uint64_t due_ns; /* when its beat is to go out */
	uint64_t skipped; /* slots that passed without a beat */
};

/* Where in an interval the node's slots lie: 0 to interval_ns - 1, evenly spread over ids of any kind. */
uint64_t pace_phase_ns(const uint8_t id[16], uint64_t interval_ns);

/*
 * Begins at the first slot at or after `now_ns`. `interval_ns` is at least 1, `jitter_ppm` at most
 * PACE_JITTER_MAX_PPM; `seed` may be anything.
 */
void pace_start(struct pace *pace, const uint8_t id[16], uint64_t interval_ns, uint32_t jitter_ppm,
		uint64_t seed, uint64_t now_ns);

/*
 * After a beat that went out at `now_ns`, at or after due_ns: moves on to the next slot whose beat keeps the
 * smallest gap. Without a delay that is always the very next one. Times may wrap: only differences count.
 */
void pace_next(struct pace *pace, uint64_t now_ns);

#endif
