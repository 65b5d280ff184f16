// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace calibrate: which model, which thresholds, for whom. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "cmd/trace_replay.h"
#include "io/parse.h"
#include "replay/calibrate.h"

#define CRASHES_DEFAULT 100
#define CRASHES_MAX     100000
#define TARGETS_MAX     16
#define WORDS_MAX       64
#define THE_KNEE        "default" /* what the consumer is called if none was named */

struct calibrate_options {
	const char *models;
	char peer[KPHI_NAME_SIZE];
	bool has_peer;
	uint64_t crashes, seed, window;
};

const struct option_spec trace_calibrate_specs[] = {
	{"model", OPT_STRING, offsetof(struct calibrate_options, models), OPT_NO_HAS, .value = "M,...",
	 .help = "models to choose from; all of them unless given"},
	{"peer", OPT_NAME, offsetof(struct calibrate_options, peer),
	 offsetof(struct calibrate_options, has_peer), .help = "only arrivals of this peer"},
	{"crashes", OPT_U64, offsetof(struct calibrate_options, crashes), OPT_NO_HAS, .min = 1,
	 .max = CRASHES_MAX, .help = "injected into each peer's stream; 100 unless given"},
	{"seed", OPT_U64, offsetof(struct calibrate_options, seed), OPT_NO_HAS,
	 .help = "another one, other crashes; 1 unless given"},
	{"window", OPT_U64, offsetof(struct calibrate_options, window), OPT_NO_HAS, .min = KPHI_WINDOW_MIN,
	 .max = KPHI_WINDOW_MAX, .help = "intervals a window holds; as recorded unless given"},
};
const size_t trace_calibrate_specs_count = COUNT(trace_calibrate_specs);

/* --- what is asked for */

struct request {
	struct calibrate_options options;
	struct target targets[TARGETS_MAX];
	uint32_t targets_count;
};

static const struct {
	const char *name;
	double days;
} units[] = {{"s", 1 / 86400.0}, {"min", 1 / 1440.0}, {"hour", 1 / 24.0}, {"day", 1},
	     {"week", 7},        {"month", 30},       {"year", 365}};

/* "1/week": false suspicions of one peer. */
static int read_rate(const char *word, double *per_day, char *why, size_t size)
{
	char *end;
	double n = strtod(word, &end);

	for (size_t i = 0; i < COUNT(units) && end != word && *end == '/'; i++) {
		if (strcmp(end + 1, units[i].name) || !(n > 0) || !isfinite(n))
			continue;
		*per_day = n / units[i].days;
		return 0;
	}
	return refuse(-EINVAL, why, size,
		      QUOTED
		      " is no rate: write a number above 0, a slash and one of s, min, hour, day, week, "
		      "month and year, as in 1/week",
		      word);
}

/* A keyword of a consumer with its value; 0 if it is none. */
static int read_target(struct request *q, struct args *args, const char *keyword)
{
	struct target *t = q->targets_count ? &q->targets[q->targets_count - 1] : NULL;
	bool detect = !strcmp(keyword, "max-detect");
	const char *word;
	char why[WHY_SIZE];
	int err;

	if (!detect && strcmp(keyword, "max-false") && strcmp(keyword, "consumer"))
		return 0;
	word = args_next(args, strcmp(keyword, "consumer") ? "what its consumer bears" : "a name");
	if (!word)
		return -EINVAL;
	if (!strcmp(keyword, "consumer") && q->targets_count == TARGETS_MAX)
		err = refuse(-EINVAL, why, sizeof(why), "more than %d of them", TARGETS_MAX);
	else if (!strcmp(keyword, "consumer"))
		err = parse_name(word, q->targets[q->targets_count++].name, why, sizeof(why));
	else if (!t)
		err = refuse(-EINVAL, why, sizeof(why), "whose? `consumer NAME` comes first");
	else if (detect)
		err = parse_duration(word, 1, UINT64_MAX - 1, &t->max_detect_ns, why, sizeof(why));
	else
		err = read_rate(word, &t->max_false_per_day, why, sizeof(why));
	if (err)
		fail("%s: %s: %s", args->where, keyword, why);
	return err ? -EINVAL : 1;
}

/* Consumers may be many, so they are taken out; what is left are options, a keyword and its value each. */
static int read_request(struct request *q, struct args *args)
{
	char *words[WORDS_MAX];
	struct args rest = {0, words, args->where};
	const char *word;

	while ((word = args_word(args))) {
		int took = read_target(q, args, word);

		if (took < 0)
			return took;
		for (int i = 0; i < 2 && !took && word; i++) {
			if (rest.argc == WORDS_MAX)
				return args_done(args);
			words[rest.argc++] = (char *)word;
			word = i ? NULL : args_word(args);
		}
	}
	if (!q->targets_count)
		strcpy(q->targets[q->targets_count++].name, THE_KNEE);
	return options_parse(&rest, trace_calibrate_specs, trace_calibrate_specs_count, &q->options);
}

/* --- the sweep */

struct calibration {
	const char *path, *peer;
	bool said; /* what went wrong */
	struct sweep_curve curves[KPHI_MODELS + 1];
	uint32_t curves_count;
};

static int open_stream(void *context, struct replay_source *source)
{
	struct calibration *c = context;
	struct trace_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (trace_stream_open(s, c->path, c->peer)) {
		free(s);
		return -EINVAL;
	}
	*source = trace_stream_source(s);
	return 0;
}

/* All threads meet the same damage; one of them says it. */
static void close_stream(void *context, struct replay_source *source, int err)
{
	struct calibration *c = context;
	struct trace_stream *s = source->context;

	if (err && !__atomic_exchange_n(&c->said, true, __ATOMIC_RELAXED))
		trace_stream_explain(s, c->path, err);
	trace_stream_close(s);
	free(s);
}

static void show_progress(void *context, const struct replay_source *source)
{
	(void)context;
	trace_stream_progress(source->context);
}

static int sweep_all(struct calibration *c, const struct request *q, uint32_t window)
{
	int cores = get_nprocs(), err;
	struct sweep s = {
		.window = window,
		.crashes = (uint32_t)q->options.crashes,
		.seed = q->options.seed,
		.threads = (uint32_t)(cores < SWEEP_THREADS_MAX ? cores : SWEEP_THREADS_MAX),
		.open = open_stream,
		.close = close_stream,
		.progress = show_progress,
		.context = c,
	};

	err = sweep_run(&s, c->curves, c->curves_count);
	if (err && !c->said)
		fail("%s: it cannot be replayed: %s", c->path, strerror(-err));
	return err;
}

/* The recorder's window; that the file can be read at all is said once, here. */
static int window_of(const struct calibration *c, uint64_t asked, uint32_t *window)
{
	struct trace_stream s;

	if (trace_stream_open(&s, c->path, c->peer))
		return -EINVAL;
	*window = trace_stream_window(&s, asked);
	trace_stream_close(&s);
	return 0;
}

/* --- the document */

static const struct sweep_point *chosen(const struct sweep_curve *c, const struct target *t)
{
	int i = calibrate_choose(c, t);

	return i < 0 ? NULL : &c->point[i];
}

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

static void say_choice(struct out *o, const struct target *t, const struct sweep_curve *c, bool best,
		       enum out_mode mode)
{
	const struct sweep_point *p = chosen(c, t);

	out_open_row(o);
	out_string(o, "consumer", "CONSUMER", t->name);
	say_target(o, t);
	out_string(o, "model", "MODEL", model_name((uint8_t)c->model));
	out_bool(o, "chosen", "CHOSEN", best && p);
	if (p) {
		out_q32(o, "suspect", "SUSPECT", p->threshold);
		out_open_object(o, "qos");
		trace_say_qos(o, &p->qos, mode);
		out_close_object(o);
	} else {
		out_null(o, "suspect", "SUSPECT");
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
		out_open_object(o, NULL);
		out_string(o, "model", NULL, model_name((uint8_t)c->curves[i].model));
		out_open_table(o, "points");
		for (uint32_t k = 0; k < c->curves[i].n; k++) {
			out_open_row(o);
			out_q32(o, "threshold", NULL, c->curves[i].point[k].threshold);
			trace_say_qos(o, &c->curves[i].point[k].qos, mode);
			out_close_row(o);
		}
		out_close_table(o);
		out_close_object(o);
	}
	out_close_array(o);
}

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

static void write_yaml(FILE *to, const struct request *q, const struct sweep_curve *c)
{
	char threshold[FORMAT_SIZE];
	bool any = false;

	for (uint32_t i = 0; i < q->targets_count; i++)
		any |= chosen(c, &q->targets[i]) != NULL;
	if (!any)
		return;
	fprintf(to, "# in each entry of peers:\n#   model: %s\nconsumers:\n", model_name((uint8_t)c->model));
	for (uint32_t i = 0; i < q->targets_count; i++) {
		const struct sweep_point *p = chosen(c, &q->targets[i]);

		if (!p)
			continue;
		fputs("  - name: ", to);
		write_quoted(to, q->targets[i].name);
		fprintf(to, "\n    suspect: %s", format_q32(p->threshold, 1, threshold));
		write_remark(to, &p->qos);
	}
}

static void say_yaml(struct out *o, const struct request *q, const struct sweep_curve *c, enum out_mode mode)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		write_yaml(memory, q, c);
		fclose(memory);
	}
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
static int remark(const struct request *q, const struct sweep_curve *c)
{
	int exit = KPHI_EXIT_OK;

	for (uint32_t i = 0; i < q->targets_count; i++) {
		const struct target *t = &q->targets[i];
		const struct sweep_point *p = chosen(c, t);
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

static int report(const struct kphi_cli *cli, const struct calibration *c, const struct request *q)
{
	uint32_t best = calibrate_model(c->curves, c->curves_count, q->targets, q->targets_count);
	struct out *o = out_new(stdout, cli->mode);
	int exit;

	out_open_object(o, NULL);
	out_open_table(o, "choices");
	for (uint32_t i = 0; i < q->targets_count; i++)
		for (uint32_t k = 0; k < c->curves_count; k++)
			say_choice(o, &q->targets[i], &c->curves[k], k == best, cli->mode);
	out_close_table(o);
	say_curves(o, c, cli->mode);
	say_yaml(o, q, &c->curves[best], cli->mode);
	out_close_object(o);
	exit = command_finish(o);
	return exit ? exit : remark(q, &c->curves[best]);
}

int trace_calibrate(struct kphi_cli *cli, struct args *args)
{
	struct request q = {.options = {.crashes = CRASHES_DEFAULT, .seed = 1}};
	const char *path = args_next(args, "a file");
	int models[KPHI_MODELS + 1], n, exit = KPHI_EXIT_FAILED;
	struct calibration *c;
	uint32_t window;

	if (!path || read_request(&q, args))
		return KPHI_EXIT_USAGE;
	n = trace_read_models(args->where, q.options.models, models);
	if (n < 0)
		return KPHI_EXIT_USAGE;
	c = calloc(1, sizeof(*c));
	if (!c) {
		fail("%s: there is no memory", args->where);
		return exit;
	}
	c->path = path;
	c->peer = q.options.has_peer ? q.options.peer : NULL;
	for (; (int)c->curves_count < n; c->curves_count++) {
		c->curves[c->curves_count].model = models[c->curves_count];
		sweep_thresholds(&c->curves[c->curves_count]);
	}
	if (!window_of(c, q.options.window, &window) && !sweep_all(c, &q, window)) {
		if (c->curves[0].point[0].qos.intervals)
			exit = report(cli, c, &q);
		else
			fail("%s: there are no intervals to judge by in it", path);
	}
	free(c);
	return exit;
}
