// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recorded traces, where they are: send intervals of two PlanetLab hosts, and captures of BFD sessions
 * between real daemons, read as `kphi trace convert` reads them; and what tools/own-traces has recorded.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quality.h"
#include "trace/flow.h"
#include "trace/reader.h"

#define SHARED   "../shared"
#define OWN      "build/traces"
#define BFD_WARM 30 /* a run has a few hundred packets */
#define BFD_MIN  150

static const struct {
	const char *name, *path;
} senders[] = {
	{"node0", SHARED "/traces/planetlab-node0-send-interval-us.txt.gz"},
	{"node5", SHARED "/traces/planetlab-node5-send-interval-us.txt.gz"},
};

static struct trace *open_converted(const char *from, enum trace_format format, uint64_t interval_ns)
{
	static char why[WHY_SIZE];
	char to[] = "build/quality-XXXXXX";
	struct flow flow = {
		.from = from, .to = to, .options = {.name = "sender", .interval_ns = interval_ns}};
	struct trace *t;
	int fd = mkstemp(to);

	if (fd < 0)
		die("quality: no file can be made in build");
	close(fd);
	unlink(to); /* flow_run() makes it itself */
	if (flow_run(&flow, format, FORMAT_TRACE))
		die("%s", flow.why);
	flow_free(&flow);
	t = trace_open(to, why, sizeof(why));
	if (!t)
		die("%s", why);
	unlink(to);
	return t;
}

/* All arrivals of one peer of a trace; kept until the process ends. Returns how many. */
static uint32_t load(struct trace *t, uint32_t wanted, uint32_t most, struct kphi_beat **arrivals)
{
	struct kphi_beat beat;
	uint32_t n = 0, peer;

	*arrivals = calloc(most, sizeof(beat));
	if (!*arrivals)
		die("quality: no memory");
	while (n < most && trace_next(t, &peer, &beat) > 0)
		if (peer == wanted)
			(*arrivals)[n++] = beat;
	return n;
}

static void add_sender(struct quality_paths *paths, const char *name, const char *path, uint32_t beats,
		       uint64_t seed)
{
	struct trace *t = open_converted(path, FORMAT_GAPS_US, 100000000);
	struct kphi_beat *arrivals;
	uint32_t n = load(t, 0, beats, &arrivals);
	struct quality_path *p = quality_add(paths, QUALITY_BARE);

	snprintf(p->name, sizeof(p->name), "%s as it is", name);
	p->settings = trace_peer(t, 0)->settings;
	p->recorded = arrivals;
	p->beats = n;
	trace_close(t);
	quality_add_impaired(paths, name, arrivals, n, seed);
}

static void add_session(struct quality_paths *paths, const char *path, uint32_t peer)
{
	struct trace *t = open_converted(path, FORMAT_PCAP, 0);
	const char *base = strrchr(path, '/') + 1;
	struct kphi_beat *arrivals;
	uint32_t n = load(t, peer, BFD_MIN * 64, &arrivals);
	struct quality_path *p;

	if (n >= BFD_MIN) {
		p = quality_add(paths, QUALITY_BFD);
		snprintf(p->name, sizeof(p->name), "%.*s #%u", (int)strcspn(base, "."), base, peer + 1);
		p->settings = trace_peer(t, peer)->settings;
		p->recorded = arrivals;
		p->beats = n;
		p->warm = BFD_WARM;
	} else {
		free(arrivals);
	}
	trace_close(t);
}

/* --- tools/own-traces */

static void add_own(struct quality_paths *paths, const char *file, uint32_t most)
{
	static char why[WHY_SIZE];
	struct trace *t = trace_open(file, why, sizeof(why));
	struct kphi_beat *arrivals;
	struct quality_path *p;
	const char *name;
	uint32_t n;

	if (!t)
		die("%s", why);
	n = load(t, 0, most, &arrivals);
	if (!n)
		die("quality: %s: no arrival is in it", file);
	name = trace_peer(t, 0)->name;
	p = quality_add(paths, !strncmp(name, "gc", 2) || !strncmp(name, "stress", 6) ? QUALITY_OWN_TROUBLE
										      : QUALITY_OWN);
	snprintf(p->name, sizeof(p->name), "own: %s", name);
	p->settings = trace_peer(t, 0)->settings;
	p->recorded = arrivals;
	p->beats = n;
	trace_close(t);
}

static void add_all_own(struct quality_paths *paths, uint32_t most)
{
	glob_t found;

	if (glob(OWN "/own-*.trace", 0, NULL, &found)) {
		fputs("bench: quality: there are no traces of our own in " OWN
		      ": tools/own-traces makes them\n",
		      stderr);
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_own(paths, found.gl_pathv[i], most);
	globfree(&found);
}

static void add_shared(struct quality_paths *paths, uint32_t beats, uint64_t seed)
{
	glob_t found;

	if (access(SHARED "/traces", R_OK)) {
		fputs("bench: quality: there are no recorded traces in " SHARED "\n", stderr);
		return;
	}
	for (size_t i = 0; i < COUNT(senders); i++)
		add_sender(paths, senders[i].name, senders[i].path, beats, seed);
	if (glob(SHARED "/pcap/own/bfd-*-*ms.pcap", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!strstr(found.gl_pathv[i], "multihop"))
			for (uint32_t peer = 0; peer < 2; peer++)
				add_session(paths, found.gl_pathv[i], peer);
	globfree(&found);
}

void quality_add_real(struct quality_paths *paths, uint32_t beats, uint64_t seed)
{
	add_shared(paths, beats, seed);
	add_all_own(paths, beats);
}
