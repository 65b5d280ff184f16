// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rows of `kphi top`: their order, the filter, what is remembered of each, and what the daemon adds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/text.h"
#include "top/cells.h"
#include "top/keys.h"
#include "unit/random.h"

#define SLOTS 64

static struct top_row row_of(uint32_t slot, const char *name)
{
	struct top_row r = {
		.slot = slot, .state = TOP_UP, .judged = true, .numbered = true, .suspect_in_ns = 1};

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

/* One look at those rows. */
static void look(struct top_model *m, const struct top_row *rows, size_t n, uint64_t now_ns)
{
	model_begin(m, now_ns);
	for (size_t i = 0; i < n; i++)
		model_take(m, &rows[i]);
	model_end(m);
}

/* The names of the rows shown, with blanks between. */
static const char *order(const struct top_model *m)
{
	static char text[SLOTS * 8];
	struct text names = {text, sizeof(text)};

	*text = '\0';
	for (uint32_t i = 0; i < m->rows; i++)
		text_join(&names, " ", "%s", m->row[m->shown[i]].name);
	return text;
}

static void begin(struct top_model *m, enum top_sort sort)
{
	*m = (struct top_model){.sort = sort};
	assert_int_equal(model_open(m, SLOTS), 0);
}

/* Four peers whose order differs by every key; d has nothing but its name. */
static void four(struct top_row rows[4])
{
	rows[0] = row_of(3, "b");
	rows[1] = row_of(5, "a");
	rows[2] = row_of(7, "c");
	rows[3] = row_of(9, "d");
	for (int i = 0; i < 3; i++) {
		static const uint64_t phi[] = {2, 9, 4}, silence[] = {10, 20, 30}, mean[] = {300, 200, 100};
		static const uint32_t loss[] = {0, 5, 50};
		static const char *const host[] = {"y", "z", "x"};

		rows[i].phi = phi[i] << 32;
		rows[i].silence_ns = silence[i];
		rows[i].mean_ns = mean[i];
		rows[i].loss_ppm = loss[i];
		snprintf(rows[i].host, sizeof(rows[i].host), "%s", host[i]);
	}
	rows[3].state = TOP_WAITING;
	rows[3].judged = rows[3].numbered = false;
}

static void every_order(void **state)
{
	static const char *const expected[TOP_SORTS][2] = {
		[TOP_BY_PHI] = {"a c b d", "b c a d"},  [TOP_BY_NAME] = {"a b c d", "d c b a"},
		[TOP_BY_HOST] = {"c b a d", "a b c d"}, [TOP_BY_SILENCE] = {"c a b d", "b a c d"},
		[TOP_BY_MEAN] = {"b a c d", "c a b d"}, [TOP_BY_LOSS] = {"c a b d", "b a c d"},
	};
	struct top_row rows[4];
	struct top_model m;

	(void)state;
	four(rows);
	begin(&m, TOP_BY_PHI);
	look(&m, rows, 4, 1);
	for (int sort = 0; sort < TOP_SORTS; sort++)
		for (int reverse = 0; reverse < 2; reverse++) {
			m.sort = sort;
			m.reverse = reverse;
			model_arrange(&m);
			assert_string_equal(order(&m), expected[sort][reverse]);
		}
	model_close(&m);
}

static void equals_stand_by_name_and_down_comes_first(void **state)
{
	struct top_row rows[4];
	struct top_model m;

	(void)state;
	begin(&m, TOP_BY_PHI);
	rows[0] = row_of(0, "zeta");
	rows[1] = row_of(1, "eta");
	rows[2] = row_of(2, "theta");
	rows[3] = row_of(3, "alpha");
	rows[2].phi = PHI_MAX;
	rows[2].state = TOP_SUSPECT;
	rows[0].judged = false;
	rows[0].state = TOP_DOWN;
	look(&m, rows, 4, 1);
	assert_string_equal(order(&m), "zeta theta alpha eta");
	assert_int_equal(m.count[TOP_DOWN], 1);
	assert_true(model_accuses(&m));
	/* Maintenance accuses nobody; what is filtered away is not asked about. */
	rows[2].muted = true;
	look(&m, rows, 4, 2);
	assert_int_equal(m.count[TOP_SUSPECT], 0);
	snprintf(m.filter, sizeof(m.filter), "%s", "the");
	model_arrange(&m);
	assert_string_equal(order(&m), "theta");
	assert_false(model_accuses(&m));
	model_close(&m);
}

/* Any order is that of a plain search for the next one. */
static void sorted_whatever_comes(void **state)
{
	struct top_row rows[SLOTS];
	uint64_t random = 1;
	struct top_model m;

	(void)state;
	begin(&m, TOP_BY_PHI);
	for (int round = 0; round < 200; round++) {
		uint32_t n = 0;

		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			char name[8];

			if (random_below(&random, 3) == 0)
				continue;
			snprintf(name, sizeof(name), "p%02u", slot);
			rows[n] = row_of(slot, name);
			rows[n].judged = random_below(&random, 4);
			rows[n++].phi = random_below(&random, 5) << 30;
		}
		look(&m, rows, n, 1 + (uint64_t)round);
		assert_int_equal(m.peers, n);
		assert_int_equal(m.rows, n);
		for (uint32_t i = 1; i < n; i++) {
			const struct top_row *x = &m.row[m.shown[i - 1]], *y = &m.row[m.shown[i]];

			assert_true(x->judged >= y->judged);
			if (x->judged == y->judged && x->judged)
				assert_true(x->phi >= y->phi);
			if (x->judged == y->judged && (!x->judged || x->phi == y->phi))
				assert_true(strcmp(x->name, y->name) < 0);
			assert_int_equal(model_find(&m, x->slot, 0), i - 1);
		}
	}
	model_close(&m);
}

static void filters(void **state)
{
	struct top_row r = row_of(0, "DB-1.example");

	(void)state;
	snprintf(r.host, sizeof(r.host), "%s", "Rack7");
	r.state = TOP_SUSPECT;
	assert_true(model_matches(&r, ""));
	assert_true(model_matches(&r, "db-1"));
	assert_true(model_matches(&r, "LE"));
	assert_true(model_matches(&r, "rack"));
	assert_true(model_matches(&r, "susp"));
	assert_false(model_matches(&r, "muted"));
	assert_false(model_matches(&r, "db-1.example."));
	assert_false(model_matches(&r, "db1"));
	r.muted = true;
	assert_true(model_matches(&r, "muted"));
}

/* The last looks, also beyond what is remembered; another life of the slot begins with nothing. */
static void the_past(void **state)
{
	uint8_t phi[TOP_HISTORY];
	struct top_row r = row_of(2, "a");
	struct top_model m;

	(void)state;
	begin(&m, TOP_BY_PHI);
	assert_int_equal(model_past_since_ns(&m, 8), 0);
	for (uint64_t i = 0; i < TOP_HISTORY + 10; i++) {
		r.phi = (i % 200 << 32) / TOP_PHI_STEPS;
		look(&m, &r, 1, 1000 + i);
		if (i == 2) {
			model_past(&m, 2, phi, 5);
			assert_memory_equal(phi, ((uint8_t[]){TOP_NOTHING, TOP_NOTHING, 1, 2, 3}), 5);
			assert_int_equal(model_past_since_ns(&m, 5), 1000);
		}
	}
	model_past(&m, 2, phi, TOP_HISTORY);
	for (uint64_t i = 0; i < TOP_HISTORY; i++)
		assert_int_equal(phi[i], 1 + (i + 10) % 200);
	assert_int_equal(model_past_since_ns(&m, TOP_HISTORY), 1010);

	r.judged = false; /* learning anew */
	look(&m, &r, 1, 5000);
	r.judged = true;
	r.phi = PHI_MAX;
	look(&m, &r, 1, 5001);
	model_past(&m, 2, phi, 3);
	assert_memory_equal(phi, ((uint8_t[]){1 + (TOP_HISTORY + 9) % 200, TOP_NOTHING, TOP_PHI_LAST}), 3);

	r.generation = 1;
	look(&m, &r, 1, 5002);
	model_past(&m, 2, phi, 3);
	assert_memory_equal(phi, ((uint8_t[]){TOP_NOTHING, TOP_NOTHING, TOP_PHI_LAST}), 3);
	assert_int_equal(model_find(&m, 2, 0), -1);
	assert_int_equal(model_find(&m, 2, 1), 0);
	model_close(&m);
}

static void the_daemon_outranks_a_look(void **state)
{
	struct kphi_verdict verdict = {.state = KPHI_VERDICT_TRUST};
	struct top_row r = row_of(0, "a");

	(void)state;
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_UP);
	verdict = (struct kphi_verdict){.state = KPHI_VERDICT_SUSPECT, .consumers = 5};
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_SUSPECT);
	assert_int_equal(r.consumers, 5);
	verdict = (struct kphi_verdict){
		.state = KPHI_VERDICT_HELD, .held = 2, .cause = KPHI_BECAUSE_CORRELATED};
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_HELD);
	assert_int_equal(r.consumers, 0);
	assert_int_equal(r.held, 2);
	assert_string_equal(r.reason, "held by the daemon: too many are overdue at once");
	verdict = (struct kphi_verdict){.state = KPHI_VERDICT_BLIND, .cause = KPHI_BECAUSE_CARRIER};
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_BLIND);
	/* What its own watcher has said stands. */
	r.state = TOP_DOWN;
	verdict = (struct kphi_verdict){.state = KPHI_VERDICT_SUSPECT, .consumers = 1};
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_DOWN);
	verdict.state = KPHI_VERDICT_BLIND;
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_DOWN);
	r.state = TOP_LEFT;
	sample_heed(&r, &verdict);
	assert_int_equal(r.state, TOP_LEFT);
}

static void consumers_by_name(void **state)
{
	struct top_look look = {.lives = true, .daemon.consumers = KPHI_CONSUMERS};
	char text[SAMPLE_NAMES];

	(void)state;
	snprintf(look.daemon.consumer[0].name, sizeof(look.daemon.consumer[0].name), "%s", "pager");
	snprintf(look.daemon.consumer[31].name, sizeof(look.daemon.consumer[31].name), "%s", "router");
	assert_string_equal(sample_consumers(&look, 1, text), "pager");
	assert_string_equal(sample_consumers(&look, 1U << 31 | 1, text), "pager,router");
	assert_string_equal(sample_consumers(&look, 0, text), "");
	/* A dead one's names mean nothing; too long a list is cut off. */
	look.lives = false;
	assert_string_equal(sample_consumers(&look, 1, text), "");
	look.lives = true;
	for (int i = 0; i < KPHI_CONSUMERS; i++)
		memset(look.daemon.consumer[i].name, 'x', KPHI_NAME_SIZE);
	assert_true(strlen(sample_consumers(&look, UINT32_MAX, text)) < SAMPLE_NAMES);
}

static void guard_in_words(void **state)
{
	struct top_look look = {.now_ns = 10000000000};
	char text[SAMPLE_GUARD];

	(void)state;
	assert_string_equal(sample_guard(&look, text), "no stalls");
	look.guard.last_end_ns = 7000000000;
	look.guard.last_length_ns = 812000000;
	assert_string_equal(sample_guard(&look, text), "last stall 812ms, 3s ago");
	look.guard.stalled = 1;
	look.guard.cpu = 3;
	look.guard.open_ns = 1500000000;
	assert_string_equal(sample_guard(&look, text), "CPU 3 STALLED for 1.5s");
}

static void phi_in_seven_columns(void **state)
{
	struct top_row r = row_of(0, "a");
	char text[CELL_SIZE];

	(void)state;
	for (q32_t phi = 1; phi < PHI_MAX / 2; phi *= 2) {
		r.phi = phi;
		assert_in_range(strlen(cell_phi(&r, text)), 1, 7);
	}
	r.phi = (999ULL << 32) - 1;
	assert_string_equal(cell_phi(&r, text), "999.000");
	r.phi = PHI_MAX;
	assert_string_equal(cell_phi(&r, text), ">=1e7");
	r.judged = false;
	assert_string_equal(cell_phi(&r, text), "-");
}

static void the_filter_is_edited(void **state)
{
	char text[6] = "";

	(void)state;
	assert_true(key_edit(text, sizeof(text), 'q'));
	assert_true(key_edit(text, sizeof(text), 0xc3));
	assert_true(key_edit(text, sizeof(text), 0xa4));
	assert_string_equal(text, "q\xc3\xa4");
	assert_true(key_edit(text, sizeof(text), 127)); /* a character, not a byte */
	assert_string_equal(text, "q");
	for (int i = 0; i < 9; i++)
		assert_true(key_edit(text, sizeof(text), 'x'));
	assert_string_equal(text, "qxxxx");
	for (int i = 0; i < 9; i++)
		assert_true(key_edit(text, sizeof(text), 8));
	assert_string_equal(text, "");
	assert_false(key_edit(text, sizeof(text), '\n'));
	assert_false(key_edit(text, sizeof(text), 27));
	assert_false(key_edit(text, sizeof(text), 0x102));
}

static void intervals_step_by_step(void **state)
{
	(void)state;
	assert_int_equal(key_interval_ns(1000000000, true), 2000000000);
	assert_int_equal(key_interval_ns(1000000000, false), 500000000);
	assert_int_equal(key_interval_ns(1500000000, false), 1000000000);
	assert_int_equal(key_interval_ns(100000000, false), 100000000);
	assert_int_equal(key_interval_ns(60000000000, true), 60000000000);
	assert_int_equal(key_interval_ns(3600000000000, true), 3600000000000);
	assert_int_equal(key_interval_ns(3600000000000, false), 60000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order),
		cmocka_unit_test(equals_stand_by_name_and_down_comes_first),
		cmocka_unit_test(sorted_whatever_comes),
		cmocka_unit_test(filters),
		cmocka_unit_test(the_past),
		cmocka_unit_test(the_daemon_outranks_a_look),
		cmocka_unit_test(consumers_by_name),
		cmocka_unit_test(guard_in_words),
		cmocka_unit_test(phi_in_seven_columns),
		cmocka_unit_test(the_filter_is_edited),
		cmocka_unit_test(intervals_step_by_step),
	};

	return cmocka_run_group_tests_name("top_model", tests, NULL, NULL);
}
