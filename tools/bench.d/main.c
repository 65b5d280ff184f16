// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What kphi costs: tools/bench runs it in a room of its own. One JSON object a line and a figure, with the
 * unit in the key and the baseline from the same run. A figure is the median of rounds; min, p99 and max tell
 * how still the machine was, and a difference smaller than that spread means nothing.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "kernel/load.h"

static const struct {
	const char *name;
	void (*run)(void);
	bool asked; /* only if it is asked for by its name */
} benches[] = {
	{"packets", bench_packets, false}, /* in XDP */
	{"phi", bench_phi, false}, /* against libm */
	{"scan", bench_scan, false}, /* from the store to phi */
	{"library", bench_library, false}, /* a query of libkphi */
	{"scrape", bench_scrape, false}, /* from the store to the text of metrics */
	{"replay", bench_replay, false}, /* from recorded arrivals to verdicts */
	{"verdict_lateness", bench_verdict_lateness, false}, /* of `kphi run` */
	{"run_cpu", bench_run_cpu, false}, /* its CPU time */
	{"quality", bench_quality, false}, /* mistakes and detection times, which nothing is timed for */
	{"quality_quick", bench_quality_quick, true}, /* the same from too few beats to mean anything */
};

/* One CPU for the whole run, and not the one that takes most interrupts. */
static void stay_on_one_cpu(void)
{
	cpu_set_t cpus;
	int last = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		die("cannot tell which CPUs there are");
	while (last > 0 && !CPU_ISSET(last, &cpus))
		last--;
	CPU_ZERO(&cpus);
	CPU_SET(last, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("cannot stay on CPU %d", last);
	/* Ahead of whatever else runs there, where that is allowed; what is started from here is not. */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = 1});
}

static bool wanted(const char *name, bool asked, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2 && !asked;
}

/* The first process of a pid namespace has no default actions; all others there end with it. */
static void stop(int number)
{
	_exit(128 + number);
}

int main(int argc, char **argv)
{
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	setvbuf(stdout, NULL, _IOLBF, 0); /* a figure is seen when it is there */
	load_quiet();
	stay_on_one_cpu();
	for (size_t i = 0; i < COUNT(benches); i++)
		if (wanted(benches[i].name, benches[i].asked, argc, argv))
			benches[i].run();
	return fflush(stdout) || ferror(stdout) != 0;
}
