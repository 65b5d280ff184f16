// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is exported of a store that is memory of the test's own: who has samples, which, and who is left out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/event.h"
#include "metrics/families.h"
#include "unit/memory_store.h"

#define SECOND 1000000000ULL
#define NOW    (1000 * SECOND)

static int fresh_memory(void **state)
{
	(void)state;
	memory_begin(2);
	return 0;
}

/* A peer that beats every second, 7 intervals of it heard, and was last heard `silence_ns` ago. */
static void move_in(uint32_t slot, const char *name, uint64_t silence_ns)
{
	struct kphi_record *r = &memory.records[slot];

	snprintf(memory.peers[slot].name, KPHI_NAME_SIZE, "%s", name);
	memory.peers[slot].id.kind = KPHI_ID_NATIVE;
	r->state = KPHI_UP;
	r->version = 2;
	r->generation = 5;
	r->epoch = 77;
	r->last_ns = NOW - silence_ns;
	r->beats = 8;
	r->window.interval_ns = SECOND;
	r->window.n = 7;
	r->window.sum_ns = 7 * SECOND;
	r->window.squares_low = 7 * SECOND * SECOND;
}

static char *text;

static const char *scrape(enum metrics_peers peers, uint32_t peers_max)
{
	struct metrics_options options = {.peers = peers, .peers_max = peers_max};
	size_t size;
	FILE *stream;

	free(text);
	stream = open_memstream(&text, &size);
	assert_int_equal(metrics_write(stream, NULL, &store, &options, NOW), 0);
	fclose(stream);
	return text;
}

/* Does a line of the page equal this one? */
static bool has(const char *page, const char *line)
{
	size_t size = strlen(line);

	for (const char *at = page; (at = strstr(at, line)); at += size)
		if ((at == page || at[-1] == '\n') && at[size] == '\n')
			return true;
	return false;
}

#define assert_has(line)    assert_true(has(text, line))
#define assert_no(fragment) assert_null(strstr(text, fragment))

static void an_empty_store_has_its_sums_and_no_peer(void **state)
{
	(void)state;
	scrape(METRICS_ALL, 100);
	assert_has("kphi_store_peers 0");
	assert_has("kphi_store_max_peers 8");
	assert_has("kphi_peers{state=\"up\"} 0");
	assert_has("kphi_daemon_up 0");
	assert_has("kphi_devices_readable 0");
	assert_has("kphi_verdict_latency_seconds_count 0");
	assert_has("# TYPE kphi_peer_phi gauge");
	assert_no("{peer=");
	assert_no("kphi_verdicts{"); /* there is no daemon to have any */
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
}

static void what_is_known_of_a_peer(void **state)
{
	(void)state;
	move_in(3, "db1", SECOND / 2);
	memory.records[3].sequence.lost = 4;
	memory.records[3].sequence.settled_lost = 3;
	memory.records[3].duplicates = 2;
	memory.records[3].restarts = 1;
	snprintf(memory.peers[3].host, KPHI_NAME_SIZE, "rack1");
	scrape(METRICS_ALL, 100);
	assert_has("kphi_peer_phi{peer=\"db1\",host=\"rack1\",model=\"normal\"} 0.000000");
	assert_has("kphi_peer_state{peer=\"db1\",host=\"rack1\",state=\"up\"} 1");
	assert_has("kphi_peer_silence_seconds{peer=\"db1\",host=\"rack1\"} 0.5");
	assert_has("kphi_peer_interval_mean_seconds{peer=\"db1\",host=\"rack1\"} 1");
	assert_has("kphi_peer_interval_stddev_seconds{peer=\"db1\",host=\"rack1\"} 0");
	assert_has("kphi_peer_beats_total{peer=\"db1\",host=\"rack1\"} 8");
	/* The fourth may still come, and a counter must not fall. */
	assert_has("kphi_peer_lost_total{peer=\"db1\",host=\"rack1\"} 3");
	assert_has("kphi_peer_duplicates_total{peer=\"db1\",host=\"rack1\"} 2");
	assert_has("kphi_peer_restarts_total{peer=\"db1\",host=\"rack1\"} 1");
	assert_has("kphi_peers{state=\"up\"} 1");
	assert_has("kphi_store_peers 1");
}

/* Nothing is said of what is not known; a zero would be taken for a fact. */
static void what_is_not_known_has_no_sample(void **state)
{
	(void)state;
	move_in(0, "never", 0);
	memory.records[0].state = KPHI_WAITING;
	memory.records[0].window = (struct kphi_window){.n = 0};
	move_in(1, "learning", SECOND);
	memory.records[1].window = (struct kphi_window){.n = 0};
	move_in(2, "numberless", SECOND);
	memory.peers[2].id.kind = KPHI_ID_RULE;
	move_in(4, "left", SECOND);
	memory.records[4].state = KPHI_LEFT;
	scrape(METRICS_ALL, 100);
	assert_has("kphi_peer_state{peer=\"never\",state=\"waiting\"} 1");
	assert_no("kphi_peer_phi{peer=\"never\"");
	assert_no("kphi_peer_silence_seconds{peer=\"never\"");
	assert_no("kphi_peer_interval_mean_seconds{peer=\"never\"");
	assert_has("kphi_peer_state{peer=\"learning\",state=\"learning\"} 1");
	assert_no("kphi_peer_phi{peer=\"learning\"");
	assert_has("kphi_peer_silence_seconds{peer=\"learning\"} 1");
	assert_has("kphi_peer_beats_total{peer=\"numberless\"} 8");
	assert_no("kphi_peer_lost_total{peer=\"numberless\"");
	assert_no("kphi_peer_duplicates_total{peer=\"numberless\"");
	assert_has("kphi_peer_state{peer=\"left\",state=\"left\"} 1");
	assert_no("kphi_peer_phi{peer=\"left\"");
}

static void a_suspect_has_its_phi(void **state)
{
	const char *at;

	(void)state;
	move_in(0, "dead", 20 * SECOND);
	memory.peers[0].model = KPHI_MODEL_EXPONENTIAL;
	scrape(METRICS_ALL, 100);
	assert_has("kphi_peer_state{peer=\"dead\",state=\"suspect\"} 1");
	at = strstr(text, "kphi_peer_phi{peer=\"dead\",model=\"exponential\"} ");
	assert_non_null(at);
	assert_true(strtod(strchr(at, ' '), NULL) == 8.685890); /* 20 / ln 10 */
	assert_has("kphi_peers{state=\"suspect\"} 1");
}

static void who_has_series_can_be_chosen(void **state)
{
	(void)state;
	move_in(0, "a", SECOND / 2);
	move_in(1, "dead", 100 * SECOND);
	move_in(2, "c", SECOND / 2);
	scrape(METRICS_SUSPECT, 100);
	assert_has("kphi_peer_state{peer=\"dead\",state=\"suspect\"} 1");
	assert_no("{peer=\"a\"");
	assert_no("{peer=\"c\"");
	assert_has("kphi_peers_omitted{reason=\"per_peer\"} 2");
	assert_has("kphi_peers{state=\"up\"} 2"); /* the sums are of everybody */
	scrape(METRICS_NONE, 100);
	assert_no("{peer=");
	assert_has("kphi_peers_omitted{reason=\"per_peer\"} 3");
	assert_has("kphi_peers{state=\"suspect\"} 1");
	scrape(METRICS_ALL, 2);
	assert_has("kphi_peer_state{peer=\"a\",state=\"up\"} 1");
	assert_has("kphi_peer_state{peer=\"dead\",state=\"suspect\"} 1");
	assert_no("{peer=\"c\"");
	assert_has("kphi_peers_omitted{reason=\"peers_max\"} 1");
	assert_has("kphi_peers_omitted{reason=\"per_peer\"} 0");
	scrape(METRICS_ALL, 0);
	assert_no("{peer=");
	assert_has("kphi_peers_omitted{reason=\"peers_max\"} 3");
}

/* Nobody's death goes unseen because somebody healthy came first. */
static void who_is_not_well_goes_first(void **state)
{
	(void)state;
	move_in(0, "up-with-a-long-name", SECOND / 2);
	move_in(1, "dead", 100 * SECOND);
	move_in(2, "b", SECOND / 2);
	move_in(3, "gone", 100 * SECOND);
	snprintf(memory.peers[3].host, KPHI_NAME_SIZE, "rack1");
	move_in(4, "lost", 100 * SECOND);
	scrape(METRICS_ALL, 3);
	assert_has("kphi_peer_state{peer=\"gone\",host=\"rack1\",state=\"suspect\"} 1");
	assert_has("kphi_peer_state{peer=\"dead\",state=\"suspect\"} 1");
	assert_has("kphi_peer_state{peer=\"lost\",state=\"suspect\"} 1");
	assert_no("{peer=\"up");
	assert_no("{peer=\"b\"");
	assert_has("kphi_peers_omitted{reason=\"peers_max\"} 2");
	scrape(METRICS_ALL, 2);
	assert_has("kphi_peer_state{peer=\"gone\",host=\"rack1\",state=\"suspect\"} 1");
	assert_has("kphi_peer_state{peer=\"dead\",state=\"suspect\"} 1");
	assert_no("{peer=\"lost\"");
	assert_has("kphi_peers_omitted{reason=\"peers_max\"} 3");
	scrape(METRICS_ALL, 5);
	assert_has("kphi_peer_state{peer=\"b\",state=\"up\"} 1");
	assert_has("kphi_peers_omitted{reason=\"peers_max\"} 0");
}

static void a_busy_peer_is_counted(void **state)
{
	(void)state;
	move_in(0, "a", SECOND / 2);
	move_in(1, "b", SECOND / 2);
	memory.records[1].version = 3;
	scrape(METRICS_ALL, 100);
	assert_no("{peer=\"b\"");
	assert_has("kphi_peers_omitted{reason=\"busy\"} 1");
	assert_has("kphi_store_peers 2");
}

static void every_counter_is_there(void **state)
{
	char line[128];
	int i = 0;

	(void)state;
	for (i = 0; i < KPHI_COUNTERS; i++) {
		memory.counters[0].count[i] = 100;
		memory.counters[1].count[i] = (uint64_t)i;
	}
	scrape(METRICS_NONE, 0);
	i = 0;
#define X(name, help)                                                                                        \
	snprintf(line, sizeof(line), "kphi_packets_total{outcome=\"" #name "\"} %d", 100 + i++);             \
	assert_has(line);                                                                                    \
	assert_non_null(strstr(text, #name ": " help));
	KPHI_OUTCOMES(X)
#undef X
#define X(name, help)                                                                                        \
	snprintf(line, sizeof(line), "kphi_packet_notes_total{note=\"" #name "\"} %d", 100 + i++);           \
	assert_has(line);                                                                                    \
	assert_non_null(strstr(text, #name ": " help));
	KPHI_NOTES(X)
#undef X
	assert_int_equal(i, KPHI_COUNTERS);
}

static void only_cpus_that_hear_have_stalls(void **state)
{
	(void)state;
	memory.ticks[1] = (struct kphi_tick){.beat_ns = NOW,
					     .last_ns = NOW - 20000000,
					     .stalls = 3,
					     .stalled_total_ns = 1500000000,
					     .ticks = 9};
	scrape(METRICS_NONE, 0);
	assert_has("kphi_guard_stalls_total{cpu=\"1\"} 3");
	assert_has("kphi_guard_stalled_seconds_total{cpu=\"1\"} 1.5");
	assert_has("kphi_guard_tick_age_seconds{cpu=\"1\"} 0.02");
	assert_no("cpu=\"0\"");
	memory.ticks[1].last_ns = 0; /* it has ended */
	scrape(METRICS_NONE, 0);
	assert_has("kphi_guard_ticks_total{cpu=\"1\"} 9");
	assert_no("kphi_guard_tick_age_seconds{");
}

/* --- with a daemon --- */

static void judge(uint32_t slot, uint8_t state, uint8_t cause, uint32_t consumers, uint32_t held,
		  uint32_t shadows)
{
	memory.verdicts[slot] = (struct kphi_verdict){
		.valid_until_ns = NOW + 1,
		.life = 2,
		.generation = 5,
		.epoch = 77,
		.state = state,
		.cause = cause,
		.consumers = consumers,
		.held = held,
		.shadows = shadows,
	};
}

static struct kphi_daemon daemon_of_three(void)
{
	struct kphi_daemon d = {.started_ns = NOW - 5 * SECOND, .consumers = 3, .starts = 2};
	static const char *const names[] = {"page", "fail\"over", "try"};

	for (int c = 0; c < 3; c++) {
		snprintf(d.consumer[c].name, KPHI_NAME_SIZE, "%s", names[c]);
		d.consumer[c].suspect = (uint64_t)(8 + c) << 32;
		d.consumer[c].clear = 4ULL << 32;
	}
	d.consumer[2].shadow = 1;
	d.consumer[1].suspicions = 6;
	return d;
}

static void scrape_with(const struct kphi_daemon *d)
{
	struct metrics_options options = {.peers = METRICS_ALL, .peers_max = 100};
	struct facts f;
	struct om m;
	size_t size;
	FILE *stream;

	free(text);
	stream = open_memstream(&text, &size);
	assert_int_equal(facts_read(&f, &store, &options, d, NOW), 0);
	om_begin(&m, stream, METRICS_OPENMETRICS);
	families_daemon(&m, d, true, &f, NOW);
	families_peer(&m, &f, d);
	assert_int_equal(om_end(&m), 0);
	facts_free(&f);
	fclose(stream);
}

static void consumers_have_opinions(void **state)
{
	struct kphi_daemon d = daemon_of_three();

	(void)state;
	move_in(0, "up", SECOND / 2);
	move_in(1, "dead", 100 * SECOND);
	judge(0, KPHI_VERDICT_TRUST, KPHI_BECAUSE_NOTHING, 0, 0, 0);
	judge(1, KPHI_VERDICT_SUSPECT, KPHI_BECAUSE_SILENCE, 1, 2, 4);
	scrape_with(&d);
	assert_has("kphi_daemon_up 1");
	assert_has("kphi_daemon_uptime_seconds 5");
	assert_has("kphi_daemon_starts_total 2");
	assert_has("kphi_peer_suspected{peer=\"up\",consumer=\"page\"} 0");
	assert_has("kphi_peer_suspected{peer=\"up\",consumer=\"try\",shadow=\"true\"} 0");
	assert_has("kphi_peer_suspected{peer=\"dead\",consumer=\"page\"} 1");
	assert_has("kphi_peer_suspected{peer=\"dead\",consumer=\"try\",shadow=\"true\"} 1");
	/* It would suspect, and must not: that is no opinion. */
	assert_no("kphi_peer_suspected{peer=\"dead\",consumer=\"fail\\\"over\"}");
	assert_has("kphi_peer_held{peer=\"dead\",consumer=\"fail\\\"over\"} 1");
	assert_no("kphi_peer_held{peer=\"up\"");
	assert_has("kphi_consumer_peers_suspected{consumer=\"page\"} 1");
	assert_has("kphi_consumer_peers_held{consumer=\"fail\\\"over\"} 1");
	assert_has("kphi_consumer_suspicions_total{consumer=\"fail\\\"over\"} 6");
	assert_has("kphi_consumer_suspect_phi{consumer=\"fail\\\"over\"} 9.000000");
	assert_has("kphi_verdicts{verdict=\"trust\"} 1");
	assert_has("kphi_verdicts{verdict=\"suspect\",cause=\"silence\"} 1");
	assert_has("kphi_verdicts{verdict=\"held\",cause=\"stall\"} 0");
}

/* Not of who cannot know, and not by a verdict on somebody else, on a former life, or out of date. */
static void no_opinion_is_not_trust(void **state)
{
	struct kphi_daemon d = daemon_of_three();

	(void)state;
	for (uint32_t slot = 0; slot < 6; slot++) {
		char name[KPHI_NAME_SIZE];

		snprintf(name, sizeof(name), "p%u", slot);
		move_in(slot, name, 100 * SECOND);
		judge(slot, KPHI_VERDICT_TRUST, KPHI_BECAUSE_NOTHING, 0, 0, 0);
	}
	judge(1, KPHI_VERDICT_BLIND, KPHI_BECAUSE_CARRIER, 0, 0, 0);
	judge(2, KPHI_VERDICT_UNKNOWN, KPHI_BECAUSE_MUTE, 0, 0, 0);
	memory.peers[2].mute_until_ns = NOW + SECOND;
	memory.verdicts[3].generation = 4;
	memory.verdicts[4].epoch = 76;
	memory.verdicts[5].valid_until_ns = NOW;
	scrape_with(&d);
	assert_has("kphi_peer_suspected{peer=\"p0\",consumer=\"page\"} 0"); /* so could the others have had */
	for (int peer = 1; peer <= 5; peer++) {
		char start[64];

		snprintf(start, sizeof(start), "kphi_peer_suspected{peer=\"p%d\"", peer);
		assert_no(start);
	}
	assert_has("kphi_peer_blind{peer=\"p1\",cause=\"carrier\"} 1");
	assert_no("kphi_peer_blind{peer=\"p0\"");
	assert_has("kphi_peer_muted{peer=\"p2\"} 1");
	assert_no("kphi_peer_muted{peer=\"p0\"");
	assert_has("kphi_verdicts{verdict=\"unknown\"} 3");
	assert_has("kphi_verdicts{verdict=\"unknown\",cause=\"mute\"} 1");
	assert_has("kphi_verdicts{verdict=\"blind\",cause=\"carrier\"} 1");
}

static void events_are_there_before_they_happen(void **state)
{
	struct kphi_daemon d = {.starts = 1};

	(void)state;
	d.events[EVENT_hold][CAUSE_CORRELATED] = 3;
	d.events[EVENT_release][CAUSE_MUTE] = 1; /* a cause that is not usual */
	scrape_with(&d);
	assert_has("kphi_events_total{event=\"hold\",cause=\"correlated\"} 3");
	assert_has("kphi_events_total{event=\"hold\",cause=\"stall\"} 0");
	assert_has("kphi_events_total{event=\"release\",cause=\"mute\"} 1");
	assert_has("kphi_events_total{event=\"restart\"} 0");
#define X(name, peer, help) assert_non_null(strstr(text, "kphi_events_total{event=\"" #name "\""));
	KPHI_EVENTS(X)
#undef X
}

static int free_text(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_memory, free_text)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_store_has_its_sums_and_no_peer),
		TEST(what_is_known_of_a_peer),
		TEST(what_is_not_known_has_no_sample),
		TEST(a_suspect_has_its_phi),
		TEST(who_has_series_can_be_chosen),
		TEST(who_is_not_well_goes_first),
		TEST(a_busy_peer_is_counted),
		TEST(every_counter_is_there),
		TEST(only_cpus_that_hear_have_stalls),
		TEST(consumers_have_opinions),
		TEST(no_opinion_is_not_trust),
		TEST(events_are_there_before_they_happen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
