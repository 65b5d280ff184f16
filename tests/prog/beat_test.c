// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What messages do to their peer's record: lives, sequences, goodbyes, rules. Each story has a peer of its
 * own. */
#include <time.h>

#include "prog/world.h"

#define DAY_S   86400
#define SLACK_S 100 /* TAI is up to 37 s ahead of UTC, and the clock goes on */

/* So slow that no pause of a test is a capped interval. */
static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;

/* --- stories of native messages --- */

enum what { END, BEAT, LEAVE, DOWN, RESET };

struct step {
	enum what what; /* as on the wire, or a reset */
	uint64_t epoch, sequence;
	int outcome; /* a counter, with NEW if it begins a new life */
};

#define STEPS 12
#define OK    KPHI_COUNT_beat
#define BYE   KPHI_COUNT_leave
#define DEAD  KPHI_COUNT_down
#define DUP   KPHI_COUNT_duplicate
#define LATE  KPHI_COUNT_reordered
#define OLD   KPHI_COUNT_stale_sequence
#define PAST  KPHI_COUNT_stale_epoch
#define GONE  KPHI_COUNT_after_down
#define NEW   0x100

struct outcome {
	enum kphi_state state;
	uint64_t epoch, first, highest, beats, lost, settled, duplicates, reordered, stale, restarts;
	uint32_t samples;
};

static const struct story {
	const char *name;
	struct step steps[STEPS];
	struct outcome end;
} stories[] = {
	{"nothing yet", {{.what = END}}, {.state = KPHI_WAITING}},
	{"the first beat may have any number",
	 {{BEAT, 7, 5, OK}},
	 {KPHI_UP, 7, .first = 5, .highest = 5, .beats = 1}},
	{"in order",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 2, OK}, {BEAT, 1, 3, OK}},
	 {KPHI_UP, 1, 1, 3, .beats = 3, .samples = 2}},
	{"a gap is lost, and taken back by those who come late",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 5, OK}, {BEAT, 1, 3, LATE}, {BEAT, 1, 3, DUP}, {BEAT, 1, 2, LATE}},
	 {KPHI_UP, 1, 1, 5, .beats = 2, .lost = 1, .duplicates = 1, .reordered = 2, .samples = 1}},
	{"the highest once more",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 1, DUP}, {BEAT, 1, 1, DUP}},
	 {KPHI_UP, 1, 1, 1, .beats = 1, .duplicates = 2}},
	{"what came before the first was never lost",
	 {{BEAT, 1, 10, OK}, {BEAT, 1, 9, LATE}, {BEAT, 1, 9, DUP}, {BEAT, 1, 11, OK}},
	 {KPHI_UP, 1, 10, 11, .beats = 2, .duplicates = 1, .reordered = 1, .samples = 1}},
	{"63 behind is late, 64 is stale",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 65, OK}, {BEAT, 1, 1, OLD}, {BEAT, 1, 2, LATE}},
	 {KPHI_UP, 1, 1, 65, .beats = 2, .lost = 62, .reordered = 1, .stale = 1, .samples = 1}},
	{"a long gap settles all but the window",
	 {{BEAT, 1, 1, OK},
	  {BEAT, 1, 1000, OK},
	  {BEAT, 1, 936, OLD},
	  {BEAT, 1, 937, LATE},
	  {BEAT, 1, 1001, OK}},
	 {KPHI_UP, 1, 1, 1001, .beats = 3, .lost = 997, .settled = 935, .reordered = 1, .stale = 1,
	  .samples = 2}},
	{"from the first number to the last",
	 {{BEAT, 1, 0, OK}, {BEAT, 1, UINT64_MAX, OK}, {BEAT, 1, UINT64_MAX, DUP}, {BEAT, 1, 0, OLD}},
	 {KPHI_UP, 1, 0, UINT64_MAX, .beats = 2, .lost = UINT64_MAX - 1, .settled = UINT64_MAX - 64,
	  .duplicates = 1, .stale = 1, .samples = 1}},
	{"a higher epoch is a new life",
	 {{BEAT, 1, 8, OK}, {BEAT, 1, 10, OK}, {BEAT, 5, 2, OK | NEW}, {BEAT, 5, 3, OK}},
	 {KPHI_UP, 5, 2, 3, .beats = 4, .restarts = 1, .samples = 1}},
	{"a higher epoch empties the window",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 2, OK}, {BEAT, 1, 3, OK}, {BEAT, 2, 1, OK | NEW}},
	 {KPHI_UP, 2, 1, 1, .beats = 4, .restarts = 1}},
	{"a lower epoch is stale, whatever it says",
	 {{BEAT, 5, 1, OK}, {BEAT, 4, 9, PAST}, {LEAVE, 4, 10, PAST}, {DOWN, 0, 1, PAST}, {BEAT, 5, 2, OK}},
	 {KPHI_UP, 5, 1, 2, .beats = 2, .stale = 3, .samples = 1}},
	{"epoch 0 is an epoch",
	 {{BEAT, 0, 1, OK}, {BEAT, 0, 2, OK}, {BEAT, 1, 1, OK | NEW}},
	 {KPHI_UP, 1, 1, 1, .beats = 3, .restarts = 1}},
	{"a goodbye holds against what is not newer",
	 {{BEAT, 1, 1, OK}, {LEAVE, 1, 4, BYE}, {BEAT, 1, 3, LATE}, {LEAVE, 1, 4, DUP}},
	 {KPHI_LEFT, 1, 1, 4, .beats = 1, .lost = 1, .duplicates = 1, .reordered = 1}},
	{"a newer beat takes a goodbye back, and the pause is not learned",
	 {{BEAT, 1, 1, OK}, {BEAT, 1, 2, OK}, {LEAVE, 1, 3, BYE}, {BEAT, 1, 4, OK}, {BEAT, 1, 5, OK}},
	 {KPHI_UP, 1, 1, 5, .beats = 4, .samples = 2}},
	{"a goodbye may be the first word",
	 {{LEAVE, 3, 1, BYE}, {BEAT, 3, 2, OK}},
	 {KPHI_UP, 3, 1, 2, .beats = 1}},
	{"a goodbye of a new life",
	 {{BEAT, 1, 1, OK}, {LEAVE, 2, 1, BYE | NEW}},
	 {KPHI_LEFT, 2, 1, 1, .beats = 1, .restarts = 1}},
	{"two goodbyes, the newer one counts too",
	 {{BEAT, 1, 1, OK}, {LEAVE, 1, 2, BYE}, {LEAVE, 1, 3, BYE}},
	 {KPHI_LEFT, 1, 1, 3, .beats = 1}},
	{"down holds for its epoch",
	 {{BEAT, 2, 1, OK},
	  {DOWN, 2, 2, DEAD},
	  {BEAT, 2, 3, GONE},
	  {LEAVE, 2, 4, GONE},
	  {DOWN, 2, 2, GONE},
	  {BEAT, 1, 9, PAST}},
	 {KPHI_DOWN, 2, 1, 2, .beats = 1, .stale = 1}},
	{"only a higher epoch ends a down",
	 {{BEAT, 2, 1, OK}, {DOWN, 2, 2, DEAD}, {BEAT, 3, 1, OK | NEW}},
	 {KPHI_UP, 3, 1, 1, .beats = 2, .restarts = 1}},
	{"down after a goodbye",
	 {{BEAT, 2, 1, OK}, {LEAVE, 2, 2, BYE}, {DOWN, 2, 3, DEAD}},
	 {KPHI_DOWN, 2, 1, 3, .beats = 1}},
	{"down may be the first word, and of a new life",
	 {{DOWN, 1, 1, DEAD}, {DOWN, 2, 1, DEAD | NEW}},
	 {KPHI_DOWN, 2, 1, 1, .restarts = 1}},
	{"a reset forgets, and takes any epoch next",
	 {{BEAT, 9, 5, OK}, {BEAT, 9, 7, OK}, {BEAT, 8, 1, PAST}, {.what = RESET}, {BEAT, 3, 100, OK}},
	 {KPHI_UP, 3, 100, 100, .beats = 1}},
	{"a reset ends a down",
	 {{DOWN, 4, 1, DEAD}, {.what = RESET}, {BEAT, 4, 1, OK}},
	 {KPHI_UP, 4, 1, 1, .beats = 1}},
};

static void assert_record(const struct kphi_record *r, const struct outcome *e)
{
	assert_int_equal(r->state, e->state);
	assert_int_equal(r->epoch, e->epoch);
	assert_int_equal(r->sequence.first, e->first);
	assert_int_equal(r->sequence.highest, e->highest);
	assert_int_equal(r->beats, e->beats);
	assert_int_equal(r->sequence.lost, e->lost);
	assert_int_equal(r->sequence.settled_lost, e->settled);
	assert_int_equal(r->duplicates, e->duplicates);
	assert_int_equal(r->reordered, e->reordered);
	assert_int_equal(r->stale, e->stale);
	assert_int_equal(r->restarts, e->restarts);
	assert_int_equal(r->window.n, e->samples);
}

/* An accepted message moves the last arrival, a refused one never; a stale one is dated. */
static void assert_times(const struct kphi_record *before, const struct kphi_record *after, int outcome)
{
	bool accepted = outcome == OK || outcome == BYE || outcome == DEAD;
	bool stale = outcome == PAST || outcome == OLD;
	uint64_t now = clock_monotonic_ns();

	assert_true(accepted ? after->last_ns > before->last_ns : after->last_ns == before->last_ns);
	assert_true(stale ? after->stale_ns > before->stale_ns : after->stale_ns == before->stale_ns);
	assert_true(after->last_ns <= now && after->stale_ns <= now);
	if (after->state != before->state || after->epoch != before->epoch)
		assert_int_equal(after->since_ns, after->last_ns);
	else
		assert_true(after->since_ns == before->since_ns || after->since_ns == after->last_ns);
}

static void tell(const struct story *s)
{
	uint32_t slot = world_add(&world, &hourly);
	struct kphi_record r = world_record(&world, slot);

	for (const struct step *step = s->steps; step->what != END; step++) {
		struct message m = world_message(&world, slot, step->epoch, step->sequence);
		struct kphi_record before = r;

		if (step->what == RESET) {
			assert_int_equal(control_reset(&world.control, slot, r.generation, &world.why), 0);
			r = world_record(&world, slot);
			continue;
		}
		m.type = step->what;
		expect_message(&world, &m, step->outcome & ~NEW, step->outcome & NEW ? KPHI_NOTE(restart) : 0,
			       s->name);
		r = world_record(&world, slot);
		assert_times(&before, &r, step->outcome & ~NEW);
	}
	print_message("%s\n", s->name); /* so that a failure below has a name */
	assert_record(&r, &s->end);
	assert_int_equal(control_delete(&world.control, &world.store, slot, r.generation, &world.why), 0);
}

static void native_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stories); i++)
		tell(&stories[i]);
}

/* --- the future --- */

static void epochs_beyond_tomorrow_are_refused(void **state)
{
	uint32_t slot = world_add(&world, &hourly);
	const uint64_t limit = (uint64_t)time(NULL) + DAY_S;
	struct message m = world_message(&world, slot, limit + SLACK_S, 1);
	struct kphi_record before = world_record(&world, slot), after;

	(void)state;
	expect_message(&world, &m, KPHI_COUNT_future_epoch, 0, "a day and a bit ahead");
	m.epoch = UINT64_MAX;
	expect_message(&world, &m, KPHI_COUNT_future_epoch, 0, "the last epoch of all");
	m.type = DOWN;
	expect_message(&world, &m, KPHI_COUNT_future_epoch, 0, "down from the future");
	after = world_record(&world, slot);
	after.version = before.version;
	assert_memory_equal(&after, &before, sizeof(before));

	m = world_message(&world, slot, limit - SLACK_S, 1);
	expect_message(&world, &m, OK, 0, "a day ahead but for a bit");
	m.epoch = limit + SLACK_S;
	expect_message(&world, &m, KPHI_COUNT_future_epoch, 0, "refused of a living peer, too");
	m.epoch = limit - SLACK_S;
	m.sequence = 2;
	expect_message(&world, &m, OK, 0, "the life goes on");
}

/* --- what a message says of its sender --- */

static void fields_are_those_of_the_last_accepted_message(void **state)
{
	uint32_t slot = world_add(&world, &hourly);
	struct message m = world_message(&world, slot, 1, 10);
	struct kphi_record r;

	(void)state;
	m.flags = 1; /* degraded */
	m.cluster_version = 0x0123456789abcdef;
	m.load_average = 0x3fc00000;
	m.available_capacity = 0x3e800000;
	expect_message(&world, &m, OK, 0, "all fields");
	for (int i = 0; i < 2; i++) {
		r = world_record(&world, slot);
		assert_int_equal(r.flags, 1);
		assert_int_equal(r.cluster_version, 0x0123456789abcdef);
		assert_int_equal(r.load_average, 0x3fc00000);
		assert_int_equal(r.available_capacity, 0x3e800000);
		m = world_message(&world, slot, 1, 9);
		m.flags = 0;
		if (!i)
			expect_message(&world, &m, LATE, 0, "refused: says nothing");
	}
	m = world_message(&world, slot, 1, 11);
	expect_message(&world, &m, OK, 0, "fields back to nothing");
	r = world_record(&world, slot);
	assert_int_equal(r.flags | r.cluster_version | r.load_average, 0);
}

static void the_record_names_the_cpu(void **state)
{
	uint32_t slot = world_add(&world, &hourly);

	(void)state;
	for (uint64_t i = 1; i < 5; i++) {
		struct message m = world_message(&world, slot, 1, i);

		run_on_cpu(i & 1);
		expect_message(&world, &m, OK, 0, "on the other CPU");
		assert_int_equal(world_record(&world, slot).cpu, i & 1);
	}
	run_on_cpu(0);
}

/* --- rules: any UDP packet from there to here --- */

static struct kphi_peer rule4(uint8_t source, uint16_t port)
{
	struct kphi_peer p = {.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = port},
			      .interval_ns = hourly.interval_ns};

	p.id.bytes[10] = p.id.bytes[11] = 0xff;
	p.id.bytes[12] = 10;
	p.id.bytes[15] = source;
	return p;
}

static struct kphi_peer rule6(uint8_t source, uint16_t port)
{
	struct kphi_peer p = {.id = {.kind = KPHI_ID_RULE, .protocol = 17, .port = port},
			      .interval_ns = hourly.interval_ns};

	p.id.bytes[0] = 0xfd;
	p.id.bytes[15] = source;
	return p;
}

/* A packet that is no heartbeat of ours, from fd00::SOURCE or 10.0.0.SOURCE. */
static void expect_datagram(uint8_t version, uint8_t source, uint16_t port, int outcome, const char *what)
{
	const struct shape shape = {.version = version, .source = source, .port = port};
	const struct message nobody = {.type = 99};
	static struct packet p;

	packet_build(&p, &shape, &nobody);
	memset(packet_message(&p, 0), 0x5a, MESSAGE_SIZE);
	expect(&world, &p, outcome, 0, what);
}

static void delete (uint32_t slot)
{
	struct kphi_record r = world_record(&world, slot);

	assert_int_equal(control_delete(&world.control, &world.store, slot, r.generation, &world.why), 0);
}

static void rules_match_source_and_port(void **state)
{
	struct kphi_peer a = rule4(1, 3784), b = rule6(1, 3784), c = rule4(2, 4784);
	uint32_t slot_a, slot_b, slot_c;

	(void)state;
	expect_datagram(4, 1, 3784, NOTHING, "no rule, no port");
	slot_a = world_add(&world, &a);
	slot_b = world_add(&world, &b);
	slot_c = world_add(&world, &c);
	for (int i = 0; i < 3; i++)
		expect_datagram(4, 1, 3784, OK, "10.0.0.1");
	expect_datagram(6, 1, 3784, OK, "fd00::1");
	expect_datagram(4, 2, 3784, KPHI_COUNT_no_rule, "another address");
	expect_datagram(6, 2, 3784, KPHI_COUNT_no_rule, "another address");
	expect_datagram(4, 1, 4784, KPHI_COUNT_no_rule, "another's port");
	expect_datagram(4, 2, 4784, OK, "10.0.0.2");
	assert_int_equal(world_record(&world, slot_a).beats, 3);
	assert_int_equal(world_record(&world, slot_a).window.n, 2);
	assert_int_equal(world_record(&world, slot_a).state, KPHI_UP);
	assert_int_equal(world_record(&world, slot_a).epoch, 0);
	assert_int_equal(world_record(&world, slot_b).beats, 1);
	assert_int_equal(world_record(&world, slot_c).beats, 1);

	delete (slot_a);
	expect_datagram(4, 1, 3784, KPHI_COUNT_no_rule, "deleted, but the port is still fd00::1's");
	expect_datagram(6, 1, 3784, OK, "the one that is left");
	delete (slot_b);
	expect_datagram(6, 1, 3784, NOTHING, "the last rule takes its port along");
	expect_datagram(4, 2, 4784, OK, "but nobody else's");
	delete (slot_c);
}

static void an_empty_datagram_is_a_beat_of_a_rule(void **state)
{
	struct kphi_peer peer = rule4(3, 9000);
	const struct shape shape = {.version = 4, .source = 3, .port = 9000};
	const struct message m = {.type = 1};
	static struct packet p;

	(void)state;
	delete (world_add(&world, &peer)); /* a second life of the same rule */
	uint32_t slot = world_add(&world, &peer);

	packet_build(&p, &shape, &m);
	p.length = p.payload;
	packet_set_lengths(&p, p.length, p.length);
	expect(&world, &p, OK, 0, "no payload");
	assert_int_equal(world_record(&world, slot).beats, 1);
	delete (slot);
}

/* A port of both kinds: a node id asks for more than any rule, and what is no peer's message is a rule's. */
static void a_port_may_be_native_and_a_rules(void **state)
{
	struct kphi_peer peer = rule4(7, MESSAGE_PORT);
	uint32_t native = world_add(&world, &hourly), rule = world_add(&world, &peer);
	const struct shape from_rule = {.version = 4, .source = 7}, from_other = {.version = 4, .source = 8};
	struct message m = world_message(&world, native, 1, 1);
	static struct packet p;

	(void)state;
	packet_build(&p, &from_rule, &m);
	expect(&world, &p, OK, 0, "the message comes first");
	assert_int_equal(world_record(&world, rule).beats, 0);
	assert_int_equal(world_record(&world, native).beats, 1);
	expect(&world, &p, KPHI_COUNT_duplicate, 0, "and is no beat of the rule when it comes again");
	m.id[0] ^= 1;
	packet_build(&p, &from_rule, &m);
	expect(&world, &p, OK, 0, "nobody's message is any packet");
	packet_build(&p, &from_other, &m);
	expect(&world, &p, KPHI_COUNT_unknown_peer, 0, "but not from elsewhere");
	assert_int_equal(world_record(&world, rule).beats, 1);
	assert_int_equal(world_record(&world, native).beats, 1);
	expect_datagram(4, 8, MESSAGE_PORT, KPHI_COUNT_wire_magic, "neither");
	delete (rule);
	m.id[0] ^= 1;
	packet_build(&p, &from_rule, &m);
	expect(&world, &p, DUP, 0, "still native without the rule");
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "beat", 64, 16);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_stories),
		cmocka_unit_test(epochs_beyond_tomorrow_are_refused),
		cmocka_unit_test(fields_are_those_of_the_last_accepted_message),
		cmocka_unit_test(the_record_names_the_cpu),
		cmocka_unit_test(rules_match_source_and_port),
		cmocka_unit_test(an_empty_datagram_is_a_beat_of_a_rule),
		cmocka_unit_test(a_port_may_be_native_and_a_rules),
	};

	return cmocka_run_group_tests_name("beat", tests, open_world, close_world);
}
