/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From one format to another: a source pushes peers and their arrivals into a flow, which hands those that
 * are wanted to a sink. Nothing is held but what is known of each peer.
 */
#ifndef KPHI_TRACE_FLOW_H
#define KPHI_TRACE_FLOW_H

#include <stdbool.h>
#include <stdio.h>

#include "io/parse.h"
#include "rule/words.h"
#include "trace/format.h"
#include "trace/progress.h"
#include "trace/reader.h"

enum trace_format {
	FORMAT_TRACE, /* format.h */
	FORMAT_PCAP, /* libpcap's, read: pcap and pcapng, Ethernet, IP, "any" devices; written: native beats
		      */
	FORMAT_PCAPNG, /* read only */
	FORMAT_CSV, /* peer,arrival_ns[,sequence[,sent_ns]]: arrivals of peers that have a name */
	FORMAT_GAPS_US, /* an interval a line, in microseconds; one peer */
	FORMAT_GAPS_MS,
	FORMAT_CASSANDRA, /* what its FailureDetector's dumpInterArrivalTimes() writes */
	FORMATS,
};
extern const char *const format_names[FORMATS + 1]; /* ends with NULL */

struct flow;

/* Where a flow ends. Each returns 0 or a negative errno after a sentence through flow_wrong(). */
struct sink_kind {
	int (*begin)(struct flow *f, const struct trace_start *start); /* before everything else */
	int (*peer)(struct flow *f, uint32_t number, const struct trace_peer *peer); /* 0, 1, 2, ... */
	int (*arrival)(struct flow *f, uint32_t number, const struct kphi_beat *beat);
	int (*lost)(struct flow *f, uint64_t n); /* may be NULL */
	int (*state)(struct flow *f, uint32_t number, const struct trace_state *state); /* may be NULL */
	int (*end)(struct flow *f); /* writes what is left; the file is closed by free() */
	void (*free)(struct flow *f);
};

/* What a format cannot know by itself. */
struct flow_options {
	const char *only; /* name of the one peer that is wanted; NULL: all */
	char name[KPHI_NAME_SIZE]; /* of the peer of a list of gaps */
	uint64_t interval_ns; /* of every peer that is made; 0: to be learned */
	struct rule_text rule; /* captures: which packets are beats; nothing: whatever is known */
};

struct flow {
	const char *from, *to; /* paths, for sentences */
	struct flow_options options;
	const struct sink_kind *kind;
	void *sink;
	FILE *stream; /* of a sink that writes text */
	uint32_t *numbers; /* of the source's peers at the sink */
	uint32_t peers, room; /* of numbers */
	uint32_t sunk; /* peers that the sink has got */
	struct trace_start start;
	uint64_t arrivals; /* that the sink has got */
	uint64_t left_out; /* that it cannot express */
	uint64_t refused; /* captures: packets that are nearly beats: too short, of a wrong TTL, ... */
	uint64_t foreign; /* captures: packets of no peer */
	uint64_t lost, torn;
	bool cut_off; /* the source has no end; of captures, f->why says what is there instead */
	struct progress progress;
	char why[WHY_SIZE];
};

/* --- for whoever converts --- */

/* By name and by what is in it. The format, or -EINVAL or another negative errno with a sentence in `why`. */
int format_guess(const char *path, char *why, size_t size);

/* By name alone. -EINVAL with a sentence if it does not tell. */
int format_of_name(const char *path, char *why, size_t size);

/* Are the words of f->options.rule a rule? 0, or -EINVAL with a sentence in f->why. */
int flow_check_rule(struct flow *f);

/*
 * Everything from f->from to f->to, which must not be there yet; "-" is standard input, or output. 0, or a
 * negative errno with a sentence in f->why; what was begun is then removed.
 */
int flow_run(struct flow *f, enum trace_format from, enum trace_format to);

void flow_free(struct flow *f);

/* --- for sources --- */

int flow_begin(struct flow *f, const struct trace_start *start);
int64_t flow_peer(struct flow *f, const struct trace_peer *peer); /* its number: 0, 1, 2, ... */
int flow_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat);
int flow_lost(struct flow *f, uint64_t n);
int flow_state(struct flow *f, uint32_t number, const struct trace_state *state);

/* Fills f->why with "NAME: ..." and returns err. */
int flow_wrong(struct flow *f, int err, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The source of a format, into f->kind. */
int flow_source(struct flow *f, enum trace_format from);

int flow_from_trace(struct flow *f);
int flow_from_capture(struct flow *f);
int flow_from_csv(struct flow *f);
int flow_from_gaps(struct flow *f, const char *unit); /* "us" or "ms" */
int flow_from_cassandra(struct flow *f);

/* Unix or monotonic, it begins somewhere: where a source has intervals only. 0 would mean "never". */
#define FLOW_BASE_NS 1000000000ULL

/* --- for sinks --- */

extern const struct sink_kind sink_trace, sink_pcap, sink_csv, sink_gaps_us, sink_gaps_ms, sink_cassandra;

/* A new file for f->to, or standard output, as f->stream. */
int flow_open_stream(struct flow *f);

#endif
