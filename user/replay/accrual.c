// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Yardsticks that accrue: Akka (and Pekko), its ports, and Cassandra, with what they put into their windows.
 * kphi's own models `akka` and `exponential` are their curves over kphi's window; these are the whole
 * detectors. Their milliseconds are nanoseconds here.
 */
#include <math.h>
#include <string.h>

#include "core/fixed.h"
#include "replay/detector.h"

/* A window of intervals, in exact sums. */
struct samples {
	uint32_t size, n, next;
	uint64_t sum_ns;
	u128 squares;
	uint64_t ring[];
};

static void samples_add(struct samples *s, uint64_t x)
{
	if (s->n == s->size) {
		uint64_t oldest = s->ring[s->next];

		s->n--;
		s->sum_ns -= oldest;
		s->squares -= (u128)oldest * oldest;
	}
	s->ring[s->next] = x;
	s->next = s->next + 1 == s->size ? 0 : s->next + 1;
	s->n++;
	s->sum_ns += x;
	s->squares += (u128)x * x;
}

static double samples_mean(const struct samples *s)
{
	return (double)s->sum_ns / s->n;
}

/* Of the population. n sum(x^2) - (sum x)^2 is exact in 128 bits for intervals of up to 2^52 ns, 52 days. */
static double samples_deviation(const struct samples *s)
{
	return sqrt((double)(s->n * s->squares - (u128)s->sum_ns * s->sum_ns)) / s->n;
}

/* --- Akka: PhiAccrualFailureDetector.scala */

#define AKKA_LINEAR 1.5976
#define AKKA_CUBIC  0.070566
#define AKKA_SEED   4 /* the seeds lie this part of the first estimate to its either side */

struct akka {
	double min_std_ns, pause_ns;
	/* Of one whose threshold decides what it learns: the roots are the dear part, and it has only one. */
	double threshold, y, granted_ns; /* threshold 0: not known */
	struct samples samples;
};

static size_t akka_size(const struct detector_settings *settings)
{
	return offsetof(struct akka, samples) + sizeof(struct samples) + settings->window * sizeof(uint64_t);
}

static void akka_init(void *state, const struct detector_settings *settings)
{
	struct akka *a = state;
	uint64_t around = settings->interval_ns / AKKA_SEED;

	a->min_std_ns = (double)settings->min_std_ns;
	a->pause_ns = (double)settings->pause_ns;
	a->threshold = 0;
	memset(&a->samples, 0, sizeof(a->samples));
	a->samples.size = settings->window;
	samples_add(&a->samples, settings->interval_ns - around);
	samples_add(&a->samples, settings->interval_ns + around);
}

/*
 * The y at which log10(1 + e^(y (A + B y^2))) is phi: the one real root of y^3 + (A / B) y = ln(10^phi - 1) /
 * B, by its hyperbolic form, which loses nothing to cancellation.
 */
static double akka_y(double phi)
{
	double p = AKKA_LINEAR / AKKA_CUBIC;
	double q = (phi * M_LN10 + log1p(-pow(10, -phi))) / AKKA_CUBIC;

	return 2 * sqrt(p / 3) * sinh(asinh(1.5 * q / p * sqrt(3 / p)) / 3);
}

static double grant(const struct akka *a, double y)
{
	return samples_mean(&a->samples) + a->pause_ns +
	       y * fmax(samples_deviation(&a->samples), a->min_std_ns);
}

static double akka_deadline(const void *state, double threshold)
{
	const struct akka *a = state;

	if (threshold <= 0)
		return 0;
	return threshold == a->threshold ? a->granted_ns : grant(a, akka_y(threshold));
}

/* An interval is learned only if the peer was available at the instant that ended it. */
static void akka_arrive(void *state, const struct detector_arrival *arrival, double threshold)
{
	struct akka *a = state;

	if ((double)arrival->silence_ns >= akka_deadline(a, threshold))
		return;
	if (threshold != a->threshold)
		a->y = akka_y(threshold);
	a->threshold = threshold;
	samples_add(&a->samples, arrival->silence_ns);
	a->granted_ns = grant(a, a->y);
}

const struct detector detector_akka = {
	.name = "akka-replay",
	.source = "Akka and Pekko, PhiAccrualFailureDetector.scala: two seeds; outages are not learned",
	.parameter = "threshold",
	.usual = 8,
	.learns_by_verdict = true,
	.size = akka_size,
	.init = akka_init,
	.arrive = akka_arrive,
	.deadline = akka_deadline,
};

/* --- its ports: they move the time of the last arrival before they ask, so the peer is always available */

static void akka_port_arrive(void *state, const struct detector_arrival *arrival, double threshold)
{
	(void)threshold;
	samples_add(&((struct akka *)state)->samples, arrival->silence_ns);
}

const struct detector detector_akka_port = {
	.name = "akka-port",
	.source = "ports of Akka's detector that learn every outage as an interval",
	.parameter = "threshold",
	.usual = 8,
	.size = akka_size,
	.init = akka_init,
	.arrive = akka_port_arrive,
	.deadline = akka_deadline,
};

/*
 * --- Cassandra: FailureDetector.java. Its 2 s, both the first entry of a window and the longest interval
 * that enters it later, are two of its gossip intervals of a second; here, two of the peer's.
 */

#define CASSANDRA_SEED   2
#define CASSANDRA_FACTOR 0.4342944819032518 /* PHI_FACTOR = 1 / ln 10 */

struct cassandra {
	uint64_t longest_ns;
	struct samples samples;
};

static size_t cassandra_size(const struct detector_settings *settings)
{
	return offsetof(struct cassandra, samples) + sizeof(struct samples) +
	       settings->window * sizeof(uint64_t);
}

static void cassandra_init(void *state, const struct detector_settings *settings)
{
	struct cassandra *c = state;

	c->longest_ns = CASSANDRA_SEED * settings->interval_ns;
	memset(&c->samples, 0, sizeof(c->samples));
	c->samples.size = settings->window;
	samples_add(&c->samples, c->longest_ns);
}

static void cassandra_arrive(void *state, const struct detector_arrival *arrival, double threshold)
{
	struct cassandra *c = state;

	(void)threshold;
	if (arrival->silence_ns <= c->longest_ns)
		samples_add(&c->samples, arrival->silence_ns);
}

static double cassandra_deadline(const void *state, double threshold)
{
	return threshold / CASSANDRA_FACTOR * samples_mean(&((const struct cassandra *)state)->samples);
}

const struct detector detector_cassandra = {
	.name = "cassandra",
	.source = "Cassandra, FailureDetector.java: phi_convict_threshold, with its first value and its cap",
	.parameter = "threshold",
	.usual = 8,
	.size = cassandra_size,
	.init = cassandra_init,
	.arrive = cassandra_arrive,
	.deadline = cassandra_deadline,
};
