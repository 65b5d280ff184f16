// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What `kphi run` costs while all is well: its CPU time with so many peers that beat once a second, evenly
 * spread, and before, with the same peers, all of which have left, so that nothing is due from anybody: that
 * is what it pays for being there (verdicts kept fresh, rounds). The bench's own CPU time is not in it.
 */
#include <bench.skel.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "kernel/clock.h"
#include "watcher.h"

#define WINDOW    16 /* a look reads the sums and not the ring */
#define PRIORITY  10 /* the default */
#define SECOND_NS 1000000000ULL
#define STEPS     1000 /* of a second: each feeds its share of the peers */
#define SETTLE_NS (3 * SECOND_NS / 2) /* it has touched all of its memory once */
#define LEFT_S    4
/*
 * A live peer is looked at 4 s (pause and interval) after its last beat at the look before, that is every 3
 * or 4 s. Peers that began to beat together are looked at together, which is cheaper than it would be in the
 * long run; so they begin a quarter after the other. The time measured is a multiple of both.
 */
#define QUARTERS   4
#define MEASURED_S 12

struct scene {
	struct place place;
	struct watcher watcher;
	uint32_t peers;
	uint64_t sequence;
	uint64_t suspected;
	uint64_t fed_late_ns; /* at most: were the beats as even as they should be? */
};

struct cost {
	struct series percent; /* of one core, second by second */
	uint64_t cpu_ns, ns, beats;
};

static void add_peers(struct scene *s)
{
	for (uint32_t i = 0; i < s->peers; i++) {
		struct kphi_peer peer = {.interval_ns = SECOND_NS, .id.kind = KPHI_ID_NATIVE};
		uint32_t slot;

		snprintf(peer.name, sizeof(peer.name), "peer%u", i);
		memcpy(peer.id.bytes, &i, sizeof(i));
		slot = place_add(&s->place, &peer, i);
		if (slot != i || s->place.store.records[slot].generation)
			die("a new store is not empty");
	}
}

static void keep_pace(struct scene *s, uint64_t at_ns)
{
	uint64_t late_ns;

	sleep_until(at_ns);
	late_ns = clock_monotonic_ns() - at_ns;
	if (late_ns > s->fed_late_ns)
		s->fed_late_ns = late_ns;
}

/* One message of each peer of some quarters. From begin_ns on, a second long, or at once if that is 0. */
static void feed(struct scene *s, enum kphi_wire_type type, uint32_t quarters, uint64_t begin_ns)
{
	uint32_t a_step = s->peers / STEPS;
	struct bench_round round = {
		.peers = s->peers,
		.count = a_step * quarters / QUARTERS,
		.type = type,
		.sequence = ++s->sequence,
	};

	for (uint32_t step = 0; step < STEPS; step++) {
		if (begin_ns)
			keep_pace(s, begin_ns + step * SECOND_NS / STEPS);
		round.first = step * a_step;
		place_run(bpf_program__fd(s->place.bench->progs.bench_round), &round, sizeof(round), 1);
	}
}

static void begin_to_beat(struct scene *s)
{
	uint64_t begin_ns = clock_monotonic_ns();

	for (uint32_t i = 0; i < QUARTERS; i++)
		feed(s, KPHI_WIRE_BEAT, i + 1, begin_ns + i * SECOND_NS);
	sleep_until(begin_ns + QUARTERS * SECOND_NS);
}

/* So many seconds with beats, or without. */
static struct cost measure(struct scene *s, uint32_t seconds, bool beats)
{
	uint64_t heard = store_count(&s->place.store, KPHI_COUNT_beat);
	uint64_t begin_ns = clock_monotonic_ns(), before_ns = begin_ns;
	uint64_t cpu_ns = watcher_cpu_ns(&s->watcher), first_cpu_ns = cpu_ns;
	struct cost c = {0};

	for (uint32_t i = 0; i < seconds; i++) {
		uint64_t now_ns, now_cpu_ns;

		if (beats)
			feed(s, KPHI_WIRE_BEAT, QUARTERS, begin_ns + i * SECOND_NS);
		sleep_until(begin_ns + (i + 1) * SECOND_NS);
		now_ns = clock_monotonic_ns();
		now_cpu_ns = watcher_cpu_ns(&s->watcher);
		series_add(&c.percent, 100.0 * (double)(now_cpu_ns - cpu_ns) / (double)(now_ns - before_ns));
		before_ns = now_ns;
		cpu_ns = now_cpu_ns;
	}
	c.ns = before_ns - begin_ns;
	c.cpu_ns = cpu_ns - first_cpu_ns;
	c.beats = store_count(&s->place.store, KPHI_COUNT_beat) - heard;
	if (c.beats != (beats ? (uint64_t)s->peers * seconds : 0))
		die("run_cpu: the kernel counted %llu beats", (unsigned long long)c.beats);
	return c;
}

static double percent(const struct cost *c)
{
	return 100.0 * (double)c->cpu_ns / (double)c->ns;
}

static void note(void *context, struct json_object *event)
{
	struct scene *s = context;

	s->suspected += !strcmp(event_text(event, "type"), "suspect");
}

static void print(const struct scene *s, const struct cost *live, const struct cost *left)
{
	double beats = (double)live->beats;

	printf("{\"bench\":\"run_cpu\",\"peers\":%u,\"beats_per_second\":%.0f,\"percent_of_a_core\":%.2f,"
	       "\"all_left_percent_of_a_core\":%.2f,\"over_all_left_ns_per_beat\":%.0f,",
	       s->peers, beats / (double)live->ns * 1e9, percent(live), percent(left),
	       (percent(live) - percent(left)) / 100 * (double)live->ns / beats);
	printf("\"min_second_percent\":%.2f,\"max_second_percent\":%.2f,\"seconds\":%d,\"suspected\":%llu,"
	       "\"fed_late_max_ms\":%.1f,\"priority\":%d}\n",
	       series_at(&live->percent, 0), series_at(&live->percent, 1), MEASURED_S,
	       (unsigned long long)s->suspected, (double)s->fed_late_ns / 1e6, PRIORITY);
}

static void measure_peers(uint32_t peers, uint32_t capacity)
{
	const struct store_size size = {.peers = capacity, .window = WINDOW};
	struct scene s = {.peers = peers};
	struct cost live, left;

	place_begin(&s.place, &size);
	add_peers(&s);
	feed(&s, KPHI_WIRE_BEAT, QUARTERS, 0);
	feed(&s, KPHI_WIRE_LEAVE, QUARTERS, 0);
	place_share(&s.place);
	watcher_begin(&s.watcher, PRIORITY, "{name: page, suspect: 8}");
	sleep_until(clock_monotonic_ns() + SETTLE_NS);
	left = measure(&s, LEFT_S, false);
	begin_to_beat(&s);
	s.fed_late_ns = 0;
	live = measure(&s, MEASURED_S, true);
	watcher_end(&s.watcher, note, &s);
	print(&s, &live, &left);
	place_end(&s.place);
}

void bench_run_cpu(void)
{
	measure_peers(10000, 16384);
	measure_peers(100000, 131072);
}
