// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where a conversion ends: a trace, or text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/flow.h"
#include "trace/writer.h"

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

	(void)number;
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

const struct sink_kind sink_trace = {trace_begin, trace_peer_add, trace_arrival,
				     trace_lose,  trace_end,      trace_free};

/* --- text --- */

/* What a text keeps of each peer. */
struct text_peer {
	char name[KPHI_NAME_SIZE];
	uint64_t last_ns;
	bool heard;
	uint64_t *ring; /* Cassandra: the last intervals, CASSANDRA_RING of them */
	uint64_t intervals; /* that it has seen */
};

struct text {
	struct text_peer *peers;
	uint32_t count, room;
};

static int text_begin(struct flow *f, const struct trace_start *start)
{
	int err = flow_open_stream(f);

	(void)start;
	if (err)
		return err;
	f->sink = calloc(1, sizeof(struct text));
	return f->sink ? 0 : sink_failed(f, -ENOMEM);
}

static int text_peer_add(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	struct text *t = f->sink;

	if (number == t->room) {
		uint32_t room = t->room ? 2 * t->room : 16;
		struct text_peer *peers = reallocarray(t->peers, room, sizeof(*peers));

		if (!peers)
			return sink_failed(f, -ENOMEM);
		t->peers = peers;
		t->room = room;
	}
	t->peers[number] = (struct text_peer){.last_ns = 0};
	memcpy(t->peers[number].name, peer->settings.name, sizeof(t->peers[number].name));
	t->count = number + 1;
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

	for (uint32_t i = 0; i < t->count; i++)
		free(t->peers[i].ring);
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
	const struct text *t = f->sink;

	csv_name(f->stream, t->peers[number].name);
	fprintf(f->stream, ",%" PRIu64 ",", beat->now_ns);
	if (beat->sequence_bits)
		fprintf(f->stream, "%" PRIu64, beat->sequence);
	putc('\n', f->stream);
	return text_check(f);
}

const struct sink_kind sink_csv = {csv_begin, text_peer_add, csv_arrival, NULL, text_end, text_free};

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
	uint64_t rest = gap_ns % unit_ns;

	fprintf(to, "%" PRIu64, gap_ns / unit_ns);
	if (rest)
		putc('.', to);
	while (rest) {
		unit_ns /= 10;
		putc((char)('0' + rest / unit_ns), to);
		rest %= unit_ns;
	}
	putc('\n', to);
}

static int gaps_arrival(struct flow *f, const struct kphi_beat *beat, uint64_t unit_ns)
{
	struct text_peer *p = ((struct text *)f->sink)->peers;

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
	return gaps_arrival(f, beat, 1000);
}

static int gaps_ms_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)number;
	return gaps_arrival(f, beat, 1000000);
}

const struct sink_kind sink_gaps_us = {text_begin, gaps_peer, gaps_us_arrival, NULL, text_end, text_free};
const struct sink_kind sink_gaps_ms = {text_begin, gaps_peer, gaps_ms_arrival, NULL, text_end, text_free};

/* --- Cassandra's FailureDetector.dumpInterArrivalTimes() --- */

#define CASSANDRA_RING 1000
#define CASSANDRA_LINE "-----------------------------------------------------------------------" /* 71 */

static int cassandra_peer(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	int err = text_peer_add(f, number, peer);
	struct text_peer *p = &((struct text *)f->sink)->peers[number];

	if (err)
		return err;
	p->ring = calloc(CASSANDRA_RING, sizeof(*p->ring));
	return p->ring ? 0 : sink_failed(f, -ENOMEM);
}

static int cassandra_arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	struct text_peer *p = &((struct text *)f->sink)->peers[number];

	if (p->heard && beat->now_ns > p->last_ns)
		p->ring[p->intervals++ % CASSANDRA_RING] = beat->now_ns - p->last_ns;
	if (!p->heard || beat->now_ns > p->last_ns)
		p->last_ns = beat->now_ns;
	p->heard = true;
	return 0;
}

static int cassandra_end(struct flow *f)
{
	const struct text *t = f->sink;

	fputs(CASSANDRA_LINE, f->stream);
	for (uint32_t i = 0; i < t->count; i++) {
		fprintf(f->stream, "%s : [", t->peers[i].name);
		for (int k = 0; k < CASSANDRA_RING; k++)
			fprintf(f->stream, "%s%" PRIu64, k ? ", " : "", t->peers[i].ring[k]);
		fputs("]\n", f->stream);
	}
	fputs(CASSANDRA_LINE, f->stream);
	return text_end(f);
}

const struct sink_kind sink_cassandra = {text_begin, cassandra_peer, cassandra_arrival,
					 NULL,       cassandra_end,  text_free};
