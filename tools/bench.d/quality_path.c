// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Simulated paths. Other parameters than in tests/unit/quality_test.c, by which the priors of `loss` were
 * chosen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quality.h"

#define INTERVAL_NS 100000000ULL
#define WARM        100

static const char *const jitter_names[QUALITY_JITTERS] = {"small", "large", "tail"};

const char *const quality_set_names[QUALITY_SETS] = {
	[QUALITY_LOSSY] = "lossy",
	[QUALITY_PLANETLAB] = "planetlab",
	[QUALITY_PAUSING] = "pausing",
	[QUALITY_BARE] = "bare",
	[QUALITY_BFD] = "bfd",
	[QUALITY_OWN] = "own",
	[QUALITY_OWN_TROUBLE] = "own-trouble",
};

static const struct quality_loss losses[] = {
	{0, 0},    {0.001, 0}, {0.01, 0},  {0.05, 0}, {0.001, 2},
	{0.01, 2}, {0.05, 2},  {0.001, 3}, {0.01, 3}, {0.05, 3},
};

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014; uniform in (0, 1). */
static double uniform(uint64_t *random)
{
	uint64_t z = *random += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

static double normal(uint64_t *random)
{
	return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

static double exponential(uint64_t *random)
{
	return -log(uniform(random));
}

static double delay_ns(struct quality_walk *w)
{
	switch (w->path->jitter) {
	case QUALITY_SMALL:
		return fabs(normal(&w->random)) * 1e6;
	case QUALITY_LARGE:
		return fmax(60e6 + normal(&w->random) * 15e6, 0);
	default:
		return 5e6 + exponential(&w->random) * 30e6;
	}
}

/* Gilbert's chain: a lost beat is followed by another one with 1 - 1 / burst. */
static bool loses(struct quality_walk *w)
{
	const struct quality_path *p = w->path;
	const struct quality_loss *l = w->sent > p->beats / 2 ? &p->later : &p->loss;
	double again = l->burst > 0 ? 1 - 1 / l->burst : l->share;
	double chance = w->lost ? again : l->share * (1 - again) / (1 - l->share);

	w->lost = uniform(&w->random) < chance;
	return w->lost;
}

static double pause_ns(struct quality_walk *w)
{
	if (!(w->path->pauses > 0) || uniform(&w->random) >= w->path->pauses)
		return 0;
	return 150e6 + exponential(&w->random) * 150e6;
}

void quality_walk_begin(struct quality_walk *w, const struct quality_path *path)
{
	*w = (struct quality_walk){.path = path, .random = path->seed};
}

bool quality_walk_on(struct quality_walk *w, struct kphi_beat *beat)
{
	const struct quality_path *p = w->path;

	while (w->sent < p->beats) {
		uint32_t number = w->sent++;

		if (p->recorded && !p->impaired) {
			*beat = p->recorded[number];
			return true;
		}
		if (p->recorded)
			w->sent_ns = (double)p->recorded[number].now_ns;
		else
			w->sent_ns += (double)INTERVAL_NS + pause_ns(w);
		if (loses(w))
			continue;
		/* Packets keep their order: a queue, not several ways. */
		w->arrived_ns = fmax(w->sent_ns + delay_ns(w), w->arrived_ns);
		*beat = (struct kphi_beat){
			.now_ns = (uint64_t)w->arrived_ns,
			.epoch = 1,
			.epoch_limit = 1,
			.sequence = number,
			.type = KPHI_WIRE_BEAT,
			.native = 1,
		};
		return true;
	}
	return false;
}

struct quality_path *quality_add(struct quality_paths *paths, enum quality_set set)
{
	struct quality_path *p = &paths->path[paths->n++];

	if (paths->n > QUALITY_PATHS_MAX)
		die("quality: more than %d traces", QUALITY_PATHS_MAX);
	*p = (struct quality_path){.set = set, .warm = WARM, .settings = {.interval_ns = INTERVAL_NS}};
	return p;
}

static int describe_loss(char *to, size_t size, const struct quality_loss *l)
{
	if (l->burst > 0)
		return snprintf(to, size, "%g %% x%g", 100 * l->share, l->burst);
	return snprintf(to, size, "%g %%", 100 * l->share);
}

/* "loss 1 % x2, jitter large" */
static void name_path(struct quality_path *p, const char *prefix)
{
	char loss[40], later[40] = "";

	describe_loss(loss, sizeof(loss), &p->loss);
	if (p->later.share != p->loss.share || p->later.burst != p->loss.burst) {
		strcpy(later, " > ");
		describe_loss(later + 3, sizeof(later) - 3, &p->later);
	}
	snprintf(p->name, sizeof(p->name), "%sloss %s%s, jitter %s", prefix, loss, later,
		 jitter_names[p->jitter]);
}

static struct quality_path *add(struct quality_paths *paths, enum quality_set set, uint32_t beats,
				uint64_t seed)
{
	struct quality_path *p = quality_add(paths, set);

	p->beats = beats;
	p->seed = seed * 0xd1342543de82ef95U + paths->n * 0x2545f4914f6cdd1dU;
	return p;
}

static void add_turning(struct quality_paths *paths, uint32_t beats, uint64_t seed)
{
	static const struct {
		struct quality_loss from, to;
		enum quality_jitter jitter;
	} turning[] = {
		{{0, 0}, {0.03, 2}, QUALITY_SMALL},
		{{0.001, 0}, {0.05, 3}, QUALITY_LARGE},
		{{0, 0}, {0.01, 0}, QUALITY_TAIL},
	};

	for (size_t i = 0; i < COUNT(turning); i++) {
		struct quality_path *p = add(paths, QUALITY_LOSSY, beats, seed);

		p->loss = turning[i].from;
		p->later = turning[i].to;
		p->jitter = turning[i].jitter;
		name_path(p, "");
	}
}

void quality_add_simulated(struct quality_paths *paths, uint32_t beats, uint64_t seed)
{
	struct quality_path *p;

	for (int jitter = 0; jitter < QUALITY_JITTERS; jitter++)
		for (size_t i = 0; i < COUNT(losses); i++) {
			p = add(paths, QUALITY_LOSSY, beats, seed);
			p->loss = p->later = losses[i];
			p->jitter = (enum quality_jitter)jitter;
			name_path(p, "");
		}
	add_turning(paths, beats, seed);
	for (int jitter = 0; jitter < QUALITY_JITTERS; jitter++) {
		p = add(paths, QUALITY_PAUSING, beats, seed);
		p->pauses = 0.01;
		p->loss = p->later = jitter == QUALITY_SMALL ? losses[5] : losses[0];
		p->jitter = (enum quality_jitter)jitter;
		name_path(p, "pauses 1 %, ");
	}
}

/* A recorded sender's beats, over a bad path. */
void quality_add_impaired(struct quality_paths *paths, const char *sender, const struct kphi_beat *recorded,
			  uint32_t beats, uint64_t seed)
{
	static const struct {
		struct quality_loss loss;
		enum quality_jitter jitter;
	} ways[] = {
		{{0.001, 2}, QUALITY_SMALL},
		{{0.02, 2}, QUALITY_LARGE},
		{{0.005, 0}, QUALITY_TAIL},
	};

	for (size_t i = 0; i < COUNT(ways); i++) {
		struct quality_path *p = add(paths, QUALITY_PLANETLAB, beats, seed);
		char prefix[32];

		p->recorded = recorded;
		p->impaired = true;
		p->loss = p->later = ways[i].loss;
		p->jitter = ways[i].jitter;
		snprintf(prefix, sizeof(prefix), "%s, ", sender);
		name_path(p, prefix);
	}
}
