// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two opinions and what follows: every cell of the table, and the sentence that goes with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "check/verdict.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MS            1000000ULL

static struct check_ours up(void)
{
	return (struct check_ours){.peer = "db1",
				   .host = "",
				   .state = PEER_UP,
				   .judged = true,
				   .phi = Q32_ONE / 4,
				   .threshold = POLICY_SUSPECT,
				   .silence_ns = 10 * MS,
				   .mean_ns = 100 * MS,
				   .reason = ""};
}

static struct check_ours silent(void)
{
	struct check_ours o = up();

	o.state = PEER_SUSPECT;
	o.phi = 12 * Q32_ONE;
	o.silence_ns = 2000 * MS;
	return o;
}

static struct claim claim(enum claim_state state, const char *word)
{
	struct claim c = {.name = "db1", .state = state};

	claim_put(c.word, sizeof(c.word), word);
	return c;
}

static void table_test(void **state)
{
	/* Columns: enum claim_state. */
	static const struct {
		enum peer_state ours;
		enum check_verdict verdict[5];
	} rows[] = {
		{PEER_UP,
		 {CHECK_undecided, CHECK_agree_up, CHECK_they_suspect, CHECK_they_suspect,
		  CHECK_they_suspect}},
		{PEER_SUSPECT,
		 {CHECK_undecided, CHECK_they_trust, CHECK_agree_down, CHECK_agree_down, CHECK_agree_down}},
		{PEER_DOWN,
		 {CHECK_undecided, CHECK_they_trust, CHECK_agree_down, CHECK_agree_down, CHECK_agree_down}},
		{PEER_LEFT,
		 {CHECK_undecided, CHECK_they_trust, CHECK_agree_down, CHECK_agree_down, CHECK_agree_down}},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		for (int theirs = 0; theirs < 5; theirs++) {
			struct check_ours o = up();
			struct claim c = claim((enum claim_state)theirs, "");

			o.state = rows[i].ours;
			assert_int_equal(check_decide(&o, &c), rows[i].verdict[theirs]);
			/* Whatever makes us doubt, nothing is concluded from it. */
			for (int doubt = DOUBT_BUSY; doubt <= DOUBT_LEARNING; doubt++) {
				o.doubt = (enum check_doubt)doubt;
				assert_int_equal(check_decide(&o, &c), CHECK_undecided);
			}
		}
	}
}

static void one_sided_test(void **state)
{
	struct check_ours o = up();
	struct claim c = claim(CLAIM_UP, "alive");

	(void)state;
	assert_int_equal(check_decide(NULL, &c), CHECK_unknown_to_us);
	assert_int_equal(check_decide(&o, NULL), CHECK_unknown_to_them);
}

static void disagreement_test(void **state)
{
	(void)state;
	for (int v = 0; v < CHECK_VERDICTS_COUNT; v++)
		assert_int_equal(check_is_disagreement((enum check_verdict)v),
				 v == CHECK_they_suspect || v == CHECK_they_trust);
	assert_string_equal(check_verdict_name(CHECK_unknown_to_them), "unknown_to_them");
}

/* Blindness and holds concern silence; a peer that is heard is up whatever happens to this host. */
static void doubt_test(void **state)
{
	(void)state;
	assert_int_equal(check_doubt(PEER_SUSPECT, true, true, true, true), DOUBT_BUSY);
	assert_int_equal(check_doubt(PEER_SUSPECT, false, true, true, true), DOUBT_MUTED);
	assert_int_equal(check_doubt(PEER_SUSPECT, false, false, true, true), DOUBT_BLIND);
	assert_int_equal(check_doubt(PEER_SUSPECT, false, false, false, true), DOUBT_HELD);
	assert_int_equal(check_doubt(PEER_SUSPECT, false, false, false, false), DOUBT_NONE);
	assert_int_equal(check_doubt(PEER_UP, false, false, true, true), DOUBT_NONE);
	assert_int_equal(check_doubt(PEER_UP, false, true, false, false), DOUBT_MUTED);
	assert_int_equal(check_doubt(PEER_WAITING, false, false, false, false), DOUBT_WAITING);
	assert_int_equal(check_doubt(PEER_LEARNING, false, false, false, false), DOUBT_LEARNING);
	assert_int_equal(check_doubt(PEER_LEFT, false, false, true, true), DOUBT_NONE);
	assert_int_equal(check_doubt(PEER_DOWN, false, false, true, true), DOUBT_NONE);
}

static void assert_says(const struct check_ours *o, const struct claim *c, const char *expected)
{
	char why[CHECK_WHY];

	check_explain(o, c, "Serf", why, sizeof(why));
	assert_string_equal(why, expected);
}

static void sentences_test(void **state)
{
	struct claim alive = claim(CLAIM_UP, "alive"), failed = claim(CLAIM_DOWN, "failed"),
		     left = claim(CLAIM_LEFT, "left");
	struct check_ours on_time = up(), gone = silent(), held = silent(), quit = up();

	(void)state;
	assert_says(&on_time, &alive,
		    "last beat 10ms ago, phi 0.250 (normal), on average every 100ms; Serf says alive");
	assert_says(&on_time, &failed,
		    "Serf says failed, but the wire is on time: last beat 10ms ago, phi 0.250 (normal), on "
		    "average "
		    "every 100ms: their observer stalls, or the peer's application does");
	assert_says(&on_time, &left,
		    "Serf says left, but the wire is on time: last beat 10ms ago, phi 0.250 (normal), on "
		    "average "
		    "every 100ms: that program has left, but this stream of its host goes on");
	assert_says(&gone, &alive,
		    "Serf says alive, but the wire is silent: last beat 2s ago, phi 12.000 (normal), on "
		    "average "
		    "every 100ms, the threshold is 8.000: their liveness is relayed or cached, or this path "
		    "is dead");
	assert_says(&gone, &failed,
		    "last beat 2s ago, phi 12.000 (normal), on average every 100ms, the threshold is "
		    "8.000; Serf "
		    "says failed");
	held.doubt = DOUBT_HELD;
	held.reason = "held for another 200ms: this host stalled 1.50s";
	assert_says(&held, &alive,
		    "Serf says alive; the evidence is against this host, so its silence says nothing yet: "
		    "held for "
		    "another 200ms: this host stalled 1.50s");
	quit.state = PEER_LEFT;
	assert_says(&quit, &alive,
		    "Serf says alive, but the wire is silent: it said goodbye: they have not noticed, or "
		    "speak of "
		    "another program of its host");
	assert_says(NULL, &failed, "Serf says failed: no peer here has that name, host label or address");
	assert_says(&gone, NULL,
		    "Serf does not name it; here: last beat 2s ago, phi 12.000 (normal), on average every "
		    "100ms, the "
		    "threshold is 8.000");
}

static void stalls_test(void **state)
{
	struct claim alive = claim(CLAIM_UP, "alive"), failed = claim(CLAIM_DOWN, "failed");
	struct check_ours on_time = up(), gone = silent();
	char why[CHECK_WHY];

	(void)state;
	on_time.last_stall_ns = 1500 * MS;
	on_time.last_stall_ago_ns = 3000 * MS;
	check_explain(&on_time, &failed, "BIRD", why, sizeof(why));
	assert_non_null(strstr(why, "; this host stalled for 1.5s, 3s ago, and an observer on it with it"));
	check_explain(&on_time, &alive, "BIRD", why, sizeof(why));
	assert_null(strstr(why, "stalled"));
	gone.stalled_ns = 300 * MS;
	check_explain(&gone, &alive, "BIRD", why, sizeof(why));
	assert_non_null(strstr(why, "not counting 300ms that this host stalled"));
}

static void host_test(void **state)
{
	struct claim alive = claim(CLAIM_UP, "alive");
	struct check_ours gone = silent();
	char why[CHECK_WHY];

	(void)state;
	gone.audible = "db1-bfd";
	check_explain(&gone, &alive, "Serf", why, sizeof(why));
	assert_non_null(
		strstr(why, "but db1-bfd, of the same host, is on time, so it is this stream that is dead"));
}

/* Their phi is told with its scale, and decides nothing: neither a huge one nor none. */
static void scale_test(void **state)
{
	struct claim c = claim(CLAIM_UP, "phi up to 8");
	struct check_ours o = up();
	char why[CHECK_WHY];

	(void)state;
	claim_put(c.phi, sizeof(c.phi), "99999.5");
	assert_int_equal(check_decide(&o, &c), CHECK_agree_up);
	check_explain(&o, &c, "Cassandra", why, sizeof(why));
	assert_non_null(
		strstr(why, "their phi 99999.5 is on another scale than ours: which one they do not say"));
	claim_put(c.scale, sizeof(c.scale), "exponential, t / mean x 0.434");
	check_explain(&o, &c, "Cassandra", why, sizeof(why));
	assert_non_null(strstr(why, "on another scale than ours: exponential, t / mean x 0.434"));
}

/* Whatever they write, there is an end to the sentence. */
static void long_test(void **state)
{
	struct check_ours o = silent();
	struct claim c = claim(CLAIM_UP, "");
	char why[CHECK_WHY + 1];

	(void)state;
	memset(c.detail, 'x', sizeof(c.detail) - 1);
	memset(c.scale, 'y', sizeof(c.scale) - 1);
	memset(c.phi, '1', sizeof(c.phi) - 1);
	for (size_t size = 1; size <= CHECK_WHY; size++) {
		why[size] = '#';
		check_explain(&o, &c, "the other detector", why, size);
		assert_true(strlen(why) < size);
		assert_int_equal(why[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_test),        cmocka_unit_test(one_sided_test),
		cmocka_unit_test(disagreement_test), cmocka_unit_test(doubt_test),
		cmocka_unit_test(sentences_test),    cmocka_unit_test(stalls_test),
		cmocka_unit_test(host_test),         cmocka_unit_test(scale_test),
		cmocka_unit_test(long_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
