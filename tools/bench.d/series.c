// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
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

void sleep_until(uint64_t monotonic_ns)
{
	struct timespec at = {.tv_sec = (time_t)(monotonic_ns / 1000000000),
			      .tv_nsec = (long)(monotonic_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*state >> 33) % limit;
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
