// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The models against the shortest correct way to say the same with libm, over the same arguments in the same
 * order. The arguments are random, so that no side's branches and tables are warm for one value only.
 */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "core/phi_empirical.h"
#include "core/phi_loss.h"
#include "kernel/clock.h"

#define ROUNDS    101
#define PASSES    16
#define ARGUMENTS 4096

/* A window of 1,000 intervals of 100 ms, for the exponential model. */
#define SAMPLES 1000
#define MEAN_NS 100000000ULL
#define SUM_NS  (SAMPLES * MEAN_NS)

/* One argument as each side wants it. */
struct argument {
	int64_t z40;
	double z;
	uint64_t t_ns; /* |z| means */
	double t;
};

struct subject {
	const char *name;
	double low, high; /* of z */
	uint64_t (*ours)(const struct argument *arguments);
	double (*libm)(const struct argument *arguments);
};

double libm_normal(double z)
{
	return -log10(0.5 * erfc(z * M_SQRT1_2));
}

/* Beyond 37 erfc() is 0 in a double: there the asymptotic series of the tail, in logarithms, to a double's
 * precision. */
static inline double libm_normal_tail(double z)
{
	double x = 1 / (z * z);
	double series = -x * (1 - x * (3 - x * (15 - x * 105)));

	if (z < 37)
		return libm_normal(z);
	return M_LOG10E * (z * z / 2 - log1p(series)) + log10(z * 2.5066282746310005);
}

/* log10(1 + e^w) in the form that does not overflow. */
static inline double libm_akka(double y)
{
	double w = y * (1.5976 + 0.070566 * y * y);

	return M_LOG10E * (fmax(w, 0) + log1p(exp(-fabs(w))));
}

static inline double libm_exponential(double t)
{
	return M_LOG10E * t / ((double)SUM_NS / SAMPLES);
}

/*
 * A path that loses one beat in fifty, in bursts of four thirds, with a deviation of a tenth of the mean: the
 * sum as it stands in phi_loss.h, for as long as a term can add to a double.
 */
#define SIGMA      0.1
#define LOSS_P     0.02
#define LOSS_AGAIN 0.25

static const struct loss_process bench_losses = {.lost = 20, .beats = 1000, .again = 250, .losses = 1000};
static struct loss_curve bench_curve;

static inline double libm_loss(double t)
{
	double means = t / MEAN_NS, first = 1 - LOSS_P, later = LOSS_P * (1 - LOSS_AGAIN), sum = 0;

	for (int k = 0;; k++) {
		double weight = k ? later * pow(LOSS_AGAIN, k - 1) : first;

		sum += weight * 0.5 * erfc((means - (k + 1)) / (SIGMA * sqrt(k + 1)) * M_SQRT1_2);
		if (k + 1 > means && weight < sum * 1e-12)
			return -log10(sum);
	}
}

/* A sender that stops for four intervals once in twenty; the ring has SAMPLES of its intervals. */
static uint64_t bench_ring[SAMPLES];
static double bench_intervals[SAMPLES];
static struct empirical_summary bench_summary;

static inline double libm_empirical(double t)
{
	double largest = (double)bench_summary.largest_ns, base = log10(SAMPLES + 1);
	int longer = 0;

	if (t >= largest)
		return base + (t - largest) / (double)bench_summary.decade_ns;
	for (int i = 0; i < SAMPLES; i++)
		longer += bench_intervals[i] > t;
	return base - log10(longer + 1);
}

static void prepare_learned(void)
{
	loss_curve_fit(&bench_curve, SAMPLES, SUM_NS, (uint64_t)(SUM_NS * SIGMA), &bench_losses);
	for (int i = 0; i < SAMPLES; i++) {
		bench_ring[i] = i % 20 ? MEAN_NS + (uint64_t)(i % 7) * MEAN_NS / 100 : 4 * MEAN_NS;
		bench_intervals[i] = (double)bench_ring[i];
	}
	empirical_summarise(&bench_summary, bench_ring, SAMPLES, MEAN_NS / 10);
}

/* A loop over all arguments, compiled on its own; the sum is used, so that no call can be left out. */
#define LOOP(type, name, call)                                                                               \
	static __attribute__((noinline)) type name(const struct argument *a)                                 \
	{                                                                                                    \
		type sum = 0;                                                                                \
                                                                                                             \
		for (int i = 0; i < ARGUMENTS; i++)                                                          \
			sum += call;                                                                         \
		return sum;                                                                                  \
	}

LOOP(uint64_t, loop_normal, phi_normal(a[i].z40))
LOOP(uint64_t, loop_akka, phi_akka(a[i].z40))
LOOP(uint64_t, loop_exponential, phi_exponential(a[i].t_ns, SAMPLES, SUM_NS))
LOOP(uint64_t, loop_loss, phi_loss(&bench_curve, a[i].t_ns))
LOOP(uint64_t, loop_empirical, phi_empirical(&bench_summary, bench_ring, a[i].t_ns))
LOOP(double, loop_libm_loss, libm_loss(a[i].t))
LOOP(double, loop_libm_empirical, libm_empirical(a[i].t))
LOOP(double, loop_libm_normal, libm_normal(a[i].z))
LOOP(double, loop_libm_normal_tail, libm_normal_tail(a[i].z))
LOOP(double, loop_libm_akka, libm_akka(a[i].z))
LOOP(double, loop_libm_exponential, libm_exponential(a[i].t))

static void fill(struct argument *a, double low, double high)
{
	uint64_t random = 1;

	for (int i = 0; i < ARGUMENTS; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		a[i].z40 =
			(int64_t)ldexp(low + (high - low) * ldexp((double)(random >> 32), -32), Z40_FRACTION);
		a[i].z = ldexp((double)a[i].z40, -Z40_FRACTION);
		a[i].t_ns = (uint64_t)(fabs(a[i].z) * MEAN_NS);
		a[i].t = (double)a[i].t_ns;
	}
}

/* Both sides have to mean the same. */
static void check(const struct subject *s, const struct argument *a)
{
	double ours = ldexp((double)s->ours(a), -32) / ARGUMENTS, libm = s->libm(a) / ARGUMENTS;

	if (!(fabs(ours - libm) < 1e-8 * (1 + libm)))
		die("%s: the mean is %.12g, and %.12g by libm", s->name, ours, libm);
}

static double per_call(uint64_t begin_ns)
{
	return (double)(clock_monotonic_ns() - begin_ns) / (PASSES * ARGUMENTS);
}

static void compare(const struct subject *s)
{
	static struct argument arguments[ARGUMENTS];
	struct series ours = {0}, libm = {0};
	volatile double sink;

	fill(arguments, s->low, s->high);
	check(s, arguments);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin;

		rest();
		begin = clock_monotonic_ns();
		for (int i = 0; i < PASSES; i++)
			sink = (double)s->ours(arguments);
		series_add(&ours, per_call(begin));
		begin = clock_monotonic_ns();
		for (int i = 0; i < PASSES; i++)
			sink = s->libm(arguments);
		series_add(&libm, per_call(begin));
	}
	(void)sink;
	printf("{\"bench\":\"%s\",\"ns\":%.2f,\"libm_ns\":%.2f,\"ratio_to_libm\":%.3f,\"min_ns\":%.2f,\"p99_"
	       "ns\":%.2f,"
	       "\"max_ns\":%.2f,\"z_from\":%g,\"z_to\":%g,\"rounds\":%d}\n",
	       s->name, series_at(&ours, 0.5), series_at(&libm, 0.5),
	       series_at(&ours, 0.5) / series_at(&libm, 0.5), series_at(&ours, 0), series_at(&ours, 0.99),
	       series_at(&ours, 1), s->low, s->high, ROUNDS);
}

void bench_phi(void)
{
	static const struct subject subjects[] = {
		{"phi_normal", -8, 8, loop_normal, loop_libm_normal},
		{"phi_normal_tail", 8, 1000, loop_normal, loop_libm_normal_tail},
		{"phi_akka", -8, 8, loop_akka, loop_libm_akka},
		{"phi_exponential", 0, 40, loop_exponential, loop_libm_exponential},
		{"phi_loss", 0, 8, loop_loss, loop_libm_loss},
		{"phi_empirical", 0, 8, loop_empirical, loop_libm_empirical},
	};

	prepare_learned();
	for (size_t i = 0; i < COUNT(subjects); i++)
		compare(&subjects[i]);
}
