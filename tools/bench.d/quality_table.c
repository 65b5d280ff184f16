// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same figures for people, on standard error: what docs/quality.md shows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quality.h"

#define RELIABLE 10 /* fewer silences than this say little about how many there ought to be */

static bool is_pool(const struct quality_result *r)
{
	return r->pool->n > 1;
}

/* Three digits, without a power of ten. */
static void print_number(double x)
{
	fprintf(stderr, x < 10 ? " %7.2f" : x < 100 ? " %7.1f" : " %7.0f", x);
}

/* A pool: detectors down, rates across. */
static void print_pool(const struct quality_result *r)
{
	fprintf(stderr, "\n%s, %u traces under one parameter, %llu beats: detection time in intervals\n",
		r->pool->set, r->pool->n, (unsigned long long)quality_beats(r->pool));
	fprintf(stderr, "%-16s", "mistakes a beat");
	for (int rate = 0; rate < QUALITY_RATES; rate++)
		fprintf(stderr, " |   %5.0e: mean     p99 over loss  parameter", quality_rates[rate]);
	fputc('\n', stderr);
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		fprintf(stderr, "%-16s", quality_contenders[i].name);
		for (int rate = 0; rate < QUALITY_RATES; rate++) {
			const struct quality_figure *f = &r->row[i].at_rate[rate];

			fprintf(stderr, " |        %7.2f %7.2f    %+5.0f %% %10.4g", f->detection.mean,
				f->detection.p99,
				100 * f->detection.mean / r->row[0].at_rate[rate].detection.mean - 100,
				quality_parameter(i, f->x));
		}
		fputc('\n', stderr);
	}
}

static void print_equal_detection(const struct quality_result *r)
{
	fprintf(stderr, "\n%s: mistakes of each where it detects as soon as loss does at these rates\n",
		r->pool->set);
	fprintf(stderr, "%-16s", "detection time");
	for (int rate = 0; rate < QUALITY_RATES; rate++)
		fprintf(stderr, " | %5.0e: %5.2f intervals", quality_rates[rate],
			r->row[0].at_rate[rate].detection.mean);
	fputc('\n', stderr);
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		fprintf(stderr, "%-16s", quality_contenders[i].name);
		for (int rate = 0; rate < QUALITY_RATES; rate++)
			fprintf(stderr, " | %10.0f (x%8.1f)", r->row[i].mistakes_at[rate],
				r->row[i].mistakes_at[rate] / fmax(r->row[0].mistakes_at[rate], 1));
		fputc('\n', stderr);
	}
}

/* Of a pool: 1 would be honest, more is overconfident. */
static void print_reliability(const struct quality_result *r)
{
	double beats = (double)quality_beats(r->pool);

	fprintf(stderr, "\n%s: silences beyond phi, as a multiple of 10^-phi\n%-16s", r->pool->set, "phi");
	for (uint32_t phi = 1; phi <= QUALITY_PHI; phi++)
		fprintf(stderr, " %9u", phi);
	fputc('\n', stderr);
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		if (!quality_contenders[i].tells_phi)
			continue;
		fprintf(stderr, "%-16s", quality_contenders[i].name);
		for (uint32_t phi = 1; phi <= QUALITY_PHI; phi++)
			fprintf(stderr, " %9.2g", quality_exceeded(r->pool, i, phi) / beats * pow(10, phi));
		fputc('\n', stderr);
	}
}

/* Traces down, detectors across. */
static void print_traces(const struct quality_result *results, uint32_t n, uint32_t rate)
{
	fprintf(stderr, "\neach trace alone, %5.0e mistakes a beat: mean detection time in intervals\n%-36s",
		quality_rates[rate], "");
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		const char *word = strrchr(quality_contenders[i].name, ' ');

		fprintf(stderr, " %s%.7s", word ? "normal" : "",
			word ? word + 1 : quality_contenders[i].name);
	}
	fputs("  loss over best\n", stderr);
	for (uint32_t k = 0; k < n; k++) {
		const struct quality_result *r = &results[k];
		uint32_t best = quality_best_rival(r, rate);

		if (is_pool(r))
			continue;
		fprintf(stderr, "%-36s", r->pool->name);
		for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++)
			print_number(r->row[i].at_rate[rate].detection.mean);
		fprintf(stderr, "  %+5.0f %% %s\n",
			100 * r->row[0].at_rate[rate].detection.mean /
					r->row[best].at_rate[rate].detection.mean -
				100,
			quality_contenders[best].name);
	}
}

/* How reliable `loss` is on each. */
static void print_reliability_of_traces(const struct quality_result *results, uint32_t n)
{
	fprintf(stderr,
		"\neach trace alone: silences beyond phi by loss, as a multiple of 10^-phi (of how many)\n");
	for (uint32_t k = 0; k < n; k++) {
		const struct quality_pool *p = results[k].pool;

		if (is_pool(&results[k]))
			continue;
		fprintf(stderr, "%-36s", p->name);
		for (uint32_t phi = 1; phi <= QUALITY_PHI; phi++) {
			double beyond = quality_exceeded(p, 0, phi);

			fprintf(stderr, " %7.2g (%5.0f)", beyond / (double)quality_beats(p) * pow(10, phi),
				beyond);
		}
		fputc('\n', stderr);
	}
}

void quality_print_table(const struct quality_result *results, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_pool(&results[i])) {
			print_pool(&results[i]);
			print_equal_detection(&results[i]);
			print_reliability(&results[i]);
		}
	for (uint32_t rate = 0; rate < QUALITY_RATES; rate++)
		print_traces(results, n, rate);
	print_reliability_of_traces(results, n);
}
