// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/writer.h"

#define NOT_WANTED UINT32_MAX

int flow_wrong(struct flow *f, int err, const char *name, const char *format, ...)
{
	const char *standard = name == f->to ? "standard output" : "standard input";
	char reason[WHY_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return refuse(err, f->why, sizeof(f->why), "%s: %s", strcmp(name, "-") ? name : standard, reason);
}

/* --- what sources push --- */

int flow_begin(struct flow *f, const struct trace_start *start)
{
	f->start = *start;
	return f->kind->begin(f, start);
}

static bool is_wanted(const struct flow *f, const struct trace_peer *peer)
{
	return !f->options.only || !strcmp(f->options.only, peer->settings.name);
}

int64_t flow_peer(struct flow *f, const struct trace_peer *peer)
{
	bool wanted = is_wanted(f, peer);
	int err;

	if (f->peers == f->room) {
		uint32_t room = f->room ? 2 * f->room : 64;
		uint32_t *numbers = reallocarray(f->numbers, room, sizeof(*numbers));

		if (!numbers)
			return flow_wrong(f, -ENOMEM, f->from, "there is no memory for another peer");
		f->numbers = numbers;
		f->room = room;
	}
	err = wanted ? f->kind->peer(f, f->sunk, peer) : 0;
	if (err)
		return err;
	f->numbers[f->peers] = wanted ? f->sunk++ : NOT_WANTED;
	return f->peers++;
}

int flow_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	if (f->numbers[number] == NOT_WANTED)
		return 0;
	f->arrivals++;
	return f->kind->arrival(f, f->numbers[number], beat);
}

int flow_lost(struct flow *f, uint64_t n)
{
	f->lost += n;
	return n && f->kind->lost ? f->kind->lost(f, n) : 0;
}

int flow_state(struct flow *f, uint32_t number, const struct trace_state *state)
{
	if (f->numbers[number] == NOT_WANTED || !f->kind->state)
		return 0;
	return f->kind->state(f, f->numbers[number], state);
}

/* --- our own traces as a source --- */

#define STRIDE 65536 /* arrivals between two looks at the clock */

/* Peers that are new, and losses that are. */
static int pass_on(struct flow *f, const struct trace *t)
{
	while (f->peers < trace_peers(t)) {
		int64_t number = flow_peer(f, trace_peer(t, f->peers));

		if (number < 0)
			return (int)number;
	}
	return flow_lost(f, trace_lost(t) - f->lost);
}

static int pass_all(struct flow *f, struct trace *t)
{
	struct kphi_beat beat;
	uint32_t peer;
	int got, err = flow_begin(f, trace_start(t));

	for (uint64_t n = 1; !err && (got = trace_next_of_all(t, &peer, &beat)) != 0; n++) {
		if (got < 0)
			return refuse(got, f->why, sizeof(f->why), "%s", trace_why(t));
		if (f->peers < trace_peers(t) || f->lost != trace_lost(t))
			err = pass_on(f, t);
		if (!err)
			err = got == 1 ? flow_arrival(f, peer, &beat) : flow_state(f, peer, trace_state(t));
		if (n % STRIDE == 0)
			progress_at(&f->progress, trace_taken(t));
	}
	err = err ? err : pass_on(f, t);
	f->torn = trace_torn(t);
	f->cut_off = !trace_ended(t);
	return err;
}

int flow_from_trace(struct flow *f)
{
	struct trace *t = trace_open(f->from, f->why, sizeof(f->why));
	int err;

	if (!t)
		return -EBADMSG;
	err = pass_all(f, t);
	trace_close(t);
	return err;
}

/* --- from here to there --- */

int flow_source(struct flow *f, enum trace_format from)
{
	switch (from) {
	case FORMAT_TRACE:
		return flow_from_trace(f);
	case FORMAT_PCAP:
	case FORMAT_PCAPNG:
		return flow_from_capture(f);
	case FORMAT_CSV:
		return flow_from_csv(f);
	case FORMAT_GAPS_US:
		return flow_from_gaps(f, "us");
	case FORMAT_GAPS_MS:
		return flow_from_gaps(f, "ms");
	case FORMAT_CASSANDRA:
		return flow_from_cassandra(f);
	default:
		return -EINVAL;
	}
}

static const struct sink_kind *sink_of(enum trace_format to)
{
	static const struct sink_kind *const kinds[FORMATS] = {
		[FORMAT_TRACE] = &sink_trace,     [FORMAT_PCAP] = &sink_pcap,
		[FORMAT_CSV] = &sink_csv,         [FORMAT_GAPS_US] = &sink_gaps_us,
		[FORMAT_GAPS_MS] = &sink_gaps_ms, [FORMAT_CASSANDRA] = &sink_cassandra,
	};

	return kinds[to];
}

/* An arrival is what all this is about. */
static int check_something(struct flow *f)
{
	if (f->arrivals > f->left_out)
		return 0;
	if (f->arrivals)
		return flow_wrong(f, -ENODATA, f->from,
				  "none of its %" PRIu64
				  " arrivals is a native beat, and only those can be written "
				  "as packets",
				  f->arrivals);
	if (f->options.only)
		return flow_wrong(f, -ENODATA, f->from, "there is no arrival of a peer " QUOTED,
				  f->options.only);
	if (f->foreign || f->refused)
		return flow_wrong(f, -ENODATA, f->from,
				  "none of its %" PRIu64
				  " packets is a beat of a kind that was asked for. `proto` "
				  "and the words that go with it choose others",
				  f->foreign + f->refused);
	return flow_wrong(f, -ENODATA, f->from, "there is no arrival in it");
}

static uint64_t size_of(const char *path)
{
	struct stat file;

	return strcmp(path, "-") && !stat(path, &file) && S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
}

/* Nobody takes half a conversion for a whole one. */
static void remove_begun(const struct flow *f)
{
	struct stat file;

	if (f->sink && strcmp(f->to, "-") != 0 && !lstat(f->to, &file) && S_ISREG(file.st_mode))
		unlink(f->to);
}

int flow_run(struct flow *f, enum trace_format from, enum trace_format to)
{
	int err;

	f->kind = sink_of(to);
	if (!f->kind)
		return flow_wrong(f, -EINVAL, f->to, "kphi does not write %s: choose pcap", format_names[to]);
	progress_begin(&f->progress, "converting", size_of(f->from));
	err = flow_source(f, from);
	progress_end(&f->progress);
	err = err ? err : check_something(f);
	err = err ? err : f->kind->end(f);
	if (err)
		remove_begun(f);
	if (f->sink)
		f->kind->free(f);
	f->sink = NULL;
	return err;
}

void flow_free(struct flow *f)
{
	free(f->numbers);
	f->numbers = NULL;
}

int flow_open_stream(struct flow *f)
{
	int fd = trace_new_fd(f->to);

	if (fd >= 0)
		f->stream = fdopen(fd, "wb");
	if (f->stream)
		return 0;
	return flow_wrong(f, -errno, f->to, "cannot be written: %s%s", strerror(errno),
			  errno == EEXIST ? ". Remove it, or choose another name" : "");
}
