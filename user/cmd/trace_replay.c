// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace replay: what models and yardsticks would have made of the arrivals of a trace. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/trace_replay.h"

#define CHUNK (1U << 18) /* arrivals between two looks at the clock */

#define CRASHES_MAX 1000000

struct replay_options {
	const char *models, *thresholds, *detectors;
	char peer[KPHI_NAME_SIZE];
	bool has_peer;
	uint64_t crashes, seed, window;
};

const struct option_spec trace_replay_specs[] = {
	{"model", OPT_STRING, offsetof(struct replay_options, models), OPT_NO_HAS, .value = "M,...",
	 .help = "models of kphi's; own: what each peer was given, which is what happens unless said"},
	{"threshold", OPT_STRING, offsetof(struct replay_options, thresholds), OPT_NO_HAS, .value = "PHI,...",
	 .help = "each model is judged at each of them; 8 unless given"},
	{"detector", OPT_STRING, offsetof(struct replay_options, detectors), OPT_NO_HAS,
	 .value = "D[:PARAMETER]...,...",
	 .help = "yardsticks: fixed:2s, bfd:3, jacobson:4, chen:500ms, bertier:4, 2w:500ms, akka-replay:8, "
		 "akka-port:8, cassandra:8"},
	{"peer", OPT_NAME, offsetof(struct replay_options, peer), offsetof(struct replay_options, has_peer),
	 .help = "only arrivals of this peer"},
	{"crashes", OPT_U64, offsetof(struct replay_options, crashes), OPT_NO_HAS, .max = CRASHES_MAX,
	 .help = "injected into each peer's stream to measure detection times; 1000 unless given"},
	{"seed", OPT_U64, offsetof(struct replay_options, seed), OPT_NO_HAS,
	 .help = "another one, other crashes; 1 unless given"},
	{"window", OPT_U64, offsetof(struct replay_options, window), OPT_NO_HAS, .min = KPHI_WINDOW_MIN,
	 .max = KPHI_WINDOW_MAX, .help = "intervals a window holds; as recorded unless given"},
};
const size_t trace_replay_specs_count = COUNT(trace_replay_specs);

/* --- figures */

static uint64_t q32_of(double value)
{
	return value < 0x1p31 ? (uint64_t)llround(value * 0x1p32) : 0x1p63;
}

static void say_time(struct out *o, const char *key, const char *title, double ns, bool known)
{
	if (known)
		out_duration(o, key, title, (uint64_t)llround(ns));
	else
		out_null(o, key, title);
}

char *trace_format_rate(double rate, char text[FORMAT_SIZE])
{
	if (rate >= 100 || !rate)
		snprintf(text, FORMAT_SIZE, "%.0f", rate);
	else if (rate >= 0.001)
		snprintf(text, FORMAT_SIZE, "%.2g", rate);
	else
		snprintf(text, FORMAT_SIZE, "%.1e", rate);
	return text;
}

/* People see six digits behind the last nine; a program has mistaken_ns and alive_ns, which are exact. */
static void say_accuracy(struct out *o, double accuracy, enum out_mode mode)
{
	char text[FORMAT_SIZE];

	if (mode != OUT_TEXT) {
		out_q32(o, "query_accuracy", NULL, q32_of(accuracy));
		return;
	}
	snprintf(text, sizeof(text), "%.5f%%", 100 * accuracy);
	out_string(o, "query_accuracy", "P_A", text);
}

static void say_rate(struct out *o, const struct qos *q, enum out_mode mode)
{
	char text[FORMAT_SIZE];

	if (mode == OUT_TEXT) {
		out_string(o, "mistakes_per_peer_day", "PER DAY",
			   trace_format_rate(qos_mistakes_per_day(q), text));
		return;
	}
	out_q32(o, "mistakes_per_peer_day", NULL, q32_of(qos_mistakes_per_day(q)));
	if (q->alive_ns)
		out_q32(o, "mistakes_per_peer_day_at_most", NULL, q32_of(qos_mistakes_per_day_at_most(q)));
	else
		out_null(o, "mistakes_per_peer_day_at_most", NULL);
}

void trace_say_qos(struct out *o, const struct qos *q, enum out_mode mode)
{
	bool crashed = q->crashes > 0;

	out_u64(o, "intervals", NULL, q->intervals);
	out_duration(o, "alive_ns", NULL, q->alive_ns);
	out_u64(o, "mistakes", "MISTAKES", q->mistakes);
	say_rate(o, q, mode);
	out_duration(o, "mistaken_ns", NULL, q->mistaken_ns);
	say_time(o, "mistake_recurrence_ns", "T_MR", qos_recurrence_ns(q), q->mistakes);
	say_time(o, "mistake_duration_ns", "T_M", qos_mistake_ns(q), q->mistakes);
	say_time(o, "mistake_duration_max_ns", "LONGEST", (double)q->longest_ns, q->mistakes);
	say_time(o, "good_period_ns", NULL, qos_good_ns(q), q->mistakes);
	say_accuracy(o, qos_accuracy(q), mode);
	out_u64(o, "crashes", NULL, q->crashes);
	say_time(o, "detection_p50_ns", "T_D P50", (double)q->detect_p50_ns,
		 crashed && q->detect_p50_ns < UINT64_MAX);
	say_time(o, "detection_p99_ns", "P99", (double)q->detect_p99_ns,
		 crashed && q->detect_p99_ns < UINT64_MAX);
	say_time(o, "detection_max_ns", "MAX", (double)q->detect_max_ns,
		 crashed && q->detect_max_ns < UINT64_MAX);
}

/* --- the document */

static void say_contender(struct out *o, const struct replay_plan *plan, uint32_t c, int own)
{
	const struct replay_group *g = replay_plan_group(plan, c);
	double parameter = plan->parameter[c];

	if (!g->detector) {
		out_string(o, "detector", "DETECTOR",
			   g->model >= 0 ? model_name((uint8_t)g->model)
			   : own >= 0    ? model_name((uint8_t)own)
					 : "own");
		out_q32(o, "threshold", "AT", plan->threshold[c].phi);
	} else {
		out_string(o, "detector", "DETECTOR", g->detector->name);
		if (g->detector->unit == DETECTOR_TIME)
			out_duration(o, "parameter_ns", "AT", (uint64_t)llround(parameter));
		else
			out_q32(o, "parameter", "AT", q32_of(parameter));
	}
}

static int say_all(struct out *o, const struct replay *r, const struct replay_plan *plan, enum out_mode mode)
{
	struct qos q;
	int err = 0;

	out_open_table(o, "all");
	for (uint32_t c = 0; c < plan->contenders && !err; c++) {
		err = replay_qos_all(r, c, &q);
		out_open_row(o);
		say_contender(o, plan, c, REPLAY_OWN_MODEL);
		trace_say_qos(o, &q, mode);
		out_close_row(o);
	}
	out_close_table(o);
	return err;
}

static int say_peer(struct out *o, const struct replay *r, const struct replay_plan *plan, uint32_t peer,
		    enum out_mode mode)
{
	const struct kphi_peer *settings = replay_settings(r, peer);
	struct qos q;
	int err = 0;

	for (uint32_t c = 0; c < plan->contenders && !err; c++) {
		err = replay_qos(r, peer, c, &q);
		out_open_row(o);
		out_string(o, "peer", "PEER", settings->name);
		say_contender(o, plan, c, settings->model);
		trace_say_qos(o, &q, mode);
		out_close_row(o);
	}
	return err;
}

/* What the record came to, for programs: the same as live. */
static void say_record(struct out *o, const struct kphi_peer *settings, const struct kphi_record *r)
{
	out_open_row(o);
	out_string(o, "peer", NULL, settings->name);
	out_u64(o, "beats", NULL, r->beats);
	out_u64(o, "lost", NULL, r->sequence.lost);
	out_u64(o, "duplicates", NULL, r->duplicates);
	out_u64(o, "reordered", NULL, r->reordered);
	out_u64(o, "stale", NULL, r->stale);
	out_u64(o, "restarts", NULL, r->restarts);
	out_u64(o, "capped", NULL, r->capped);
	out_u64(o, "retuned", NULL, r->retuned);
	out_u64(o, "unlearned", NULL, r->unlearned);
	out_u64(o, "stamp_inverted", NULL, r->stamp_inverted);
	out_duration(o, "interval_ns", NULL, r->window.interval_ns);
	out_u64(o, "samples", NULL, r->window.n);
	out_duration(o, "sum_ns", NULL, r->window.sum_ns);
	out_duration(o, "mean_ns", NULL, window_mean_ns(&r->window));
	out_duration(o, "stddev_ns", NULL, window_stddev_ns(&r->window));
	out_close_row(o);
}

static void say_records(struct out *o, const struct replay *r)
{
	out_open_table(o, "records");
	for (uint32_t i = 0; i < replay_peers(r); i++)
		if (replay_known(r, i))
			say_record(o, replay_settings(r, i), replay_record(r, i));
	out_close_table(o);
}

static uint32_t heard(const struct replay *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < replay_peers(r); i++)
		n += replay_heard(r, i);
	return n;
}

/* What of the recording is not there to be judged. */
static void say_trace(struct out *o, const struct trace_stream *s, const struct replay *r)
{
	uint64_t lost = trace_lost(s->trace), torn = trace_torn(s->trace);

	out_u64(o, "arrivals", "arrivals", replay_arrivals(r));
	out_u64(o, "peers", "peers", heard(r));
	out_u64(o, "lost", lost ? "lost by the recorder" : NULL, lost);
	out_bytes(o, "torn_bytes", torn ? "torn off at the end" : NULL, torn);
	out_bool(o, "ended", NULL, trace_ended(s->trace));
}

static int report(const struct kphi_cli *cli, const struct trace_stream *s, const struct replay *r,
		  const struct replay_plan *plan)
{
	struct out *o = out_new(stdout, cli->mode);
	int err;

	out_open_object(o, NULL);
	say_trace(o, s, r);
	out_u64(o, "seed", NULL, plan->seed);
	out_u64(o, "window", NULL, plan->window);
	out_text(o, "\n");
	err = say_all(o, r, plan, cli->mode);
	if (heard(r) > 1)
		out_text(o, "\n");
	out_open_table(o, "each");
	for (uint32_t i = 0; i < replay_peers(r) && !err; i++)
		if (replay_heard(r, i) && (cli->mode != OUT_TEXT || heard(r) > 1))
			err = say_peer(o, r, plan, i, cli->mode);
	out_close_table(o);
	if (cli->mode != OUT_TEXT)
		say_records(o, r);
	out_close_object(o);
	if (err)
		fail("there is not enough memory for all detection times: fewer `crashes` take less");
	return command_finish(o) || err ? KPHI_EXIT_FAILED : KPHI_EXIT_OK;
}

static void say_empty(const struct trace_stream *s, const char *path)
{
	if (s->peer)
		fail("%s: no arrival of '%s' is in it", path, s->peer);
	else if (trace_torn(s->trace))
		fail("%s: no arrival is in it: all that is there, %" PRIu64 " bytes, is a torn block", path,
		     trace_torn(s->trace));
	else
		fail("%s: no arrival is in it", path);
}

static int run(const struct kphi_cli *cli, struct trace_stream *s, const char *path,
	       const struct replay_plan *plan)
{
	struct replay_source source = trace_stream_source(s);
	struct replay *r = replay_new(plan);
	int got = r ? 1 : -ENOMEM, exit = KPHI_EXIT_FAILED;

	while (got > 0) {
		got = replay_run(r, &source, CHUNK);
		trace_stream_progress(s);
	}
	progress_end(&s->progress);
	if (got < 0) {
		trace_stream_explain(s, path, got);
	} else if (!replay_arrivals(r)) {
		say_empty(s, path);
	} else {
		exit = report(cli, s, r, plan);
	}
	replay_free(r);
	return exit;
}

int trace_replay(struct kphi_cli *cli, struct args *args)
{
	struct replay_options options = {.crashes = REPLAY_CRASHES_DEFAULT, .seed = 1};
	const char *path = args_next(args, "a file");
	struct replay_plan *plan;
	struct trace_stream s;
	int exit = KPHI_EXIT_USAGE;

	if (!path || options_parse(args, trace_replay_specs, trace_replay_specs_count, &options))
		return exit;
	plan = calloc(1, sizeof(*plan));
	if (!plan) {
		fail("%s: there is no memory", args->where);
		return KPHI_EXIT_FAILED;
	}
	if (trace_read_plan(plan, args->where, options.models, options.thresholds, options.detectors))
		goto out;
	exit = KPHI_EXIT_FAILED;
	if (trace_stream_open(&s, path, options.has_peer ? options.peer : NULL))
		goto out;
	plan->crashes = (uint32_t)options.crashes;
	plan->seed = options.seed;
	plan->window = trace_stream_window(&s, options.window);
	exit = run(cli, &s, path, plan);
	trace_stream_close(&s);
out:
	free(plan);
	return exit;
}
