// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text as a source: CSV, lists of gaps, Cassandra's dump. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/input.h"
#include "trace/keys.h"

#define STRIDE 4096 /* lines between two looks at the clock */

static struct trace_peer named_peer(const struct flow *f, const char name[KPHI_NAME_SIZE])
{
	struct trace_peer p = {.settings.interval_ns = f->options.interval_ns};

	memcpy(p.settings.name, name, sizeof(p.settings.name));
	memcpy(p.name, name, sizeof(p.name));
	return p;
}

static void look_at_clock(struct flow *f, const struct input *in)
{
	if (in->line % STRIDE == 0)
		progress_at(&f->progress, input_taken(in));
}

/* --- CSV --- */

struct csv {
	struct input *in;
	struct keys names;
};

#define CSV_FIELDS 4

/* Cuts the line into fields, in place. How many, or -EINVAL. */
static int csv_cut(struct flow *f, struct input *in, char *fields[CSV_FIELDS])
{
	char *from = in->text, *to;
	int n = 0;

	do {
		bool quoted = *from == '"';

		if (n == CSV_FIELDS)
			return input_wrong(f, in, "more than %d fields", CSV_FIELDS);
		from += quoted;
		fields[n++] = to = from;
		for (; *from && (quoted || *from != ','); from++) {
			if (quoted && *from == '"' && *++from != '"') {
				quoted = false;
				break;
			}
			*to++ = *from;
		}
		if (quoted || (*from && *from != ','))
			return input_wrong(f, in, "the quotes of field %d do not end with it", n);
		if (*from) {
			*to = '\0';
			from++;
		} else {
			*to = '\0';
			from = NULL;
		}
	} while (from);
	return n;
}

/* Is the first line a heading? */
static bool csv_is_heading(const struct input *in, char *const fields[CSV_FIELDS], int n)
{
	return in->line == 1 && n >= 2 && !strcmp(fields[0], "peer") && !strcmp(fields[1], "arrival_ns");
}

static int csv_number(struct flow *f, const struct csv *c, const char *what, const char *text,
		      uint64_t *value)
{
	char why[WHY_SIZE / 2];

	if (!parse_u64(text, 0, UINT64_MAX, value, why, sizeof(why)))
		return 0;
	return input_wrong(f, c->in, "%s: %.300s", what, why);
}

/* The peer's number, having told the flow of it. */
static int64_t csv_peer(struct flow *f, struct csv *c, const char *text)
{
	struct trace_peer p;
	char why[WHY_SIZE / 2];
	struct key name;
	int64_t number;
	bool fresh;

	if (parse_name(text, name.bytes, why, sizeof(why)))
		return input_wrong(f, c->in, "peer: %.300s", why);
	number = keys_find(&c->names, &name, &fresh);
	if (number < 0)
		return flow_wrong(f, (int)number, f->from, "there is no memory for another peer");
	p = named_peer(f, name.bytes);
	return fresh ? flow_peer(f, &p) : number;
}

/* The time at which it was sent is read, but a beat has no place for it. */
static int csv_row(struct flow *f, struct csv *c, char *const fields[CSV_FIELDS], int n)
{
	struct kphi_beat beat = {.type = KPHI_WIRE_BEAT};
	uint64_t sent_ns;
	int64_t peer;
	int err;

	if (n < 2)
		return input_wrong(f, c->in, "no comma: a line is peer,arrival_ns[,sequence[,sent_ns]]");
	peer = csv_peer(f, c, fields[0]);
	if (peer < 0)
		return (int)peer;
	err = csv_number(f, c, "arrival_ns", fields[1], &beat.now_ns);
	if (!err && n > 2 && *fields[2]) {
		beat.sequence_bits = 64;
		err = csv_number(f, c, "sequence", fields[2], &beat.sequence);
	}
	if (!err && n > 3 && *fields[3])
		err = csv_number(f, c, "sent_ns", fields[3], &sent_ns);
	return err ? err : flow_arrival(f, (uint32_t)peer, &beat);
}

static int csv_rows(struct flow *f, struct csv *c)
{
	char *fields[CSV_FIELDS];
	int got, n, err = 0;

	while (!err && (got = input_line(f, c->in)) != 0) {
		if (got < 0)
			return got;
		n = csv_cut(f, c->in, fields);
		if (n < 0)
			return n;
		if (!csv_is_heading(c->in, fields, n))
			err = csv_row(f, c, fields, n);
		look_at_clock(f, c->in);
	}
	return err;
}

int flow_from_csv(struct flow *f)
{
	const struct trace_start start = {0};
	struct csv c = {.in = input_open(f)};
	int err;

	if (!c.in)
		return -EIO;
	err = flow_begin(f, &start);
	err = err ? err : csv_rows(f, &c);
	keys_free(&c.names);
	input_close(c.in);
	return err;
}

/* --- gaps --- */

static int gaps_lines(struct flow *f, struct input *in, const char *unit)
{
	struct kphi_beat beat = {.now_ns = FLOW_BASE_NS, .type = KPHI_WIRE_BEAT};
	char text[128], why[WHY_SIZE / 2];
	int got, err = flow_arrival(f, 0, &beat);

	while (!err && (got = input_line(f, in)) != 0) {
		uint64_t gap_ns;

		if (got < 0)
			return got;
		if (snprintf(text, sizeof(text), "%s%s", in->text, unit) >= (int)sizeof(text) ||
		    parse_duration(text, 0, UINT64_MAX, &gap_ns, why, sizeof(why)))
			return input_wrong(f, in, QUOTED " is no number of %s: a line is one gap", in->text,
					   unit);
		if (__builtin_add_overflow(beat.now_ns, gap_ns, &beat.now_ns))
			return input_wrong(f, in, "all gaps up to here are more than 2^64 nanoseconds");
		err = flow_arrival(f, 0, &beat);
		look_at_clock(f, in);
	}
	return err;
}

int flow_from_gaps(struct flow *f, const char *unit)
{
	const struct trace_peer peer = named_peer(f, f->options.name);
	const struct trace_start start = {.monotonic_ns = FLOW_BASE_NS};
	struct input *in = input_open(f);
	int64_t number;
	int err;

	if (!in)
		return -EIO;
	err = flow_begin(f, &start);
	number = err ? err : flow_peer(f, &peer);
	err = number < 0 ? (int)number : gaps_lines(f, in, unit);
	input_close(in);
	return err;
}

/* --- Cassandra --- */

/* The dump is a ring a peer, so it fits memory; its arrivals are put in the order of their times. */
struct dump {
	struct arrival {
		uint64_t now_ns;
		uint32_t peer;
	} * arrivals;
	size_t count, room;
};

static int dump_add(struct flow *f, struct dump *d, uint32_t peer, uint64_t now_ns)
{
	if (d->count == d->room) {
		size_t room = d->room ? 2 * d->room : 4096;
		struct arrival *arrivals = reallocarray(d->arrivals, room, sizeof(*arrivals));

		if (!arrivals)
			return flow_wrong(f, -ENOMEM, f->from, "there is no memory for all of it");
		d->arrivals = arrivals;
		d->room = room;
	}
	d->arrivals[d->count++] = (struct arrival){now_ns, peer};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->now_ns != y->now_ns)
		return x->now_ns < y->now_ns ? -1 : 1;
	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

/* The intervals between the brackets. A slot that was never filled is zero. */
static int dump_intervals(struct flow *f, struct input *in, struct dump *d, uint32_t peer, const char *at)
{
	uint64_t now_ns = FLOW_BASE_NS;
	int err = dump_add(f, d, peer, now_ns);

	while (!err && *at != ']') {
		char *end;
		unsigned long long interval;

		errno = 0;
		interval = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || (*end != ',' && *end != ']'))
			return input_wrong(f, in, "no interval at '%.20s'", at);
		if (interval && __builtin_add_overflow(now_ns, interval, &now_ns))
			return input_wrong(f, in, "all intervals up to here are more than 2^64 nanoseconds");
		err = interval ? dump_add(f, d, peer, now_ns) : 0;
		at = end + (*end == ',');
		at += *at == ' ';
	}
	return err;
}

/* "/10.0.0.2:7000 : [1000123, ...]" */
static int dump_line(struct flow *f, struct input *in, struct dump *d)
{
	char *name = in->text + strspn(in->text, "-"), *bracket;
	struct trace_peer p;
	char text[KPHI_NAME_SIZE], why[WHY_SIZE / 2];
	int64_t number;

	if (!*name)
		return 0;
	bracket = strstr(name, " : [");
	if (!bracket)
		return input_wrong(f, in, "no dump: a line is an endpoint, \" : [\", and its intervals");
	*bracket = '\0';
	name += *name == '/';
	if (parse_name(name, text, why, sizeof(why)))
		return input_wrong(f, in, "endpoint: %.300s", why);
	p = named_peer(f, text);
	number = flow_peer(f, &p);
	return number < 0 ? (int)number
			  : dump_intervals(f, in, d, (uint32_t)number, bracket + strlen(" : ["));
}

static int dump_lines(struct flow *f, struct input *in, struct dump *d)
{
	int got, err = 0;

	while (!err && (got = input_line(f, in)) > 0)
		err = dump_line(f, in, d);
	return err ? err : got;
}

int flow_from_cassandra(struct flow *f)
{
	const struct trace_start start = {.monotonic_ns = FLOW_BASE_NS};
	struct input *in = input_open(f);
	struct dump d = {0};
	int err;

	if (!in)
		return -EIO;
	err = flow_begin(f, &start);
	err = err ? err : dump_lines(f, in, &d);
	if (d.count)
		qsort(d.arrivals, d.count, sizeof(*d.arrivals), by_time);
	for (size_t i = 0; i < d.count && !err; i++) {
		const struct kphi_beat beat = {.now_ns = d.arrivals[i].now_ns, .type = KPHI_WIRE_BEAT};

		err = flow_arrival(f, d.arrivals[i].peer, &beat);
	}
	free(d.arrivals);
	input_close(in);
	return err;
}
