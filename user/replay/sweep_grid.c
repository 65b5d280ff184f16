// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which parameters a sweep tries, and which settings of a model. */
#include <math.h>

#include "replay/sweep.h"

#define HALVES_UP_TO 20
#define UP_TO        100000 /* Akka's curve is steep: this is some 150 deviations */

#define POINTS       48 /* of a yardstick */
#define POINTS_STATE 20 /* of one that keeps a state a point */
#define PATIENCE     40 /* intervals */

/* In thousandths of the interval. */
static const uint32_t pauses[] = {0, 1000, 2000, 3000};
static const uint32_t min_stds[] = {20, 100, 250};

#define DEFAULT_PAUSE   3000
#define DEFAULT_MIN_STD 100

uint32_t sweep_thresholds(struct sweep_curve *c)
{
	uint64_t threshold = HALVES_UP_TO;

	c->n = 0;
	for (uint32_t halves = 1; halves <= 2 * HALVES_UP_TO; halves++)
		c->point[c->n++].threshold = halves * (Q32_ONE / 2);
	while (threshold < UP_TO) {
		threshold += threshold / 4;
		c->point[c->n++].threshold = threshold * Q32_ONE;
	}
	return c->n;
}

/* In equal ratios, with three digits as one would write them; of whole numbers each once. */
static void geometric(struct sweep_curve *c, double from, double to, uint32_t points, bool whole)
{
	double last = 0;

	c->n = 0;
	for (uint32_t i = 0; i < points; i++) {
		double x = from * pow(to / from, (double)i / (points - 1));
		double digit = whole ? 1 : pow(10, floor(log10(x)) - 2);

		x = round(x / digit) * digit;
		if (x > last)
			c->point[c->n++].parameter = last = x;
	}
}

uint32_t sweep_parameters(struct sweep_curve *c, uint64_t shortest_ns, uint64_t longest_ns)
{
	const struct detector *d = c->detector;
	double shortest = (double)shortest_ns, longest = PATIENCE * (double)longest_ns;

	if (d == &detector_fixed)
		geometric(c, shortest, longest, POINTS, false);
	else if (d->unit == DETECTOR_TIME)
		geometric(c, shortest / 100, longest, POINTS, false);
	else if (d == &detector_bfd)
		geometric(c, 1, UINT8_MAX, POINTS, true); /* that is what fits into a packet */
	else if (d == &detector_cassandra)
		geometric(c, 0.4, PATIENCE / 2.0, POINTS, false); /* 2.3 means each */
	else
		geometric(c, 0.5, UP_TO, d->learns_by_verdict ? POINTS_STATE : POINTS, false);
	return c->n;
}

/* What a peer of this model makes of an interval of a second: has the model this setting at all? */
static void ask_model(int model, bool *pause, bool *min_std)
{
	struct kphi_window w = {.interval_ns = 1000000000};
	struct kphi_peer peer = {.model = (uint8_t)model};

	*pause = effective_pause_ns(&w, &peer) != 0;
	*min_std = effective_min_std_ns(&w, &peer) != 0;
}

uint32_t sweep_model(struct sweep_curve *curves, uint32_t room, int model, bool default_settings)
{
	uint32_t n = 0, pauses_count, min_stds_count;
	struct replay_tuning t = {0};

	ask_model(model, &t.pause, &t.min_std);
	pauses_count = t.pause ? sizeof(pauses) / sizeof(*pauses) : 1;
	min_stds_count = t.min_std ? sizeof(min_stds) / sizeof(*min_stds) : 1;
	for (uint32_t i = 0; i <= pauses_count * min_stds_count && n < room; i++) {
		struct sweep_curve *c = &curves[n];

		if (i && !t.pause && !t.min_std)
			break;
		if (i) {
			t.pause_permille = t.pause ? pauses[(i - 1) % pauses_count] : 0;
			t.min_std_permille = t.min_std ? min_stds[(i - 1) / pauses_count] : 0;
		}
		if (i && default_settings && (!t.pause || t.pause_permille == DEFAULT_PAUSE) &&
		    (!t.min_std || t.min_std_permille == DEFAULT_MIN_STD))
			continue;
		*c = (struct sweep_curve){.model = model, .tuning = i ? t : (struct replay_tuning){0}};
		sweep_thresholds(c);
		n++;
	}
	return n;
}
