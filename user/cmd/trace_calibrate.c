// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace calibrate: which model, which thresholds, for whom. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "cmd/trace_calibrate.h"
#include "io/parse.h"
#include "trace/writer.h"

#define CHUNK           (1U << 18) /* arrivals between two looks at the progress */
#define CRASHES_DEFAULT 100
#define CRASHES_MAX     100000
#define WORDS_MAX       64
#define THE_KNEE        "default" /* what the consumer is called if none was named */

struct calibrate_options {
	const char *models, *html;
	char peer[KPHI_NAME_SIZE];
	bool has_peer;
	uint64_t crashes, seed, window;
};

const struct option_spec trace_calibrate_specs[] = {
	{"model", OPT_STRING, offsetof(struct calibrate_options, models), OPT_NO_HAS, .value = "M,...",
	 .help = "models to choose from; all of them unless given"},
	{"html", OPT_STRING, offsetof(struct calibrate_options, html), OPT_NO_HAS, .value = "OUT",
	 .help = "also write all of it as a page with figures: one file, which needs no network"},
	{"peer", OPT_NAME, offsetof(struct calibrate_options, peer),
	 offsetof(struct calibrate_options, has_peer), .help = "only arrivals of this peer"},
	{"crashes", OPT_U64, offsetof(struct calibrate_options, crashes), OPT_NO_HAS, .min = 1,
	 .max = CRASHES_MAX,
	 .help = "injected into each peer's stream; 100 unless given, or fewer if peers are very many"},
	{"seed", OPT_U64, offsetof(struct calibrate_options, seed), OPT_NO_HAS,
	 .help = "another one, other crashes; 1 unless given"},
	{"window", OPT_U64, offsetof(struct calibrate_options, window), OPT_NO_HAS, .min = KPHI_WINDOW_MIN,
	 .max = KPHI_WINDOW_MAX, .help = "intervals a window holds; as recorded unless given"},
};
const size_t trace_calibrate_specs_count = COUNT(trace_calibrate_specs);

/* --- what is asked for */

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
static int read_target(struct calibration *c, struct args *args, const char *keyword)
{
	struct target *t = c->targets_count ? &c->targets[c->targets_count - 1] : NULL;
	bool detect = !strcmp(keyword, "max-detect");
	const char *word;
	char why[WHY_SIZE];
	int err;

	if (!detect && strcmp(keyword, "max-false") && strcmp(keyword, "consumer"))
		return 0;
	word = args_next(args, strcmp(keyword, "consumer") ? "what its consumer bears" : "a name");
	if (!word)
		return -EINVAL;
	if (!strcmp(keyword, "consumer") && c->targets_count == CALIBRATE_TARGETS_MAX)
		err = refuse(-EINVAL, why, sizeof(why), "more than %d of them", CALIBRATE_TARGETS_MAX);
	else if (!strcmp(keyword, "consumer"))
		err = parse_name(word, c->targets[c->targets_count++].name, why, sizeof(why));
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
static int read_request(struct calibrate_options *options, struct calibration *c, struct args *args)
{
	char *words[WORDS_MAX];
	struct args rest = {0, words, args->where};
	const char *word;

	while ((word = args_word(args))) {
		int took = read_target(c, args, word);

		if (took < 0)
			return took;
		for (int i = 0; i < 2 && !took && word; i++) {
			if (rest.argc == WORDS_MAX)
				return args_done(args);
			words[rest.argc++] = (char *)word;
			word = i ? NULL : args_word(args);
		}
	}
	if (!c->targets_count)
		strcpy(c->targets[c->targets_count++].name, THE_KNEE);
	return options_parse(&rest, trace_calibrate_specs, trace_calibrate_specs_count, options);
}

/* --- the sweep */

static int open_stream(void *context, struct replay_source *source, uint32_t pass, uint32_t passes)
{
	struct calibration *c = context;
	struct trace_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (trace_stream_open(s, c->path, c->peer)) {
		free(s);
		return -EINVAL;
	}
	trace_stream_pass(s, pass, passes);
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

static int sweep_all(struct calibration *c, uint64_t crashes)
{
	int cores = get_nprocs(), err;
	struct sweep s = {
		.survey = &c->survey,
		.window = c->window,
		.crashes = (uint32_t)crashes,
		.seed = c->seed,
		.threads = (uint32_t)(cores < SWEEP_THREADS_MAX ? cores : SWEEP_THREADS_MAX),
		.open = open_stream,
		.close = close_stream,
		.progress = show_progress,
		.context = c,
	};

	if (!crashes)
		sweep_afford(&s, c->curves, c->curves_count, CRASHES_DEFAULT);
	err = sweep_run(&s, c->curves, c->curves_count);
	if (err && !c->said)
		fail("%s: it cannot be replayed: %s", c->path, strerror(-err));
	return err;
}

/* The first pass: what there is to judge. That the file can be read at all is said here. */
static int survey_all(struct calibration *c, uint64_t window)
{
	struct replay_source source;
	struct trace_stream s;
	int got;

	if (trace_stream_open(&s, c->path, c->peer))
		return -EINVAL;
	s.progress.what = "surveying";
	source = trace_stream_source(&s);
	c->start = *trace_start(s.trace);
	c->window = trace_stream_window(&s, window);
	got = survey_begin(&c->survey, c->window);
	if (!got)
		while ((got = survey_run(&c->survey, &source, CHUNK)) > 0)
			trace_stream_progress(&s);
	if (got)
		trace_stream_explain(&s, c->path, got);
	c->torn = trace_torn(s.trace);
	trace_stream_close(&s);
	return got;
}

/* --- who is compared */

static void add_rival(struct calibration *c, const char *name, uint32_t curves)
{
	c->rivals[c->rivals_count++] =
		(struct calibrate_rival){name, c->curves_count, curves, c->curves_count};
	c->curves_count += curves;
}

static void line_up(struct calibration *c, const int *models, int n)
{
	for (int i = 0; i < n; i++)
		add_rival(c, model_name((uint8_t)models[i]),
			  sweep_model(&c->curves[c->curves_count], SWEEP_CURVES_MAX - c->curves_count,
				      models[i], c->survey.default_settings));
	c->models_count = c->curves_count;
	for (size_t i = 0; detectors[i] && c->curves_count < SWEEP_CURVES_MAX; i++) {
		c->curves[c->curves_count].detector = detectors[i];
		sweep_parameters(&c->curves[c->curves_count], c->survey.shortest_interval_ns,
				 c->survey.longest_interval_ns);
		add_rival(c, detectors[i]->name, 1);
	}
}

static void choose_all(struct calibration *c)
{
	for (uint32_t i = 0; i < c->rivals_count; i++) {
		struct calibrate_rival *r = &c->rivals[i];

		r->best =
			r->first + calibrate_model(&c->curves[r->first], r->n, c->targets, c->targets_count);
	}
	c->best = calibrate_model(c->curves, c->models_count, c->targets, c->targets_count);
}

static int calibrate(struct calibration *c, const struct calibrate_options *options, const int *models, int n)
{
	if (survey_all(c, options->window))
		return -EINVAL;
	if (!c->survey.intervals) {
		fail("%s: there are no intervals to judge by in it", c->path);
		return -ENODATA;
	}
	line_up(c, models, n);
	c->seed = options->seed;
	if (sweep_all(c, options->crashes))
		return -EINVAL;
	choose_all(c);
	return 0;
}

/* --- the page */

/* NULL after a sentence: before all the work, not after it. */
static FILE *open_page(const char *path)
{
	int fd = strcmp(path, "-") ? trace_new_fd(path) : -1;
	FILE *page;

	if (!strcmp(path, "-")) {
		fail("html: standard output belongs to the text: name a file");
		return NULL;
	}
	page = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!page)
		fail("html: %s: cannot be written: %s%s", path, strerror(errno),
		     errno == EEXIST ? ". Remove it, or choose another name" : "");
	return page;
}

static int close_page(FILE *page, const char *path, const struct calibration *c)
{
	int err = c ? calibrate_write_html(page, c) : -ECANCELED;

	if (fclose(page) && !err)
		err = -errno;
	if (err && err != -ECANCELED)
		fail("html: %s: cannot be written: %s", path, strerror(-err));
	if (err)
		unlink(path); /* half a page is none */
	return err;
}

static int run(const struct kphi_cli *cli, struct calibration *c, const struct calibrate_options *options,
	       const int *models, int n)
{
	FILE *page = options->html ? open_page(options->html) : NULL;
	int err, exit;

	if (options->html && !page)
		return KPHI_EXIT_FAILED;
	err = calibrate(c, options, models, n);
	if (page)
		err = close_page(page, options->html, err ? NULL : c) || err;
	exit = err ? KPHI_EXIT_FAILED : calibrate_report(cli, c);
	survey_end(&c->survey);
	return exit;
}

int trace_calibrate(struct kphi_cli *cli, struct args *args)
{
	struct calibrate_options options = {.seed = 1};
	const char *path = args_next(args, "a file");
	struct calibration *c = calloc(1, sizeof(*c));
	int models[KPHI_MODELS + 1], n, exit = KPHI_EXIT_USAGE;

	if (!c) {
		fail("%s: there is no memory", args->where);
		return KPHI_EXIT_FAILED;
	}
	if (path && !read_request(&options, c, args)) {
		c->path = path;
		c->peer = options.has_peer ? options.peer : NULL;
		n = trace_read_models(args->where, options.models, models);
		if (n >= 0)
			exit = run(cli, c, &options, models, n);
	}
	free(c);
	return exit;
}
