// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A scrape of 10,000 peers with two consumers, from the store to the last byte of text in memory. The
 * baseline judges the same peers and says nothing.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "kernel/clock.h"
#include "metrics/metrics.h"

#define CAPACITY  16384
#define PEERS     10000
#define WINDOW    16
#define CONSUMERS 2
#define ROUNDS    301

#define HOUR_NS 3600000000000ULL

/* A daemon that says of everybody that both its consumers trust him. */
static void publish(struct place *p)
{
	struct kphi_daemon daemon = {.alive_until_ns = clock_monotonic_ns() + HOUR_NS,
				     .consumers = CONSUMERS};
	char path[PIN_PATH];
	uint32_t zero = 0;
	struct why w;
	int fd = bpf_obj_get(pin_path(&p->pin, "daemon", path));

	snprintf(daemon.consumer[0].name, KPHI_NAME_SIZE, "page");
	snprintf(daemon.consumer[1].name, KPHI_NAME_SIZE, "failover");
	if (fd < 0 || bpf_map_update_elem(fd, &zero, &daemon, BPF_ANY))
		die("%s: cannot write: %s", path, strerror(errno));
	close(fd);
	for (uint32_t slot = 0; slot < PEERS; slot++) {
		struct kphi_verdict verdict = {
			.valid_until_ns = daemon.alive_until_ns,
			.generation = p->store.records[slot].generation,
			.epoch = p->store.records[slot].epoch,
			.state = KPHI_VERDICT_TRUST,
		};

		if (control_verdict(&p->control, slot, &verdict, &w))
			die("%s", w.text);
	}
}

struct text {
	size_t bytes, series;
	double ms;
};

static struct text scrape(const struct place *p, enum metrics_peers peers)
{
	struct metrics_options options = {.peers = peers, .peers_max = METRICS_PEERS_MAX_DEFAULT};
	struct text t = {0};
	char *text = NULL;
	uint64_t begin;
	FILE *memory;
	int err;

	rest();
	begin = clock_monotonic_ns();
	memory = open_memstream(&text, &t.bytes);
	if (!memory)
		die("no memory for the text");
	err = metrics_write(memory, &p->pin, &p->store, &options, begin);
	if (fclose(memory) || err)
		die("a scrape fails: %s", strerror(err ? -err : errno));
	t.ms = (double)(clock_monotonic_ns() - begin) / 1e6;
	for (const char *at = text; *at; at = strchr(at, '\n') + 1)
		t.series += *at != '#';
	free(text);
	return t;
}

static double judge(const struct place *p)
{
	uint64_t begin;

	rest();
	begin = clock_monotonic_ns();
	if (scan_judge(&p->store, begin) != PEERS)
		die("scrape: not everybody could be judged");
	return (double)(clock_monotonic_ns() - begin) / 1e6;
}

void bench_scrape(void)
{
	static const struct store_size size = {.peers = CAPACITY, .window = WINDOW};
	struct series ms = {0}, sums_ms = {0}, judge_ms = {0};
	struct text all = {0}, sums = {0};
	struct place p;
	double median;

	place_begin(&p, &size);
	for (uint32_t i = 0; i < PEERS; i++)
		scan_add(&p, i);
	publish(&p);
	for (int round = 0; round < ROUNDS; round++) {
		all = scrape(&p, METRICS_ALL);
		sums = scrape(&p, METRICS_NONE);
		series_add(&ms, all.ms);
		series_add(&sums_ms, sums.ms);
		series_add(&judge_ms, judge(&p));
	}
	median = series_at(&ms, 0.5);
	printf("{\"bench\":\"scrape\",\"peers\":%d,\"consumers\":%d,\"ms\":%.2f,\"judge_ms\":%.2f,\"ratio_to_"
	       "judge\":%.2f,\"min_ms\":%.2f,\"p99_ms\":%.2f,\"max_ms\":%.2f,\"series\":%zu,\"bytes\":%zu,"
	       "\"ns_per_series\":%.0f,\"sums_ms\":%.2f,\"sums_series\":%zu,\"sums_bytes\":%zu,\"rounds\":%d}"
	       "\n",
	       PEERS, CONSUMERS, median, series_at(&judge_ms, 0.5), median / series_at(&judge_ms, 0.5),
	       series_at(&ms, 0), series_at(&ms, 0.99), series_at(&ms, 1), all.series, all.bytes,
	       median * 1e6 / (double)all.series, series_at(&sums_ms, 0.5), sums.series, sums.bytes, ROUNDS);
	place_end(&p);
}
