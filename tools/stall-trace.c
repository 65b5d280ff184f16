// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stall-trace IN OUT PERIOD LENGTH: the trace that IN would have been if the recording host had stalled for
 * LENGTH every PERIOD (durations; LENGTH is the shorter one), as the packet path would have taken it: what
 * came meanwhile is stamped when it was over, and every arrival carries what its CPU has stalled so far.
 */
#include <stdio.h>
#include <string.h>

#include "io/parse.h"
#include "trace/reader.h"
#include "trace/writer.h"

static int give_up(const char *why)
{
	fprintf(stderr, "stall-trace: %s\n", why);
	return 1;
}

static void stall(struct kphi_beat *b, uint64_t period_ns, uint64_t length_ns)
{
	uint64_t number = b->now_ns / period_ns, begin_ns = number * period_ns;

	if (!number)
		return;
	if (b->now_ns < begin_ns + length_ns)
		b->now_ns = begin_ns + length_ns;
	b->stalled_total_ns = number * length_ns;
	b->stall_end_ns = begin_ns + length_ns;
	b->stall_length_ns = length_ns;
}

static int copy(struct trace *in, struct trace_writer *out, uint64_t period_ns, uint64_t length_ns)
{
	struct kphi_beat beat;
	uint32_t peer, known = 0;
	int got, err = 0;

	while ((got = trace_next(in, &peer, &beat)) > 0 && !err) {
		for (; known < trace_peers(in); known++)
			if (trace_add_peer(out, trace_peer(in, known)) != known)
				return give_up("a peer cannot be described");
		stall(&beat, period_ns, length_ns);
		err = trace_write(out, peer, &beat);
	}
	return err || got < 0 ? give_up("IN cannot be copied") : 0;
}

int main(int argc, char **argv)
{
	struct trace_start start;
	struct trace_writer *out;
	uint64_t period_ns, length_ns;
	char why[WHY_SIZE];
	struct trace *in;
	int failed;

	if (argc != 5)
		return give_up("usage: stall-trace IN OUT PERIOD LENGTH");
	if (parse_duration(argv[3], 1, UINT64_MAX, &period_ns, why, sizeof(why)) ||
	    parse_duration(argv[4], 1, period_ns - 1, &length_ns, why, sizeof(why)))
		return give_up(why);
	in = trace_open(argv[1], why, sizeof(why));
	if (!in)
		return give_up(why);
	start = *trace_start(in);
	out = trace_create(argv[2], &start, why, sizeof(why));
	failed = out ? copy(in, out, period_ns, length_ns) : give_up(why);
	if (trace_finish(out) && !failed)
		failed = give_up("OUT cannot be written");
	trace_close(in);
	return failed;
}
