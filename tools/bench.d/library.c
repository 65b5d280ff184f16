// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a query of libkphi costs, beside the clock that most of them are asked with, and beside what the scan
 * takes for a peer. Among peers in random order, so that their records are in no cache, and of one peer that
 * is asked for again and again, as a client does before each request.
 */
#include <kphi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "kernel/clock.h"

#define CAPACITY 131072
#define PEERS    100000
#define WINDOW   16
#define ROUNDS   201
#define QUERIES  20000 /* a round */

struct question {
	const char *name;
	uint64_t (*ask)(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns);
	struct series one, many; /* ns */
};

static uint64_t ask_clock(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns)
{
	(void)k, (void)peer, (void)now_ns;
	return kphi_now_ns();
}

static uint64_t ask_suspected(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns)
{
	return kphi_suspected(k, peer, 0, now_ns) == KPHI_SUSPECTED;
}

static uint64_t ask_suspected_now(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns)
{
	(void)now_ns;
	return kphi_suspected(k, peer, 0, kphi_now_ns()) == KPHI_SUSPECTED;
}

static uint64_t ask_phi(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns)
{
	struct kphi_reading reading;

	return kphi_read(k, peer, KPHI_OWN_MODEL, 0, now_ns, &reading) ? 0 : reading.judged;
}

static uint64_t ask_phi_at(const struct kphi *k, struct kphi_ref peer, uint64_t now_ns)
{
	struct kphi_reading reading;

	return kphi_read(k, peer, KPHI_OWN_MODEL, 5ULL << 32, now_ns, &reading) ? 0 : reading.judged;
}

/* Every peer is suspected by the first consumer, so that an answer that is wrong is noticed. */
static void suspect(struct place *p, uint32_t slot, uint64_t now_ns)
{
	struct kphi_verdict v = {
		.valid_until_ns = now_ns + 3600ULL * 1000000000,
		.generation = p->store.records[slot].generation,
		.epoch = p->store.records[slot].epoch,
		.state = KPHI_VERDICT_SUSPECT,
		.consumers = 1,
	};
	struct why w;

	if (control_verdict(&p->control, slot, &v, &w))
		die("%s", w.text);
}

/* Nanoseconds of one query of those peers, whose number is a power of two less one. */
static double time_queries(const struct question *q, const struct kphi *k, const struct kphi_ref *peers,
			   uint32_t mask)
{
	uint64_t begin_ns = clock_monotonic_ns(), sum = 0;

	for (uint32_t i = 0; i < QUERIES; i++)
		sum += q->ask(k, peers[i & mask], begin_ns) != 0;
	begin_ns = clock_monotonic_ns() - begin_ns;
	if (sum < QUERIES / 2)
		die("library: %s was answered %lu times of %d", q->name, sum, QUERIES);
	return (double)begin_ns / QUERIES;
}

static void say(const struct question *q, const struct series *clock, double scan_ns)
{
	printf("{\"bench\":\"library\",\"query\":\"%s\",\"ns\":%.1f,\"p99_ns\":%.1f,\"max_ns\":%.1f,"
	       "\"among_100000_ns\":%.1f,\"among_100000_p99_ns\":%.1f,\"among_100000_max_ns\":%.1f,"
	       "\"clock_ns\":%.1f,\"scan_ns_per_peer\":%.1f,\"rounds\":%d}\n",
	       q->name, series_at(&q->one, 0.5), series_at(&q->one, 0.99), series_at(&q->one, 1),
	       series_at(&q->many, 0.5), series_at(&q->many, 0.99), series_at(&q->many, 1),
	       series_at(clock, 0.5), scan_ns, ROUNDS);
}

void bench_library(void)
{
	static struct question questions[] = {
		{.name = "clock", .ask = ask_clock},
		{.name = "suspected", .ask = ask_suspected},
		{.name = "suspected_and_clock", .ask = ask_suspected_now},
		{.name = "phi", .ask = ask_phi},
		{.name = "phi_other_threshold", .ask = ask_phi_at},
	};
	static const struct store_size size = {.peers = CAPACITY, .window = WINDOW};
	static struct kphi_ref peers[32768];
	struct series scan = {0};
	uint64_t random = 1;
	char why[KPHI_WHY_SIZE];
	struct place p;
	struct kphi *k;

	place_begin(&p, &size);
	for (uint32_t i = 0; i < PEERS; i++) {
		scan_add(&p, i);
		suspect(&p, i, clock_monotonic_ns());
	}
	if (kphi_open(&k, getenv("KPHI_PIN"), why, sizeof(why)))
		die("%s", why);
	for (size_t i = 0; i < COUNT(peers); i++) {
		uint32_t slot = (uint32_t)random_below(&random, PEERS);

		peers[i] = (struct kphi_ref){slot, p.store.records[slot].generation};
	}
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin_ns;

		for (size_t i = 0; i < COUNT(questions); i++) {
			rest();
			series_add(&questions[i].one, time_queries(&questions[i], k, peers, 0));
			series_add(&questions[i].many,
				   time_queries(&questions[i], k, peers, COUNT(peers) - 1));
		}
		begin_ns = clock_monotonic_ns();
		scan_judge(&p.store, begin_ns);
		series_add(&scan, (double)(clock_monotonic_ns() - begin_ns) / PEERS);
	}
	for (size_t i = 0; i < COUNT(questions); i++)
		say(&questions[i], &questions[0].one, series_at(&scan, 0.5));
	kphi_close(k);
	place_end(&p);
}
