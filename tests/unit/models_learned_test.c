// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The models that learn how long to wait, from a window to a suspicion level and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <kphi/window.h>

#include "core/models.h"
#include "unit/random.h"

#define MS     1000000ULL
#define SEC    (1000 * MS)
#define WINDOW 1000

static const uint8_t learned[] = {KPHI_MODEL_LOSS, KPHI_MODEL_EMPIRICAL};

struct subject {
	struct kphi_window w;
	struct kphi_peer p;
	uint64_t ring[KPHI_RING_SIZE(WINDOW)];
};

static void begin(struct subject *s, uint8_t model, uint64_t interval_ns)
{
	s->p = (struct kphi_peer){.model = model, .interval_ns = interval_ns};
	kphi_window_begin(&s->w, &s->p);
}

static void add(struct subject *s, uint64_t interval_ns, uint64_t steps)
{
	kphi_window_take(&s->w, s->ring, WINDOW, 0, interval_ns, steps);
}

static struct kphi_estimate estimate(const struct subject *s)
{
	struct kphi_estimate e;

	assert_true(estimate_from_window(&e, &s->w, &s->p, s->ring));
	assert_int_equal(e.model, s->p.model);
	assert_int_equal(e.pause_ns, 0);
	return e;
}

/* --- what they judge by --- */

static void learning_peers_are_not_judged(void **state)
{
	static struct subject s;
	struct kphi_estimate e = {.n = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(learned); i++) {
		begin(&s, learned[i], 0);
		for (int n = 0; n < KPHI_LEARN_RUN; n++) {
			assert_false(estimate_from_window(&e, &s.w, &s.p, s.ring));
			assert_false(estimate_moments(&e, &s.w, &s.p));
			assert_int_equal(e.n, 77);
			add(&s, 100 * MS, 1);
		}
		e = estimate(&s);
		/* Eight beats are no proof that none is lost: `loss` waits for nine intervals. */
		assert_in_range(estimate_silence(&e, 8 * Q32_ONE), 150 * MS, 1000 * MS);
		e.n = 77;
	}
}

static void nothing_lost_is_the_normal_model_without_a_pause(void **state)
{
	static struct subject s;
	struct kphi_estimate loss, normal;

	(void)state;
	begin(&s, KPHI_MODEL_LOSS, 100 * MS);
	for (uint64_t i = 0; i < WINDOW; i++)
		add(&s, (95 + i % 11) * MS, 1);
	loss = estimate(&s);
	s.p.model = KPHI_MODEL_NORMAL;
	s.p.set = KPHI_SET_PAUSE;
	normal = estimate(&s);
	assert_int_equal(loss.n, normal.n);
	assert_int_equal(loss.sum_ns, normal.sum_ns);
	assert_int_equal(loss.scale_ns, normal.scale_ns);
	/* The least silence that a first lost beat explains, at p = 1/1002: below it, the delays decide. */
	assert_true(estimate_phi(&loss, 120 * MS) <= estimate_phi(&normal, 120 * MS));
	assert_true(estimate_phi(&loss, 105 * MS) > estimate_phi(&normal, 105 * MS) * 9 / 10);
	assert_in_range(estimate_silence(&loss, 8 * Q32_ONE), 300 * MS, 360 * MS);
}

static void losses_are_no_delays(void **state)
{
	static struct subject s;
	struct kphi_estimate e;

	(void)state;
	begin(&s, KPHI_MODEL_LOSS, 100 * MS);
	for (int i = 0; i < 500; i++) {
		add(&s, 100 * MS, 1);
		add(&s, 300 * MS, 3);
	}
	e = estimate(&s);
	assert_int_equal(e.n, 500);
	assert_int_equal(e.sum_ns, 500 * 100 * MS);
	assert_int_equal(e.scale_ns, 500 * 10 * MS); /* the floor */
	s.p.set = KPHI_SET_MIN_STD;
	e = estimate(&s);
	assert_int_equal(e.scale_ns, 1);
	s.p.min_std_ns = 40 * MS;
	e = estimate(&s);
	assert_int_equal(e.scale_ns, 500 * 40 * MS);
}

/* As `kphi peer show` has it: p = (r w / b + 1) / (w + 2), with w = 1000 of b = 1002 intervals. */
static void what_the_path_is_taken_for(void **state)
{
	static struct subject s;
	uint64_t p, q;

	(void)state;
	begin(&s, KPHI_MODEL_LOSS, 100 * MS);
	window_loss_ppm(&s.w, &p, &q);
	assert_int_equal(p, 500000);
	assert_int_equal(q, 500000);
	for (int i = 0; i < 1000; i++)
		add(&s, 100 * MS, 1);
	window_loss_ppm(&s.w, &p, &q);
	assert_int_equal(p, 1000000 / 1002);
	assert_int_equal(q, p); /* nothing was lost for long: losses would be independent */
	for (int i = 0; i < 1000; i++)
		add(&s, (i % 10 ? 100 : 200) * MS, i % 10 ? 1 : 2);
	window_loss_ppm(&s.w, &p, &q);
	assert_in_range(p, 50000, 51000); /* half as often in twice as many */
	assert_in_range(q, 21000, 23000); /* (4 q0) / (50 + 4), q0 = p + 100 / (4 * 101) */
}

/* A window in which every interval lost something says nothing of delays: the seed does. What it says of
 * losses counts. */
static void without_clean_intervals_the_seed_judges(void **state)
{
	static struct subject lossy, empty;
	struct kphi_estimate e, seed;

	(void)state;
	begin(&lossy, KPHI_MODEL_LOSS, 100 * MS);
	begin(&empty, KPHI_MODEL_LOSS, 100 * MS);
	seed = estimate(&empty);
	assert_int_equal(seed.n, 1);
	assert_int_equal(seed.sum_ns, 100 * MS);
	assert_int_equal(seed.scale_ns, 25 * MS);
	add(&lossy, 100 * MS, 1); /* one is not enough */
	for (int i = 0; i < 900; i++)
		add(&lossy, 200 * MS, 2);
	e = estimate(&lossy);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.scale_ns, 25 * MS);
	assert_true(estimate_phi(&e, 150 * MS) < Q32_ONE / 20); /* one is lost nearly every time */
	assert_true(estimate_phi(&seed, 150 * MS) > Q32_ONE / 5);
	add(&lossy, 120 * MS, 1);
	e = estimate(&lossy);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.sum_ns, 220 * MS);
}

static void an_empirical_seed_needs_no_ring(void **state)
{
	static struct subject s;
	struct kphi_estimate without, with;

	(void)state;
	begin(&s, KPHI_MODEL_EMPIRICAL, 100 * MS);
	add(&s, 90 * MS, 1);
	with = estimate(&s);
	assert_true(estimate_from_window(&without, &s.w, &s.p, NULL));
	assert_true(estimate_silence(&with, 8 * Q32_ONE) == estimate_silence(&without, 8 * Q32_ONE));
	assert_true(estimate_phi(&without, 50 * MS) <= estimate_phi(&without, 500 * MS));
	for (int i = 0; i < 100; i++)
		add(&s, (i % 10 ? 90 : 700) * MS, 1);
	assert_true(estimate_from_window(&without, &s.w, &s.p, NULL));
	assert_int_equal(without.empirical.n, 1);
	with = estimate(&s);
	assert_int_equal(with.empirical.n, 101);
	assert_true(estimate_silence(&with, 8 * Q32_ONE) > 700 * MS);
}

/* The floor of the deviation is what a window of equal intervals is judged by. */
static void an_empirical_floor(void **state)
{
	static struct subject s;
	struct kphi_estimate tight, wide;

	(void)state;
	begin(&s, KPHI_MODEL_EMPIRICAL, 100 * MS);
	for (int i = 0; i < WINDOW; i++)
		add(&s, 100 * MS, 1);
	s.p.set = KPHI_SET_MIN_STD;
	s.p.min_std_ns = MS;
	tight = estimate(&s);
	s.p.min_std_ns = 30 * MS;
	wide = estimate(&s);
	assert_true(estimate_silence(&tight, 8 * Q32_ONE) < 120 * MS);
	assert_true(estimate_silence(&wide, 8 * Q32_ONE) > 400 * MS);
}

/* --- and back --- */

/* Of any length, spread and losses, with any floor. */
static void random_subject(struct subject *s, uint64_t *random, uint8_t model)
{
	uint64_t interval = 1000 + random_magnitude(random, 41), n = random_below(random, 80);
	uint64_t spread = interval / (1 + random_below(random, 40)), one_in = 1 + random_below(random, 30);

	begin(s, model, interval);
	if (!random_below(random, 3)) {
		s->p.set = KPHI_SET_MIN_STD;
		s->p.min_std_ns = random_magnitude(random, 47);
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t steps = random_below(random, one_in) ? 1 : 1 + random_below(random, 8);

		add(s, steps * interval - spread / 2 + random_below(random, spread + 1), steps);
	}
}

static q32_t random_threshold(uint64_t *random)
{
	switch (random_below(random, 4)) {
	case 0:
		return (1 + random_below(random, 20)) * Q32_ONE;
	case 1:
		return 1 + random_below(random, 3 * Q32_ONE);
	case 2:
		return PHI_MAX - random_magnitude(random, 34);
	default:
		return 1 + random_magnitude(random, 62);
	}
}

static void assert_exact(const struct kphi_estimate *e, q32_t phi)
{
	uint64_t t = estimate_silence(e, phi);
	struct threshold ready;

	threshold_prepare(&ready, phi);
	assert_true(estimate_silence_at(e, &ready) == t);
	if (phi > PHI_MAX)
		assert_true(t == UINT64_MAX);
	else if (t == UINT64_MAX)
		assert_true(estimate_phi(e, UINT64_MAX - 1) < phi);
	else if (estimate_phi(e, t) < phi || (t && estimate_phi(e, t - 1) >= phi))
		fail_msg("%s: %" PRIu64 " is not the first to reach %" PRIu64, model_name(e->model), t, phi);
}

static void inverses_are_exact(void **state)
{
	static struct subject s;
	uint64_t random = 5;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct kphi_estimate e;

		random_subject(&s, &random, learned[i % 2]);
		e = estimate(&s);
		assert_true(estimate_silence(&e, 0) == 0);
		for (int k = 0; k < 4; k++)
			assert_exact(&e, random_threshold(&random));
	}
}

static void phi_never_falls(void **state)
{
	static struct subject s;
	uint64_t random = 6;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		uint64_t t = 0;
		struct kphi_estimate e;
		q32_t before = 0;

		random_subject(&s, &random, learned[i % 2]);
		e = estimate(&s);
		while (t < UINT64_MAX / 4) {
			q32_t phi = estimate_phi(&e, t);

			assert_true(phi >= before && phi <= PHI_MAX);
			before = phi;
			t += random_below(&random, 3) ? 1 : t / 2 + random_magnitude(&random, 40);
		}
		assert_true(estimate_phi(&e, UINT64_MAX) >= before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learning_peers_are_not_judged),
		cmocka_unit_test(nothing_lost_is_the_normal_model_without_a_pause),
		cmocka_unit_test(losses_are_no_delays),
		cmocka_unit_test(what_the_path_is_taken_for),
		cmocka_unit_test(without_clean_intervals_the_seed_judges),
		cmocka_unit_test(an_empirical_seed_needs_no_ring),
		cmocka_unit_test(an_empirical_floor),
		cmocka_unit_test(inverses_are_exact),
		cmocka_unit_test(phi_never_falls),
	};

	return cmocka_run_group_tests_name("models_learned", tests, NULL, NULL);
}
