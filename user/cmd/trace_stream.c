// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A trace as the stream that replay takes, with a bar for who waits. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cmd/trace_replay.h"
#include "io/parse.h"
#include "kernel/clock.h"

#define BAR_WIDTH     40
#define BAR_EVERY_NS  100000000ULL
#define BAR_ERASE     "\r\033[K"
#define BAR_UNIT_SIZE (1024 * 1024)

int trace_stream_open(struct trace_stream *s, const char *path, const char *peer)
{
	char why[WHY_SIZE];

	*s = (struct trace_stream){.peer = peer, .trace = trace_open(path, why, sizeof(why))};
	if (s->trace)
		return 0;
	fail("%s", why);
	return -EINVAL;
}

static int next(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct trace_stream *s = context;
	int got;

	do {
		got = trace_next(s->trace, peer, beat);
	} while (got > 0 && s->peer && strcmp(trace_peer(s->trace, *peer)->name, s->peer));
	return got;
}

static const struct kphi_peer *settings(void *context, uint32_t peer)
{
	return &trace_peer(((struct trace_stream *)context)->trace, peer)->settings;
}

static uint64_t lost(void *context)
{
	return trace_lost(((struct trace_stream *)context)->trace);
}

struct replay_source trace_stream_source(struct trace_stream *s)
{
	return (struct replay_source){next, settings, lost, s};
}

void trace_stream_end_bar(struct trace_stream *s)
{
	if (s->shown)
		fputs(BAR_ERASE, stderr);
	s->shown = false;
}

void trace_stream_progress(struct trace_stream *s)
{
	uint64_t now_ns = clock_monotonic_ns(), taken = trace_taken(s->trace), size = trace_size(s->trace);
	int done;

	if (!s->shows || now_ns < s->next_ns)
		return;
	s->next_ns = now_ns + BAR_EVERY_NS;
	s->shown = true;
	if (!size) {
		fprintf(stderr, "\r%" PRIu64 " MiB", taken / BAR_UNIT_SIZE);
		return;
	}
	taken = taken < size ? taken : size;
	done = (int)(taken * BAR_WIDTH / size);
	fprintf(stderr, "\r[%.*s%*s] %3" PRIu64 "%% of %" PRIu64 " MiB", done,
		"########################################", BAR_WIDTH - done, "", taken * 100 / size,
		size / BAR_UNIT_SIZE);
}

void trace_stream_explain(struct trace_stream *s, const char *path, int err)
{
	trace_stream_end_bar(s);
	if (err == -ENOMEM)
		fail("%s: not enough memory for all its peers: fewer `crashes`, thresholds or detectors take "
		     "less",
		     path);
	else
		fail("%s", trace_why(s->trace));
}

void trace_stream_close(struct trace_stream *s)
{
	trace_stream_end_bar(s);
	trace_close(s->trace);
	s->trace = NULL;
}

uint32_t trace_stream_window(const struct trace_stream *s, uint64_t asked)
{
	uint32_t window = asked ? (uint32_t)asked : trace_start(s->trace)->window;

	return window >= KPHI_WINDOW_MIN && window <= KPHI_WINDOW_MAX ? window : KPHI_WINDOW_DEFAULT;
}
