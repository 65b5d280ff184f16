// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The comparison of detectors: docs/quality.md says what it shows and what it does not. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "quality.h"

#define BEATS       200000
#define QUICK_BEATS 3000
#define SEED        20261130

const double quality_rates[QUALITY_RATES] = {1e-3, 1e-4, 1e-5};

void quality_measure(struct quality_result *r, const struct quality_pool *pool)
{
	*r = (struct quality_result){.pool = pool};
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++)
		for (int rate = 0; rate < QUALITY_RATES; rate++) {
			struct quality_figure *f = &r->row[i].at_rate[rate];

			f->x = quality_at_rate(pool, i, quality_rates[rate]);
			f->mistakes = quality_mistakes(pool, i, f->x);
			quality_detect(pool, i, f->x, &f->detection);
		}
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++)
		for (int rate = 0; rate < QUALITY_RATES; rate++) {
			const struct quality_figure *loss = &r->row[0].at_rate[rate];
			double x = i ? quality_at_detection(pool, i, loss->detection.mean) : loss->x;

			r->row[i].mistakes_at[rate] = quality_mistakes(pool, i, x);
		}
}

uint32_t quality_best_rival(const struct quality_result *r, uint32_t rate)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < QUALITY_CONTENDERS; i++)
		if (quality_contenders[i].rival &&
		    (!best ||
		     r->row[i].at_rate[rate].detection.mean < r->row[best].at_rate[rate].detection.mean))
			best = i;
	return best;
}

/* --- JSON: a line for each trace or pool, and detector */

static void print_row(const struct quality_result *r, uint32_t i)
{
	const struct quality_contender *c = &quality_contenders[i];
	const struct quality_row *row = &r->row[i];

	printf("{\"bench\":\"quality\",\"set\":\"%s\",\"trace\":\"%s\",\"detector\":\"%s\",\"beats\":%llu,"
	       "\"at_mistakes_per_beat\":[",
	       r->pool->set, r->pool->name, c->name, (unsigned long long)quality_beats(r->pool));
	for (int rate = 0; rate < QUALITY_RATES; rate++) {
		const struct quality_figure *f = &row->at_rate[rate];

		printf("%s{\"rate\":%g,\"parameter\":%.6g,\"mistakes\":%.0f,\"detection_mean_intervals\":%."
		       "3f,"
		       "\"detection_p99_intervals\":%.3f}",
		       rate ? "," : "", quality_rates[rate], quality_parameter(i, f->x), f->mistakes,
		       f->detection.mean, f->detection.p99);
	}
	printf("],\"at_detection_of_loss\":[");
	for (int rate = 0; rate < QUALITY_RATES; rate++)
		printf("%s{\"detection_mean_intervals\":%.3f,\"mistakes\":%.0f}", rate ? "," : "",
		       r->row[0].at_rate[rate].detection.mean, row->mistakes_at[rate]);
	printf("]");
	if (c->tells_phi) {
		printf(",\"silences_beyond_phi_1_to_%d\":[", QUALITY_PHI);
		for (uint32_t phi = 1; phi <= QUALITY_PHI; phi++)
			printf("%s%.0f", phi > 1 ? "," : "", quality_exceeded(r->pool, i, phi));
		printf("]");
	}
	printf("}\n");
}

void quality_print_lines(const struct quality_result *r)
{
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++)
		print_row(r, i);
}

/* --- all traces */

static void pool_set(struct quality_pool *pool, const struct quality_outcome *outcomes, uint32_t n,
		     enum quality_set set)
{
	*pool = (struct quality_pool){.name = "all", .set = quality_set_names[set]};
	for (uint32_t i = 0; i < n; i++)
		if (outcomes[i].path->set == set && outcomes[i].samples)
			pool->outcome[pool->n++] = &outcomes[i];
}

static void pool_one(struct quality_pool *pool, const struct quality_outcome *o)
{
	*pool = (struct quality_pool){o->path->name, quality_set_names[o->path->set], 1, {o}};
}

/* Pools first, then every trace by itself; traces that are only ever pooled are short. */
static void compare(const struct quality_outcome *outcomes, uint32_t n)
{
	struct quality_pool *pools = calloc(n + QUALITY_SETS, sizeof(*pools));
	struct quality_result *results = calloc(n + QUALITY_SETS, sizeof(*results));
	uint32_t count = 0;

	if (!pools || !results)
		die("quality: no memory");
	for (enum quality_set set = 0; set < QUALITY_SETS; set++) {
		pool_set(&pools[count], outcomes, n, set);
		count += pools[count].n > 0 && set != QUALITY_BARE;
	}
	for (uint32_t i = 0; i < n; i++) {
		pool_one(&pools[count], &outcomes[i]);
		count += outcomes[i].path->set != QUALITY_BFD && outcomes[i].samples;
	}
	for (uint32_t i = 0; i < count; i++) {
		quality_measure(&results[i], &pools[i]);
		quality_print_lines(&results[i]);
	}
	quality_print_table(results, count);
	quality_print_wanted(results, count);
	free(results);
	free(pools);
}

/* Nothing here is timed, so others may have the processors before. */
static void run(uint32_t beats)
{
	static struct quality_paths paths;
	static struct quality_outcome outcomes[QUALITY_PATHS_MAX];
	struct sched_param priority;
	const char *seed = getenv("KPHI_QUALITY_SEED");
	int policy = sched_getscheduler(0);

	sched_getparam(0, &priority);
	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &(struct sched_param){0});
	setpriority(PRIO_PROCESS, 0, 10);
	paths.n = 0;
	quality_add_simulated(&paths, beats, seed ? strtoull(seed, NULL, 0) : SEED);
	quality_add_real(&paths, beats, seed ? strtoull(seed, NULL, 0) : SEED);
	for (uint32_t i = 0; i < paths.n; i++)
		quality_judge(&outcomes[i], &paths.path[i]);
	compare(outcomes, paths.n);
	for (uint32_t i = 0; i < paths.n; i++)
		quality_forget(&outcomes[i]);
	setpriority(PRIO_PROCESS, 0, 0);
	if (policy >= 0)
		sched_setscheduler(0, policy, &priority);
}

void bench_quality(void)
{
	run(BEATS);
}

void bench_quality_quick(void)
{
	run(QUICK_BEATS);
}
