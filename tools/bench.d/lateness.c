// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How late verdicts are. Peers beat through the real program every 100 ms; most of them die at random
 * moments, and `kphi run` says so. Lateness is the time of the event less the deadline that follows from the
 * record as it stands in the store: last arrival and the silence at which phi reaches the threshold, to the
 * nanosecond.
 *
 * The baseline is what the machine itself costs: as many wake-ups of a thread of the same priority, in the
 * same seconds under the same load, that does nothing but sleep until a given time.
 */
#include <endian.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"
#include "core/models.h"
#include "core/policy.h"
#include "kernel/clock.h"
#include "kernel/load.h"
#include "watcher.h"

#define PEERS  400
#define DEATHS 300 /* of the first ones */
#define SEED   20240229

#define MS_NS       1000000ULL
#define INTERVAL_NS (100 * MS_NS)
#define STEP_NS     MS_NS
#define A_STEP      (PEERS * STEP_NS / INTERVAL_NS) /* peers that beat in one */
#define WARM_NS     (1500 * MS_NS)
#define DYING_NS    (3600 * MS_NS)
#define TAIL_NS     (800 * MS_NS) /* a death is due after 460 ms */

#define SLEEP_MIN_NS    (2 * MS_NS)
#define SLEEP_SPREAD_NS (20 * MS_NS) /* DEATHS of them take 3.6 s in the mean */

struct mortal {
	struct bench_frame frame;
	uint64_t dies_ns; /* no beat from here on; UINT64_MAX: it lives */
	uint64_t last_ns, deadline_ns; /* by its record */
	uint64_t event_ns; /* of the suspicion; UINT64_MAX: none */
	uint16_t cpu; /* that heard it */
	bool held; /* after a stall of this machine */
};

struct scene {
	struct place place;
	struct watcher watcher;
	unsigned int priority;
	struct mortal mortal[PEERS];
	uint64_t random, begin_ns, beats;
	struct series late_us, sleep_us;
	uint32_t left_out;
};

/* --- the peers --- */

static void add_peers(struct scene *s)
{
	struct why w;

	for (uint32_t i = 0; i < PEERS; i++) {
		struct kphi_peer peer = {.interval_ns = INTERVAL_NS, .id.kind = KPHI_ID_NATIVE};

		snprintf(peer.name, sizeof(peer.name), "%u", i);
		memcpy(peer.id.bytes, &i, sizeof(i));
		if (place_add(&s->place, &peer, i) != i)
			die("a new store is not empty");
		s->mortal[i].frame = frame_make(KPHI_WIRE_PORT, peer.id.bytes);
		s->mortal[i].dies_ns = UINT64_MAX;
	}
	if (control_listen(&s->place.control, KPHI_WIRE_PORT, true, &w))
		die("%s", w.text);
}

static void appoint_deaths(struct scene *s)
{
	for (uint32_t i = 0; i < DEATHS; i++)
		s->mortal[i].dies_ns = s->begin_ns + WARM_NS + random_below(&s->random, DYING_NS);
}

static void beat(struct scene *s, struct mortal *m)
{
	m->frame.wire.sequence = htobe64(be64toh(m->frame.wire.sequence) + 1);
	place_run(load_xdp_fd(s->place.kphi), &m->frame, sizeof(m->frame), 1);
	s->beats++;
}

/* Not in step with anything, so that deadlines are not either. */
static void live_and_die(struct scene *s)
{
	uint64_t before = store_count(&s->place.store, KPHI_COUNT_beat), next = 0;

	for (uint64_t at_ns = 0; at_ns < WARM_NS + DYING_NS; at_ns += STEP_NS) {
		uint64_t now_ns = s->begin_ns + at_ns + random_below(&s->random, STEP_NS);

		sleep_until(now_ns);
		for (uint64_t i = 0; i < A_STEP; i++) {
			struct mortal *m = &s->mortal[next++ % PEERS];

			if (now_ns < m->dies_ns)
				beat(s, m);
		}
	}
	if (store_count(&s->place.store, KPHI_COUNT_beat) - before != s->beats)
		die("verdict_lateness: not every beat was recorded");
}

/* --- the baseline --- */

static void *sleep_and_wake(void *context)
{
	struct scene *s = context;
	struct sched_param param = {.sched_priority = (int)s->priority};
	uint64_t random = SEED, at_ns = s->begin_ns + WARM_NS;

	roam();
	if (s->priority && sched_setscheduler(0, SCHED_FIFO, &param))
		die("no real-time priority for the baseline");
	prctl(PR_SET_TIMERSLACK, 1UL); /* that of a thread is 50 us; the timers of `kphi run` have none */
	for (uint32_t i = 0; i < DEATHS; i++) {
		at_ns += SLEEP_MIN_NS + random_below(&random, SLEEP_SPREAD_NS);
		sleep_until(at_ns);
		series_add(&s->sleep_us, (double)(clock_monotonic_ns() - at_ns) / 1e3);
	}
	return NULL;
}

/* --- what came of it --- */

static void read_deadlines(struct scene *s)
{
	for (uint32_t i = 0; i < DEATHS; i++) {
		struct mortal *m = &s->mortal[i];
		struct kphi_estimate e;
		struct kphi_record r;
		struct kphi_peer peer;

		if (store_read(&s->place.store, i, &r, &peer) ||
		    !estimate_from_window(&e, &r.window, &peer, NULL))
			die("verdict_lateness: peer %u has no deadline", i);
		m->last_ns = r.last_ns;
		m->event_ns = UINT64_MAX;
		m->deadline_ns = r.last_ns + estimate_silence(&e, POLICY_SUSPECT);
		m->cpu = r.cpu;
	}
}

static uint64_t event_ns(struct json_object *event)
{
	struct json_object *value;

	return json_object_object_get_ex(event, "monotonic_ns", &value) ? json_object_get_uint64(value) : 0;
}

static void note(void *context, struct json_object *event)
{
	struct scene *s = context;
	const char *type = event_text(event, "type");
	unsigned long i = strtoul(event_text(event, "peer"), NULL, 10);
	bool suspect = !strcmp(type, "suspect"), hold = !strcmp(type, "hold");

	if ((!suspect && !hold) || i >= DEATHS || event_ns(event) < s->mortal[i].last_ns)
		return;
	if (hold)
		s->mortal[i].held = true;
	else
		s->mortal[i].event_ns = event_ns(event);
}

/* Has this machine stalled between its last beat and the event? Then it had another deadline. */
static bool was_stalled(const struct kphi_tick *t, const struct mortal *m)
{
	for (uint32_t i = 0; i < KPHI_STALLS; i++) {
		const struct kphi_stall *s = &t->stall[i];

		if (s->end_ns > m->last_ns && s->end_ns - s->length_ns < m->event_ns)
			return true;
	}
	return m->held;
}

static void judge(struct scene *s)
{
	for (uint32_t i = 0; i < DEATHS; i++) {
		const struct mortal *m = &s->mortal[i];

		if (was_stalled(&s->place.store.ticks[m->cpu], m)) {
			s->left_out++;
			continue;
		}
		if (m->event_ns == UINT64_MAX)
			die("verdict_lateness: nobody noticed the death of peer %u", i);
		if (m->event_ns < m->deadline_ns)
			die("verdict_lateness: peer %u was suspected before its deadline", i);
		series_add(&s->late_us, (double)(m->event_ns - m->deadline_ns) / 1e3);
	}
}

static void print(const struct scene *s, const char *load)
{
	const struct series *late = &s->late_us, *sleep = &s->sleep_us;

	printf("{\"bench\":\"verdict_lateness\",\"load\":\"%s\",\"priority\":%u,\"peers\":%d,\"deaths\":%zu,",
	       load, s->priority, PEERS, late->n);
	printf("\"left_out\":%u,", s->left_out);
	if (!late->n) {
		printf("\"skipped\":\"this machine stalled all the time\"}\n");
		return;
	}
	printf("\"median_us\":%.0f,\"p99_us\":%.0f,\"max_us\":%.0f,", series_at(late, 0.5),
	       series_at(late, 0.99), series_at(late, 1));
	printf("\"sleep_median_us\":%.0f,\"sleep_p99_us\":%.0f,\"sleep_max_us\":%.0f}\n",
	       series_at(sleep, 0.5), series_at(sleep, 0.99), series_at(sleep, 1));
}

static void row(const char *load, unsigned int priority)
{
	static const struct store_size size = {.peers = KPHI_PEERS_DEFAULT, .window = 16};
	struct scene *s = calloc(1, sizeof(*s));
	pthread_t sleeper;

	if (!s)
		die("no memory");
	s->priority = priority;
	s->random = SEED;
	place_begin(&s->place, &size);
	add_peers(s);
	place_share(&s->place);
	/* The deaths are many at once, and not what is held here. */
	watcher_begin(&s->watcher, priority, "{name: page, suspect: 8, correlated: off}");
	s->begin_ns = clock_monotonic_ns() + MS_NS;
	appoint_deaths(s);
	if (pthread_create(&sleeper, NULL, sleep_and_wake, s))
		die("no thread for the baseline");
	live_and_die(s);
	sleep_until(s->begin_ns + WARM_NS + DYING_NS + TAIL_NS);
	pthread_join(sleeper, NULL);
	read_deadlines(s);
	watcher_end(&s->watcher, note, s);
	judge(s);
	print(s, load);
	place_end(&s->place);
	free(s);
}

static void rows(const char *load)
{
	row(load, 10); /* the default */
	row(load, 0);
}

void bench_verdict_lateness(void)
{
	const char *stress = getenv("KPHI_STRESS");
	char *argv[] = {(char *)"stress-ng",   (char *)"--quiet",   (char *)"--cpu",
			(char *)"0",           (char *)"--timeout", (char *)"60",
			(char *)"--temp-path", getenv("TMPDIR"),    NULL};
	struct process load;

	rows("idle");
	if (!stress || !*stress) {
		printf("{\"bench\":\"verdict_lateness\",\"load\":\"stress-ng\",\"skipped\":\"it is not "
		       "here\"}\n");
		return;
	}
	process_begin(&load, stress, argv, STDERR_FILENO);
	rows("stress-ng on every core");
	if (!process_lives(&load))
		die("verdict_lateness: stress-ng ended before it should");
	process_end(&load);
}
