// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/expected.h"

/* A sender's jump is no more than this many beats here, so that no sum of squares leaves 128 bits. */
#define STEPS_MAX (1ULL << 32)

size_t expected_size(const struct detector_settings *settings)
{
	return sizeof(struct expected) + settings->window * sizeof(struct expected_arrival);
}

static void put(struct expected *e)
{
	e->ring[e->next] = e->last;
	e->next = e->next + 1 == e->size ? 0 : e->next + 1;
	e->n++;
}

void expected_init(struct expected *e, const struct detector_settings *settings)
{
	*e = (struct expected){
		.size = settings->window,
		.period_ns = settings->period_ns,
		.interval_ns = settings->interval_ns,
	};
	put(e);
}

static void evict(struct expected *e)
{
	u128 time = e->last.now_ns - e->ring[e->next].now_ns;
	u128 number = e->last.number - e->ring[e->next].number;

	e->n--;
	e->times -= time;
	e->numbers -= number;
	e->products -= time * number;
	e->squares -= number * number;
}

/* All that is in the window is older by one interval. */
static void age(struct expected *e, uint64_t time, uint64_t number)
{
	e->products += (u128)time * e->numbers + number * e->times + (u128)time * number * e->n;
	e->squares += 2 * number * e->numbers + (u128)number * number * e->n;
	e->times += (u128)time * e->n;
	e->numbers += (u128)number * e->n;
	e->last.now_ns += time;
	e->last.number += number;
}

void expected_arrive(struct expected *e, const struct detector_arrival *a)
{
	uint64_t steps = a->steps < STEPS_MAX ? a->steps : STEPS_MAX;

	if (e->n == e->size)
		evict(e);
	age(e, a->silence_ns, steps);
	e->interval_ns = a->interval_ns;
	put(e);
}

double expected_period(const struct expected *e)
{
	double n = e->n, times = (double)e->times, numbers = (double)e->numbers;
	double spread = n * (double)e->squares - numbers * numbers;

	if (e->period_ns)
		return (double)e->period_ns;
	return spread > 0 ? (n * (double)e->products - times * numbers) / spread : (double)e->interval_ns;
}

double expected_silence(const struct expected *e)
{
	double n = e->n;

	return expected_period(e) * (1 + (double)e->numbers / n) - (double)e->times / n;
}
