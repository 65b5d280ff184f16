// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A trace as the stream that replay takes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/trace_replay.h"
#include "io/parse.h"

int trace_stream_open(struct trace_stream *s, const char *path, const char *peer)
{
	char why[WHY_SIZE];

	*s = (struct trace_stream){.peer = peer, .trace = trace_open(path, why, sizeof(why))};
	if (!s->trace) {
		fail("%s", why);
		return -EINVAL;
	}
	progress_begin(&s->progress, "replaying", trace_size(s->trace));
	return 0;
}

void trace_stream_pass(struct trace_stream *s, uint32_t pass, uint32_t passes)
{
	if (passes == 1)
		return;
	snprintf(s->what, sizeof(s->what), "replaying, pass %" PRIu32 " of %" PRIu32, pass, passes);
	s->progress.what = s->what;
}

static int next(void *context, uint32_t *peer, struct kphi_beat *beat)
{
	struct trace_stream *s = context;
	int got;

	do {
		got = trace_next_of_all(s->trace, peer, beat);
	} while (got > 0 && s->peer && strcmp(trace_peer(s->trace, *peer)->name, s->peer));
	return got;
}

static struct replay_state state(void *context)
{
	const struct trace *t = ((struct trace_stream *)context)->trace;

	return (struct replay_state){&trace_state(t)->record, trace_state(t)->ring, trace_start(t)->window};
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
	return (struct replay_source){
		.next = next, .state = state, .settings = settings, .lost = lost, .context = s};
}

void trace_stream_progress(struct trace_stream *s)
{
	progress_at(&s->progress, trace_taken(s->trace));
}

void trace_stream_explain(struct trace_stream *s, const char *path, int err)
{
	progress_end(&s->progress);
	if (err == -ENOMEM)
		fail("%s: not enough memory for all its peers: fewer `crashes`, thresholds or detectors take "
		     "less",
		     path);
	else
		fail("%s", trace_why(s->trace));
}

void trace_stream_close(struct trace_stream *s)
{
	progress_end(&s->progress);
	trace_close(s->trace);
	s->trace = NULL;
}

uint32_t trace_stream_window(const struct trace_stream *s, uint64_t asked)
{
	uint32_t window = asked ? (uint32_t)asked : trace_start(s->trace)->window;

	return window >= KPHI_WINDOW_MIN && window <= KPHI_WINDOW_MAX ? window : KPHI_WINDOW_DEFAULT;
}
