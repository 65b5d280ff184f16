// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "replay/tally.h"

#include <math.h>

#define DAY_NS 86400e9

/* The chance that excludes a rate, and how finely the rate is found. */
#define EXCLUDED   0.05
#define BISECTIONS 60

static double per(uint64_t count, double of)
{
	return of > 0 ? (double)count / of : 0;
}

double qos_mistakes_per_day(const struct qos *q)
{
	return per(q->mistakes, (double)q->alive_ns / DAY_NS);
}

double qos_mistakes_per_beat(const struct qos *q)
{
	return per(q->mistakes, (double)q->intervals);
}

double qos_recurrence_ns(const struct qos *q)
{
	return per(q->alive_ns, (double)q->mistakes);
}

double qos_mistake_ns(const struct qos *q)
{
	return per(q->mistaken_ns, (double)q->mistakes);
}

double qos_good_ns(const struct qos *q)
{
	return per(q->alive_ns - q->mistaken_ns, (double)q->mistakes);
}

double qos_accuracy(const struct qos *q)
{
	return q->alive_ns ? per(q->alive_ns - q->mistaken_ns, (double)q->alive_ns) : 1;
}

/* The chance of at most k events where `mean` are expected: each term from the one before, in logarithms. */
static double poisson_at_most(uint64_t k, double mean)
{
	double term = -mean, sum = exp(term);

	for (uint64_t i = 1; i <= k; i++) {
		term += log(mean / (double)i);
		sum += exp(term);
	}
	return sum;
}

/* Beyond a thousand, Poisson's distribution is a normal one for all that matters here. */
static double excluded_mean(uint64_t k)
{
	double low = (double)k, high = low + 3 * sqrt(low) + 4;

	if (k > 1000)
		return low + 1.645 * sqrt(low) + 1;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (poisson_at_most(k, middle) > EXCLUDED)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double qos_mistakes_per_day_at_most(const struct qos *q)
{
	return q->alive_ns ? excluded_mean(q->mistakes) / ((double)q->alive_ns / DAY_NS) : INFINITY;
}
