// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading a store that is no map but memory of the test's own, so that it can be caught in the middle of a
 * change; and what is said of a record. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/store.h"
#include "show/view.h"

#define PEERS  4
#define WINDOW 8

static struct memory {
	struct kphi_store header;
	struct kphi_peer peers[PEERS];
	struct kphi_record records[PEERS];
	uint64_t windows[PEERS][KPHI_RING_SIZE(WINDOW)];
	struct kphi_counters counters[3];
} memory;

static const struct store store = {
	.header = &memory.header,
	.peers = memory.peers,
	.records = memory.records,
	.windows = memory.windows[0],
	.counters = memory.counters,
};

static int fresh_memory(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.header = (struct kphi_store){.peers = PEERS, .window = WINDOW, .cpus = 3};
	return 0;
}

static void move_in(uint32_t slot, const char *name)
{
	memory.records[slot].state = KPHI_UP;
	memory.records[slot].version = 2;
	snprintf(memory.peers[slot].name, KPHI_NAME_SIZE, "%s", name);
}

static void peers_are_found_by_their_whole_name(void **state)
{
	char longest[KPHI_NAME_SIZE];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	move_in(1, "db");
	move_in(2, "db1");
	move_in(3, longest);
	assert_int_equal(store_find(&store, "db1"), 2);
	assert_int_equal(store_find(&store, "db"), 1);
	assert_int_equal(store_find(&store, "d"), -1);
	assert_int_equal(store_find(&store, "db11"), -1);
	assert_int_equal(store_find(&store, ""), -1);
	assert_int_equal(store_find(&store, longest), 3);
	memory.records[2].state = KPHI_FREE;
	assert_int_equal(store_find(&store, "db1"), -1);
}

/* A name must not seem free because its peer beats all the time: two peers would come to share it. */
static void a_busy_peer_is_found_and_not_read(void **state)
{
	struct kphi_record record;
	uint64_t ring[WINDOW];

	(void)state;
	move_in(1, "db1");
	assert_int_equal(store_read(&store, 1, &record, NULL), 0);
	memory.records[1].version = 3;
	assert_int_equal(store_read(&store, 1, &record, NULL), -EBUSY);
	assert_int_equal(store_read_ring(&store, 1, &record, ring), -EBUSY);
	assert_int_equal(store_find(&store, "db1"), 1);
	assert_int_equal(store_find(&store, "db2"), -1);
}

static void record_and_settings_are_copied_together(void **state)
{
	struct kphi_record record;
	struct kphi_peer peer;

	(void)state;
	move_in(3, "web");
	memory.records[3].beats = 77;
	memory.records[3].load_average = 5;
	assert_int_equal(store_read(&store, 3, &record, &peer), 0);
	assert_memory_equal(&record, &memory.records[3], sizeof(record));
	assert_memory_equal(&peer, &memory.peers[3], sizeof(peer));
	assert_int_equal(store_read(&store, 0, &record, NULL), 0);
	assert_int_equal(record.state, KPHI_FREE);
}

/* However full the ring and wherever its next place: oldest first. Beyond the end is the beginning (a retuned
 * ring). */
static void rings_are_read_oldest_first(void **state)
{
	(void)state;
	move_in(2, "ring");
	for (uint64_t i = 0; i < WINDOW; i++)
		memory.windows[2][i] = 100 + i;
	for (uint32_t n = 0; n <= WINDOW; n++) {
		for (uint32_t next = 0; next <= WINDOW; next++) {
			uint64_t ring[WINDOW] = {0};
			struct kphi_record record;

			memory.records[2].window.n = n;
			memory.records[2].window.next = next;
			assert_int_equal(store_read_ring(&store, 2, &record, ring), 0);
			for (uint32_t k = 0; k < n; k++)
				assert_int_equal(ring[k], 100 + (next + WINDOW - n + k) % WINDOW);
		}
	}
}

static void counters_are_summed_over_the_cpus(void **state)
{
	(void)state;
	for (uint64_t cpu = 0; cpu < 3; cpu++)
		memory.counters[cpu].count[KPHI_COUNT_no_rule] = 1 << cpu;
	assert_int_equal(store_count(&store, KPHI_COUNT_no_rule), 7);
	assert_int_equal(store_count(&store, KPHI_COUNT_beat), 0);
}

/* Who left and is still heard has not left: its sender was restarted wrongly, or the goodbye was forged. */
static void a_contradicted_goodbye_is_told(void **state)
{
	struct view v = {.record = {.state = KPHI_LEFT, .last_ns = 1000, .since_ns = 1000, .stale_ns = 999},
			 .opinion = {.state = PEER_LEFT, .reason = REASON_LEFT},
			 .now_ns = 5000001000};
	char text[VIEW_REASON];

	(void)state;
	view_explain(&v, text, sizeof(text));
	assert_string_equal(text, "left 5s ago");
	v.record.stale_ns = 1001;
	view_explain(&v, text, sizeof(text));
	assert_non_null(strstr(text, "left 5s ago; but messages of an older epoch or sequence arrive"));
	v.opinion.state = PEER_WAITING;
	v.opinion.reason = REASON_LEFT_EXPIRED;
	view_explain(&v, text, sizeof(text));
	assert_non_null(strstr(text, "for an hour only; but messages of an older epoch or sequence arrive"));
}

/* What is said of the record when the peer is a rule with a sequence number and no epoch. */
static void assert_rule_explained(const struct view *v, const char *expected)
{
	char text[VIEW_REASON];

	view_explain(v, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void a_rule_is_told_without_an_epoch(void **state)
{
	struct view v = {.record = {.state = KPHI_UP, .last_ns = 1000, .since_ns = 1000, .stale_ns = 1001},
			 .opinion = {.state = PEER_SUSPECT, .reason = REASON_STALE},
			 .rule = {.sequence_bits = 16},
			 .is_rule = true,
			 .now_ns = 5000001000};

	(void)state;
	assert_rule_explained(&v, "silent, but packets arrive whose sequence numbers do not follow its last "
				  "one: is that field of the rule the right one?");
	v.opinion = (struct opinion){.state = PEER_UP};
	assert_rule_explained(&v, "");
	v.record.resync = 7;
	assert_rule_explained(&v,
			      "its sequence numbers have jumped: the next one decides whether it began anew");
	v.record.state = KPHI_LEFT;
	v.record.resync = 0;
	v.opinion = (struct opinion){.state = PEER_LEFT, .reason = REASON_LEFT};
	assert_rule_explained(
		&v, "left 5s ago; but packets arrive whose sequence numbers do not follow its last one");
}

/* One who holds an address for others is a speaker; that it resigns is no death. */
static void a_speaker_is_named(void **state)
{
	static const uint8_t speaker[16] = {[10] = 255, [11] = 255, [12] = 192, [14] = 2, [15] = 7};
	struct view v = {.record = {.state = KPHI_UP, .last_ns = 1000, .since_ns = 1000},
			 .peer = {.id = {.kind = KPHI_ID_RULE, .protocol = 112}},
			 .opinion = {.state = PEER_UP},
			 .rule = {.any_source = 1},
			 .is_rule = true,
			 .now_ns = 5000001000};

	(void)state;
	memcpy(v.record.speaker, speaker, sizeof(speaker));
	assert_rule_explained(&v, "192.0.2.7 speaks");
	v.record.state = KPHI_LEFT;
	v.opinion = (struct opinion){.state = PEER_LEFT, .reason = REASON_LEFT};
	assert_rule_explained(&v, "its master resigned (priority 0) 5s ago; 192.0.2.7 spoke last");
	v.record.state = KPHI_WAITING;
	assert_null(view_speaker(&v));
	v.record.state = KPHI_UP;
	v.rule.any_source = 0;
	assert_null(view_speaker(&v));
}

static void each_state_says_something_of_the_host(void **state)
{
	static const struct {
		enum peer_state state;
		enum peer_reason reason;
		enum host_word word;
	} cases[] = {
		{PEER_WAITING, REASON_NO_BEAT, HOST_UNHEARD},
		{PEER_WAITING, REASON_LEFT_EXPIRED, HOST_LEFT},
		{PEER_LEARNING, REASON_LEARNING, HOST_AUDIBLE},
		{PEER_UP, REASON_DEGRADED, HOST_AUDIBLE},
		{PEER_SUSPECT, REASON_SILENT, HOST_SILENT},
		{PEER_LEFT, REASON_LEFT, HOST_LEFT},
		{PEER_DOWN, REASON_DOWN, HOST_DOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct view v = {.opinion = {.state = cases[i].state, .reason = cases[i].reason}};

		assert_int_equal(view_host_word(&v), cases[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(peers_are_found_by_their_whole_name, fresh_memory),
		cmocka_unit_test_setup(a_busy_peer_is_found_and_not_read, fresh_memory),
		cmocka_unit_test_setup(record_and_settings_are_copied_together, fresh_memory),
		cmocka_unit_test_setup(rings_are_read_oldest_first, fresh_memory),
		cmocka_unit_test_setup(counters_are_summed_over_the_cpus, fresh_memory),
		cmocka_unit_test(a_contradicted_goodbye_is_told),
		cmocka_unit_test(a_rule_is_told_without_an_epoch),
		cmocka_unit_test(a_speaker_is_named),
		cmocka_unit_test(each_state_says_something_of_the_host),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
