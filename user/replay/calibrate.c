// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/calibrate.h"

#include <math.h>

#define DAY_NS 86400e9

static bool meets(const struct qos *q, const struct target *t)
{
	if (t->max_false_per_day > 0 && qos_mistakes_per_day(q) > t->max_false_per_day)
		return false;
	return !t->max_detect_ns || q->detect_max_ns <= t->max_detect_ns;
}

/* Is a better than b, both meeting the target? Of equals the hastier one stays. */
static bool is_better(const struct qos *a, const struct qos *b, const struct target *t)
{
	if (t->max_false_per_day > 0)
		return a->detect_p99_ns < b->detect_p99_ns;
	return a->mistakes < b->mistakes;
}

int calibrate_choose(const struct sweep_curve *c, const struct target *t)
{
	int chosen = -1;

	if (!t->max_false_per_day && !t->max_detect_ns)
		return c->n ? (int)calibrate_knee(c) : -1;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct qos *q = &c->point[i].qos;

		if (meets(q, t) && (chosen < 0 || is_better(q, &c->point[chosen].qos, t)))
			chosen = (int)i;
	}
	return chosen;
}

/* The logarithm of the rate; as if half a mistake more had been made, since none at all has no logarithm. */
static double log_rate(const struct qos *q)
{
	return log(((double)q->mistakes + 0.5) / ((double)q->alive_ns / DAY_NS));
}

static double log_detection(const struct qos *q)
{
	return log((double)q->detect_p99_ns + 1);
}

uint32_t calibrate_knee(const struct sweep_curve *c)
{
	const struct qos *first = &c->point[0].qos, *last;
	double x, y, width, height, farthest = 0;
	uint32_t end = c->n - 1, knee;

	while (end && c->point[end - 1].qos.mistakes == c->point[c->n - 1].qos.mistakes)
		end--;
	last = &c->point[end].qos;
	width = log_detection(last) - log_detection(first);
	height = log_rate(first) - log_rate(last);
	knee = end;
	for (uint32_t i = 0; i < end && width > 0 && height > 0; i++) {
		x = (log_detection(&c->point[i].qos) - log_detection(first)) / width;
		y = (log_rate(&c->point[i].qos) - log_rate(last)) / height;
		if (1 - x - y > farthest) {
			farthest = 1 - x - y;
			knee = i;
		}
	}
	return knee;
}

/* How badly the target is served, in logarithms; INFINITY if it is not met. */
static double cost(const struct sweep_curve *c, const struct target *t)
{
	int chosen = calibrate_choose(c, t);
	const struct qos *q;

	if (chosen < 0)
		return INFINITY;
	q = &c->point[chosen].qos;
	if (t->max_false_per_day > 0)
		return log_detection(q);
	return t->max_detect_ns ? log_rate(q) : log_rate(q) + log_detection(q);
}

/* Settings that nobody has to write are worth this much more of time or mistakes, in logarithms. */
#define WORTH_WRITING 0.05

static bool is_tuned(const struct sweep_curve *c)
{
	return c->tuning.pause || c->tuning.min_std;
}

uint32_t calibrate_model(const struct sweep_curve *curves, uint32_t n, const struct target *targets,
			 uint32_t targets_count)
{
	double least = INFINITY;
	uint32_t best = 0, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t met = 0;
		double sum = 0;

		for (uint32_t k = 0; k < targets_count; k++) {
			double of = cost(&curves[i], &targets[k]);

			met += isfinite(of);
			sum += isfinite(of) ? of : 0;
		}
		if (is_tuned(&curves[i]))
			sum += WORTH_WRITING;
		if (met > most || (met == most && sum < least)) {
			best = i;
			most = met;
			least = sum;
		}
	}
	return best;
}
