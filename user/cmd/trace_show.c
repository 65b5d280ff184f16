// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kphi trace show: what is in a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/trace.h"
#include "core/models.h"
#include "io/format.h"
#include "rule/describe.h"
#include "trace/progress.h"
#include "trace/reader.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define STRIDE        65536 /* arrivals between two looks at the clock */
#define PAGE          1000 /* rows under one heading: a table is held until it ends */
#define TIME_SIZE     40

struct show {
	char peer[KPHI_NAME_SIZE];
	bool has_peer;
};

const struct option_spec trace_show_specs[] = {
	{"peer", OPT_NAME, offsetof(struct show, peer), offsetof(struct show, has_peer),
	 .help = "list the arrivals of this peer"},
};
const size_t trace_show_specs_count = COUNT(trace_show_specs);

/* What is shown of a peer. */
struct figures {
	uint64_t arrivals, first_ns, last_ns;
	uint64_t largest_ns; /* interval */
};

struct summary {
	struct figures *peers;
	uint32_t room;
	struct figures all;
};

static const char *identity(const struct trace_peer *p, char text[RULE_WORDS])
{
	char uuid[UUID_SIZE];

	if (p->settings.id.kind == KPHI_ID_NATIVE)
		snprintf(text, RULE_WORDS, "id %s", format_uuid(p->settings.id.bytes, uuid));
	else if (p->settings.id.kind == KPHI_ID_RULE)
		rule_words(&p->settings, &p->rule, text);
	else
		return NULL;
	return text;
}

/* Unix time as RFC 3339 has it, to the second. */
static const char *date(uint64_t wall_ns, char text[TIME_SIZE])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
	struct tm utc;

	if (!wall_ns || !gmtime_r(&seconds, &utc))
		return NULL;
	strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return text;
}

/* --- all of it --- */

static int make_room(struct summary *s, uint32_t peers)
{
	uint32_t room = s->room ? s->room : 64;
	struct figures *figures;

	if (peers <= s->room)
		return 0;
	while (room < peers)
		room *= 2;
	figures = reallocarray(s->peers, room, sizeof(*figures));
	if (!figures)
		return -ENOMEM;
	memset(figures + s->room, 0, (room - s->room) * sizeof(*figures));
	s->peers = figures;
	s->room = room;
	return 0;
}

static void count(struct figures *f, uint64_t now_ns)
{
	if (f->arrivals && now_ns > f->last_ns && now_ns - f->last_ns > f->largest_ns)
		f->largest_ns = now_ns - f->last_ns;
	if (!f->arrivals || now_ns < f->first_ns)
		f->first_ns = now_ns;
	if (!f->arrivals || now_ns > f->last_ns)
		f->last_ns = now_ns;
	f->arrivals++;
}

/* 0, or an exit code after a sentence. */
static int summarise(struct trace *t, struct summary *s)
{
	struct progress progress;
	struct kphi_beat beat;
	uint32_t peer;
	int got;

	progress_begin(&progress, "reading", trace_size(t));
	while ((got = trace_next(t, &peer, &beat)) > 0) {
		if (make_room(s, trace_peers(t)) || peer >= s->room)
			break;
		count(&s->peers[peer], beat.now_ns);
		count(&s->all, beat.now_ns);
		if (s->all.arrivals % STRIDE == 0)
			progress_at(&progress, trace_taken(t));
	}
	progress_end(&progress);
	if (!got && !make_room(s, trace_peers(t)))
		return 0;
	fail("%s", got < 0 ? trace_why(t) : strerror(ENOMEM));
	return KPHI_EXIT_FAILED;
}

static void put_peer(struct out *o, const struct trace *t, const struct trace_peer *p,
		     const struct figures *f)
{
	uint64_t start_ns = trace_start(t)->monotonic_ns, span_ns = f->last_ns - f->first_ns;
	char words[RULE_WORDS];

	out_open_row(o);
	out_string(o, "peer", "PEER", p->name);
	out_string(o, "identity", "IDENTITY", identity(p, words));
	out_string(o, "host", NULL, *p->settings.host ? p->settings.host : NULL);
	out_string(o, "model", NULL, p->settings.model < KPHI_MODELS ? model_name(p->settings.model) : NULL);
	out_duration(o, "interval_ns", NULL, p->settings.interval_ns);
	out_u64(o, "arrivals", "ARRIVALS", f->arrivals);
	if (f->arrivals)
		out_duration(o, "begin_ns", "FROM", f->first_ns > start_ns ? f->first_ns - start_ns : 0);
	if (f->arrivals > 1) {
		out_duration(o, "span_ns", "SPAN", span_ns);
		out_duration(o, "mean_interval_ns", "MEAN INTERVAL", span_ns / (f->arrivals - 1));
		out_duration(o, "largest_interval_ns", "LARGEST", f->largest_ns);
	}
	out_close_row(o);
}

/* How the file ends. */
static const char *ending(const struct trace *t, char *text, size_t size)
{
	if (trace_torn(t)) {
		snprintf(text, size, "torn: the last %" PRIu64 " bytes are no whole block, and were dropped",
			 trace_torn(t));
		return text;
	}
	return trace_ended(t) ? "whole" : "not ended: the recorder is still at it, or was killed";
}

static int say_summary(struct kphi_cli *cli, const char *path, const struct trace *t, const struct summary *s)
{
	struct out *o = out_new(stdout, cli->mode);
	uint64_t bytes = trace_taken(t);
	char text[128];

	out_open_object(o, NULL);
	out_string(o, "trace", "trace", path);
	out_u64(o, "version", NULL, trace_version(t));
	out_string(o, "begun", "begun", date(trace_start(t)->wall_ns, text));
	out_u64(o, "begun_wall_ns", NULL, trace_start(t)->wall_ns);
	out_u64(o, "begun_ns", NULL, trace_start(t)->monotonic_ns);
	out_u64(o, "window", trace_start(t)->window ? "window of the recorder (intervals per peer)" : NULL,
		trace_start(t)->window);
	out_u64(o, "peers_count", "peers", trace_peers(t));
	out_u64(o, "arrivals", "arrivals", s->all.arrivals);
	out_duration(o, "span_ns", "span", s->all.last_ns - s->all.first_ns);
	out_bytes(o, "bytes", "size", bytes);
	if (s->all.arrivals)
		out_q32(o, "bytes_per_arrival", "bytes per arrival",
			(uint64_t)(((unsigned __int128)bytes << 32) / s->all.arrivals));
	out_u64(o, "lost", "lost by the recorder", trace_lost(t));
	out_u64(o, "torn_bytes", NULL, trace_torn(t));
	out_bool(o, "ended", NULL, trace_ended(t));
	out_string(o, "end", "end", ending(t, text, sizeof(text)));
	out_open_table(o, "peers");
	for (uint32_t i = 0; i < trace_peers(t) && i < s->room; i++)
		put_peer(o, t, trace_peer(t, i), &s->peers[i]);
	out_close_table(o);
	out_close_object(o);
	return command_finish(o);
}

static int show_all(struct kphi_cli *cli, const char *path, struct trace *t)
{
	struct summary s = {0};
	int exit = summarise(t, &s);

	exit = exit ? exit : say_summary(cli, path, t, &s);
	free(s.peers);
	return exit;
}

/* --- one peer --- */

static const char *type_name(const struct kphi_beat *b)
{
	static const char *const names[] = {
		[KPHI_WIRE_BEAT] = "beat", [KPHI_WIRE_LEAVE] = "leave", [KPHI_WIRE_DOWN] = "down"};

	return b->type < COUNT(names) ? names[b->type] : NULL;
}

/* Seconds since the trace was begun, to the nanosecond. */
static const char *seconds(uint64_t now_ns, uint64_t start_ns, char text[FORMAT_SIZE])
{
	bool before = now_ns < start_ns;
	uint64_t ns = before ? start_ns - now_ns : now_ns - start_ns;

	snprintf(text, FORMAT_SIZE, "%s%" PRIu64 ".%09" PRIu64, before ? "-" : "", ns / NS_PER_SECOND,
		 ns % NS_PER_SECOND);
	return text;
}

static void put_says(struct out *o, const struct kphi_beat *b)
{
	char address[ADDRESS_SIZE];

	if (b->native) {
		out_u64(o, "epoch", "EPOCH", b->epoch);
		out_bool(o, "degraded", NULL, b->flags & KPHI_WIRE_DEGRADED);
	} else if (b->decoder == KPHI_DECODER_BFD) {
		out_u64(o, "bfd_state", "BFD STATE", b->bfd.state);
		out_u64(o, "bfd_discriminator", NULL, b->bfd.discriminator);
		out_u64(o, "bfd_desired_tx_us", "DESIRED TX (us)", b->bfd.desired_tx_us);
	} else if (b->any_source) {
		out_string(o, "speaker", "SPEAKER", format_address((const uint8_t *)b->speaker, address));
	}
}

static void put_arrival(struct out *o, const struct trace *t, const struct kphi_beat *b, uint64_t last_ns)
{
	char text[FORMAT_SIZE];

	out_open_row(o);
	out_u64(o, "now_ns", NULL, b->now_ns);
	out_string(o, "at_s", "AT (s)", seconds(b->now_ns, trace_start(t)->monotonic_ns, text));
	if (last_ns && b->now_ns >= last_ns)
		out_duration(o, "interval_ns", "INTERVAL", b->now_ns - last_ns);
	else
		out_null(o, "interval_ns", "INTERVAL");
	out_string(o, "type", "TYPE", type_name(b));
	if (b->sequence_bits)
		out_u64(o, "sequence", "SEQUENCE", b->sequence);
	put_says(o, b);
	out_u64(o, "cpu", "CPU", b->cpu);
	out_u64(o, "ifindex", NULL, b->device);
	out_duration(o, "stalled_total_ns", NULL, b->stalled_total_ns);
	out_u64(o, "stall_end_ns", NULL, b->stall_end_ns);
	out_duration(o, "stall_length_ns", NULL, b->stall_length_ns);
	out_close_row(o);
}

/* Text begins a new table now and then, so that none has to be held that is as long as the trace. */
static void turn_page(struct out *o, enum out_mode mode, uint64_t rows)
{
	if (mode != OUT_TEXT || rows % PAGE)
		return;
	out_close_table(o);
	out_text(o, "\n");
	out_open_table(o, "arrivals");
}

static int say_arrivals(struct kphi_cli *cli, const char *name, struct trace *t)
{
	struct out *o = NULL;
	uint64_t rows = 0, last_ns = 0;
	struct kphi_beat beat;
	uint32_t peer;
	int got, exit;

	while ((got = trace_next(t, &peer, &beat)) > 0) {
		if (strcmp(trace_peer(t, peer)->name, name) != 0)
			continue;
		if (!o) {
			o = out_new(stdout, cli->mode);
			out_open_object(o, NULL);
			out_string(o, "peer", NULL, name);
			out_open_table(o, "arrivals");
		} else {
			turn_page(o, cli->mode, rows);
		}
		put_arrival(o, t, &beat, last_ns);
		last_ns = beat.now_ns;
		rows++;
	}
	if (got < 0)
		fail("%s", trace_why(t));
	else if (!rows)
		fail("there is no arrival of a peer \"%s\" in it. Without `peer`, its peers are listed",
		     name);
	if (!o)
		return KPHI_EXIT_FAILED;
	out_close_table(o);
	out_close_object(o);
	exit = command_finish(o);
	return got < 0 ? KPHI_EXIT_FAILED : exit;
}

int trace_show(struct kphi_cli *cli, struct args *args)
{
	const char *path = args_next(args, "a FILE");
	struct show s = {0};
	struct trace *t;
	char why[1024];
	int exit;

	if (!path || options_parse(args, trace_show_specs, trace_show_specs_count, &s))
		return KPHI_EXIT_USAGE;
	t = trace_open(path, why, sizeof(why));
	if (!t) {
		fail("%s", why);
		return KPHI_EXIT_FAILED;
	}
	exit = s.has_peer ? say_arrivals(cli, s.peer, t) : show_all(cli, path, t);
	trace_close(t);
	return exit;
}
