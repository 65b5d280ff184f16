// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * True values of phi from MPFR, a library that shares nothing with user/core.
 *
 *   phi-vectors table                 prints user/core/phi_table.h
 *   phi-vectors vectors SEED COUNT    prints test vectors, a line each: model, arguments, phi
 *   phi-vectors loss SEED COUNT       the same for the model of lost beats, and for the logarithms it takes
 *
 * Arguments of a vector are decimal integers as user/core takes them: z40, y40, or t, n, sum; n, sum, scale,
 * the four of struct loss_process, t; or the number of which it is the logarithm. Phi, or the logarithm, is
 * two hexadecimal words: the whole part, and the fraction in units of 2^-64.
 */
#include <inttypes.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 320 /* bits: near z = -8 a difference from 1 cancels 50 of them */
#define ONE40     (1LL << 40)

/* Akka's logistic: e^(y (A + B y^2)). */
#define AKKA_A "1.5976"
#define AKKA_B "0.070566"

/* What phi.c expects of the table. */
#define NORMAL_FIRST        (-7)
#define NORMAL_LAST_LOG2    3
#define NORMAL_LAST         (1 << NORMAL_LAST_LOG2)
#define NORMAL_CELLS_LOG2   5 /* per unit of z */
#define TAIL_CELLS_LOG2     6 /* per doubling of z, from NORMAL_LAST */
#define TAIL_CELLS          (1 << TAIL_CELLS_LOG2)
#define LOGISTIC_FIRST      (-10)
#define LOGISTIC_CELLS_LOG2 6 /* per unit */
#define VALUE_BITS          60
#define PHI_MAX_WHOLE       0x7FFFFFFFUL

static mpfr_t ln10, half_log_2pi, scratch;

static void constants(void)
{
	mpfr_set_default_prec(PRECISION);
	mpfr_set_emin(mpfr_get_emin_min()); /* erfc(10^6) is about 10^(-2 * 10^11) */
	mpfr_set_emax(mpfr_get_emax_max()); /* and e^(y^3 / 14) as far above 1 */
	mpfr_inits(ln10, half_log_2pi, scratch, NULL);
	mpfr_log_ui(ln10, 10, MPFR_RNDN);
	mpfr_const_pi(half_log_2pi, MPFR_RNDN);
	mpfr_mul_ui(half_log_2pi, half_log_2pi, 2, MPFR_RNDN);
	mpfr_log(half_log_2pi, half_log_2pi, MPFR_RNDN);
	mpfr_div_ui(half_log_2pi, half_log_2pi, 2, MPFR_RNDN);
}

/* r = -ln Q(z) = -ln(erfc(z / sqrt 2) / 2): Abramowitz & Stegun 26.2.29 with 7.1.2. */
static void minus_ln_tail(mpfr_t r, const mpfr_t z)
{
	mpfr_sqrt_ui(scratch, 2, MPFR_RNDN);
	mpfr_div(r, z, scratch, MPFR_RNDN);
	mpfr_erfc(r, r, MPFR_RNDN);
	mpfr_div_ui(r, r, 2, MPFR_RNDN);
	mpfr_log(r, r, MPFR_RNDN);
	mpfr_neg(r, r, MPFR_RNDN);
}

static void phi_normal(mpfr_t r, const mpfr_t z)
{
	minus_ln_tail(r, z);
	mpfr_div(r, r, ln10, MPFR_RNDN);
}

/* The derivative: the hazard rate of the normal distribution, density / Q, over ln 10. */
static void phi_normal_slope(mpfr_t r, const mpfr_t z)
{
	minus_ln_tail(r, z);
	mpfr_sqr(scratch, z, MPFR_RNDN);
	mpfr_div_ui(scratch, scratch, 2, MPFR_RNDN);
	mpfr_sub(r, r, scratch, MPFR_RNDN);
	mpfr_sub(r, r, half_log_2pi, MPFR_RNDN);
	mpfr_exp(r, r, MPFR_RNDN);
	mpfr_div(r, r, ln10, MPFR_RNDN);
}

/* Beyond NORMAL_LAST the table holds what is left of phi without z^2 / (2 ln 10). */
static void tail_value(mpfr_t r, const mpfr_t z)
{
	minus_ln_tail(r, z);
	mpfr_sqr(scratch, z, MPFR_RNDN);
	mpfr_div_ui(scratch, scratch, 2, MPFR_RNDN);
	mpfr_sub(r, r, scratch, MPFR_RNDN);
	mpfr_div(r, r, ln10, MPFR_RNDN);
}

static void tail_slope(mpfr_t r, const mpfr_t z)
{
	phi_normal_slope(r, z);
	mpfr_div(scratch, z, ln10, MPFR_RNDN);
	mpfr_sub(r, r, scratch, MPFR_RNDN);
}

/* log10(1 + 10^x), and its derivative 10^x / (1 + 10^x). */
static void logistic_value(mpfr_t r, const mpfr_t x)
{
	mpfr_exp10(r, x, MPFR_RNDN);
	mpfr_log1p(r, r, MPFR_RNDN);
	mpfr_div(r, r, ln10, MPFR_RNDN);
}

static void logistic_slope(mpfr_t r, const mpfr_t x)
{
	mpfr_exp10(r, x, MPFR_RNDN);
	mpfr_add_ui(scratch, r, 1, MPFR_RNDN);
	mpfr_div(r, r, scratch, MPFR_RNDN);
}

static void phi_akka(mpfr_t r, const mpfr_t y)
{
	mpfr_t x;

	mpfr_init(x);
	mpfr_sqr(x, y, MPFR_RNDN);
	mpfr_set_str(scratch, AKKA_B, 10, MPFR_RNDN);
	mpfr_mul(x, x, scratch, MPFR_RNDN);
	mpfr_set_str(scratch, AKKA_A, 10, MPFR_RNDN);
	mpfr_add(x, x, scratch, MPFR_RNDN);
	mpfr_mul(x, x, y, MPFR_RNDN);
	mpfr_div(x, x, ln10, MPFR_RNDN);
	logistic_value(r, x);
	mpfr_clear(x);
}

static void phi_exponential(mpfr_t r, uint64_t t, uint64_t n, uint64_t sum)
{
	mpfr_set_ui(r, t, MPFR_RNDN);
	mpfr_mul_ui(r, r, n, MPFR_RNDN);
	mpfr_div_ui(r, r, sum, MPFR_RNDN);
	mpfr_div(r, r, ln10, MPFR_RNDN);
}

/* --- the table
 * ------------------------------------------------------------------------------------------------- */

typedef void curve_fn(mpfr_t r, const mpfr_t x);

struct curve {
	curve_fn *value, *slope;
	unsigned printed;
};

static uint64_t to_fixed(mpfr_t r)
{
	mpfr_mul_2ui(r, r, VALUE_BITS, MPFR_RNDN);
	return mpfr_get_ui(r, MPFR_RNDN);
}

/* Nodes at first..last times 2^exponent, each the value there and the slope times the width of a cell. */
static void print_nodes(struct curve *curve, long first, long last, int exponent)
{
	mpfr_t x, value, rise;

	mpfr_inits(x, value, rise, NULL);
	for (long i = first; i <= last; i++) {
		mpfr_set_si_2exp(x, i, exponent, MPFR_RNDN);
		curve->value(value, x);
		curve->slope(rise, x);
		mpfr_mul_2si(rise, rise, exponent, MPFR_RNDN);
		printf("%s{ 0x%016" PRIx64 "U, 0x%016" PRIx64 "U },", curve->printed++ % 2 ? " " : "\n\t",
		       to_fixed(value), to_fixed(rise));
	}
	mpfr_clears(x, value, rise, NULL);
}

/* The smallest z40 at which phi is at its cap: phi.c computes nothing from there on. */
static int64_t normal_cap(void)
{
	int64_t low = NORMAL_LAST * ONE40, high = ONE40 << 18;
	mpfr_t z, r;

	mpfr_inits(z, r, NULL);
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		mpfr_set_si_2exp(z, middle, -40, MPFR_RNDN);
		phi_normal(r, z);
		if (mpfr_cmp_ui(r, PHI_MAX_WHOLE) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	mpfr_clears(z, r, NULL);
	return low;
}

/* One row per doubling of z, since the cells widen with it; the last row ends with the cell of the cap. */
static void print_tail(int64_t cap)
{
	const int narrowest = NORMAL_LAST_LOG2 - TAIL_CELLS_LOG2;
	int rows = 1;

	while (NORMAL_LAST * ONE40 << rows < cap)
		rows++;
	printf("static const struct phi_node tail_nodes[%d][%d] = {\n", rows, TAIL_CELLS + 1);
	for (int row = 0; row < rows; row++) {
		struct curve tail = {tail_value, tail_slope, 0};
		long last = (cap >> (40 + narrowest + row)) + 1;

		if (last > 2 * TAIL_CELLS)
			last = 2 * TAIL_CELLS;
		printf("\t{ /* from z = %d */", NORMAL_LAST << row);
		print_nodes(&tail, TAIL_CELLS, last, narrowest + row);
		printf("\n\t},\n");
	}
	printf("};\n");
}

static void print_table(void)
{
	struct curve normal = {phi_normal, phi_normal_slope, 0};
	struct curve logistic = {logistic_value, logistic_slope, 0};
	int64_t cap = normal_cap();

	printf("/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */\n"
	       "/* Printed by `build/tools/phi-vectors table`, which says what it is; phi.c says why. Do not "
	       "edit. */\n"
	       "#ifndef KPHI_CORE_PHI_TABLE_H\n#define KPHI_CORE_PHI_TABLE_H\n\n#include <stdint.h>\n\n"
	       "/* Both Q4.60; rise is the slope times the width of the cell. */\n"
	       "struct phi_node {\n\tuint64_t value, rise;\n};\n\n"
	       "/* The smallest z40 at which phi is PHI_MAX: z = %.3f. */\n"
	       "#define NORMAL_CAP_Z40 %" PRId64 "LL\n\n/* clang-format off */\n",
	       (double)cap / ONE40, cap);
	printf("\n/* -log10 Q(z), z = %d, %d + 1/%d, ... %d. */\n", NORMAL_FIRST, NORMAL_FIRST,
	       1 << NORMAL_CELLS_LOG2, NORMAL_LAST);
	printf("static const struct phi_node normal_nodes[%d] = {",
	       ((NORMAL_LAST - NORMAL_FIRST) << NORMAL_CELLS_LOG2) + 1);
	print_nodes(&normal, NORMAL_FIRST * (1L << NORMAL_CELLS_LOG2), NORMAL_LAST << NORMAL_CELLS_LOG2,
		    -NORMAL_CELLS_LOG2);
	printf("\n};\n\n/* -log10 Q(z) - z^2 / (2 ln 10), %d cells in each doubling of z. */\n", TAIL_CELLS);
	print_tail(cap);
	printf("\n/* log10(1 + 10^x), x = %d, %d + 1/%d, ... 0. */\n", LOGISTIC_FIRST, LOGISTIC_FIRST,
	       1 << LOGISTIC_CELLS_LOG2);
	printf("static const struct phi_node logistic_nodes[%d] = {",
	       (-LOGISTIC_FIRST << LOGISTIC_CELLS_LOG2) + 1);
	print_nodes(&logistic, LOGISTIC_FIRST * (1L << LOGISTIC_CELLS_LOG2), 0, -LOGISTIC_CELLS_LOG2);
	printf("\n};\n/* clang-format on */\n\n#endif\n");
}

/* --- vectors
 * --------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good seed, and the same vectors come out everywhere. */
static uint64_t random64(void)
{
	uint64_t x = random_state += 0x9E3779B97F4A7C15U;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
	x = (x ^ x >> 27) * 0x94D049BB133111EBU;
	return x ^ x >> 31;
}

static int64_t random_between(int64_t low, int64_t high)
{
	return low + (int64_t)(random64() % (uint64_t)(high - low));
}

/* A number of a random magnitude up to 2^bits: small ones are as likely as large ones. */
static uint64_t random_magnitude(unsigned bits)
{
	return (random64() >> (64 - bits) >> random64() % bits) + 1;
}

static void print_phi(mpfr_t phi)
{
	uint64_t whole = mpfr_get_ui(phi, MPFR_RNDD), fraction;

	mpfr_frac(phi, phi, MPFR_RNDD);
	mpfr_mul_2ui(phi, phi, 64, MPFR_RNDD);
	fraction = mpfr_get_ui(phi, MPFR_RNDD);
	printf("%" PRIx64 " %" PRIx64 "\n", whole, fraction);
}

static void vector(const char *model, curve_fn *phi, int64_t z40)
{
	mpfr_t z, r;

	mpfr_inits(z, r, NULL);
	mpfr_set_si_2exp(z, z40, -40, MPFR_RNDN);
	phi(r, z);
	printf("%s %" PRId64 " ", model, z40);
	print_phi(r);
	mpfr_clears(z, r, NULL);
}

static void exponential_vector(uint64_t t, uint64_t n, uint64_t sum)
{
	mpfr_t r;

	mpfr_init(r);
	phi_exponential(r, t, n, sum);
	printf("exponential %" PRIu64 " %" PRIu64 " %" PRIu64 " ", t, n, sum);
	print_phi(r);
	mpfr_clear(r);
}

/* Where an error would hide: whole and half steps, the joints of phi.c, both sides of the cap, 10^6. */
static void structured_vectors(void)
{
	static const int64_t joints[] = {-7 * ONE40, 8 * ONE40, 64 * ONE40, 99446 * ONE40, 4122 * ONE40};

	for (int64_t i = -32; i <= 128; i++) {
		vector("normal", phi_normal, i * ONE40 / 4);
		vector("akka", phi_akka, i * ONE40 / 4);
	}
	for (unsigned i = 0; i < sizeof(joints) / sizeof(joints[0]); i++)
		for (int64_t step = -2; step <= 2; step++) {
			vector("normal", phi_normal, joints[i] + step);
			vector("akka", phi_akka, joints[i] + step);
		}
	for (int64_t z = 10; z <= 1000000; z *= 10) {
		vector("normal", phi_normal, z * ONE40);
		vector("akka", phi_akka, z * ONE40);
	}
	for (unsigned bits = 0; bits < 62; bits++)
		exponential_vector(1ULL << bits, 1, 1000000000);
}

static void random_vectors(unsigned long count)
{
	while (count--) {
		uint64_t n = random_magnitude(12);

		vector("normal", phi_normal, random_between(-8 * ONE40, 9 * ONE40));
		vector("normal", phi_normal,
		       8 * ONE40 + random_between(0, 992 * (int64_t)random_magnitude(40)));
		vector("akka", phi_akka, random_between(-8 * ONE40, 8 * ONE40));
		vector("akka", phi_akka, (int64_t)random_magnitude(53));
		exponential_vector(random_magnitude(62), n, n * random_magnitude(47));
	}
}

/* --- lost beats
 * ------------------------------------------------------------------------------------------------ */

/* Mean and standard deviation of n intervals in ns, and p = lost / beats, q = again / losses. */
struct loss_case {
	uint64_t n, sum, scale, lost, beats, again, losses, t;
};

/* P(at least k lost) = p q^(k - 1), k >= 1. */
static void at_least_lost(mpfr_t r, const struct loss_case *c, uint64_t k)
{
	mpfr_set_ui(r, c->again, MPFR_RNDN);
	mpfr_div_ui(r, r, c->losses, MPFR_RNDN);
	mpfr_pow_ui(r, r, k - 1, MPFR_RNDN);
	mpfr_mul_ui(r, r, c->lost, MPFR_RNDN);
	mpfr_div_ui(r, r, c->beats, MPFR_RNDN);
}

/* r = P(k) Q(z(k)); says whether z(k) is below -15, from where Q is 1 to fifty digits. */
static int loss_term(mpfr_t r, const struct loss_case *c, uint64_t k)
{
	mpfr_t z, part;
	int certain;

	mpfr_inits(z, part, NULL);
	mpfr_set_ui(z, c->t, MPFR_RNDN);
	mpfr_mul_ui(z, z, c->n, MPFR_RNDN);
	mpfr_set_ui(part, c->sum, MPFR_RNDN);
	mpfr_mul_ui(part, part, k + 1, MPFR_RNDN);
	mpfr_sub(z, z, part, MPFR_RNDN);
	mpfr_div_ui(z, z, c->scale, MPFR_RNDN);
	mpfr_sqrt_ui(part, k + 1, MPFR_RNDN);
	mpfr_div(z, z, part, MPFR_RNDN);
	certain = mpfr_cmp_si(z, -15) < 0;
	minus_ln_tail(part, z);
	mpfr_neg(part, part, MPFR_RNDN);
	mpfr_exp(part, part, MPFR_RNDN);
	if (k) {
		at_least_lost(r, c, k);
		mpfr_mul_ui(r, r, c->losses - c->again, MPFR_RNDN);
		mpfr_div_ui(r, r, c->losses, MPFR_RNDN);
	} else {
		mpfr_set_ui(r, c->beats - c->lost, MPFR_RNDN);
		mpfr_div_ui(r, r, c->beats, MPFR_RNDN);
	}
	mpfr_mul(r, r, part, MPFR_RNDN);
	mpfr_clears(z, part, NULL);
	return certain;
}

/* Nothing more to add: r is below 2^-130 of the sum. */
static int negligible(const mpfr_t r, const mpfr_t sum)
{
	return mpfr_zero_p(r) || mpfr_get_exp(r) < mpfr_get_exp(sum) - 130;
}

/* Outwards from about the greatest term, downwards until nothing is added, upwards until the rest is known.
 */
static void phi_loss(mpfr_t r, const struct loss_case *c)
{
	double mean = (double)c->sum / (double)c->n, sd = (double)c->scale / (double)c->n;
	double minus_ln_q = log((double)c->losses / (double)c->again);
	uint64_t middle = (uint64_t)((double)c->t / sqrt(mean * mean + 2 * sd * sd * minus_ln_q));
	mpfr_t sum, term;

	mpfr_inits(sum, term, NULL);
	loss_term(sum, c, 0);
	for (uint64_t k = middle + 1; k-- > 1;) {
		loss_term(term, c, k);
		mpfr_add(sum, sum, term, MPFR_RNDN);
		if (negligible(term, sum))
			break;
	}
	for (uint64_t k = middle > 0 ? middle + 1 : 1;; k++) {
		int certain = loss_term(term, c, k);

		at_least_lost(r, c, k);
		if (certain || negligible(r, sum)) {
			mpfr_add(sum, sum, r, MPFR_RNDN);
			break;
		}
		mpfr_add(sum, sum, term, MPFR_RNDN);
	}
	mpfr_log10(r, sum, MPFR_RNDN);
	mpfr_neg(r, r, MPFR_RNDN);
	mpfr_clears(sum, term, NULL);
}

static void loss_vector(const struct loss_case *c)
{
	mpfr_t r;

	mpfr_init(r);
	phi_loss(r, c);
	printf("loss %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " ",
	       c->n, c->sum, c->scale, c->lost, c->beats, c->again, c->losses, c->t);
	print_phi(r);
	mpfr_clear(r);
}

static void log10_vector(uint64_t x)
{
	mpfr_t r;

	mpfr_init(r);
	mpfr_set_ui(r, x, MPFR_RNDN);
	mpfr_log10(r, r, MPFR_RNDN);
	printf("log10 %" PRIu64 " ", x);
	print_phi(r);
	mpfr_clear(r);
}

/* Every half interval of a path of 100 ms beats; up to 10,000 of them, and a million where that is quick. */
static void structured_losses(void)
{
	static const uint64_t scales[] = {1000000, 10000000, 30000000, 100000000};
	static const uint64_t agains[] = {1, 100, 500, 900};
	struct loss_case c = {1000, 100000000000, 0, 2, 1002, 0, 1000, 0};

	for (unsigned i = 0; i < 16; i++) {
		c.scale = 1000 * scales[i % 4];
		c.again = agains[i / 4];
		for (uint64_t half = 0; half <= 24; half++) {
			c.t = half * 50000000;
			loss_vector(&c);
		}
		for (c.t = 10000000000; c.t <= (i % 4 < 2 ? 1000000000000 : 10000000000); c.t *= 10)
			loss_vector(&c);
		c.t = 100000000000000;
		if (i % 4 == 0)
			loss_vector(&c);
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		log10_vector(1ULL << bit);
		log10_vector((1ULL << bit) + (1ULL << bit >> 3));
		log10_vector(UINT64_MAX >> bit);
	}
}

/*
 * Standard deviations from a thousandth of the mean up to all of it, or sixteen times as much for q up to
 * 1/2; p up to 1/2, q up to 15/16.
 */
static void random_losses(unsigned long count)
{
	while (count--) {
		struct loss_case c = {.n = random_magnitude(12), .beats = 10000000000, .losses = 1600000};
		uint64_t mean = 1000 + random_magnitude(40);

		c.sum = c.n * mean + random64() % c.n;
		c.scale = c.sum / random_magnitude(10);
		c.lost = c.beats / (1 + random_magnitude(30));
		c.again = random64() % 2 ? random_magnitude(20) : 1 + random64() % 1500000;
		if (c.again <= c.losses / 2 && random64() % 4 == 0)
			c.scale *= 1 + random64() % 16;
		c.t = (uint64_t)((double)mean * (double)(random64() % 1000000) / 1e6 *
				 (double)(1ULL << random64() % 9));
		loss_vector(&c);
		log10_vector(random_magnitude(63));
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: phi-vectors table\n"
			"       phi-vectors vectors SEED COUNT\n"
			"       phi-vectors loss SEED COUNT\n");
	return 2;
}

int main(int argc, char **argv)
{
	constants();
	if (argc == 2 && !strcmp(argv[1], "table")) {
		print_table();
	} else if (argc == 4 && !strcmp(argv[1], "vectors")) {
		random_state = strtoull(argv[2], NULL, 0);
		structured_vectors();
		random_vectors(strtoul(argv[3], NULL, 0));
	} else if (argc == 4 && !strcmp(argv[1], "loss")) {
		random_state = strtoull(argv[2], NULL, 0);
		structured_losses();
		random_losses(strtoul(argv[3], NULL, 0));
	} else {
		return usage();
	}
	return fflush(stdout) ? 1 : 0;
}
