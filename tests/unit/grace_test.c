// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How long no verdict is given after this host has stalled, with clock and stalls made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/grace.h"
#include "unit/random.h"

#define MS   1000000ULL
#define S    1000000000ULL
#define LAST (100 * S) /* the last beat of a peer that beats once a second, its min-std 100 ms */

static const struct {
	const char *name;
	struct kphi_stall stall[3];
	uint64_t tick; /* the last one; 0: none */
	uint64_t now, until, longest;
} cases[] = {
	{"no stall", {{0}}, 0, LAST + 5 * S, 0, 0},
	{"a stall before the last beat", {{LAST, 3 * S}}, 0, LAST + S, 0, 0},
	{"a stall that does not matter", {{LAST + S, 99 * MS}}, 0, LAST + S, 0, 0},
	{"a stall that just matters", {{LAST + S, 100 * MS}}, 0, LAST + S, LAST + 2 * S, 100 * MS},
	{"one interval at least", {{LAST + S, 200 * MS}}, 0, LAST + S, LAST + 2 * S, 200 * MS},
	{"as long as the stall", {{LAST + 3 * S, 3 * S}}, 0, LAST + 4 * S, LAST + 6 * S, 3 * S},
	{"over by now", {{LAST + 3 * S, 3 * S}}, 0, LAST + 6 * S, 0, 0},
	{"ten intervals at most", {{LAST + 50 * S, 50 * S}}, 0, LAST + 51 * S, LAST + 60 * S, 50 * S},
	{"the second one adds",
	 {{LAST + 3 * S, 3 * S}, {LAST + 6 * S, 2 * S}},
	 0,
	 LAST + 7 * S,
	 LAST + 8 * S,
	 3 * S},
	{"but not beyond ten after the first",
	 {{LAST + 12 * S, 9 * S}, {LAST + 2 * S, 2 * S}, {LAST + 3 * S, S}},
	 0,
	 LAST + 11 * S,
	 LAST + 12 * S,
	 9 * S},
	{"a stall that goes on", {{0}}, LAST + S, LAST + 4 * S, LAST + 7 * S, 3 * S},
	{"a tick in time", {{0}}, LAST + S, LAST + S + 50 * MS, 0, 0},
	{"a dead tick", {{0}}, LAST, LAST + 61 * S, 0, 0},
};

static void table(void **state)
{
	const struct kphi_record r = {.state = KPHI_UP, .last_ns = LAST, .window.interval_ns = S};
	const struct kphi_peer p = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kphi_tick t = {.last_ns = cases[i].tick};
		struct grace g;

		for (int k = 0; k < 3; k++)
			t.stall[k + 7] = cases[i].stall[k];
		g = grace_at(&r, &p, &t, cases[i].now);
		if (g.until_ns != cases[i].until || g.stall_ns != cases[i].longest)
			fail_msg("%s: until %lu, stall %lu", cases[i].name, g.until_ns, g.stall_ns);
	}
}

static void a_suspend_is_in_no_ring(void **state)
{
	const struct kphi_record r = {.state = KPHI_UP, .last_ns = LAST, .window.interval_ns = S};
	const struct kphi_peer p = {0};
	struct kphi_tick t = {
		.stall_end_ns = LAST + S, .stall_length_end_ns = LAST + S, .stall_length_ns = 9000 * S};

	(void)state;
	assert_int_equal(grace_at(&r, &p, &t, LAST + 2 * S).until_ns, LAST + 11 * S);
	t.stall_end_ns += S; /* a short stall after it, which is in the ring */
	assert_int_equal(grace_at(&r, &p, &t, LAST + 2 * S).until_ns, 0);
}

static void only_who_is_up_and_known(void **state)
{
	const struct kphi_tick t = {.stall[0] = {LAST + 3 * S, 3 * S}};
	const struct kphi_peer p = {0};
	struct kphi_record r = {.state = KPHI_LEFT, .last_ns = LAST, .window.interval_ns = S};

	(void)state;
	assert_int_equal(grace_at(&r, &p, &t, LAST + 4 * S).until_ns, 0);
	r.state = KPHI_UP;
	r.window.interval_ns = 0; /* still learning */
	assert_int_equal(grace_at(&r, &p, &t, LAST + 4 * S).until_ns, 0);
	r.window.interval_ns = S;
	assert_int_equal(grace_at(&r, &p, &t, LAST + 4 * S).until_ns, LAST + 6 * S);
}

/* Whatever the stalls: not longer than ten intervals after the first one, and never without an end. */
static void bounded(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		struct kphi_record r = {.state = KPHI_UP, .last_ns = LAST};
		struct kphi_peer p = {.set = KPHI_SET_MIN_STD, .min_std_ns = random_below(&random, 100 * MS)};
		struct kphi_tick t = {0};
		uint64_t now = LAST + random_below(&random, 100 * S), first = UINT64_MAX;
		struct grace g;

		r.window.interval_ns = 1 + random_below(&random, 10 * S);
		for (int k = 0; k < KPHI_STALLS; k++) {
			struct kphi_stall *s = &t.stall[k];

			s->length_ns = 50 * MS + random_below(&random, 20 * S);
			s->end_ns = LAST - 50 * S + random_below(&random, 100 * S);
			if (s->end_ns > LAST && s->length_ns >= p.min_std_ns && s->end_ns < first)
				first = s->end_ns;
		}
		g = grace_at(&r, &p, &t, now);
		if (first == UINT64_MAX)
			assert_int_equal(g.until_ns, 0);
		else
			assert_true(g.until_ns <= first + GRACE_INTERVALS * r.window.interval_ns);
		assert_true(!g.until_ns || g.until_ns > now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(a_suspend_is_in_no_ring),
		cmocka_unit_test(only_who_is_up_and_known),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests_name("grace", tests, NULL, NULL);
}
