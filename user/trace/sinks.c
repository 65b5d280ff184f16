// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where a conversion ends: a trace, or text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/format.h"
#include "trace/flow.h"
#include "trace/writer.h"

#define US_NS UINT64_C(1000)
#define MS_NS UINT64_C(1000000)

static int sink_failed(struct flow *f, int err)
{
	return flow_wrong(f, err, f->to, "cannot be written: %s", strerror(-err));
}

/* --- a trace --- */

static int trace_begin(struct flow *f, const struct trace_start *start)
{
	f->sink = trace_create(f->to, start, f->why, sizeof(f->why));
	return f->sink ? 0 : -EIO;
}

static int trace_peer_add(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	int64_t got = trace_add_peer(f->sink, peer);

	if (got == -ENOSPC && number >= KPHI_PEERS_MAX)
		return flow_wrong(f, -ENOSPC, f->from, "more than %u peers do not fit a trace",
				  KPHI_PEERS_MAX);
	return got < 0 ? sink_failed(f, (int)got) : 0;
}

static int trace_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	int err = trace_write(f->sink, number, beat);

	return err ? sink_failed(f, err) : 0;
}

static int trace_lose(struct flow *f, uint64_t n)
{
	int err = trace_write_lost(f->sink, n);

	return err ? sink_failed(f, err) : 0;
}

static int trace_become(struct flow *f, uint32_t number, const struct trace_state *state)
{
	int err = trace_write_state(f->sink, number, &state->record, state->ring);

	return err ? sink_failed(f, err) : 0;
}

static int trace_end(struct flow *f)
{
	int err = trace_finish(f->sink);

	f->sink = NULL;
	return err ? sink_failed(f, err) : 0;
}

static void trace_free(struct flow *f)
{
	trace_abandon(f->sink);
}

const struct sink_kind sink_trace = {.begin = trace_begin,
				     .peer = trace_peer_add,
				     .arrival = trace_arrival,
				     .lost = trace_lose,
				     .state = trace_become,
				     .end = trace_end,
				     .free = trace_free};

/* --- text --- */

#define CASSANDRA_RING 1000

/* What a text keeps of each peer. */
struct text_peer {
	char name[KPHI_NAME_SIZE];
	uint64_t last_ns;
	uint64_t intervals; /* Cassandra: that went into its ring */
	bool heard;
	uint64_t ring[]; /* Cassandra: CASSANDRA_RING of them */
};

struct text {
	char *peers; /* of `stride` bytes each */
	size_t stride;
	uint32_t room;
};

static struct text_peer *peer_of(const struct flow *f, uint32_t number)
{
	const struct text *t = f->sink;

	return (struct text_peer *)(t->peers + number * t->stride);
}

static int text_begin_with(struct flow *f, uint32_t ring)
{
	struct text *t;
	int err = flow_open_stream(f);

	if (err)
		return err;
	t = f->sink = calloc(1, sizeof(*t));
	if (!t)
		return sink_failed(f, -ENOMEM);
	t->stride = sizeof(struct text_peer) + ring * sizeof(uint64_t);
	return 0;
}

static int text_begin(struct flow *f, const struct trace_start *start)
{
	(void)start;
	return text_begin_with(f, 0);
}

static int text_peer_add(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	struct text *t = f->sink;

	if (number == t->room) {
		uint32_t room = t->room ? 2 * t->room : 16;
		char *peers = reallocarray(t->peers, room, t->stride);

		if (!peers)
			return sink_failed(f, -ENOMEM);
		t->peers = peers;
		t->room = room;
	}
	memset(peer_of(f, number), 0, t->stride);
	memcpy(peer_of(f, number)->name, peer->settings.name, KPHI_NAME_SIZE);
	return 0;
}

static int text_end(struct flow *f)
{
	bool failed = ferror(f->stream) != 0;
	int err = fclose(f->stream) ? -errno : failed ? -EIO : 0;

	f->stream = NULL;
	return err ? sink_failed(f, err) : 0;
}

static void text_free(struct flow *f)
{
	struct text *t = f->sink;

	free(t->peers);
	free(t);
	if (f->stream)
		fclose(f->stream);
	f->stream = NULL;
}

/* A long conversion need not go on if nobody takes what it writes. */
static int text_check(struct flow *f)
{
	return ferror(f->stream) ? sink_failed(f, errno ? -errno : -EIO) : 0;
}

/* --- CSV --- */

/* Quoted (RFC 4180) if it has to be. */
static void csv_name(FILE *to, const char *name)
{
	if (!strpbrk(name, ",\"\r\n")) {
		fputs(name, to);
		return;
	}
	putc('"', to);
	for (; *name; name++) {
		if (*name == '"')
			putc('"', to);
		putc(*name, to);
	}
	putc('"', to);
}

static int csv_begin(struct flow *f, const struct trace_start *start)
{
	int err = text_begin(f, start);

	if (!err)
		fputs("peer,arrival_ns,sequence\n", f->stream);
	return err;
}

static int csv_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	csv_name(f->stream, peer_of(f, number)->name);
	fprintf(f->stream, ",%" PRIu64 ",", beat->now_ns);
	if (beat->sequence_bits)
		fprintf(f->stream, "%" PRIu64, beat->sequence);
	putc('\n', f->stream);
	return text_check(f);
}

const struct sink_kind sink_csv = {.begin = csv_begin,
				   .peer = text_peer_add,
				   .arrival = csv_arrival,
				   .end = text_end,
				   .free = text_free};

/* --- gaps --- */

static int gaps_peer(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	if (number)
		return flow_wrong(f, -EINVAL, f->from,
				  "a list of gaps is of one peer, and here are several: choose one with "
				  "`peer NAME`");
	return text_peer_add(f, number, peer);
}

/* Exactly: with as many decimals as it takes. */
static void put_gap(FILE *to, uint64_t gap_ns, uint64_t unit_ns)
{
	char decimals[FORMAT_SIZE];
	int length = snprintf(decimals, sizeof(decimals), "%0*" PRIu64, unit_ns == US_NS ? 3 : 6,
			      gap_ns % unit_ns);

	while (length && decimals[length - 1] == '0')
		length--;
	fprintf(to, "%" PRIu64 "%s%.*s\n", gap_ns / unit_ns, length ? "." : "", length, decimals);
}

static int gaps_arrival(struct flow *f, const struct kphi_beat *beat, uint64_t unit_ns)
{
	struct text_peer *p = peer_of(f, 0);

	if (p->heard && beat->now_ns < p->last_ns)
		return flow_wrong(f, -EINVAL, f->from,
				  "arrival %" PRIu64 " is before the one before it, and there are no gaps "
				  "below zero",
				  f->arrivals);
	if (p->heard)
		put_gap(f->stream, beat->now_ns - p->last_ns, unit_ns);
	p->heard = true;
	p->last_ns = beat->now_ns;
	return text_check(f);
}

static int gaps_us_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)number;
	return gaps_arrival(f, beat, US_NS);
}

static int gaps_ms_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)number;
	return gaps_arrival(f, beat, MS_NS);
}

const struct sink_kind sink_gaps_us = {.begin = text_begin,
				       .peer = gaps_peer,
				       .arrival = gaps_us_arrival,
				       .end = text_end,
				       .free = text_free};
const struct sink_kind sink_gaps_ms = {.begin = text_begin,
				       .peer = gaps_peer,
				       .arrival = gaps_ms_arrival,
				       .end = text_end,
				       .free = text_free};

/* --- Cassandra's FailureDetector.dumpInterArrivalTimes() --- */

#define CASSANDRA_LINE "-----------------------------------------------------------------------" /* 71 */

static int cassandra_begin(struct flow *f, const struct trace_start *start)
{
	(void)start;
	return text_begin_with(f, CASSANDRA_RING);
}

static int cassandra_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	struct text_peer *p = peer_of(f, number);

	if (p->heard && beat->now_ns > p->last_ns)
		p->ring[p->intervals++ % CASSANDRA_RING] = beat->now_ns - p->last_ns;
	if (!p->heard || beat->now_ns > p->last_ns)
		p->last_ns = beat->now_ns;
	p->heard = true;
	return 0;
}

static int cassandra_end(struct flow *f)
{
	fputs(CASSANDRA_LINE, f->stream);
	for (uint32_t i = 0; i < f->sunk; i++) {
		const struct text_peer *p = peer_of(f, i);

		fprintf(f->stream, "%s : [", p->name);
		for (int k = 0; k < CASSANDRA_RING; k++)
			fprintf(f->stream, "%s%" PRIu64, k ? ", " : "", p->ring[k]);
		fputs("]\n", f->stream);
	}
	fputs(CASSANDRA_LINE, f->stream);
	return text_end(f);
}

const struct sink_kind sink_cassandra = {.begin = cassandra_begin,
					 .peer = text_peer_add,
					 .arrival = cassandra_arrival,
					 .end = cassandra_end,
					 .free = text_free};
