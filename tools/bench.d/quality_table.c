// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same figures for people, on standard error: what docs/quality.md shows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quality.h"

static bool is_pool(const struct quality_result *r)
{
	return r->pool->n > 1;
}

/* Three digits, without a power of ten. */
static void print_number(double x)
{
	fprintf(stderr, x < 10 ? " %7.2f" : x < 100 ? " %7.1f" : " %7.0f", x);
}

/* A rate means something only if it allows a mistake. */
static bool tells(const struct quality_result *r, uint32_t rate)
{
	return quality_rates[rate] * (double)quality_beats(r->pool) >= 1;
}

static double over(double mine, double theirs)
{
	return 100 * mine / theirs - 100;
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
		for (uint32_t rate = 0; rate < QUALITY_RATES; rate++) {
			const struct quality_figure *f = &r->row[i].at_rate[rate];

			if (tells(r, rate))
				fprintf(stderr, " |        %7.2f %7.2f    %+5.0f %% %10.4g",
					f->detection.mean, f->detection.p99,
					over(f->detection.mean, r->row[0].at_rate[rate].detection.mean),
					quality_parameter(i, f->x));
			else
				fprintf(stderr, " | %42s", "-");
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
			over(r->row[0].at_rate[rate].detection.mean,
			     r->row[best].at_rate[rate].detection.mean),
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

/* --- what is wanted: soonest by a fifth when pooled, never 5 % behind alone, honest within ten */

#define HONEST_FROM 2
#define HONEST_TO   5

/* The trace of the set where `loss` stands worst; NULL: there is none. */
static const struct quality_result *worst_of(const struct quality_result *results, uint32_t n,
					     const char *set, uint32_t rate, double *worst)
{
	const struct quality_result *found = NULL;

	*worst = -INFINITY;
	for (uint32_t i = 0; i < n; i++) {
		const struct quality_result *r = &results[i];
		uint32_t best = quality_best_rival(r, rate);
		double of;

		if (is_pool(r) || strcmp(r->pool->set, set) != 0 || !tells(r, rate))
			continue;
		of = over(r->row[0].at_rate[rate].detection.mean, r->row[best].at_rate[rate].detection.mean);
		if (of > *worst) {
			*worst = of;
			found = r;
		}
	}
	return found;
}

static void print_wanted_rate(const struct quality_result *results, uint32_t n,
			      const struct quality_result *r, uint32_t rate)
{
	uint32_t best = quality_best_rival(r, rate);
	double theirs = r->row[best].at_rate[rate].detection.mean,
	       mine = r->row[0].at_rate[rate].detection.mean;
	double worst;
	const struct quality_result *alone = worst_of(results, n, r->pool->set, rate, &worst);

	printf("{\"bench\":\"quality_wanted\",\"set\":\"%s\",\"rate\":%g,\"loss_sooner_percent\":%.1f,"
	       "\"than\":\"%s\"",
	       r->pool->set, quality_rates[rate], -over(mine, theirs), quality_contenders[best].name);
	fprintf(stderr, "%s, %5.0e: loss detects %.0f %% sooner than the best of the others (%s)",
		r->pool->set, quality_rates[rate], -over(mine, theirs), quality_contenders[best].name);
	if (alone) {
		best = quality_best_rival(alone, rate);
		printf(",\"alone_at_worst_later_percent\":%.1f,\"trace\":\"%s\",\"alone_best\":\"%s\"", worst,
		       alone->pool->name, quality_contenders[best].name);
		fprintf(stderr, "; alone at worst %.0f %% later (%s, %s)", worst, alone->pool->name,
			quality_contenders[best].name);
	}
	printf("}\n");
	fputc('\n', stderr);
}

static void print_wanted_honesty(const struct quality_result *r)
{
	double least = INFINITY, most = 0;

	for (uint32_t phi = HONEST_FROM; phi <= HONEST_TO; phi++) {
		double of = quality_exceeded(r->pool, 0, phi) / (double)quality_beats(r->pool) * pow(10, phi);

		least = fmin(least, of);
		most = fmax(most, of);
	}
	printf("{\"bench\":\"quality_wanted\",\"set\":\"%s\",\"phi_from\":%d,\"phi_to\":%d,\"beyond_least\":%"
	       ".3g,"
	       "\"beyond_most\":%.3g}\n",
	       r->pool->set, HONEST_FROM, HONEST_TO, least, most);
	fprintf(stderr,
		"%s: from phi %d to %d, %.2g to %.2g times as many silences are longer as loss says\n",
		r->pool->set, HONEST_FROM, HONEST_TO, least, most);
}

void quality_print_wanted(const struct quality_result *results, uint32_t n)
{
	fputc('\n', stderr);
	for (uint32_t i = 0; i < n; i++) {
		if (!is_pool(&results[i]))
			continue;
		for (uint32_t rate = 0; rate < QUALITY_RATES; rate++)
			if (tells(&results[i], rate))
				print_wanted_rate(results, n, &results[i], rate);
		print_wanted_honesty(&results[i]);
	}
}
