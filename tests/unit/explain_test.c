// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `kphi peer explain` makes of a record, in figures and by Bayes' rule; explain_page_test.c has the
 * words. */
#include <kphi/record.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/peer_explain.h"
#include "core/silence.h"
#include "io/parse.h"
#include "unit/random.h"

#define MS           1000000ULL
#define S            1000000000ULL
#define SIZE         64
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static struct kphi_window window;
static uint64_t ring[KPHI_RING_SIZE(SIZE)];

static int an_empty_window(void **state)
{
	(void)state;
	window = (struct kphi_window){.interval_ns = S, .cap_ns = 100 * S};
	return 0;
}

static void hear(uint64_t interval_ns, uint64_t steps)
{
	kphi_window_take(&window, ring, SIZE, 100 * S, interval_ns, steps);
}

static struct explain_thresholds thresholds(size_t n, const q32_t *phi)
{
	struct explain_thresholds t = {.n = n};

	for (size_t i = 0; i < n; i++)
		threshold_prepare(&t.at[i], phi[i]);
	return t;
}

/* Each column is what the model says when it is the peer's own, and each crossing is where its phi gets
 * there. */
static void every_model_is_core_s_own(void **state)
{
	static const q32_t phi[] = {Q32_ONE / 2, Q32_ONE,      3 * Q32_ONE,
				    8 * Q32_ONE, 12 * Q32_ONE, PHI_MAX + 1};
	struct explain_thresholds t = thresholds(COUNT(phi), phi);
	struct kphi_peer peer = {.pause_ns = 300 * MS, .set = KPHI_SET_PAUSE};
	struct explain_model models[KPHI_MODELS];
	uint64_t seed = 1;

	(void)state;
	for (int turn = 0; turn < 50; turn++) {
		uint64_t silence_ns = random_below(&seed, 5 * S), steps = 1 + random_below(&seed, 20) / 19;

		hear(steps * S - 50 * MS + random_below(&seed, 100 * MS), steps);
		peer.model = (uint8_t)(turn % KPHI_MODELS); /* the peer's own makes no difference */
		assert_true(explain_models(models, &window, &peer, ring, silence_ns, &t));
		for (unsigned int model = 0; model < KPHI_MODELS; model++) {
			struct kphi_peer own = peer;
			struct kphi_estimate e;

			own.model = (uint8_t)model;
			assert_true(estimate_from_window(&e, &window, &own, ring));
			assert_true(models[model].phi == estimate_phi(&e, silence_ns));
			for (size_t i = 0; i + 1 < COUNT(phi); i++) {
				uint64_t reach_ns = models[model].reach_ns[i];

				assert_true(reach_ns == estimate_silence(&e, phi[i]));
				assert_true(estimate_phi(&e, reach_ns) >= phi[i]);
				assert_true(!reach_ns || estimate_phi(&e, reach_ns - 1) < phi[i]);
				assert_true((models[model].phi >= phi[i]) == (silence_ns >= reach_ns));
			}
			assert_true(models[model].reach_ns[COUNT(phi) - 1] == UINT64_MAX);
		}
	}
}

static void assert_phi(q32_t phi, double expected)
{
	assert_true(fabs((double)phi / (double)Q32_ONE - expected) < 1e-6);
}

/* The worked numbers that every implementation should reproduce: mean 1000 ms, deviation 50 or 100 ms. */
static void the_published_numbers(void **state)
{
	static const q32_t eight = 8 * Q32_ONE;
	struct explain_thresholds t = thresholds(1, &eight);
	struct kphi_peer peer = {.set = KPHI_SET_PAUSE | KPHI_SET_MIN_STD};
	struct explain_model models[KPHI_MODELS];

	(void)state;
	hear(950 * MS, 1);
	hear(1050 * MS, 1);
	assert_true(explain_models(models, &window, &peer, ring, 1200 * MS, &t));
	assert_phi(models[KPHI_MODEL_NORMAL].phi, 4.499335);
	assert_phi(models[KPHI_MODEL_AKKA].phi, 4.736695);
	assert_true(models[KPHI_MODEL_NORMAL].reach_ns[0] / 100000 == 12806);
	assert_true(models[KPHI_MODEL_EXPONENTIAL].reach_ns[0] / 100000 == 184206);
	assert_true(explain_models(models, &window, &peer, ring, 1300 * MS, &t));
	assert_phi(models[KPHI_MODEL_NORMAL].phi, 9.005864);
	peer.min_std_ns = 100 * MS;
	assert_true(explain_models(models, &window, &peer, ring, 1500 * MS, &t));
	assert_phi(models[KPHI_MODEL_NORMAL].phi, 6.542646);
	assert_phi(models[KPHI_MODEL_EXPONENTIAL].phi, 0.651442);
	peer.pause_ns = 3 * S;
	assert_true(explain_models(models, &window, &peer, ring, 0, &t));
	assert_true(models[KPHI_MODEL_AKKA].reach_ns[0] / 100000 == 45225);
}

static void nothing_is_judged_while_learning(void **state)
{
	static const q32_t eight = 8 * Q32_ONE;
	struct explain_thresholds t = thresholds(1, &eight);
	struct explain_model models[KPHI_MODELS];
	struct kphi_peer peer = {0};

	(void)state;
	window.interval_ns = 0;
	assert_false(explain_models(models, &window, &peer, ring, S, &t));
	window.interval_ns = 1;
	assert_true(explain_models(models, &window, &peer, ring, S, &t));
}

static void the_clean_ones_are_told_apart(void **state)
{
	struct kphi_window clean;

	(void)state;
	assert_true(explain_largest_ns(ring, 0) == 0);
	hear(900 * MS, 1);
	hear(3000 * MS, 3);
	hear(1100 * MS, 1);
	clean = explain_clean(&window);
	assert_int_equal(clean.n, 2);
	assert_true(window_mean_ns(&clean) == S && window_stddev_ns(&clean) == 100 * MS);
	assert_true(explain_largest_ns(ring, window.n) == 3 * S);
	assert_true(explain_largest_ns(ring, 1) == 900 * MS);
}

/* Laplace's rule: 4 of 98, and two more, one of which was lost. */
static void chances_have_their_prior(void **state)
{
	struct kphi_losses l = {.beats = 98, .runs = 4, .lost = 8, .lost_long = 8};
	q32_t p, q;

	(void)state;
	explain_chances(&l, &p, &q);
	assert_phi(p, 0.05);
	/* (8 - 4 + 4 q0) / (8 + 4), q0 = p + 8 / (4 * 9) */
	assert_phi(q, (4 + 4 * (0.05 + 8.0 / 36)) / 12);
	l = (struct kphi_losses){0};
	explain_chances(&l, &p, &q);
	assert_phi(p, 0.5);
	assert_phi(q, 0.5);
}

/* --- stalls --- */

static uint64_t sum_of(const struct explain_stall *stalls, size_t n)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < n; i++) {
		sum_ns += stalls[i].discounted_ns;
		assert_true(!i || stalls[i - 1].end_ns >= stalls[i].end_ns);
	}
	return sum_ns;
}

/* The kernel's way through stalls and beats: whatever is taken off a silence is accounted for. */
static void stalls_add_up_to_the_discount(void **state)
{
	struct kphi_record r = {.state = KPHI_UP, .window.interval_ns = S};
	struct kphi_tick t = {.last_ns = 1000 * S};
	struct explain_stall stalls[KPHI_STALLS + 1];
	uint64_t seed = 7, now_ns = 1000 * S, discounted = 0, open = 0;

	(void)state;
	for (int turn = 0; turn < 2000; turn++) {
		uint64_t gap_ns = random_below(&seed, 4) ? KPHI_TICK_NS : random_below(&seed, 3 * S);
		size_t n;

		now_ns += gap_ns;
		if (turn % 7 == 0) { /* a beat, which may come before the tick that is late */
			struct kphi_beat b = {.now_ns = now_ns};

			kphi_beat_meets_tick(&b, &t);
			r.last_ns = now_ns;
			r.stalled_copy_ns = b.stalled_total_ns;
		}
		n = explain_stalls(stalls, &r, &t, now_ns);
		assert_true(sum_of(stalls, n) == silence_discount_ns(&r, &t, now_ns));
		open += n && stalls[0].open;
		if (now_ns - t.last_ns > KPHI_TICK_LIMIT_NS) {
			t.stall[t.stalls++ % KPHI_STALLS] =
				(struct kphi_stall){.end_ns = now_ns, .length_ns = now_ns - t.last_ns};
			t.stalled_total_ns += now_ns - t.last_ns;
		}
		t.last_ns = now_ns;
		n = explain_stalls(stalls, &r, &t, now_ns);
		assert_true(sum_of(stalls, n) == silence_discount_ns(&r, &t, now_ns));
		discounted += n;
	}
	assert_true(discounted > 100 && open > 50);
}

/* --- where settings come from --- */

static void an_interval_has_an_origin(void **state)
{
	struct kphi_rule bfd = {.decoder = KPHI_DECODER_BFD, .local_rx_ns = 50 * MS};
	struct kphi_record r = {.state = KPHI_UP, .bfd = {.desired_tx_us = 300000}};
	struct kphi_peer p = {0};

	(void)state;
	assert_int_equal(explain_interval_origin(&r, &p, NULL), ORIGIN_UNKNOWN);
	r.window.interval_ns = S;
	assert_int_equal(explain_interval_origin(&r, &p, NULL), ORIGIN_LEARNED);
	p.interval_ns = S;
	assert_int_equal(explain_interval_origin(&r, &p, NULL), ORIGIN_CONFIGURED);
	r.window.interval_ns = 20 * S;
	assert_int_equal(explain_interval_origin(&r, &p, NULL), ORIGIN_RETUNED);
	assert_int_equal(explain_interval_origin(&r, &p, &bfd), ORIGIN_RETUNED);
	r.window.interval_ns = 300 * MS;
	assert_int_equal(explain_interval_origin(&r, &p, &bfd), ORIGIN_ANNOUNCED);
	bfd.local_rx_ns = 0; /* what this host requires is not known: the interval is learned */
	assert_int_equal(explain_interval_origin(&r, &p, &bfd), ORIGIN_LEARNED);
}

static void a_cap_has_an_origin(void **state)
{
	struct kphi_window w = {.cap_ns = KPHI_INTERVAL_MAX_NS};
	struct kphi_peer p = {0};

	(void)state;
	assert_int_equal(explain_cap_origin(&w, &p), ORIGIN_UNKNOWN);
	w = (struct kphi_window){.interval_ns = S, .cap_ns = 10 * S};
	assert_int_equal(explain_cap_origin(&w, &p), ORIGIN_INTERVAL);
	p.max_interval_ns = 3 * S; /* given, but retuning has left it behind */
	assert_int_equal(explain_cap_origin(&w, &p), ORIGIN_INTERVAL);
	w.cap_ns = 3 * S;
	assert_int_equal(explain_cap_origin(&w, &p), ORIGIN_CONFIGURED);
}

/* --- Bayes --- */

static void assert_posterior(const char *prior, q32_t phi, const char *expected)
{
	char why[WHY_SIZE], text[32];
	uint32_t ppb;

	assert_int_equal(prior_parse(prior, &ppb, why, sizeof(why)), 0);
	snprintf(text, sizeof(text), "%.6f", prior_posterior(ppb, phi));
	assert_string_equal(text, expected);
}

/* One phi, two very different conclusions: 1000/1099 and 1000/10999. */
static void bayes_rule(void **state)
{
	(void)state;
	assert_posterior("0.01", 3 * Q32_ONE, "0.909918");
	assert_posterior("0.0001", 3 * Q32_ONE, "0.090917");
	assert_posterior("1%", 3 * Q32_ONE, "0.909918");
	assert_posterior("0.01%", 3 * Q32_ONE, "0.090917");
	assert_posterior("0.25", 0, "0.250000"); /* a silence that says nothing leaves the prior as it was */
	assert_posterior("0.000000001", PHI_MAX, "1.000000");
	assert_posterior("0.999999999", 0, "1.000000");
}

static void priors_are_read(void **state)
{
	static const struct {
		const char *text;
		uint32_t ppb;
		const char *again;
	} cases[] = {
		{"0.5", 500000000, "50%"},
		{"50%", 500000000, "50%"},
		{"00.500000000000", 500000000, "50%"},
		{"0.000000001", 1, "0.0000001%"},
		{"0.0000001%", 1, "0.0000001%"},
		{"0.999999999", 999999999, "99.9999999%"},
		{"99.9999999%", 999999999, "99.9999999%"},
		{"10%", 100000000, "10%"},
		{"0.1%", 1000000, "0.1%"},
	};
	char why[WHY_SIZE], text[32];
	uint32_t ppb;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(prior_parse(cases[i].text, &ppb, why, sizeof(why)), 0);
		assert_int_equal(ppb, cases[i].ppb);
		assert_string_equal(prior_format(ppb, text, sizeof(text)), cases[i].again);
	}
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"0", "must be above 0 and below 1"},
		{"0.0", "must be above 0 and below 1"},
		{"1", "must be above 0 and below 1"},
		{"100%", "must be above 0 and below 1"},
		{"1.5", "must be above 0 and below 1"},
		{"99999999999999999999999999", "must be above 0 and below 1"},
		{"99999999999999999999999999%", "must be above 0 and below 1"},
		{"0.0000000001", "has too many decimals"},
		{"0.00000001%", "has too many decimals"},
		{"", "is no probability"},
		{"%", "is no probability"},
		{".5", "is no probability"},
		{"0.", "is no probability"},
		{"0.%", "is no probability"},
		{"-0.5", "is no probability"},
		{"+0.5", "is no probability"},
		{"1e-4", "is no probability"},
		{"0,5", "is no probability"},
		{"0.5 ", "is no probability"},
		{"0.5%%", "is no probability"},
		{"5% ", "is no probability"},
		{"nan", "is no probability"},
		{"0x1", "is no probability"},
		{"half", "is no probability"},
	};
	char why[WHY_SIZE];
	uint32_t ppb = 77;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(prior_parse(cases[i].text, &ppb, why, sizeof(why)) < 0);
		if (!strstr(why, cases[i].why))
			fail_msg("%s: %s", cases[i].text, why);
		assert_int_equal(ppb, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_model_is_core_s_own, an_empty_window),
		cmocka_unit_test_setup(the_published_numbers, an_empty_window),
		cmocka_unit_test_setup(nothing_is_judged_while_learning, an_empty_window),
		cmocka_unit_test_setup(the_clean_ones_are_told_apart, an_empty_window),
		cmocka_unit_test(chances_have_their_prior),
		cmocka_unit_test(stalls_add_up_to_the_discount),
		cmocka_unit_test(an_interval_has_an_origin),
		cmocka_unit_test(a_cap_has_an_origin),
		cmocka_unit_test(bayes_rule),
		cmocka_unit_test(priors_are_read),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
