// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the store to phi: what `kphi peer show` does for every peer, without the printing. 100,000 peers that
 * beat every 100 ms, with jitter, and were last heard at moments spread over a second.
 */
#include <bench.skel.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/policy.h"
#include "kernel/clock.h"

#define CAPACITY 131072
#define PEERS    100000
#define WINDOW   16 /* a scan reads the sums and not the ring, so a small one does, and saves a gigabyte */
#define BEATS    (WINDOW + 2)
#define ROUNDS   101

#define INTERVAL_NS 100000000ULL
#define JITTER_NS   10000000ULL

/*
 * The first beat of a CPU arms its tick: one from the past would make the tick late, and what came before the
 * end of that stall would not be learned.
 */
static void arm_tick(struct place *p, struct bench_feed feed)
{
	struct why w;

	feed.beats = 1;
	feed.now_ns = clock_monotonic_ns() - feed.interval_ns;
	place_run(bpf_program__fd(p->bench->progs.bench_feed), &feed, sizeof(feed), 1);
	if (control_reset(&p->control, feed.slot, feed.generation, &w))
		die("%s", w.text);
}

void scan_add(struct place *p, uint32_t number)
{
	struct kphi_peer peer = {
		.interval_ns = INTERVAL_NS,
		.model = KPHI_MODEL_NORMAL,
		.id.kind = KPHI_ID_NATIVE,
	};
	struct bench_feed feed = {
		.beats = BEATS,
		.interval_ns = INTERVAL_NS,
		.jitter_ns = JITTER_NS,
		.random = number,
	};
	uint64_t silence_ns = number % 1000 * 1000000ULL;

	snprintf(peer.name, sizeof(peer.name), "peer%u", number);
	memcpy(peer.id.bytes, &number, sizeof(number));
	feed.slot = place_add(p, &peer, number);
	feed.generation = p->store.records[feed.slot].generation;
	if (!number)
		arm_tick(p, feed);
	feed.now_ns = clock_monotonic_ns() - BEATS * (INTERVAL_NS + JITTER_NS) - silence_ns;
	place_run(bpf_program__fd(p->bench->progs.bench_feed), &feed, sizeof(feed), 1);
}

uint32_t scan_judge(const struct store *s, uint64_t now_ns)
{
	struct threshold threshold;
	uint32_t judged = 0;

	threshold_prepare(&threshold, POLICY_SUSPECT);
	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		struct kphi_record record;
		struct kphi_peer peer;
		struct opinion o;

		if (s->records[slot].state == KPHI_FREE || store_read(s, slot, &record, &peer))
			continue;
		policy_judge(&o, &record, &peer, NULL, &s->ticks[record.cpu], &threshold, now_ns);
		judged += o.judged;
	}
	return judged;
}

/* The same in double precision: the sums to mean and deviation, floor and pause, libm's tail. */
static uint32_t scan_libm(const struct store *s, uint64_t now_ns)
{
	double suspected = 0;
	uint32_t judged = 0;

	for (uint32_t slot = 0; slot < s->header->peers; slot++) {
		struct kphi_record record;
		struct kphi_peer peer;
		const struct kphi_window *w = &record.window;

		if (s->records[slot].state == KPHI_FREE || store_read(s, slot, &record, &peer))
			continue;

		double n = w->n, mean = (double)w->sum_ns / n, floor = (double)w->interval_ns / 10;
		double squares = ldexp((double)w->squares_high, 64) + (double)w->squares_low;
		double sd = sqrt(fmax(squares / n - mean * mean, 0));
		double silence = (double)now_ns - (double)record.last_ns, pause = 3 * (double)w->interval_ns;

		suspected += libm_normal((silence - pause - mean) / fmax(sd, floor)) >= 8;
		judged++;
	}
	return suspected > 0 ? judged : 0;
}

/* One scan, which has to judge everybody; how long it took, in ms. */
static double time_scan(const struct store *s, uint32_t (*scan_all)(const struct store *s, uint64_t now_ns))
{
	uint64_t begin;
	uint32_t judged;

	rest();
	begin = clock_monotonic_ns();
	judged = scan_all(s, begin);
	if (judged != PEERS)
		die("scan: %u of %d peers were judged", judged, PEERS);
	return (double)(clock_monotonic_ns() - begin) / 1e6;
}

void bench_scan(void)
{
	static const struct store_size size = {.peers = CAPACITY, .window = WINDOW};
	struct series ms = {0}, libm_ms = {0};
	struct place p;
	double median;

	place_begin(&p, &size);
	for (uint32_t i = 0; i < PEERS; i++)
		scan_add(&p, i);
	time_scan(&p.store, scan_judge); /* the first one finds cold caches */
	for (int round = 0; round < ROUNDS; round++) {
		series_add(&ms, time_scan(&p.store, scan_judge));
		series_add(&libm_ms, time_scan(&p.store, scan_libm));
	}
	median = series_at(&ms, 0.5);
	printf("{\"bench\":\"scan\",\"peers\":%d,\"ms\":%.2f,\"libm_ms\":%.2f,\"ratio_to_libm\":%.2f,\"min_"
	       "ms\":%.2f,"
	       "\"p99_ms\":%.2f,\"max_ms\":%.2f,\"peers_per_second\":%.0f,\"ns_per_peer\":%.0f,\"rounds\":%d}"
	       "\n",
	       PEERS, median, series_at(&libm_ms, 0.5), median / series_at(&libm_ms, 0.5), series_at(&ms, 0),
	       series_at(&ms, 0.99), series_at(&ms, 1), PEERS / median * 1e3, median * 1e6 / PEERS, ROUNDS);
	place_end(&p);
}
