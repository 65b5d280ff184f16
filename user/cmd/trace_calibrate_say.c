// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace calibrate: what it says on standard output. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/trace_calibrate.h"

#define NS_PER_S       1000000000ULL
#define INTERVALS_MAX  6 /* so many intervals get lines of YAML of their own */
#define INTERVAL_RATIO 1.1 /* what is no farther apart is one */

/* --- what a curve stands for */

const struct sweep_point *calibrate_point(const struct sweep_curve *c, const struct target *t)
{
	int i = calibrate_choose(c, t);

	return i < 0 ? NULL : &c->point[i];
}

/* Where nobody was given any, what the model has by default; asked of a peer that beats every second. */
static bool setting(const struct calibration *c, const struct sweep_curve *curve, bool tuned,
		    uint32_t permille,
		    uint64_t (*effective)(const struct kphi_window *w, const struct kphi_peer *p),
		    uint32_t *result)
{
	const struct kphi_window w = {.interval_ns = NS_PER_S};
	const struct kphi_peer peer = {.model = (uint8_t)curve->model};

	*result = tuned ? permille : (uint32_t)(effective(&w, &peer) / (NS_PER_S / 1000));
	return !curve->detector && (tuned || (c->survey.default_settings && *result));
}

bool calibrate_pause(const struct calibration *c, const struct sweep_curve *curve, uint32_t *permille)
{
	return setting(c, curve, curve->tuning.pause, curve->tuning.pause_permille, effective_pause_ns,
		       permille);
}

bool calibrate_min_std(const struct calibration *c, const struct sweep_curve *curve, uint32_t *permille)
{
	return setting(c, curve, curve->tuning.min_std, curve->tuning.min_std_permille, effective_min_std_ns,
		       permille);
}

/* --- the document */

static void say_target(struct out *o, const struct target *t)
{
	if (t->max_false_per_day > 0)
		out_q32(o, "max_false_per_peer_day", NULL,
			(uint64_t)llround(fmin(t->max_false_per_day, 1e9) * 0x1p32));
	else
		out_null(o, "max_false_per_peer_day", NULL);
	if (t->max_detect_ns)
		out_duration(o, "max_detect_ns", NULL, t->max_detect_ns);
	else
		out_null(o, "max_detect_ns", NULL);
}

static uint64_t q32_of(double value)
{
	return value < 0x1p31 ? (uint64_t)llround(value * 0x1p32) : 0x1p63;
}

static void say_share(struct out *o, const char *key, const char *title, bool known, uint32_t permille)
{
	if (known)
		out_q32(o, key, title, q32_of(permille / 1000.0));
	else
		out_null(o, key, title);
}

/* Who a curve is, and with which settings. */
static void say_curve(struct out *o, const struct calibration *c, const struct sweep_curve *curve)
{
	uint32_t permille;
	bool known;

	if (curve->detector)
		out_string(o, "detector", "MODEL", curve->detector->name);
	else
		out_string(o, "model", "MODEL", model_name((uint8_t)curve->model));
	known = calibrate_pause(c, curve, &permille);
	say_share(o, "pause_intervals", "PAUSE", known, permille);
	known = calibrate_min_std(c, curve, &permille);
	say_share(o, "min_std_intervals", "MIN STD", known, permille);
}

static void say_parameter(struct out *o, const struct sweep_curve *c, const struct sweep_point *p,
			  const char *title)
{
	if (!p)
		out_null(o, c->detector ? "parameter" : "suspect", title);
	else if (!c->detector)
		out_q32(o, "suspect", title, p->threshold);
	else if (c->detector->unit == DETECTOR_TIME)
		out_duration(o, "parameter_ns", title, (uint64_t)llround(p->parameter));
	else
		out_q32(o, "parameter", title, q32_of(p->parameter));
}

static void say_choice(struct out *o, const struct calibration *c, const struct target *t,
		       const struct calibrate_rival *r, enum out_mode mode)
{
	const struct sweep_curve *curve = &c->curves[r->best];
	const struct sweep_point *p = calibrate_point(curve, t);

	out_open_row(o);
	out_string(o, "consumer", "CONSUMER", t->name);
	say_target(o, t);
	say_curve(o, c, curve);
	out_bool(o, "chosen", "CHOSEN", r->best == c->best && p);
	say_parameter(o, curve, p, "AT");
	if (p) {
		out_open_object(o, "qos");
		trace_say_qos(o, &p->qos, mode);
		out_close_object(o);
	} else {
		out_null(o, "qos", NULL);
	}
	out_close_row(o);
}

static void say_curves(struct out *o, const struct calibration *c, enum out_mode mode)
{
	if (mode == OUT_TEXT)
		return;
	out_open_array(o, "curves");
	for (uint32_t i = 0; i < c->curves_count; i++) {
		const struct sweep_curve *curve = &c->curves[i];

		out_open_object(o, NULL);
		say_curve(o, c, curve);
		out_open_table(o, "points");
		for (uint32_t k = 0; k < curve->n; k++) {
			out_open_row(o);
			say_parameter(o, curve, &curve->point[k], NULL);
			trace_say_qos(o, &curve->point[k].qos, mode);
			out_close_row(o);
		}
		out_close_table(o);
		out_close_object(o);
	}
	out_close_array(o);
}

/* --- YAML */

/* What the operator reads behind a line of YAML. */
static void write_remark(FILE *to, const struct qos *q)
{
	char p50[FORMAT_SIZE], max[FORMAT_SIZE], seen[FORMAT_SIZE], most[FORMAT_SIZE];

	fprintf(to,
		"  # %s false a peer and day (below %s with 95 %% confidence), detects in %s, at most %s\n",
		trace_format_rate(qos_mistakes_per_day(q), seen),
		trace_format_rate(qos_mistakes_per_day_at_most(q), most),
		format_duration(q->detect_p50_ns, p50), format_duration(q->detect_max_ns, max));
}

/* A name of the command line inside double quotes of YAML. */
static void write_quoted(FILE *to, const char *name)
{
	putc('"', to);
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			putc('\\', to);
		putc(*name, to);
	}
	putc('"', to);
}

/* Two digits, as people write intervals: a learned one is never quite round. */
static uint64_t rounded(uint64_t ns)
{
	uint64_t digit = 1;

	while (ns / digit >= 100)
		digit *= 10;
	return (ns + digit / 2) / digit * digit;
}

/* The intervals in force, each about once; INTERVALS_MAX + 1: they are too many. */
static uint32_t find_intervals(const struct replay *r, uint64_t intervals[INTERVALS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < replay_peers(r); i++) {
		uint64_t ns = replay_heard(r, i) ? rounded(replay_record(r, i)->window.interval_ns) : 0;
		bool known = !ns;

		for (uint32_t k = 0; k < n && !known; k++)
			known = (double)ns < INTERVAL_RATIO * (double)intervals[k] &&
				(double)intervals[k] < INTERVAL_RATIO * (double)ns;
		if (known)
			continue;
		if (n == INTERVALS_MAX)
			return INTERVALS_MAX + 1;
		intervals[n++] = ns;
	}
	return n;
}

static void write_setting(FILE *to, const char *key, bool known, uint32_t permille, uint64_t interval_ns)
{
	char text[FORMAT_SIZE];

	if (!known)
		return;
	if (interval_ns)
		format_duration_exact(interval_ns * permille / 1000, text);
	fprintf(to, "#   %s: ", key);
	if (interval_ns)
		fprintf(to, "%s\n", text);
	else
		fprintf(to, "%g of its interval, as a duration\n", permille / 1000.0);
}

/* Peers are listed elsewhere in the file, so these lines are remarks: what to write in their entries. */
static void write_peers(FILE *to, const struct calibration *c, const struct sweep_curve *curve)
{
	uint64_t intervals[INTERVALS_MAX] = {0};
	uint32_t n = find_intervals(c->survey.replay, intervals), pause, min_std;
	bool has_pause = calibrate_pause(c, curve, &pause),
	     has_min_std = calibrate_min_std(c, curve, &min_std);
	bool each = n > 1 && n <= INTERVALS_MAX && (has_pause || has_min_std);
	char text[FORMAT_SIZE];

	for (uint32_t i = 0; i < (each ? n : 1); i++) {
		uint64_t interval_ns = n > INTERVALS_MAX ? 0 : intervals[i];

		fputs("# in each entry of peers", to);
		if (each)
			fprintf(to, " that beat every %s", format_duration_exact(interval_ns, text));
		fprintf(to, ":\n#   model: %s\n", model_name((uint8_t)curve->model));
		write_setting(to, "pause", has_pause, pause, interval_ns);
		write_setting(to, "min_std", has_min_std, min_std, interval_ns);
	}
}

static void write_yaml(FILE *to, const struct calibration *c)
{
	const struct sweep_curve *curve = &c->curves[c->best];
	char threshold[FORMAT_SIZE];
	bool any = false;

	for (uint32_t i = 0; i < c->targets_count; i++)
		any |= calibrate_point(curve, &c->targets[i]) != NULL;
	if (!any)
		return;
	write_peers(to, c, curve);
	fputs("consumers:\n", to);
	for (uint32_t i = 0; i < c->targets_count; i++) {
		const struct sweep_point *p = calibrate_point(curve, &c->targets[i]);

		if (!p)
			continue;
		fputs("  - name: ", to);
		write_quoted(to, c->targets[i].name);
		fprintf(to, "\n    suspect: %s", format_q32(p->threshold, 1, threshold));
		write_remark(to, &p->qos);
	}
}

char *calibrate_yaml(const struct calibration *c)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		write_yaml(memory, c);
		fclose(memory);
	}
	return text;
}

static void say_yaml(struct out *o, const struct calibration *c, enum out_mode mode)
{
	char *text = calibrate_yaml(c);

	if (mode == OUT_TEXT)
		out_text(o, "%s%s", text && *text ? "\n" : "", text ? text : "");
	else
		out_string(o, "yaml", NULL, text);
	free(text);
}

/* Seen too little is not the same as safe. */
static bool is_short(const struct target *t, const struct sweep_point *p)
{
	return t->max_false_per_day > 0 && qos_mistakes_per_day_at_most(&p->qos) > t->max_false_per_day;
}

/* What the choice does not say by itself. KPHI_EXIT_FAILED if a target is not met. */
static int remark(const struct calibration *calibration)
{
	const struct sweep_curve *c = &calibration->curves[calibration->best];
	int exit = KPHI_EXIT_OK;

	for (uint32_t i = 0; i < calibration->targets_count; i++) {
		const struct target *t = &calibration->targets[i];
		const struct sweep_point *p = calibrate_point(c, t);
		char lived[FORMAT_SIZE];

		if (!p) {
			fail("consumer '%s': no threshold of %s meets its bounds on this trace", t->name,
			     model_name((uint8_t)c->model));
			exit = KPHI_EXIT_FAILED;
		} else if (is_short(t, p)) {
			warn("consumer '%s': the trace has %s of peers' lives, too little to show that its "
			     "bound on false suspicions is kept. Record longer",
			     t->name, format_duration(p->qos.alive_ns, lived));
		}
	}
	return exit;
}

int calibrate_report(const struct kphi_cli *cli, const struct calibration *c)
{
	struct out *o = out_new(stdout, cli->mode);
	int exit;

	out_open_object(o, NULL);
	out_open_table(o, "choices");
	for (uint32_t i = 0; i < c->targets_count; i++)
		for (uint32_t k = 0; k < c->rivals_count; k++)
			say_choice(o, c, &c->targets[i], &c->rivals[k], cli->mode);
	out_close_table(o);
	say_curves(o, c, cli->mode);
	say_yaml(o, c, cli->mode);
	out_close_object(o);
	exit = command_finish(o);
	return exit ? exit : remark(c);
}
