// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A sum of tails, in logarithms: term k is L(k) = -log10 P(k) + phi_normal(z(k)), and the sum is folded two
 * at a time by -log10(10^-a + 10^-b) = min(a, b) - log10(1 + 10^-|a - b|).
 *
 * Phi never falls. Every L(k) is non-decreasing in t, and the fold is non-decreasing in both arguments, for
 * its table changes by at most one unit when |a - b| does. The sum is folded from its far end: all terms from
 * K on stand as one, T(K) = -log10 P(at least K lost) = -log10 (p q^(K-1)), which takes their Q for 1; then
 * K - 1, K - 2, and so on down to 0. K depends on t, but only rises with it, and then T(K) becomes the fold
 * of L(K), which is T(K) - log10(1 - q) or more, and T(K + 1), which is T(K) - log10 q. The fold of these two
 * is not less than T(K) if the fold of -log10(1 - q) and -log10 q is not less than 0, since folding does not
 * care where zero is; loss_curve_fit() sees to that. And the walk down ends early only where the rest of the
 * terms would not change one bit: L is convex in k, for z is convex in k, and phi_normal convex and
 * non-decreasing; so once a term is more than ten decades above the sum, and rising, so are the ones below
 * it.
 *
 * It would take ever more terms as the silence grows, but for this: F(t), the sum of q^k P(k + 1 intervals
 * take longer than t), satisfies the renewal equation F(t) = Q(t) + q E F(t - X), whose solution is a sum of
 * exponentials, one for each root of q E e^(r X) = 1 (Feller, An Introduction to Probability Theory and Its
 * Applications II, chapter XI). The real root r is the least; the next pair, of imaginary part 2 pi, dies
 * faster, until phi is a straight line of slope r / ln 10. In units of s, with R = m / s, L = -ln q and
 * V = R^2 + 2 L: r = sqrt(V) - R. The real parts of the next pair and of r differ by at least
 * 2 pi^2 / (V + 2 pi)^1.5, so 20 over this is where the line begins (linear_from()).
 */
#include "phi_loss.h"

#include <stdbool.h>

#include "phi_logistic.h"

#define LN10_Q61   0x49aec6eed554560bU
#define TWO_PI_Q16 411775U

/* log10(1 + 10^-w) from here on is below half a unit of Q32.32. */
#define FOLD_END_Q32 (LOGISTIC_END_DECADES * Q32_ONE)

/* Beyond PHI_MAX by so much that no fold of terms as high as that comes below PHI_MAX. */
#define TERM_MAX (PHI_MAX + 16 * Q32_ONE)

/* So many terms behind the greatest one are told apart. */
#define TERMS_BEHIND 64

/* What the counts are worth at most, in beats; the prior of q, in losses; and where L / (L + 1) is 1. */
#define WORTH_MAX     1000
#define PRIOR_LOSSES  4
#define LOST_LONG_MAX 1000

/* Nothing is gained by telling less than a millionth. */
#define RATIO_LOG2 20

/* 2^63 / sqrt(x), x = 1..64, rounded down. */
/* clang-format off */
static const uint64_t reciprocal_root_q63[64] = {
	0x8000000000000000U, 0x5a827999fcef3242U, 0x49e69d1640cc7134U, 0x4000000000000000U,
	0x393e4b8b7fdbb26aU, 0x34417ae018587bf8U, 0x306123cd4fefcd11U, 0x2d413cccfe779921U,
	0x2aaaaaaaaaaaaaaaU, 0x287a26c490921db6U, 0x2697ec7a2ad04bc3U, 0x24f34e8b2066389aU,
	0x2380354077d12b8bU, 0x22359dcac0485392U, 0x210ca945a9edb501U, 0x2000000000000000U,
	0x1f0b6848d2af1c28U, 0x1e2b7dddfefa6616U, 0x1d5d7ea914b936c6U, 0x1c9f25c5bfedd935U,
	0x1bee9056fb9c38afU, 0x1b4a293c1d954fb6U, 0x1ab099ae8f5399b6U, 0x1a20bd700c2c3dfcU,
	0x1999999999999999U, 0x191a556151761b8bU, 0x18a2345cc04425bcU, 0x183091e6a7f7e688U,
	0x17c4dd663ebb8816U, 0x175e9746a0b09878U, 0x16fd4e79325466a9U, 0x16a09e667f3bcc90U,
	0x16482d37a5a3d180U, 0x15f3aa673fa910a7U, 0x15a2cd8c69d61a6cU, 0x1555555555555555U,
	0x150b06a8fc6b6fe8U, 0x14c3abe93bcf73c8U, 0x147f144fe17f9f15U, 0x143d136248490edbU,
	0x13fd8077e70576c5U, 0x13c03650e00e02ebU, 0x138512ba21f51e03U, 0x134bf63d156825e1U,
	0x1314c3d92a9e90ceU, 0x12df60c5df2c9deaU, 0x12abb43c0eb0f3e9U, 0x1279a74590331c4dU,
	0x1249249249249249U, 0x121a1851ff630a0dU, 0x11ec70124e98f96cU, 0x11c01aa03be895c5U,
	0x119507ecf5b9e899U, 0x116b28f55d72d3fdU, 0x11426fac0654dabdU, 0x111acee5602429c9U,
	0x10f43a45cdedacd5U, 0x10cea6317186dc75U, 0x10aa07bd7b74885aU, 0x108654a2d4f6da80U,
	0x10638331ff3079f3U, 0x10418a4806de7cd7U, 0x102061446ffa99b0U, 0x1000000000000000U,
};
/* clang-format on */

/* log10(1 + 10^-w), w and the result in Q32.32. It falls by one unit at most when w rises by one. */
static inline q32_t fold_gain(q32_t w)
{
	return w < FOLD_END_Q32 ? q60_to_q32(logistic(w << 28)) : 0;
}

/* -log10(10^-a + 10^-b), but not below 0. */
static inline q32_t fold(q32_t a, q32_t b)
{
	q32_t least = a < b ? a : b;
	q32_t gain = fold_gain(a < b ? b - a : a - b);

	return least > gain ? least - gain : 0;
}

/* T(k), k >= 1. */
static inline uint64_t at_least_lost(const struct loss_curve *c, uint64_t k)
{
	u128 decades = (c->first_q58 + (u128)(k - 1) * c->again_q58) >> (58 - 32);

	return decades < TERM_MAX ? (uint64_t)decades : TERM_MAX;
}

static inline uint64_t reciprocal_root(uint64_t x)
{
	if (x <= 64)
		return reciprocal_root_q63[x - 1];
	return div_floor((u128)1 << 107, isqrt128((u128)x << 88));
}

/* z = (t - x m) / (s sqrt(x)): rounded towards 0, so it does not fall when t rises. x < 2^40. */
static inline int64_t score(const struct loss_curve *c, u128 t_q64, uint64_t x)
{
	u128 expected = x * c->ratio_q64;
	u128 off = (t_q64 < expected ? expected - t_q64 : t_q64 - expected) >> (64 - Z40_FRACTION);
	uint64_t root = reciprocal_root(x), high = (uint64_t)(off >> 64);
	u128 z40 = ((u128)high * root << 1) + ((u128)(uint64_t)off * root >> 63);

	if (t_q64 < expected)
		return z40 < -Z40_LEAST ? -(int64_t)z40 : Z40_LEAST;
	return z40 < Z40_MAX ? (int64_t)z40 : Z40_MAX;
}

static inline uint64_t term(const struct loss_curve *c, u128 t_q64, uint64_t k)
{
	u128 level = (u128)at_least_lost(c, k) + c->end_q32 + phi_normal(score(c, t_q64, k + 1));

	return level < TERM_MAX ? (uint64_t)level : TERM_MAX;
}

/*
 * K, from which all terms are one. First where z < -7, Q being 1 to phi_normal(): z = -7 is a quadratic in
 * sqrt(k + 1). Or where T(K) is ten decades above phi, which it is by 11 decades beyond its line. If that is
 * too far, phi becomes less than it should be.
 */
static uint64_t last_term(const struct loss_curve *c, u128 t_q64)
{
	uint64_t half = c->sigma_q32 / 2 * 7;
	u128 product = (t_q64 >> 48) * c->sigma_q32 << 16;
	uint64_t root = half + isqrt128((u128)half * half + product);
	uint64_t certain = mul_high(root, root);
	uint64_t t_q3 = (uint64_t)(t_q64 >> 61);
	uint64_t rare = mul_high(t_q3, c->steps_q61) + c->margin;
	uint64_t crowded = mul_high(t_q3, c->peak_q61) + TERMS_BEHIND;
	uint64_t last = certain < rare ? certain : rare;

	last = last < crowded ? last : crowded;
	return last ? last : 1;
}

static q32_t phi_of_sum(const struct loss_curve *c, u128 t_q64)
{
	uint64_t k = last_term(c, t_q64), before = TERM_MAX;
	uint64_t sum = at_least_lost(c, k);
	q32_t none;

	while (--k) {
		uint64_t level = term(c, t_q64, k);

		if (level >= before && level > sum + FOLD_END_Q32)
			break;
		sum = fold(sum, level);
		before = level;
	}
	none = phi_normal(score(c, t_q64, 1));
	sum = fold(sum, none < PHI_MAX ? none + c->none_q32 : TERM_MAX);
	return sum < PHI_MAX ? sum : PHI_MAX;
}

/* t / s in Q64.64; false if it is 2^64 or more. */
static inline bool in_deviations(const struct loss_curve *c, uint64_t t_ns, u128 *t_q64)
{
	u128 heard = (u128)c->n * t_ns;
	uint64_t whole, rest;

	if (heard >> 64 >= c->scale_ns)
		return false;
	whole = div_wide(heard, c->scale_ns, &rest);
	*t_q64 = (u128)whole << 64 | div_wide((u128)rest << 64, c->scale_ns, &rest);
	return true;
}

q32_t phi_loss(const struct loss_curve *c, uint64_t silence_ns)
{
	uint64_t summed_ns = silence_ns < c->linear_ns ? silence_ns : c->linear_ns;
	u128 t_q64 = 0, decades;
	q32_t phi;

	in_deviations(c, summed_ns, &t_q64);
	phi = phi_of_sum(c, t_q64);
	if (summed_ns == silence_ns)
		return phi;
	if (!in_deviations(c, silence_ns - summed_ns, &t_q64))
		return PHI_MAX;
	decades = (t_q64 >> 64) * c->slope_q60 + mul_high((uint64_t)t_q64, c->slope_q60);
	decades = (decades >> (60 - 32)) + phi;
	return decades < PHI_MAX ? (q32_t)decades : PHI_MAX;
}

/* --- learning --- */

/*
 * With w beats of worth for the counts of b beats, p = (runs w / b + 1) / (w + 2), and q as in phi_loss.h,
 * all of it times b and, for q, times 4 (L + 1) (w + 2).
 */
void loss_process_learn(struct loss_process *process, const struct kphi_losses *counts)
{
	uint64_t recent = counts->lost_long < LOST_LONG_MAX ? counts->lost_long : LOST_LONG_MAX;
	uint64_t beats = counts->beats ? counts->beats : 1;
	uint64_t worth = counts->beats < WORTH_MAX ? counts->beats : WORTH_MAX;
	uint64_t common = 4 * (recent + 1);

	process->lost = counts->runs * worth + beats;
	process->beats = beats * (worth + 2);
	process->losses = common * (worth + 2) * (counts->lost * worth + PRIOR_LOSSES * beats);
	process->again = common * (worth + 2) * worth * (counts->lost - counts->runs) +
			 PRIOR_LOSSES * (common * process->lost + recent * process->beats);
	if (process->again > process->losses / LOSS_AGAIN_MAX_OF * LOSS_AGAIN_MAX) {
		process->again = LOSS_AGAIN_MAX;
		process->losses = LOSS_AGAIN_MAX_OF;
	}
}

/* --- making the curve --- */

static void fit_losses(struct loss_curve *c, const struct loss_process *process)
{
	uint64_t beats = log10_q58(process->beats), losses = log10_q58(process->losses);
	uint64_t again_q32, step = 1;

	c->none_q32 = (beats - log10_q58(process->beats - process->lost)) >> 26;
	c->end_q32 = (losses - log10_q58(process->losses - process->again)) >> 26;
	c->first_q58 = beats - log10_q58(process->lost);
	c->again_q58 = losses - log10_q58(process->again);
	again_q32 = c->again_q58 >> 26;
	/* q and 1 - q must not come to more than 1, or phi could step back: see above. */
	while (fold_gain(c->end_q32 < again_q32 ? again_q32 - c->end_q32 : c->end_q32 - again_q32) >
	       (c->end_q32 < again_q32 ? c->end_q32 : again_q32)) {
		c->end_q32 += step;
		step *= 2;
	}
}

/*
 * Where phi is a line, in s. Twenty nepers after the pair of roots began to die, see above; and where the
 * term k = 0, which the renewal equation knows nothing of if p (1 - q) is not q (1 - p), is ten decades above
 * it: R + 2 (sqrt(V) - R) + sqrt(2 ln 10 (phi + 10)) at most, phi being that of one interval.
 */
static uint64_t linear_from(u128 v_q80, uint64_t root_q40, uint64_t one_interval)
{
	u128 w_q16 = (v_q80 >> 64) + TWO_PI_Q16 + 1;
	u128 power_q32 = w_q16 * (isqrt128(w_q16 << 16) + 1);
	uint64_t settled = (uint64_t)((power_q32 + power_q32 / 64) >> 32) + 1;
	uint64_t alone = (root_q40 >> 39) + isqrt128(5 * (u128)(one_interval + 10)) + 2;

	return settled > alone ? settled : alone;
}

void loss_curve_fit(struct loss_curve *c, uint64_t n, uint64_t sum_ns, uint64_t scale_ns,
		    const struct loss_process *process)
{
	uint64_t ratio_q40, root_q40, linear, reached, rest;
	u128 v_q80, both_q40, linear_ns;

	if (sum_ns <= scale_ns >> RATIO_LOG2)
		sum_ns = (scale_ns >> RATIO_LOG2) + 1;
	if (scale_ns <= sum_ns >> RATIO_LOG2)
		scale_ns = (sum_ns >> RATIO_LOG2) + 1;
	*c = (struct loss_curve){.n = n, .sum_ns = sum_ns, .scale_ns = scale_ns};
	fit_losses(c, process);
	c->ratio_q64 = (u128)div_wide(sum_ns, scale_ns, &rest) << 64;
	c->ratio_q64 |= div_wide((u128)rest << 64, scale_ns, &rest);
	c->sigma_q32 = div_floor((u128)scale_ns << 32, sum_ns);
	ratio_q40 = (uint64_t)(c->ratio_q64 >> 24);
	v_q80 = (u128)ratio_q40 * ratio_q40 + ((u128)mul_high(c->again_q58, LN10_Q61) << 26);
	root_q40 = isqrt128(v_q80);
	both_q40 = (u128)ratio_q40 + root_q40;
	c->slope_q60 = div_floor((u128)c->again_q58 << 43, (uint64_t)both_q40);
	c->steps_q61 = div_floor((u128)1 << 102, (uint64_t)both_q40);
	c->peak_q61 = div_floor((u128)1 << 101, root_q40);
	c->margin = (11ULL << 58) / c->again_q58 + 2;
	linear = linear_from(v_q80, root_q40, (c->first_q58 + c->again_q58) >> 58);
	reached = div_floor((u128)((PHI_MAX >> 32) - 64) << 60, c->slope_q60);
	linear_ns = (u128)(linear < reached ? linear : reached) * scale_ns / n;
	c->linear_ns = linear_ns < UINT64_MAX ? (uint64_t)linear_ns : UINT64_MAX;
}

/* --- the inverse --- */

/* A silence whose phi is below the threshold, and one whose is not; and by how much, or what stands for it.
 */
struct bracket {
	uint64_t below_ns, reached_ns;
	q32_t short_by, over_by;
};

static bool bracket_put(struct bracket *b, q32_t threshold, uint64_t t_ns, q32_t phi)
{
	if (phi < threshold) {
		b->below_ns = t_ns;
		b->short_by = threshold - phi;
		return false;
	}
	b->reached_ns = t_ns;
	b->over_by = phi - threshold;
	return true;
}

/*
 * About where the threshold is reached: after the last loss that is likelier than that, k beats, on the tail
 * of a normal distribution, whose z is sqrt(2 ln 10 phi) - 0.6 or so; or on the line through 0.
 */
static uint64_t guess(const struct loss_curve *c, q32_t threshold, uint64_t *near_ns)
{
	u128 level = (u128)threshold << 26, left = threshold, silence, line;
	uint64_t x = 1, root_q16, z_q16;

	if (level > c->first_q58) {
		x = div_floor(level - c->first_q58, c->again_q58) + 2;
		left -= at_least_lost(c, x - 1);
	}
	root_q16 = isqrt128((u128)x << 32);
	z_q16 = isqrt128(x * left * 295 / 64);
	z_q16 -= z_q16 < root_q16 ? z_q16 : root_q16 * 5 / 8;
	silence = ((u128)x * c->sum_ns + ((u128)z_q16 * c->scale_ns >> 16)) / c->n;
	line = (u128)div_floor((u128)threshold << 28, c->slope_q60 >> 16) * c->scale_ns / c->n >> 16;
	*near_ns = (uint64_t)(((u128)root_q16 * c->scale_ns >> 19) / c->n) + 1;
	silence = silence < line ? silence : line;
	return silence < UINT64_MAX ? (uint64_t)silence : UINT64_MAX;
}

/* From a guess outwards, in steps that grow, to a silence on the other side of the threshold. */
static bool find_bracket(const struct loss_curve *c, q32_t threshold, struct bracket *b)
{
	uint64_t step_ns, t_ns = guess(c, threshold, &step_ns);
	bool down = bracket_put(b, threshold, t_ns, phi_loss(c, t_ns));

	for (;; step_ns = step_ns >> 62 ? step_ns : 4 * step_ns) {
		if (down) {
			t_ns = t_ns > step_ns ? t_ns - step_ns : 0;
			if (!bracket_put(b, threshold, t_ns, phi_loss(c, t_ns)))
				return true;
			if (!t_ns)
				return true; /* reached at once */
		} else {
			if (t_ns == UINT64_MAX)
				return false;
			t_ns = UINT64_MAX - t_ns > step_ns ? t_ns + step_ns : UINT64_MAX;
			if (bracket_put(b, threshold, t_ns, phi_loss(c, t_ns)))
				return true;
		}
	}
}

/*
 * The place where a straight line through both ends meets the threshold, kept inside. A curve that bends
 * keeps the same end for ever, so an end that stays counts half the next time (the Illinois rule); and every
 * fourth step halves the bracket whatever the curve does, for it may be a stair.
 */
uint64_t phi_loss_inverse(const struct loss_curve *c, q32_t threshold)
{
	struct bracket b = {0};
	int side = 0;

	if (!threshold)
		return 0;
	if (threshold > PHI_MAX || !find_bracket(c, threshold, &b))
		return UINT64_MAX;
	for (unsigned turn = 1; b.reached_ns - b.below_ns > 1; turn++) {
		uint64_t width = b.reached_ns - b.below_ns;
		uint64_t part = turn % 4 && turn < 12
					? div_floor((u128)width * b.short_by, b.short_by + b.over_by)
					: width / 2;
		uint64_t middle = b.below_ns + (part < 1 ? 1 : part < width ? part : width - 1);

		if (bracket_put(&b, threshold, middle, phi_loss(c, middle))) {
			b.short_by = side > 0 ? b.short_by / 2 + 1 : b.short_by;
			side = 1;
		} else {
			b.over_by = side < 0 ? b.over_by / 2 : b.over_by;
			side = -1;
		}
	}
	return b.reached_ns;
}
