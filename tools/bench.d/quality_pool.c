// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Several outcomes under one parameter: mistakes, detection times, and the parameter that gives a wanted one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quality.h"

#define FLOAT_BITS_MIN 0x2f800000U /* 2^-32, the least phi; the bits of floats >= 0 are in their order */
#define FLOAT_BITS_MAX 0x7f800000U /* infinity */
#define HALVINGS       18
#define X_MAX          2e9 /* phi's cap, and two seconds in nanoseconds */
#define SPARSE         5 /* to find a parameter, one sample in so many will do */

uint64_t quality_beats(const struct quality_pool *p)
{
	uint64_t beats = 0;

	for (uint32_t i = 0; i < p->n; i++)
		beats += p->outcome[i]->beats;
	return beats;
}

static bool by_verdict(uint32_t contender)
{
	const struct detector *d = quality_contenders[contender].detector;

	return d && d->learns_by_verdict;
}

/* Scores at or above x. */
static uint32_t count(const struct quality_outcome *o, uint32_t contender, float x)
{
	uint32_t low = 0, high = o->kept;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (o->score[contender][middle] >= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double grid_mistakes(const struct quality_pool *p, uint32_t i)
{
	double sum = 0;

	for (uint32_t k = 0; k < p->n; k++)
		sum += p->outcome[k]->grid_mistakes[i];
	return sum;
}

/* Between two points of the grid mistakes are taken to fall by equal factors. */
static double grid_between(const struct quality_pool *p, double x)
{
	uint32_t i = x < QUALITY_GRID - 1 ? (uint32_t)x : QUALITY_GRID - 2;
	double left = grid_mistakes(p, i) + 0.5, right = grid_mistakes(p, i + 1) + 0.5;

	return left * pow(right / left, x - i) - 0.5;
}

double quality_mistakes(const struct quality_pool *p, uint32_t contender, double x)
{
	double sum = 0;

	if (by_verdict(contender))
		return grid_between(p, x);
	for (uint32_t i = 0; i < p->n; i++)
		sum += count(p->outcome[i], contender, (float)x);
	return sum;
}

double quality_exceeded(const struct quality_pool *p, uint32_t contender, uint32_t phi)
{
	double sum = 0;

	if (by_verdict(contender))
		return grid_mistakes(p, phi);
	for (uint32_t i = 0; i < p->n; i++)
		sum += p->outcome[i]->exceeded[contender][phi];
	return sum;
}

double quality_at_rate(const struct quality_pool *p, uint32_t contender, double rate)
{
	double allowed = floor(rate * (double)quality_beats(p));
	uint32_t low = FLOAT_BITS_MIN, high = FLOAT_BITS_MAX;
	float x = 0;

	if (by_verdict(contender)) {
		double left = 0, right = QUALITY_GRID - 1;

		for (int i = 0; i < HALVINGS; i++)
			if (grid_between(p, (left + right) / 2) > allowed)
				left = (left + right) / 2;
			else
				right = (left + right) / 2;
		return right;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		memcpy(&x, &middle, sizeof(x));
		if (quality_mistakes(p, contender, (double)x) > allowed)
			low = middle + 1;
		else
			high = middle;
	}
	memcpy(&x, &high, sizeof(x));
	return (double)x;
}

/* --- detection times */

static double granted_ns(const struct quality_sample *s, uint32_t contender, double x)
{
	if (by_verdict(contender)) {
		uint32_t i = x < QUALITY_GRID - 1 ? (uint32_t)x : QUALITY_GRID - 2;

		return s->grid_ns[i] + (x - i) * (s->grid_ns[i + 1] - s->grid_ns[i]);
	}
	if (quality_contenders[contender].detector)
		return s->base_ns[contender] + x * s->slope_ns[contender];
	return (double)estimate_silence(&s->estimate[contender], (q32_t)(x * (double)Q32_ONE));
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Crashes in every `step`-th sample, spread evenly over its interval. Returns the mean; all of them into
 * `all`. */
static double detect(const struct quality_pool *p, uint32_t contender, double x, uint32_t step, double *all,
		     size_t *n)
{
	double sum = 0, mean = 0;

	*n = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct quality_outcome *o = p->outcome[i];

		for (uint32_t k = step / 2 % o->samples; k < o->samples; k += step) {
			const struct quality_sample *s = &o->sample[k];
			double granted = granted_ns(s, contender, x);

			for (int age = 0; age < QUALITY_AGES; age++) {
				double since = s->silence_ns * (age + 0.5) / QUALITY_AGES;

				all[*n] = fmax(granted - since, 0) / s->interval_ns;
				sum += all[(*n)++];
			}
		}
	}
	if (*n)
		mean = sum / (double)*n;
	return mean;
}

static double *room(const struct quality_pool *p)
{
	double *all = malloc(p->n * QUALITY_SAMPLES * QUALITY_AGES * sizeof(*all) + 1);

	if (!all)
		die("quality: no memory");
	return all;
}

void quality_detect(const struct quality_pool *p, uint32_t contender, double x, struct quality_detection *d)
{
	double *all = room(p);
	size_t n;

	d->mean = detect(p, contender, x, 1, all, &n);
	qsort(all, n, sizeof(*all), ascending);
	d->p99 = n ? all[(n * 99 + 99) / 100 - 1] : 0;
	free(all);
}

/* Parameters span many powers of ten, so the middle is that of the logarithms; but not on the grid. */
double quality_at_detection(const struct quality_pool *p, uint32_t contender, double mean)
{
	bool grid = by_verdict(contender);
	double low = grid ? 0 : 1e-3, high = grid ? QUALITY_GRID - 1 : X_MAX, *all = room(p);
	size_t n;

	for (int i = 0; i < HALVINGS; i++) {
		double middle = grid ? (low + high) / 2 : sqrt(low * high);

		if (detect(p, contender, middle, SPARSE, all, &n) < mean)
			low = middle;
		else
			high = middle;
	}
	free(all);
	return high;
}
