/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `kphi trace` has to know of its two commands that judge a trace again, and what those two share. */
#ifndef KPHI_CMD_TRACE_REPLAY_H
#define KPHI_CMD_TRACE_REPLAY_H

#include "cmd/cmd.h"
#include "io/format.h"
#include "replay/replay.h"
#include "trace/progress.h"
#include "trace/reader.h"

#define TRACE_CALIBRATE_USAGE "FILE [consumer NAME [max-false N/week] [max-detect DURATION]]..."

extern const struct option_spec trace_replay_specs[], trace_calibrate_specs[];
extern const size_t trace_replay_specs_count, trace_calibrate_specs_count;
int trace_replay(struct kphi_cli *cli, struct args *args);
int trace_calibrate(struct kphi_cli *cli, struct args *args);

/* A trace as a stream for replay, of all peers or of those with one name. */
struct trace_stream {
	struct trace *trace;
	const char *peer; /* NULL: all */
	struct progress progress;
	char what[48]; /* the progress shows, if it is one pass of several */
};

/* 0, or -EINVAL after a sentence through fail(). */
int trace_stream_open(struct trace_stream *s, const char *path, const char *peer);
struct replay_source trace_stream_source(struct trace_stream *s);
void trace_stream_pass(struct trace_stream *s, uint32_t pass, uint32_t passes); /* the first is 1 */

/* Says through fail() why reading ended with this error. */
void trace_stream_explain(struct trace_stream *s, const char *path, int err);

void trace_stream_progress(struct trace_stream *s); /* shows how far it has come */
void trace_stream_close(struct trace_stream *s);

/* The intervals of a window: as recorded, unless another number was asked for. */
uint32_t trace_stream_window(const struct trace_stream *s, uint64_t asked);

/*
 * Models, thresholds and detectors as they are typed: words with commas between them. NULL: not given. 0, or
 * -EINVAL after a sentence.
 */
int trace_read_plan(struct replay_plan *plan, const char *where, const char *models, const char *thresholds,
		    const char *yardsticks);

/* The models of a list; all of them for NULL. How many, or -EINVAL after a sentence. */
int trace_read_models(const char *where, const char *text, int models[KPHI_MODELS + 1]);

/* The figures of a row: facts with titles of columns. Text shows the query accuracy with all its nines. */
void trace_say_qos(struct out *o, const struct qos *q, enum out_mode mode);

/* At a rough glance: 42, 3.1, 0.0021. */
char *trace_format_rate(double rate, char text[FORMAT_SIZE]);

#endif
