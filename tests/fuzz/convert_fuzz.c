// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What becomes a trace: captures, CSV, lists of gaps, Cassandra's dumps. The first byte chooses. */
#include <errno.h>

#include "fuzz/fuzz.h"
#include "trace/flow.h"

static uint64_t arrived;

static int begin(struct flow *f, const struct trace_start *start)
{
	(void)f;
	(void)start;
	return 0;
}

static int peer(struct flow *f, uint32_t number, const struct trace_peer *p)
{
	(void)f;
	(void)number;
	must(memchr(p->name, '\0', sizeof(p->name)));
	return 0;
}

static int arrival(struct flow *f, uint32_t number, const struct kphi_beat *beat)
{
	(void)beat;
	must(number < f->sunk);
	arrived++;
	return 0;
}

static int lost(struct flow *f, uint64_t n)
{
	(void)f;
	(void)n;
	return 0;
}

static int state(struct flow *f, uint32_t number, const struct trace_state *s)
{
	(void)s;
	must(number < f->sunk);
	return 0;
}

static int end(struct flow *f)
{
	(void)f;
	return 0;
}

static void nothing(struct flow *f)
{
	(void)f;
}

static const struct sink_kind counting = {begin, peer, arrival, lost, state, end, nothing};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum trace_format formats[] = {FORMAT_PCAP,    FORMAT_PCAPNG,  FORMAT_CSV,
						    FORMAT_GAPS_US, FORMAT_GAPS_MS, FORMAT_CASSANDRA};
	struct flow f = {.to = "-", .kind = &counting, .options.name = "it"};
	enum trace_format format;
	char path[32];
	int fd;

	if (!size)
		return 0;
	format = formats[*data % (sizeof(formats) / sizeof(*formats))];
	f.from = fuzz_path(data + 1, size - 1, &fd, path);
	arrived = 0;
	if (flow_source(&f, format))
		must_say(f.why);
	must(arrived == f.arrivals);
	close(fd);
	flow_free(&f);
	return 0;
}
