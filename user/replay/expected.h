/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The expected arrival of the next beat, as Chen, Toueg and Aguilera estimate it for NFD-E (2002, section 6):
 * the arrivals of the window, each shifted back by its sequence number of periods, have a mean, and the next
 * one will be that mean plus its own number of periods.
 *
 * They know the sender's period. Who listens to foreign senders does not, and a small error would be
 * multiplied by half a window; so unless it is given, the period is the slope of the regression line of
 * arrival times over sequence numbers in the same window: the best that a periodic sender allows.
 *
 * Everything is kept relative to the last arrival, in integers, so that nothing drifts and a stream may last
 * for years.
 */
#ifndef KPHI_REPLAY_EXPECTED_H
#define KPHI_REPLAY_EXPECTED_H

#include "core/fixed.h"
#include "replay/detector.h"

struct expected_arrival {
	uint64_t now_ns, number; /* the last arrival, from the first one */
};

struct expected {
	uint32_t size, n, next;
	uint64_t period_ns; /* given; 0: estimated */
	uint64_t interval_ns; /* in force: stands in for the slope of a single arrival */
	struct expected_arrival last;
	/* Over the window, how much older than the last arrival each is: its time, its number. */
	u128 times, numbers, products, squares;
	struct expected_arrival ring[];
};

size_t expected_size(const struct detector_settings *settings);
void expected_init(struct expected *e, const struct detector_settings *settings);
void expected_arrive(struct expected *e, const struct detector_arrival *a);

/* The period, ns: given, or the slope. */
double expected_period(const struct expected *e);

/* How long after the last arrival the next beat is expected, ns. */
double expected_silence(const struct expected *e);

#endif
