// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kphi trace record: arrivals as the packet path takes them, into a new trace. What was written is handed to
 * the kernel every second, so whoever kills this process finds all but the last second in the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/interrupt.h"
#include "cmd/session.h"
#include "cmd/trace.h"
#include "cmd/trace_tenants.h"
#include "io/format.h"
#include "io/parse.h"
#include "kernel/arrivals.h"
#include "kernel/clock.h"
#include "trace/progress.h"
#include "trace/writer.h"

#define NS_PER_MS 1000000ULL
#define FLUSH_NS  (1000 * NS_PER_MS)
#define REST_MS   20 /* between two turns: many peers are not many wake-ups, and the ring holds far more */

struct record_options {
	const char *names[TENANTS_NAMES_MAX];
	uint64_t for_ns;
	bool vitals;
};

const struct option_spec trace_record_specs[] = {
	{"peer", OPT_STRING, offsetof(struct record_options, names), OPT_NO_HAS, .times = TENANTS_NAMES_MAX,
	 .value = "NAME", .help = "only arrivals of this peer; of all unless given"},
	{"for", OPT_DURATION, offsetof(struct record_options, for_ns), OPT_NO_HAS, .min = NS_PER_MS,
	 .help = "end after that long"},
	{"vitals", OPT_FLAG, offsetof(struct record_options, vitals), OPT_NO_HAS,
	 .help = "also the load, the capacity and the cluster version that native beats tell, for which no "
		 "replay asks: twice the size at an interval of 1s"},
};
const size_t trace_record_specs_count = COUNT(trace_record_specs);

enum ending { GOING_ON, INTERRUPTED, TIME_OVER, STORE_PURGED, FAILED };

struct recording {
	struct session session;
	const char *path;
	struct arrivals *arrivals;
	struct tenants tenants;
	struct trace_writer *trace;
	int signals;
	enum ending ending;
	int error; /* of the file, when it FAILED; 0: the sentence is in session.why */
	uint64_t begin_ns, flush_ns, end_ns;
	uint64_t now_ns; /* when this turn began */
	uint64_t lost, bytes;
	struct progress progress;
};

static int on_arrival(void *context, const struct kphi_arrival *a)
{
	struct recording *r = context;

	r->error = tenants_take(&r->tenants, a, r->now_ns);
	return r->error;
}

/* --- turns --- */

/* 1: there may be more. 0: not now. Negative: the recording is over. */
static int turn(struct recording *r)
{
	int got;
	uint64_t lost;

	r->now_ns = clock_monotonic_ns();
	got = arrivals_turn(r->arrivals, &r->session.why);
	lost = arrivals_lost(r->arrivals) + tenants_lost(&r->tenants);

	if (got >= 0 && lost > r->lost) {
		r->error = trace_write_lost(r->trace, lost - r->lost);
		r->lost = lost;
		got = r->error ? r->error : got;
	}
	if (got < 0)
		r->ending = FAILED;
	return got;
}

static bool flush(struct recording *r, uint64_t now_ns)
{
	r->flush_ns = now_ns + FLUSH_NS;
	r->error = tenants_tidy(&r->tenants, now_ns);
	if (!r->error)
		r->error = trace_flush(r->trace);
	if (r->error)
		r->ending = FAILED;
	else if (arrivals_are_over(r->arrivals))
		r->ending = STORE_PURGED;
	return !r->ending;
}

/* Until something has come, or there is something else to do; whether it was a signal. */
static bool wait_for(const struct recording *r, bool arrivals, uint64_t most_ms)
{
	struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
			       {.fd = arrivals ? arrivals_fd(r->arrivals) : -1, .events = POLLIN}};

	return poll(fds, COUNT(fds), (int)most_ms) > 0 && fds[0].revents;
}

static uint64_t ms_until(uint64_t then_ns, uint64_t now_ns)
{
	return then_ns > now_ns ? (then_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
}

static void show(struct recording *r, uint64_t now_ns)
{
	char bytes[FORMAT_SIZE], spent[FORMAT_SIZE];

	format_bytes(trace_written(r->trace), bytes);
	format_duration(now_ns - r->begin_ns, spent);
	progress_say(&r->progress,
		     "%s: %" PRIu64 " arrivals of %" PRIu64 " peers in %s, %s, %" PRIu64 " lost", r->path,
		     r->tenants.written, r->tenants.peers, spent, bytes, r->lost);
}

static void record(struct recording *r)
{
	uint64_t now_ns = r->begin_ns, next_ns;
	int more;

	r->flush_ns = now_ns + FLUSH_NS;
	while ((more = turn(r)) >= 0) {
		show(r, now_ns);
		now_ns = clock_monotonic_ns();
		if (now_ns >= r->flush_ns && !flush(r, now_ns))
			return;
		if (now_ns >= r->end_ns) {
			r->ending = TIME_OVER;
			return;
		}
		next_ns = r->flush_ns < r->end_ns ? r->flush_ns : r->end_ns;
		if (wait_for(r, false, more ? 0 : REST_MS) ||
		    (!more && wait_for(r, true, ms_until(next_ns, now_ns)))) {
			r->ending = INTERRUPTED;
			return;
		}
	}
}

/* Nothing is recorded from here on; what the ring still holds is part of it. */
static void stop(struct recording *r)
{
	struct why ignored;
	struct stat file;
	int err;

	if (r->ending != FAILED) {
		arrivals_stop(r->arrivals, &ignored); /* else the lease ends by itself */
		turn(r);
	}
	if (r->ending != FAILED)
		tenants_tidy(&r->tenants, UINT64_MAX);
	r->end_ns = clock_monotonic_ns();
	r->bytes = trace_written(r->trace);
	err = trace_finish(r->trace);
	r->trace = NULL;
	if (!stat(r->path, &file) && S_ISREG(file.st_mode))
		r->bytes = (uint64_t)file.st_size;
	if (err && r->ending != FAILED) {
		r->error = err;
		r->ending = FAILED;
	}
}

/* --- what it was --- */

static int refuse_to_go_on(const struct recording *r)
{
	if (r->error)
		fail("%s: the recording ended after %" PRIu64 " arrivals: %s. What is in the file can be "
		     "shown and replayed",
		     r->path, r->tenants.written, strerror(-r->error));
	else if (r->ending == FAILED)
		fail("%s: the recording ended after %" PRIu64 " arrivals: %s", r->path, r->tenants.written,
		     r->session.why.text);
	else
		fail("%s: the recording ended after %" PRIu64 " arrivals: the store was purged. They are in "
		     "the file",
		     r->path, r->tenants.written);
	return KPHI_EXIT_FAILED;
}

static int say(const struct kphi_cli *cli, const struct recording *r)
{
	struct out *o = out_new(stdout, cli->mode);

	out_open_object(o, NULL);
	out_string(o, "recorded", "recorded", r->path);
	out_u64(o, "peers", "peers", r->tenants.peers);
	out_u64(o, "arrivals", "arrivals", r->tenants.written);
	out_u64(o, "lost", "lost", r->lost);
	out_duration(o, "duration_ns", "in", r->end_ns - r->begin_ns);
	out_bytes(o, "bytes", "size", r->bytes);
	if (r->tenants.written)
		out_q32(o, "bytes_per_arrival", "bytes per arrival",
			(uint64_t)(((unsigned __int128)r->bytes << 32) / r->tenants.written));
	out_string(o, "end", NULL, r->ending == TIME_OVER ? "time is over" : "interrupted");
	out_close_object(o);
	return command_finish(o);
}

/* --- beginning --- */

/* Whoever is asked for has to be there: it is more likely a slip than somebody who is added later. */
static int read_names(struct recording *r, const struct args *args, const struct record_options *options)
{
	char why[WHY_SIZE];

	for (uint32_t i = 0; i < TENANTS_NAMES_MAX && options->names[i]; i++) {
		if (parse_name(options->names[i], r->tenants.names[i], why, sizeof(why))) {
			fail("%s: peer: %s", args->where, why);
			return KPHI_EXIT_USAGE;
		}
		r->tenants.names_count++;
	}
	return 0;
}

static int find_names(const struct recording *r)
{
	for (uint32_t i = 0; i < r->tenants.names_count; i++) {
		if (store_find(&r->session.store, r->tenants.names[i]) >= 0)
			continue;
		fail("%s: there is no peer of that name. `kphi peer show` lists them", r->tenants.names[i]);
		return KPHI_EXIT_FAILED;
	}
	return 0;
}

static int catch_signals(struct recording *r)
{
	r->signals = interrupt_open();
	if (r->signals >= 0)
		return 0;
	fail("%s: cannot record: %s", r->path, strerror(-r->signals));
	return KPHI_EXIT_FAILED;
}

/* No arrival is in the file, so it is nobody's, and in the way of the next try. */
static int refuse_to_begin(const struct recording *r)
{
	struct stat file;

	fail("%s: cannot be written: %s", r->path, strerror(-r->error));
	if (!lstat(r->path, &file) && S_ISREG(file.st_mode))
		unlink(r->path);
	return KPHI_EXIT_FAILED;
}

/* The lease first, then what is there already: once there is something in the file, it records. */
static int begin(struct recording *r, const struct record_options *options)
{
	struct trace_start start = {.window = r->session.store.header->window};
	struct timespec wall;
	char reason[WHY_SIZE];

	r->arrivals = arrivals_begin(&r->session.pin, &r->session.store, on_arrival, r, &r->session.why);
	if (!r->arrivals) {
		fail("%s: cannot record: %s", r->path, r->session.why.text);
		return KPHI_EXIT_FAILED;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	start.monotonic_ns = r->begin_ns = clock_monotonic_ns();
	start.wall_ns = (uint64_t)wall.tv_sec * 1000 * NS_PER_MS + (uint64_t)wall.tv_nsec;
	r->end_ns = options->for_ns && options->for_ns < UINT64_MAX - r->begin_ns
			    ? r->begin_ns + options->for_ns
			    : UINT64_MAX;
	r->trace = trace_create(r->path, &start, reason, sizeof(reason));
	if (!r->trace) {
		fail("%s", reason);
		return KPHI_EXIT_FAILED;
	}
	r->tenants.store = &r->session.store;
	r->tenants.trace = r->trace;
	r->tenants.vitals = options->vitals;
	r->error = tenants_begin(&r->tenants);
	if (!r->error)
		r->error = trace_flush(r->trace);
	return r->error ? refuse_to_begin(r) : 0;
}

static int run(const struct kphi_cli *cli, struct recording *r, const struct record_options *options)
{
	int exit = session_read(&r->session, cli);

	exit = exit ? exit : find_names(r);
	exit = exit ? exit : catch_signals(r);
	exit = exit ? exit : begin(r, options);
	if (exit)
		return exit;
	progress_begin(&r->progress, "recording", 0);
	record(r);
	stop(r);
	progress_end(&r->progress);
	if (r->ending == FAILED || r->ending == STORE_PURGED)
		return refuse_to_go_on(r);
	return say(cli, r);
}

int trace_record(struct kphi_cli *cli, struct args *args)
{
	struct record_options options = {0};
	struct recording r = {.path = args_next(args, "a FILE"), .signals = -1};
	int exit;

	if (!r.path || options_parse(args, trace_record_specs, trace_record_specs_count, &options))
		return KPHI_EXIT_USAGE;
	if (!strcmp(r.path, "-")) {
		fail("%s: name a FILE: whoever reads standard output slowly would lose arrivals. Converting "
		     "a trace writes there",
		     args->where);
		return KPHI_EXIT_USAGE;
	}
	r.session.pin.lock = r.session.control.program = -1;
	exit = read_names(&r, args, &options);
	exit = exit ? exit : run(cli, &r, &options);
	arrivals_end(r.arrivals);
	trace_abandon(r.trace);
	if (r.signals >= 0)
		close(r.signals);
	tenants_end(&r.tenants);
	session_end(&r.session);
	return exit;
}
