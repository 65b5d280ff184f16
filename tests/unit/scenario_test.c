// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every tests/scenario/NAME.scn: outages, stalls, restarts, with time made up. What is said must be what is
 * expected, no more and no less; and where nothing is expected, a witness shows that something could have
 * been said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/models.h"
#include "scenario.h"

static struct script script;

static bool matches(const struct expectation *x, const struct said *said)
{
	const struct event *event = &said->event;

	if (x->type != event->type || (x->cause != CAUSES && x->cause != event->cause) ||
	    event->now_ns < x->from_ns || event->now_ns > x->to_ns)
		return false;
	if (x->at_deadline && event->now_ns != said->deadline_ns + (uint64_t)x->offset_ns)
		return false;
	return (!x->peer[0] || !fnmatch(x->peer, said->peer, 0)) &&
	       (!x->consumer[0] || !fnmatch(x->consumer, said->consumer, 0));
}

static void print_said(const struct said *said)
{
	const struct event *event = &said->event;
	const char *cause = event_cause_name(event->cause);

	print_message("# %c %14.9fs %s %s %s %s phi %.3f silence %.6fs length %.6fs %s\n",
		      said->expected ? ' ' : '!', (double)(event->now_ns - SCENARIO_EPOCH_NS) / 1e9,
		      event_name(event->type), said->peer, said->consumer, cause ? cause : "-",
		      (double)event->phi / (double)Q32_ONE, (double)event->silence_ns / 1e9,
		      (double)event->length_ns / 1e9, said->detail);
}

/* Each event takes the first expectation that has room for it. */
static bool as_expected(struct script *s, struct world *w)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < s->expects; i++)
		s->expect[i].seen = 0;
	for (uint32_t i = 0; i < w->said_length; i++) {
		struct said *said = &w->said[i];

		for (uint32_t k = 0; k < s->expects && !said->expected; k++) {
			struct expectation *x = &s->expect[k];

			if (x->seen < x->most && matches(x, said)) {
				x->seen++;
				said->expected = true;
			}
		}
		wrong += !said->expected;
	}
	for (uint32_t i = 0; i < s->expects; i++) {
		const struct expectation *x = &s->expect[i];

		if (x->seen >= x->least)
			continue;
		wrong++;
		print_message("# line %u: %u of %u:%s\n", x->line.number, x->seen, x->least, x->line.text);
	}
	if (w->broken[0])
		print_message("# %s\n", w->broken);
	if (!wrong && !w->broken[0])
		return true;
	for (uint32_t i = 0; i < w->said_length && i < 200; i++)
		print_said(&w->said[i]);
	print_message("# %u events unexpected or missing\n", wrong);
	return false;
}

static bool bears_witness(const struct script *s, const struct witness *witness)
{
	struct world *w = world_run(s, witness, false);
	uint32_t seen = 0;
	bool borne;

	for (uint32_t i = 0; i < w->said_length; i++)
		seen += matches(&witness->expect, &w->said[i]);
	borne = seen >= witness->expect.least && seen <= witness->expect.most && !w->broken[0];

	if (!borne) {
		for (uint32_t i = 0; i < w->said_length && i < 200; i++)
			print_said(&w->said[i]);
		print_message("# line %u saw %u:%s %s\n", witness->line.number, seen, witness->line.text,
			      w->broken);
	}
	world_free(w);
	return borne;
}

static bool steps_the_wall_clock(const struct script *s)
{
	for (uint32_t i = 0; i < s->actions; i++)
		if (word_is(&s->action[i].line, s->action[i].first, "wall"))
			return true;
	return false;
}

/* Nothing may depend on the wall clock: without its steps, all is the same to the nanosecond. */
static void compare_without_wall(const struct script *s, const struct world *w)
{
	struct world *other = world_run(s, NULL, true);

	assert_int_equal(other->said_length, w->said_length);
	for (uint32_t i = 0; i < w->said_length; i++) {
		assert_int_equal(other->said[i].event.type, w->said[i].event.type);
		assert_true(other->said[i].event.now_ns == w->said[i].event.now_ns);
		assert_true(other->said[i].event.phi == w->said[i].event.phi);
	}
	for (uint32_t i = 0; i < s->peers; i++)
		assert_memory_equal(&other->peer[i].record, &w->peer[i].record, sizeof(w->peer[i].record));
	world_free(other);
}

static void scenario(void **state)
{
	const char *bad = script_read(&script, *state);
	struct world *w;
	bool good;

	if (bad)
		fail_msg("%s", bad);
	w = world_run(&script, NULL, false);
	good = as_expected(&script, w);
	if (good && steps_the_wall_clock(&script))
		compare_without_wall(&script, w);
	world_free(w);
	for (uint32_t i = 0; i < script.witnesses; i++)
		good = bears_witness(&script, &script.witness[i]) && good;
	if (!good)
		fail_msg("%s", script.path);
}

/* One test for each script; an argument is a script to run alone. */
int main(int argc, char **argv)
{
	struct CMUnitTest tests[256];
	glob_t found;
	size_t n = 0;
	int failed;

	if (glob(argc > 1 ? argv[1] : "tests/scenario/*.scn", 0, NULL, &found)) {
		fprintf(stderr, "no tests/scenario/*.scn: run this in the root of the repository\n");
		return 2;
	}
	for (; n < found.gl_pathc && n < sizeof(tests) / sizeof(*tests); n++) {
		const char *base = strrchr(found.gl_pathv[n], '/');

		tests[n] = (struct CMUnitTest){base ? base + 1 : found.gl_pathv[n], scenario, NULL, NULL,
					       found.gl_pathv[n]};
	}
	failed = _cmocka_run_group_tests("scenario", tests, n, NULL, NULL);
	globfree(&found);
	return failed;
}
