// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace calibrate: the page. Its text and its script are user/cmd/calibrate.*; this writes the data. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.html.h"
#include "cmd/trace_calibrate.h"

#define DATA      "@DATA@"
#define PEERS_MAX 500 /* as many are listed; all are in the figures */
#define NUMBER    24

#define HISTOGRAMS_MAX 24 /* peers that are shown by themselves */
#define LIKELY         0.001 /* what a model expects so rarely to be shorter ends its curve */
#define UNSEEN         0.05 /* and here, what it expects so rarely to be longer, in all intervals */

/* A number that need not be exact, but may be very small. */
static void say_number(struct out *o, const char *key, double value)
{
	char text[NUMBER];

	snprintf(text, sizeof(text), "%.5g", value);
	out_string(o, key, NULL, text);
}

static void say_points(struct out *o, const struct sweep_curve *c)
{
	out_open_table(o, "points");
	for (uint32_t i = 0; i < c->n; i++) {
		const struct sweep_point *p = &c->point[i];

		if (!p->qos.crashes || p->qos.detect_max_ns == UINT64_MAX)
			continue;
		out_open_row(o);
		say_number(o, "at", c->detector ? p->parameter : (double)p->threshold / (double)Q32_ONE);
		out_u64(o, "mistakes", NULL, p->qos.mistakes);
		out_u64(o, "p50", NULL, p->qos.detect_p50_ns);
		out_u64(o, "p99", NULL, p->qos.detect_p99_ns);
		out_u64(o, "max", NULL, p->qos.detect_max_ns);
		out_close_row(o);
	}
	out_close_table(o);
}

static void say_settings(struct out *o, const struct calibration *c, const struct sweep_curve *curve)
{
	uint32_t permille;

	out_bool(o, "tuned", NULL, curve->tuning.pause || curve->tuning.min_std);
	if (calibrate_pause(c, curve, &permille))
		out_u64(o, "pause", NULL, permille);
	if (calibrate_min_std(c, curve, &permille))
		out_u64(o, "minStd", NULL, permille);
}

static void say_rivals(struct out *o, const struct calibration *c)
{
	out_open_array(o, "rivals");
	for (uint32_t i = 0; i < c->rivals_count; i++) {
		const struct calibrate_rival *r = &c->rivals[i];
		const struct detector *d = c->curves[r->first].detector;

		out_open_object(o, NULL);
		out_string(o, "name", NULL, r->name);
		out_bool(o, "model", NULL, !d);
		out_string(o, "parameter", NULL, d ? d->parameter : "threshold");
		out_bool(o, "time", NULL, d && d->unit == DETECTOR_TIME);
		out_string(o, "source", NULL, d ? d->source : NULL);
		out_u64(o, "best", NULL, r->best - r->first);
		out_open_array(o, "curves");
		for (uint32_t k = r->first; k < r->first + r->n; k++) {
			out_open_object(o, NULL);
			say_settings(o, c, &c->curves[k]);
			say_points(o, &c->curves[k]);
			out_close_object(o);
		}
		out_close_array(o);
		out_close_object(o);
	}
	out_close_array(o);
}

static void say_targets(struct out *o, const struct calibration *c)
{
	const struct sweep_curve *best = &c->curves[c->best];

	out_string(o, "chosenModel", NULL, model_name((uint8_t)best->model));
	out_open_object(o, "chosenSettings");
	say_settings(o, c, best);
	out_close_object(o);
	out_open_table(o, "targets");
	for (uint32_t i = 0; i < c->targets_count; i++) {
		const struct target *t = &c->targets[i];
		const struct sweep_point *p = calibrate_point(best, t);

		out_open_row(o);
		out_string(o, "name", NULL, t->name);
		say_number(o, "maxFalse", t->max_false_per_day);
		out_u64(o, "maxDetect", NULL, t->max_detect_ns);
		out_bool(o, "met", NULL, p);
		if (p) {
			say_number(o, "at", (double)p->threshold / (double)Q32_ONE);
			out_u64(o, "mistakes", NULL, p->qos.mistakes);
			say_number(o, "atMost", qos_mistakes_per_day_at_most(&p->qos));
			out_u64(o, "p50", NULL, p->qos.detect_p50_ns);
			out_u64(o, "p99", NULL, p->qos.detect_p99_ns);
			out_u64(o, "max", NULL, p->qos.detect_max_ns);
		}
		out_close_row(o);
	}
	out_close_table(o);
}

/* --- intervals: of all peers, and of some by themselves */

/* -log10 of a chance; none at all is nearly none. */
static double phi_of(double later)
{
	return later > 1e-99 ? -log10(later) : 99;
}

/* How rare a model thinks each length is, over all that was seen and as far as so few intervals could see. */
static void say_expected(struct out *o, const char *name, const double later[SURVEY_BINS + 1], uint32_t from,
			 uint32_t to, uint64_t intervals)
{
	while (from && later[from - 1] < 1 - LIKELY)
		from--;
	while (to < SURVEY_BINS && later[to] * (double)intervals > UNSEEN)
		to++;
	out_open_object(o, name);
	out_u64(o, "first", NULL, from);
	out_open_array(o, "phi");
	for (uint32_t i = from; i <= to; i++)
		say_number(o, NULL, phi_of(later[i]));
	out_close_array(o);
	out_close_object(o);
}

/* The bins from the first that is not empty to the last, and what the models expect. */
static void say_histogram(struct out *o, const struct calibration *c, uint32_t peer)
{
	const uint64_t *bins = survey_bins(&c->survey, peer);
	uint32_t from = 0, to = SURVEY_BINS;
	double later[SURVEY_BINS + 1];
	uint64_t intervals = 0;

	while (from < to && !bins[from])
		from++;
	while (to > from && !bins[to - 1])
		to--;
	out_open_object(o, NULL);
	out_string(o, "peer", NULL,
		   peer == SURVEY_ALL ? NULL : replay_settings(c->survey.replay, peer)->name);
	out_u64(o, "first", NULL, from);
	out_open_array(o, "n");
	for (uint32_t i = from; i < to; i++) {
		out_u64(o, NULL, NULL, bins[i]);
		intervals += bins[i];
	}
	out_close_array(o);
	out_open_object(o, "models");
	for (uint32_t i = 0; i < c->rivals_count; i++) {
		const struct sweep_curve *curve = &c->curves[c->rivals[i].first];

		if (!curve->detector && survey_expect(&c->survey, peer, (uint8_t)curve->model, later))
			say_expected(o, c->rivals[i].name, later, from, to, intervals);
	}
	out_close_object(o);
	out_close_object(o);
}

/* The longest interval of a peer, in its own intervals; 0 if it has no histogram. */
static double stretch_of(const struct survey *s, uint32_t peer)
{
	if (!replay_heard(s->replay, peer) || !survey_bins(s, peer))
		return 0;
	return (double)s->peers[peer].largest_ns / (double)replay_record(s->replay, peer)->window.interval_ns;
}

/* If they are many, those whose intervals were stretched most: there the models differ. */
static uint32_t choose_peers(const struct survey *s, uint32_t chosen[HISTOGRAMS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < replay_peers(s->replay) && i < SURVEY_EACH_MAX; i++) {
		uint32_t least = 0;

		if (!stretch_of(s, i))
			continue;
		if (n < HISTOGRAMS_MAX) {
			chosen[n++] = i;
			continue;
		}
		for (uint32_t k = 1; k < n; k++)
			if (stretch_of(s, chosen[k]) < stretch_of(s, chosen[least]))
				least = k;
		if (stretch_of(s, i) <= stretch_of(s, chosen[least]))
			continue;
		memmove(&chosen[least], &chosen[least + 1], (n - least - 1) * sizeof(*chosen));
		chosen[n - 1] = i;
	}
	return n;
}

static void say_histograms(struct out *o, const struct calibration *c)
{
	uint32_t chosen[HISTOGRAMS_MAX] = {0}, n = choose_peers(&c->survey, chosen);

	out_open_array(o, "histograms");
	say_histogram(o, c, SURVEY_ALL);
	for (uint32_t i = 0; i < n; i++)
		say_histogram(o, c, chosen[i]);
	out_close_array(o);
}

static void say_slots(struct out *o, const struct survey *s)
{
	uint64_t span_ns = s->last_ns - s->first_ns;

	out_u64(o, "slot", NULL, s->slot_ns);
	out_open_table(o, "slots");
	for (uint32_t i = 0; i <= span_ns / s->slot_ns && i < SURVEY_SLOTS; i++) {
		out_open_row(o);
		out_u64(o, "arrivals", NULL, s->slots[i].arrivals);
		out_u64(o, "stalled", NULL, s->slots[i].stalled_ns);
		out_u64(o, "longest", NULL, s->slots[i].longest_ns);
		out_close_row(o);
	}
	out_close_table(o);
}

static void say_peers(struct out *o, const struct survey *s)
{
	uint32_t said = 0;

	out_open_table(o, "peers");
	for (uint32_t i = 0; i < replay_peers(s->replay) && said < PEERS_MAX; i++) {
		const struct kphi_record *r;

		if (!replay_heard(s->replay, i))
			continue;
		said++;
		r = replay_record(s->replay, i);
		out_open_row(o);
		out_string(o, "name", NULL, replay_settings(s->replay, i)->name);
		out_u64(o, "beats", NULL, r->beats);
		out_u64(o, "lost", NULL, r->sequence.lost);
		out_u64(o, "interval", NULL, r->window.interval_ns);
		out_u64(o, "mean", NULL,
			s->peers[i].intervals ? s->peers[i].sum_ns / s->peers[i].intervals : 0);
		out_u64(o, "stddev", NULL, window_stddev_ns(&r->window));
		out_u64(o, "largest", NULL, s->peers[i].largest_ns);
		out_close_row(o);
	}
	out_close_table(o);
}

static void say_trace(struct out *o, const struct calibration *c)
{
	const struct survey *s = &c->survey;
	uint64_t before_ns = s->first_ns - c->start.monotonic_ns;

	out_string(o, "file", NULL, c->path);
	out_string(o, "peer", NULL, c->peer);
	out_u64(o, "heard", NULL, s->heard);
	out_u64(o, "arrivals", NULL, s->arrivals);
	out_u64(o, "lost", NULL, s->lost);
	out_u64(o, "torn", NULL, c->torn);
	out_u64(o, "intervals", NULL, s->intervals);
	out_u64(o, "alive", NULL, s->sum_ns);
	out_u64(o, "span", NULL, s->last_ns - s->first_ns);
	/* Unix time in ms; 0: not known. */
	out_u64(o, "began", NULL, c->start.wall_ns ? (c->start.wall_ns + before_ns) / 1000000 : 0);
	out_u64(o, "stalls", NULL, s->stalls);
	out_u64(o, "stalled", NULL, s->stalled_ns);
	out_u64(o, "longestStall", NULL, s->longest_stall_ns);
	out_bool(o, "ownSettings", NULL, !s->default_settings);
	out_u64(o, "crashes", NULL, c->curves[c->best].point[0].qos.crashes);
	out_u64(o, "seed", NULL, c->seed);
	out_u64(o, "window", NULL, c->window);
}

static void say_yaml(struct out *o, const struct calibration *c)
{
	char *text = calibrate_yaml(c);

	out_string(o, "yaml", NULL, text);
	free(text);
}

static int write_data(FILE *to, const struct calibration *c)
{
	struct out *o = out_new(to, OUT_JSON);

	out_open_object(o, NULL);
	say_trace(o, c);
	say_targets(o, c);
	say_yaml(o, c);
	say_rivals(o, c);
	say_histograms(o, c);
	say_slots(o, &c->survey);
	say_peers(o, &c->survey);
	out_close_object(o);
	return out_finish(o);
}

/* Inside a script element nothing may look like the end of it. In JSON a "<" is only found in strings. */
static void write_escaped(FILE *to, const char *text)
{
	for (; *text; text++)
		if (*text == '<')
			fputs("\\u003c", to);
		else
			putc(*text, to);
}

int calibrate_write_html(FILE *to, const struct calibration *c)
{
	const char *data = strstr((const char *)calibrate_html, DATA);
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int err = memory ? write_data(memory, c) : -errno;

	if (memory && fclose(memory) && !err)
		err = -errno;
	if (!err) {
		fwrite(calibrate_html, 1, (size_t)(data - (const char *)calibrate_html), to);
		write_escaped(to, text);
		fputs(data + strlen(DATA), to);
		if (fflush(to))
			err = -errno;
	}
	free(text);
	return err;
}
