// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The yardsticks against the numbers of those who defined them, and against their formulas written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "replay/detector.h"
#include "unit/random.h"

#define MS        1e6 /* ns */
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define ARRIVED   400 /* arrivals of a random stream */
#define NEVER_SET 0

/* A detector at work: its state is memory of exactly the size it asked for. */
struct bench {
	const struct detector *detector;
	struct detector_settings settings;
	double parameter; /* by which it learns, if that matters */
	void *state;
};

static void begin(struct bench *b, const struct detector *d, struct detector_settings settings,
		  double parameter)
{
	*b = (struct bench){d, settings, parameter, malloc(d->size(&settings) + !d->size(&settings))};
	d->init(b->state, &b->settings);
}

static void arrive_steps(struct bench *b, double silence_ms, uint64_t steps)
{
	struct detector_arrival a = {(uint64_t)llround(silence_ms * MS), steps, b->settings.interval_ns};

	b->detector->arrive(b->state, &a, b->parameter);
}

static void arrive(struct bench *b, double silence_ms)
{
	arrive_steps(b, silence_ms, 1);
}

static double deadline_ms(const struct bench *b, double parameter)
{
	return b->detector->deadline(b->state, parameter) / MS;
}

static void end(struct bench *b)
{
	free(b->state);
}

#define assert_near(a, b, within)                                                                            \
	do {                                                                                                 \
		double a_ = (a), b_ = (b);                                                                   \
                                                                                                             \
		if (!(fabs(a_ - b_) <= (within)))                                                            \
			fail_msg("%s is %.9f, expected %.9f", #a, a_, b_);                                   \
	} while (0)

static struct detector_settings every_second(uint32_t window, double min_std_ms, double pause_ms)
{
	return (struct detector_settings){window, 1000000000, (uint64_t)(min_std_ms * MS),
					  (uint64_t)(pause_ms * MS), NEVER_SET};
}

/* --- timeouts */

static void fixed_is_fixed(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, &detector_fixed, every_second(8, 0, 0), 0);
	arrive(&b, 5000);
	assert_near(deadline_ms(&b, 2500 * MS), 2500, 0);
	end(&b);
}

/* FRR's manual: multiplier 3, agreed interval 300 ms; BIRD's defaults: 5 times 100 ms. */
static void bfd_multiplies(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, &detector_bfd, (struct detector_settings){.window = 8, .interval_ns = 300000000}, 3);
	assert_near(deadline_ms(&b, 3), 900, 0);
	b.settings.interval_ns = 100000000; /* negotiated anew */
	arrive(&b, 240);
	assert_near(deadline_ms(&b, 5), 500, 0);
	end(&b);
}

/* R = 1000, 1050, 1800, 1010 by the arithmetic of RFC 6298, section 2. */
static void jacobson_as_rfc_6298(void **state)
{
	static const double r[] = {1000, 1050, 1800, 1010}, rto[] = {3000, 2556.25, 3061.72, 2656.19};
	struct bench b;

	(void)state;
	begin(&b, &detector_jacobson, every_second(8, 0, 0), 4);
	for (size_t i = 0; i < COUNT(r); i++) {
		arrive(&b, r[i]);
		assert_near(deadline_ms(&b, 4), rto[i], 0.005);
	}
	assert_near(deadline_ms(&b, 0), 1093.54, 0.005); /* SRTT alone */
	end(&b);
}

/* --- freshness points */

/* Beats sent at 0, 1, 2 s arrive 100, 130 and 90 ms later: the next is expected at 3 s + 106.67 ms. */
static void chen_by_hand(void **state)
{
	struct detector_settings settings = every_second(8, 0, 0);
	struct bench b;

	(void)state;
	settings.period_ns = 1000000000;
	begin(&b, &detector_chen, settings, 0);
	assert_near(deadline_ms(&b, 50 * MS), 1050, 1e-6);
	arrive(&b, 1030);
	arrive(&b, 960);
	assert_near(deadline_ms(&b, 0), 3000 + 320 / 3.0 - 2090, 1e-6);
	assert_near(deadline_ms(&b, 200 * MS), 3000 + 320 / 3.0 - 2090 + 200, 1e-6);
	end(&b);
}

/* A whole stream as one would write it down: absolute times, absolute numbers. */
struct stream {
	long double at_ms[ARRIVED], number[ARRIVED];
	size_t n;
};

struct window {
	long double mean_at, mean_number, slope;
	size_t n;
};

/* The last `size` arrivals, summed anew. */
static struct window window_of(const struct stream *s, size_t size)
{
	struct window w = {.n = s->n < size ? s->n : size};
	long double product = 0, square = 0;

	for (size_t i = s->n - w.n; i < s->n; i++) {
		w.mean_at += s->at_ms[i] / (long double)w.n;
		w.mean_number += s->number[i] / (long double)w.n;
	}
	for (size_t i = s->n - w.n; i < s->n; i++) {
		product += (s->at_ms[i] - w.mean_at) * (s->number[i] - w.mean_number);
		square += (s->number[i] - w.mean_number) * (s->number[i] - w.mean_number);
	}
	w.slope = square > 0 ? product / square : 1000;
	return w;
}

/* EA of the beat `ahead` numbers after the last, as an absolute time: mean(A - eta s) + eta (l + ahead). */
static long double expected_at(const struct stream *s, const struct window *w, long double eta, int ahead)
{
	return w->mean_at - eta * w->mean_number + eta * (s->number[s->n - 1] + ahead);
}

static uint64_t some_steps(uint64_t *random)
{
	return random_below(random, 10) ? 1 : 1 + random_below(random, 5);
}

/* A period that nobody knows, jitter, and losses. */
static double some_silence(uint64_t *random, uint64_t steps)
{
	return 997.3 * (double)steps + (double)random_below(random, 200000) / 1000 - 100;
}

static void add(struct stream *s, double silence_ms, uint64_t steps)
{
	s->at_ms[s->n] = s->at_ms[s->n - 1] + llround(silence_ms * MS) / MS;
	s->number[s->n] = s->number[s->n - 1] + (long double)steps;
	s->n++;
}

static void chen_and_two_windows_recomputed(uint32_t window, uint64_t period_ns)
{
	struct detector_settings settings = every_second(window, 0, 0);
	struct stream s = {.n = 1};
	struct bench chen, two;
	uint64_t random = window;

	settings.period_ns = period_ns;
	begin(&chen, &detector_chen, settings, 0);
	begin(&two, &detector_two_windows, settings, 0);
	while (s.n < ARRIVED) {
		uint64_t steps = some_steps(&random);
		double silence = some_silence(&random, steps), last, long_ea, short_ea;
		long double eta;
		struct window w;

		add(&s, silence, steps);
		arrive_steps(&chen, silence, steps);
		arrive_steps(&two, silence, steps);
		w = window_of(&s, window);
		eta = period_ns ? (long double)period_ns / MS : w.slope;
		last = (double)s.at_ms[s.n - 1];
		long_ea = (double)expected_at(&s, &w, eta, 1);
		short_ea = last + (double)eta;
		assert_near(deadline_ms(&chen, 70 * MS), long_ea - last + 70, 1e-4);
		assert_near(deadline_ms(&two, 70 * MS), fmax(long_ea, short_ea) - last + 70, 1e-4);
	}
	end(&chen);
	end(&two);
}

static void expected_arrivals_recomputed(void **state)
{
	static const uint32_t windows[] = {2, 3, 8, 100, 1000};

	(void)state;
	for (size_t i = 0; i < COUNT(windows); i++) {
		chen_and_two_windows_recomputed(windows[i], 1000000000);
		chen_and_two_windows_recomputed(windows[i], NEVER_SET);
	}
}

/* The recursions of the paper, with absolute times. */
static void bertier_recomputed(void **state)
{
	struct detector_settings settings = every_second(50, 0, 0);
	double delay = 0, variation = 500;
	struct stream s = {.n = 1};
	uint64_t random = 11;
	struct bench b;

	(void)state;
	settings.period_ns = 1000000000;
	begin(&b, &detector_bertier, settings, 0);
	while (s.n < ARRIVED) {
		uint64_t steps = some_steps(&random);
		double silence = some_silence(&random, steps), error;
		struct window w = window_of(&s, 50);
		double expected = (double)expected_at(&s, &w, 1000, (int)steps);

		add(&s, silence, steps);
		arrive_steps(&b, silence, steps);
		error = (double)s.at_ms[s.n - 1] - expected - delay;
		delay += 0.1 * error;
		variation += 0.1 * (fabs(error) - variation);
		w = window_of(&s, 50);
		expected = (double)(expected_at(&s, &w, 1000, 1) - s.at_ms[s.n - 1]);
		assert_near(deadline_ms(&b, 4), expected + delay + 4 * variation, 1e-4);
	}
	end(&b);
}

/* A sender that jumps by 2^60 numbers, and a silence of years: nonsense, but no trouble. */
static void expected_arrivals_survive(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, &detector_chen, every_second(8, 0, 0), 0);
	for (int i = 0; i < 100; i++) {
		struct detector_arrival a = {i % 10 == 3 ? 1ULL << 56 : 1000000000, i % 7 ? 1 : 1ULL << 60,
					     1000000000};

		b.detector->arrive(b.state, &a, 0);
		assert_true(isfinite(deadline_ms(&b, 0)));
	}
	for (int i = 0; i < 8; i++)
		arrive(&b, 1000);
	assert_near(deadline_ms(&b, 0), 1000, 1e-6); /* nothing of it is left behind */
	end(&b);
}

/* --- accrual */

/* Pekko's own sequences; a threshold's deadline is the time at which phi has that value. */
static void akka_sequences(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, &detector_akka, every_second(1000, 100, 0), 8);
	assert_near(deadline_ms(&b, 0.301029996), 1000, 1e-3);
	assert_near(deadline_ms(&b, 4.736694583), 2000, 1e-3);
	assert_near(deadline_ms(&b, 21.241600212), 3000, 1e-3);
	end(&b);
	begin(&b, &detector_akka, every_second(1000, 100, 0), 8);
	arrive(&b, 200);
	assert_near(deadline_ms(&b, 0.031512294), 100, 1e-3);
	end(&b);
	begin(&b, &detector_akka, every_second(1000, 100, 0), 8);
	arrive(&b, 1000);
	arrive(&b, 100);
	assert_near(deadline_ms(&b, 0.025714294), 100, 1e-2);
	assert_near(deadline_ms(&b, 109.210582130), 7100, 1e-3);
	end(&b);
}

/* Akka's logistic reaches these thresholds at these y. */
static void akka_thresholds(void **state)
{
	static const struct {
		double phi, y;
	} facts[] = {{0.5, 0.477880}, {1, 1.282215},  {2, 2.322746},  {3, 3.058938},  {5, 4.119191},
		     {8, 5.225987},   {10, 5.799025}, {12, 6.292124}, {16, 7.119681}, {20, 7.807122}};
	struct bench b;

	(void)state;
	begin(&b, &detector_akka, every_second(1000, 1000, 0), 8); /* the floor is the unit */
	for (size_t i = 0; i < COUNT(facts); i++)
		assert_near(deadline_ms(&b, facts[i].phi), 1000 + 1000 * facts[i].y, 1e-3);
	assert_near(deadline_ms(&b, 0), 0, 0);
	end(&b);
}

/* The defaults of a cluster and of a remote watch, and what an outage of 300 s does to a port. */
static void akka_and_its_ports(void **state)
{
	struct bench akka, port, remote;

	(void)state;
	begin(&akka, &detector_akka, every_second(1000, 100, 3000), 8);
	begin(&port, &detector_akka_port, every_second(1000, 100, 3000), 8);
	begin(&remote, &detector_akka, every_second(200, 100, 10000), 10);
	assert_near(deadline_ms(&akka, 8), 5306, 1);
	for (int i = 0; i < 1000; i++) {
		arrive(&akka, 1000);
		arrive(&port, 1000);
		arrive(&remote, 1000);
	}
	assert_near(deadline_ms(&akka, 8), 4522.6, 0.1);
	assert_near(deadline_ms(&port, 8), 4522.6, 0.1);
	assert_near(deadline_ms(&remote, 10), 11580, 1);
	arrive(&akka, 300000);
	arrive(&port, 300000);
	assert_near(deadline_ms(&akka, 8), 4522.6, 0.1);
	assert_near(deadline_ms(&port, 8), 53687, 1);
	end(&akka);
	end(&port);
	end(&remote);
}

/* The first value of 2 s fades as intervals of 1 s come in. */
static void cassandra_fades(void **state)
{
	static const struct {
		int n;
		double seconds;
	} facts[] = {{0, 36.8414},  {1, 27.6310},   {2, 24.5609},  {5, 21.4908},
		     {10, 20.0953}, {100, 18.6031}, {999, 18.4391}};
	struct bench b;
	int n = 0;

	(void)state;
	begin(&b, &detector_cassandra, every_second(1000, 0, 0), 8);
	for (size_t i = 0; i < COUNT(facts); i++) {
		for (; n < facts[i].n; n++)
			arrive(&b, 1000);
		assert_near(deadline_ms(&b, 8) / 1000, facts[i].seconds, 1e-4);
	}
	arrive(&b, 2000.001); /* above the maximum: not recorded */
	assert_near(deadline_ms(&b, 8) / 1000, 18.4391, 1e-4);
	arrive(&b, 1000); /* the first value leaves the window */
	assert_near(deadline_ms(&b, 8) / 1000, 18.4207, 1e-4);
	arrive(&b, 2000);
	assert_near(deadline_ms(&b, 8) / 1000, 18.4391, 1e-4);
	end(&b);
}

/* Its own test: a window of four, beats every 111 ms; at 666 phi is 1.0 unscaled, at 3000 22.027027. */
static void cassandra_window_of_four(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, &detector_cassandra, every_second(4, 0, 0), 8);
	for (int i = 0; i < 4; i++)
		arrive(&b, 111);
	assert_near(deadline_ms(&b, 0.4342944819), 666 - 555, 1e-4);
	assert_near(deadline_ms(&b, 9.566216), 3000 - 555, 1e-2);
	end(&b);
}

/* --- all of them */

/* More of the parameter is never less patience; every state stays within its memory (sanitizers). */
static void parameters_are_patience(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (size_t i = 0; detectors[i]; i++) {
		double unit = detectors[i]->unit == DETECTOR_TIME ? 100 * MS : 1;
		struct bench b;

		assert_ptr_equal(detector_by_name(detectors[i]->name), detectors[i]);
		begin(&b, detectors[i], every_second(8, 100, 3000), 3 * unit);
		for (int n = 0; n < ARRIVED; n++) {
			uint64_t steps = some_steps(&random);

			for (int p = 0; p < 40; p++)
				assert_true(deadline_ms(&b, p * unit / 2) <=
					    deadline_ms(&b, (p + 1) * unit / 2));
			arrive_steps(&b, some_silence(&random, steps), steps);
		}
		end(&b);
	}
	assert_null(detector_by_name("chens"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_is_fixed),
		cmocka_unit_test(bfd_multiplies),
		cmocka_unit_test(jacobson_as_rfc_6298),
		cmocka_unit_test(chen_by_hand),
		cmocka_unit_test(expected_arrivals_recomputed),
		cmocka_unit_test(bertier_recomputed),
		cmocka_unit_test(expected_arrivals_survive),
		cmocka_unit_test(akka_sequences),
		cmocka_unit_test(akka_thresholds),
		cmocka_unit_test(akka_and_its_ports),
		cmocka_unit_test(cassandra_fades),
		cmocka_unit_test(cassandra_window_of_four),
		cmocka_unit_test(parameters_are_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
