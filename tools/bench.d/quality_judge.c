// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One trace before all contenders: what user/replay does, but for any parameter at once. The record, the
 * window and the models are those that run live; the yardsticks are those of user/replay. The deadlines of
 * all of these but one are straight lines in their parameter, so that two points tell them; the one left
 * learns by its own verdicts, and has a state for each of some parameters.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quality.h"

#define KEPT_SHARE 8 /* of the scores of a trace, one in so many is kept: the highest */

/* Akka's approximation of the normal distribution. */
#define AKKA_LINEAR 1.5976
#define AKKA_CUBIC  0.070566

const struct quality_contender quality_contenders[QUALITY_CONTENDERS] = {
	{"loss", KPHI_MODEL_LOSS, .tells_phi = true},
	{"empirical", KPHI_MODEL_EMPIRICAL, .tells_phi = true},
	{"normal, pause 3", KPHI_MODEL_NORMAL, 3, .tells_phi = true, .rival = true},
	{"normal, pause 1", KPHI_MODEL_NORMAL, 1, .tells_phi = true, .rival = true},
	{"normal, pause 0", KPHI_MODEL_NORMAL, 0, .tells_phi = true, .rival = true},
	{"akka", KPHI_MODEL_AKKA, 3, .tells_phi = true, .rival = true},
	{"exponential", KPHI_MODEL_EXPONENTIAL, .tells_phi = true, .rival = true},
	{"fixed", .detector = &detector_fixed, .rival = true},
	{"bfd", .detector = &detector_bfd, .rival = true},
	{"chen", .detector = &detector_chen, .rival = true},
	{"bertier", .detector = &detector_bertier, .rival = true},
	{"2w", .detector = &detector_two_windows, .rival = true},
	{"jacobson", .detector = &detector_jacobson, .rival = true},
	{"akka-replay", .detector = &detector_akka, .by_y = true, .tells_phi = true, .rival = true},
	{"akka-port", .detector = &detector_akka_port, .by_y = true, .tells_phi = true, .rival = true},
	{"cassandra", .detector = &detector_cassandra, .tells_phi = true, .rival = true},
};

/* Phi 1 to 6 stand at 1 to 6; from there on a ninth more deviations each. */
const double quality_grid[QUALITY_GRID] = {
	0.5,  1,    2,    3,    4,    5,     6,     8,     10.5,  14,    18,    24,     32,   42,
	56,   74,   98,   130,  172,  228,   302,   400,   530,   702,   930,   1230,   1630, 2160,
	2860, 3790, 5020, 6650, 8810, 11670, 15460, 20480, 27130, 35940, 47610, 100000,
};

struct judge {
	const struct quality_path *path;
	struct kphi_peer settings;
	struct kphi_record record;
	uint64_t ring[KPHI_RING_SIZE(QUALITY_WINDOW)];
	bool open;
	uint32_t intervals; /* of the present silence and before, warm ones included */
	void *state[QUALITY_CONTENDERS]; /* QUALITY_GRID of them, if it learns by its verdicts */
	size_t state_size[QUALITY_CONTENDERS];
	uint32_t next_sample, stride;
};

double quality_parameter(uint32_t contender, double x)
{
	const struct quality_contender *c = &quality_contenders[contender];
	uint32_t i = (uint32_t)x;

	if (c->detector && c->detector->learns_by_verdict)
		return i + 1 < QUALITY_GRID
			       ? pow(quality_grid[i], i + 1 - x) * pow(quality_grid[i + 1], x - i)
			       : quality_grid[QUALITY_GRID - 1];
	if (!c->by_y)
		return x;
	x *= AKKA_LINEAR + AKKA_CUBIC * x * x;
	return (x > 700 ? x : log1p(exp(x))) * M_LOG10E;
}

static uint32_t states_of(const struct detector *d)
{
	return d->learns_by_verdict ? QUALITY_GRID : 1;
}

static void *state_at(const struct judge *j, uint32_t contender, uint32_t i)
{
	return (char *)j->state[contender] + i * j->state_size[contender];
}

/* --- what the contenders make of a record */

static void estimate(const struct judge *j, struct kphi_estimate *e)
{
	const struct kphi_window *w = &j->record.window;
	struct kphi_peer settings = j->settings;

	for (uint32_t i = 0; i < QUALITY_MODELS; i++) {
		const struct quality_contender *c = &quality_contenders[i];

		settings.model = (uint8_t)c->model;
		if (i && model_has_pause(settings.model) && model_has_pause(e[i - 1].model))
			e[i] = e[i - 1]; /* the same sums */
		else
			estimate_from_window(&e[i], w, &settings, j->ring);
		e[i].model = settings.model;
		e[i].pause_ns = c->pause * w->interval_ns;
	}
}

static void fit_lines(const struct judge *j, struct quality_sample *s)
{
	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++) {
		const struct detector *d = quality_contenders[i].detector;

		if (d->learns_by_verdict) {
			for (uint32_t k = 0; k < QUALITY_GRID; k++)
				s->grid_ns[k] = d->deadline(state_at(j, i, k), quality_grid[k]);
			continue;
		}
		s->base_ns[i] = d->deadline(j->state[i], quality_parameter(i, 0));
		s->slope_ns[i] = d->deadline(j->state[i], quality_parameter(i, 1)) - s->base_ns[i];
	}
}

/* If a detector is changed, it may have to be treated in another way here. */
static void check_lines(const struct judge *j, const struct quality_sample *s)
{
	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++) {
		const struct detector *d = quality_contenders[i].detector;
		double line = s->base_ns[i] + 7 * s->slope_ns[i], is;

		if (d->learns_by_verdict)
			continue;
		is = d->deadline(j->state[i], quality_parameter(i, 7));
		if (!(s->slope_ns[i] > 0) || fabs(is - line) > 1e-6 * fabs(line) + 10)
			die("quality: the deadline of %s is no line: %g, not %g", d->name, is, line);
	}
}

/* --- one silence */

static void score(const struct judge *j, struct quality_outcome *o, const struct quality_sample *s,
		  uint64_t silence_ns)
{
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		const struct quality_contender *c = &quality_contenders[i];
		double x, phi;

		if (c->detector && c->detector->learns_by_verdict) {
			for (uint32_t k = 0; k < QUALITY_GRID; k++)
				o->grid_mistakes[k] += (double)silence_ns > s->grid_ns[k];
			continue;
		}
		if (c->detector)
			x = ((double)silence_ns - s->base_ns[i]) / s->slope_ns[i];
		else
			x = (double)estimate_phi(&s->estimate[i], silence_ns - !!silence_ns) /
			    (double)Q32_ONE;
		o->score[i][o->beats] = (float)fmax(x, 0);
		if (!c->tells_phi || !(x > 0))
			continue;
		phi = quality_parameter(i, x);
		for (uint32_t k = 1; k <= QUALITY_PHI && phi >= k; k++)
			o->exceeded[i][k]++;
	}
	(void)j;
}

static void keep_sample(struct judge *j, struct quality_outcome *o, const struct quality_sample *s)
{
	struct quality_sample *kept = &o->sample[o->samples];
	uint32_t n = j->record.window.n;

	if (o->samples == QUALITY_SAMPLES)
		return;
	check_lines(j, s);
	*kept = *s;
	kept->ring = malloc(n * sizeof(*kept->ring) + 1);
	if (!kept->ring)
		die("quality: no memory");
	memcpy(kept->ring, j->ring, n * sizeof(*kept->ring));
	for (uint32_t i = 0; i < QUALITY_MODELS; i++)
		if (kept->estimate[i].model == KPHI_MODEL_EMPIRICAL)
			kept->estimate[i].ring = kept->ring;
	o->samples++;
	j->next_sample += j->stride;
}

static void judge_silence(struct judge *j, struct quality_outcome *o, uint64_t silence_ns)
{
	struct quality_sample s;

	s.silence_ns = (double)silence_ns;
	s.interval_ns = (double)j->record.window.interval_ns;
	estimate(j, s.estimate);
	fit_lines(j, &s);
	score(j, o, &s, silence_ns);
	if (o->beats == j->next_sample)
		keep_sample(j, o, &s);
	o->beats++;
}

/* --- one trace */

static struct detector_settings settings_of(struct judge *j)
{
	struct kphi_peer settings = j->settings;

	settings.model = KPHI_MODEL_NORMAL;
	return (struct detector_settings){
		.window = QUALITY_WINDOW,
		.interval_ns = j->record.window.interval_ns,
		.min_std_ns = effective_min_std_ns(&j->record.window, &settings),
		.pause_ns = effective_pause_ns(&j->record.window, &settings),
	};
}

static void begin_states(struct judge *j)
{
	struct detector_settings settings = settings_of(j);

	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++)
		for (uint32_t k = 0; k < states_of(quality_contenders[i].detector); k++)
			quality_contenders[i].detector->init(state_at(j, i, k), &settings);
}

static void arrive(struct judge *j, const struct detector_arrival *a)
{
	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++)
		for (uint32_t k = 0; k < states_of(quality_contenders[i].detector); k++)
			quality_contenders[i].detector->arrive(state_at(j, i, k), a, quality_grid[k]);
}

/*
 * What a reader would have taken for silence: less what the CPU of the last arrival has stalled since. If
 * another one has taken this message, its own stall tells that there was one, but not how long it was there.
 */
static bool silence_before(const struct kphi_record *r, const struct kphi_beat *b, uint64_t *silence_ns)
{
	uint64_t stalled_ns = b->cpu == r->cpu && b->stalled_total_ns > r->stalled_copy_ns
				      ? b->stalled_total_ns - r->stalled_copy_ns
				      : 0;

	*silence_ns = b->now_ns - r->last_ns;
	*silence_ns -= stalled_ns < *silence_ns ? stalled_ns : *silence_ns;
	return b->now_ns >= r->last_ns && (b->cpu == r->cpu || b->stall_end_ns <= r->last_ns);
}

static void take(struct judge *j, struct quality_outcome *o, struct kphi_beat *b)
{
	const uint32_t breaks = KPHI_NOTE(restart) | KPHI_NOTE(handover) | KPHI_NOTE(renegotiated);
	uint64_t silence_ns, highest = j->record.sequence.highest;
	bool known = silence_before(&j->record, b, &silence_ns);
	struct detector_arrival a = {.silence_ns = silence_ns, .steps = 1};
	struct kphi_record before = j->record;
	enum kphi_counter outcome;
	uint32_t notes;

	if (j->open && j->intervals++ >= j->path->warm && known)
		judge_silence(j, o, silence_ns);
	outcome = kphi_record_take(&j->record, &j->settings, j->ring, QUALITY_WINDOW, b, &notes);
	if (outcome != KPHI_COUNT_beat || notes & KPHI_NOTE(stamp_inverted))
		return;
	if (b->native || b->sequence_bits)
		a.steps = j->record.sequence.highest - highest;
	a.interval_ns = j->record.window.interval_ns;
	if (j->open && !(notes & breaks))
		arrive(j, &a);
	j->open = j->record.state == KPHI_UP && j->record.window.interval_ns;
	if (j->open && (before.state != KPHI_UP || !before.window.interval_ns || notes & breaks)) {
		begin_states(j);
		j->intervals = 0;
	}
}

static struct judge *judge_new(const struct quality_path *path)
{
	struct judge *j = calloc(1, sizeof(*j));
	struct detector_settings settings = {.window = QUALITY_WINDOW};

	if (!j)
		die("quality: no memory");
	j->path = path;
	j->settings = path->settings;
	j->record.state = KPHI_WAITING;
	kphi_window_begin(&j->record.window, &j->settings);
	j->stride = path->beats / QUALITY_SAMPLES + 1;
	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++) {
		const struct detector *d = quality_contenders[i].detector;

		j->state_size[i] = (d->size(&settings) + 15) / 16 * 16;
		j->state[i] = calloc(states_of(d), j->state_size[i] + 1);
		if (!j->state[i])
			die("quality: no memory");
	}
	return j;
}

static void judge_free(struct judge *j)
{
	for (uint32_t i = QUALITY_MODELS; i < QUALITY_CONTENDERS; i++)
		free(j->state[i]);
	free(j);
}

static int descending(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* Sorts what was scored, and keeps the highest. Of a short trace all. */
static void keep_scores(struct quality_outcome *o)
{
	o->kept = o->beats < 10000 ? o->beats : o->beats / KEPT_SHARE;
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		float *fewer;

		qsort(o->score[i], o->beats, sizeof(float), descending);
		fewer = realloc(o->score[i], (o->kept + 1) * sizeof(float));
		o->score[i] = fewer ? fewer : o->score[i];
	}
}

void quality_judge(struct quality_outcome *o, const struct quality_path *path)
{
	struct judge *j = judge_new(path);
	struct quality_walk walk;
	struct kphi_beat beat;

	*o = (struct quality_outcome){.path = path};
	o->sample = calloc(QUALITY_SAMPLES, sizeof(*o->sample));
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++) {
		o->score[i] = calloc(path->beats + 1, sizeof(float));
		if (!o->score[i] || !o->sample)
			die("quality: no memory");
	}
	quality_walk_begin(&walk, path);
	while (quality_walk_on(&walk, &beat))
		take(j, o, &beat);
	keep_scores(o);
	judge_free(j);
}

void quality_forget(struct quality_outcome *o)
{
	for (uint32_t i = 0; i < o->samples; i++)
		free(o->sample[i].ring);
	for (uint32_t i = 0; i < QUALITY_CONTENDERS; i++)
		free(o->score[i]);
	free(o->sample);
}
