// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who knew first: what is told when two opinions part and meet again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "check/track.h"

#define S 1000000000ULL

/* As long as both know it, the verdict is this one. */
static struct track_change decide(struct track *t)
{
	enum check_verdict v = t->ours.gone == t->theirs.gone
				       ? (t->ours.gone ? CHECK_agree_down : CHECK_agree_up)
				       : (t->theirs.gone ? CHECK_they_suspect : CHECK_they_trust);

	return track_decide(t, v, 0);
}

static struct track both_up(void)
{
	struct track t = {0};
	struct track_change c;

	track_think(&t.ours, false, 1 * S);
	track_think(&t.theirs, false, 2 * S);
	c = decide(&t);
	assert_true(c.first && c.changed);
	assert_int_equal(c.end, TRACK_NONE);
	assert_int_equal(t.verdict, CHECK_agree_up);
	return t;
}

static void we_first_test(void **state)
{
	struct track t = both_up();
	struct track_change c;
	char text[TRACK_WHY];

	(void)state;
	track_think(&t.ours, true, 10 * S);
	c = decide(&t);
	assert_true(c.changed);
	assert_int_equal(t.verdict, CHECK_they_trust);
	assert_int_equal(c.end, TRACK_NONE);
	assert_false(decide(&t).changed);
	track_think(&t.theirs, true, 15 * S);
	c = decide(&t);
	assert_true(c.changed && c.gone);
	assert_int_equal(c.before, CHECK_they_trust);
	assert_int_equal(c.end, TRACK_WE_FIRST);
	assert_true(c.length_ns == 5 * S);
	track_explain(&c, "Serf", text, sizeof(text));
	assert_string_equal(text, "kphi knew that it was gone 5s earlier than Serf");
	/* And back: they first. */
	track_think(&t.theirs, false, 20 * S);
	assert_int_equal(decide(&t).end, TRACK_NONE);
	track_think(&t.ours, false, 22 * S);
	c = decide(&t);
	assert_int_equal(c.end, TRACK_THEY_FIRST);
	assert_true(c.length_ns == 2 * S && !c.gone);
	track_explain(&c, "Serf", text, sizeof(text));
	assert_string_equal(text, "Serf knew that it was back 2s earlier than kphi");
}

/* Both are found to have changed at one look. */
static void at_one_look_test(void **state)
{
	struct track t = both_up();
	struct track_change c;

	(void)state;
	track_think(&t.theirs, true, 9 * S);
	track_think(&t.ours, true, 10 * S);
	c = decide(&t);
	assert_int_equal(c.end, TRACK_THEY_FIRST);
	assert_true(c.length_ns == 1 * S);
	assert_int_equal(decide(&t).end, TRACK_NONE);
}

static void took_it_back_test(void **state)
{
	struct track t = both_up();
	struct track_change c;
	char text[TRACK_WHY];

	(void)state;
	track_think(&t.theirs, true, 10 * S);
	assert_true(track_decide(&t, CHECK_they_suspect, 3 * Q32_ONE / 2).changed);
	track_decide(&t, CHECK_they_suspect, Q32_ONE / 2);
	track_think(&t.theirs, false, 13 * S);
	c = track_decide(&t, CHECK_agree_up, 0);
	assert_int_equal(c.end, TRACK_THEY_RETURNED);
	assert_true(c.length_ns == 3 * S);
	track_explain(&c, "BIRD", text, sizeof(text));
	assert_string_equal(
		text, "BIRD thought otherwise for 3s and took it back; phi was at most 1.500 meanwhile");
	/* The next stretch begins anew. */
	track_think(&t.ours, true, 20 * S);
	track_decide(&t, CHECK_they_trust, 9 * Q32_ONE);
	track_think(&t.ours, false, 21 * S);
	c = track_decide(&t, CHECK_agree_up, 0);
	assert_int_equal(c.end, TRACK_WE_RETURNED);
	assert_true(c.length_ns == 1 * S);
}

/* Follow begins in the middle: our record knows when it fell silent all the same. */
static void begun_apart_test(void **state)
{
	struct track t = {0};
	struct track_change c;

	(void)state;
	track_think(&t.ours, true, 100 * S);
	track_think(&t.theirs, false, 103 * S);
	c = decide(&t);
	assert_true(c.first);
	assert_int_equal(t.verdict, CHECK_they_trust);
	assert_true(t.ours.dated && !t.theirs.dated);
	track_think(&t.theirs, true, 108 * S);
	c = decide(&t);
	assert_int_equal(c.end, TRACK_WE_FIRST);
	assert_true(c.length_ns == 8 * S);
}

/* A stretch of doubt is neither agreement nor a change of mind. */
static void doubt_test(void **state)
{
	struct track t = both_up();
	struct track_change c;

	(void)state;
	track_think(&t.theirs, true, 10 * S);
	c = track_decide(&t, CHECK_undecided, 0);
	assert_true(c.changed);
	assert_int_equal(c.end, TRACK_NONE);
	track_think(&t.ours, true, 12 * S);
	c = decide(&t);
	assert_int_equal(c.end, TRACK_THEY_FIRST);
	assert_true(c.length_ns == 2 * S);
}

/* Said again and again, it is one change. */
static void repeated_test(void **state)
{
	struct track t = both_up();

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		track_think(&t.theirs, true, (10 + i) * S);
	assert_true(t.theirs.since_ns == 10 * S);
	assert_int_equal(t.theirs.turns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(we_first_test),     cmocka_unit_test(at_one_look_test),
		cmocka_unit_test(took_it_back_test), cmocka_unit_test(begun_apart_test),
		cmocka_unit_test(doubt_test),        cmocka_unit_test(repeated_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
