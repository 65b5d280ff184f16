// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How long a peer was silent, with the clock and the stalls of this host made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/silence.h"
#include "unit/random.h"

#define MS    1000000ULL
#define LIMIT KPHI_TICK_LIMIT_NS
#define OPEN  SILENCE_OPEN_MAX_NS
#define NEVER UINT64_MAX

static const struct {
	const char *name;
	uint64_t last, copy; /* the record's */
	uint64_t tick, stalled; /* the CPU's last tick, 0: none armed, and all its stalls so far */
	uint64_t now, silence, discount;
} cases[] = {
	{"no guard", 100 * MS, 0, 0, 0, 150 * MS, 50 * MS, 0},
	{"this instant", 100 * MS, 0, 0, 0, 100 * MS, 0, 0},
	{"an arrival newer than now", 100 * MS, 0, 0, 0, 99 * MS, 0, 0},
	{"an arrival much newer than now", NEVER, 0, 0, 0, 0, 0, 0},
	{"since the beginning of time", 0, 0, 0, 0, NEVER, NEVER, 0},
	{"ticks in time", 100 * MS, 0, 145 * MS, 0, 150 * MS, 50 * MS, 0},
	{"old stalls are in the copy", 100 * MS, 7 * MS, 145 * MS, 7 * MS, 150 * MS, 50 * MS, 0},
	{"a stall since", 100 * MS, 7 * MS, 145 * MS, 27 * MS, 150 * MS, 30 * MS, 20 * MS},
	{"stalled all the while", 100 * MS, 0, 145 * MS, 50 * MS, 150 * MS, 0, 50 * MS},
	{"stalled for longer, by another clock's rounding", 100 * MS, 0, 145 * MS, 51 * MS, 150 * MS, 0,
	 50 * MS},
	{"fewer stalls than the copy has", 100 * MS, 9 * MS, 145 * MS, 0, 150 * MS, 50 * MS, 0},
	{"a tick just not late", 100 * MS, 0, 100 * MS, 0, 100 * MS + LIMIT, LIMIT, 0},
	{"a tick just late", 100 * MS, 0, 100 * MS, 0, 101 * MS + LIMIT, 0, LIMIT + MS},
	{"a stall that goes on", 100 * MS, 0, 300 * MS, 0, 900 * MS, 200 * MS, 600 * MS},
	{"one over, one that goes on", 100 * MS, 5 * MS, 300 * MS, 55 * MS, 900 * MS, 150 * MS, 650 * MS},
	{"the arrival came during it", 800 * MS, 0, 300 * MS, 0, 900 * MS, 0, 100 * MS},
	{"a tick newer than now", 100 * MS, 0, 300 * MS, 0, 200 * MS, 100 * MS, 0},
	{"the longest stall that is believed", 100 * MS, 0, 100 * MS, 0, 100 * MS + OPEN, 0, OPEN},
	{"a dead tick hides no silence", 100 * MS, 0, 100 * MS, 0, 101 * MS + OPEN, OPEN + MS, 0},
	{"no guard, however long ago", 1, 0, 0, 0, 900 * MS, 900 * MS - 1, 0},
};

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kphi_record r = {.last_ns = cases[i].last, .stalled_copy_ns = cases[i].copy};
		struct kphi_tick t = {.last_ns = cases[i].tick, .stalled_total_ns = cases[i].stalled};

		if (silence_ns(&r, &t, cases[i].now) != cases[i].silence ||
		    silence_discount_ns(&r, &t, cases[i].now) != cases[i].discount)
			fail_msg("%s", cases[i].name);
	}
}

/* Whatever the numbers: no silence is longer than the time that went by, and nothing wraps. */
static void never_beyond_what_went_by(void **state)
{
	uint64_t random = 8;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t now = random_magnitude(&random, 62);
		struct kphi_record r = {.last_ns = random_magnitude(&random, 62),
					.stalled_copy_ns = random_magnitude(&random, 62)};
		struct kphi_tick t = {.last_ns = random_magnitude(&random, 62),
				      .stalled_total_ns = random_magnitude(&random, 62)};
		uint64_t elapsed = now > r.last_ns ? now - r.last_ns : 0;

		assert_true(silence_ns(&r, &t, now) <= elapsed);
		assert_int_equal(silence_ns(&r, &t, now) + silence_discount_ns(&r, &t, now), elapsed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(never_beyond_what_went_by),
	};

	return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
