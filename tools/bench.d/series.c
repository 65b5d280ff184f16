// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

void series_add(struct series *s, double value)
{
	if (s->n == SERIES_MAX)
		die("more than %d rounds", SERIES_MAX);
	s->values[s->n++] = value;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double series_at(const struct series *s, double share)
{
	struct series sorted = *s;

	qsort(sorted.values, sorted.n, sizeof(*sorted.values), ascending);
	return sorted.values[(size_t)(share * (double)(sorted.n - 1) + 0.5)];
}

double series_median_over(const struct series *a, const struct series *b)
{
	struct series difference = {.n = a->n};

	for (size_t i = 0; i < a->n; i++)
		difference.values[i] = a->values[i] - b->values[i];
	return series_at(&difference, 0.5);
}

void rest(void)
{
	usleep(5000);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}
