// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixed.h"

/*
 * Seeds of the reciprocal root: 2^15 / sqrt((i + 1/2) / 512) for i = 128..511, to the nearest. The middle of
 * each cell, so that no seed is off by more than one part in 2^9.
 */
/* clang-format off */
static const uint16_t reciprocal_roots[384] = {
	65408, 65155, 64905, 64658, 64414, 64172, 63933, 63696, 63463, 63232, 63003, 62777,
	62553, 62331, 62112, 61895, 61681, 61469, 61258, 61050, 60845, 60641, 60439, 60239,
	60041, 59845, 59651, 59459, 59269, 59081, 58894, 58709, 58526, 58344, 58165, 57986,
	57810, 57635, 57462, 57290, 57120, 56951, 56784, 56618, 56453, 56291, 56129, 55969,
	55810, 55653, 55497, 55342, 55188, 55036, 54885, 54735, 54587, 54439, 54293, 54148,
	54004, 53862, 53720, 53580, 53440, 53302, 53165, 53029, 52894, 52760, 52627, 52494,
	52363, 52233, 52104, 51976, 51849, 51722, 51597, 51473, 51349, 51226, 51104, 50984,
	50863, 50744, 50626, 50508, 50391, 50275, 50160, 50046, 49932, 49819, 49707, 49596,
	49485, 49376, 49266, 49158, 49050, 48943, 48837, 48731, 48627, 48522, 48419, 48316,
	48214, 48112, 48011, 47911, 47811, 47712, 47613, 47516, 47418, 47322, 47225, 47130,
	47035, 46941, 46847, 46754, 46661, 46569, 46477, 46386, 46296, 46206, 46116, 46027,
	45939, 45851, 45764, 45677, 45590, 45504, 45419, 45334, 45249, 45165, 45082, 44999,
	44916, 44834, 44752, 44671, 44590, 44510, 44430, 44350, 44271, 44192, 44114, 44036,
	43959, 43882, 43805, 43729, 43653, 43577, 43502, 43428, 43353, 43279, 43206, 43133,
	43060, 42987, 42915, 42844, 42772, 42701, 42631, 42560, 42490, 42421, 42352, 42283,
	42214, 42146, 42078, 42010, 41943, 41876, 41809, 41743, 41677, 41611, 41546, 41481,
	41416, 41352, 41288, 41224, 41160, 41097, 41034, 40971, 40909, 40847, 40785, 40723,
	40662, 40601, 40540, 40480, 40420, 40360, 40300, 40241, 40182, 40123, 40064, 40006,
	39948, 39890, 39832, 39775, 39718, 39661, 39604, 39548, 39492, 39436, 39380, 39325,
	39269, 39215, 39160, 39105, 39051, 38997, 38943, 38890, 38836, 38783, 38730, 38677,
	38625, 38572, 38520, 38469, 38417, 38365, 38314, 38263, 38212, 38162, 38111, 38061,
	38011, 37961, 37911, 37862, 37813, 37764, 37715, 37666, 37617, 37569, 37521, 37473,
	37425, 37378, 37330, 37283, 37236, 37189, 37142, 37096, 37050, 37003, 36957, 36912,
	36866, 36820, 36775, 36730, 36685, 36640, 36596, 36551, 36507, 36463, 36419, 36375,
	36331, 36287, 36244, 36201, 36158, 36115, 36072, 36029, 35987, 35945, 35903, 35861,
	35819, 35777, 35735, 35694, 35653, 35612, 35571, 35530, 35489, 35448, 35408, 35368,
	35327, 35287, 35247, 35208, 35168, 35129, 35089, 35050, 35011, 34972, 34933, 34894,
	34856, 34817, 34779, 34741, 34703, 34665, 34627, 34589, 34552, 34514, 34477, 34440,
	34403, 34366, 34329, 34292, 34255, 34219, 34183, 34146, 34110, 34074, 34038, 34002,
	33967, 33931, 33896, 33860, 33825, 33790, 33755, 33720, 33685, 33650, 33616, 33581,
	33547, 33513, 33478, 33444, 33410, 33377, 33343, 33309, 33276, 33242, 33209, 33175,
	33142, 33109, 33076, 33043, 33011, 32978, 32945, 32913, 32881, 32848, 32816, 32784,
};
/* clang-format on */

/*
 * The root of a number in [2^126, 2^128), a few units off at most.
 *
 * Read as the fraction m = a / 2^128, its reciprocal root y follows from the seed by two Newton steps
 * y (3 - m y^2) / 2, each of which squares the relative error and never overshoots: 2^-9, 2^-17, 2^-34. Then
 * m y, cut to the 32 bits s, is the upper half of the root, and the rest of the root is (m - s^2) y / 2: the
 * Karatsuba step of Zimmermann (INRIA RR-3805, 1999) with a reciprocal in place of the division.
 */
static uint64_t root_of_normalised(u128 a)
{
	const uint64_t three = 3ULL << 62; /* Q2.62 */
	uint64_t m = (uint64_t)(a >> 64); /* Q0.64 */
	uint64_t y, s, error, root;
	u128 rest;

	y = reciprocal_roots[(m >> 55) - 128]; /* Q1.15 */
	y = y * ((three - (m >> 32) * (y * y)) >> 32) >> 15; /* Q1.31 */
	error = three - mul_high(m, y * y); /* Q2.62 */
	y = mul_high(y << 32, error); /* Q2.62: the shift by one that is missing is the half */
	s = mul_high(m, y) >> 30; /* Q0.32 */
	rest = a - ((u128)(s * s) << 64); /* Q0.128, below 2^98 */
	if (__builtin_add_overflow(s << 32, mul_high((uint64_t)(rest >> 34), y) >> 29, &root))
		return UINT64_MAX;
	return root;
}

static unsigned leading_zeros(u128 d)
{
	uint64_t high = (uint64_t)(d >> 64);

	return (unsigned)(high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)d));
}

uint64_t isqrt128(u128 d)
{
	unsigned shift;
	uint64_t root;

	if (!d)
		return 0;
	shift = leading_zeros(d) & ~1U;
	root = root_of_normalised(d << shift) >> shift / 2;
	while ((u128)root * root > d)
		root--;
	while (d - (u128)root * root > 2 * (u128)root)
		root++;
	return root;
}

/* log10(c) for c = 17/16, 19/16, ... 31/16, and of 2, in Q58; 2 / ln 10 in Q64. */
static const uint64_t log10_centres[8] = {
	0x01af5f92b00e610U, 0x04c6cc15711c460U, 0x078ef06ac3867f9U, 0x0a163f3ff1fe00eU,
	0x0c678c1c4324065U, 0x0e8b29807199fb5U, 0x1087a0832fa7ac5U, 0x12622b0ee3b79cfU,
};
#define LOG10_2_Q58    0x134413509f79fefU
#define TWO_LOG10E_Q64 0xde5bd8a937287195U

/*
 * x is 2^e m with m in [1, 2), and m is near one of eight centres c: log m = log c + 2 artanh(u) with
 * u = (m - c) / (m + c), at most 1/33. Five terms of u (1 + u^2/3 + u^4/5 + ...) leave 2^-63.
 */
uint64_t log10_q58(uint64_t x)
{
	static const uint64_t odd[5] = {UINT64_MAX / 3, UINT64_MAX / 5, UINT64_MAX / 7, UINT64_MAX / 9,
					UINT64_MAX / 11}; /* Q64 */
	uint64_t m, centre, distance, u, square, series = 0, part, whole;
	unsigned shift, cell;

	if (x <= 1)
		return 0;
	shift = (unsigned)__builtin_clzll(x);
	m = x << shift; /* Q1.63 */
	cell = m >> 60 & 7;
	centre = (17 + 2 * (uint64_t)cell) << 59;
	distance = m < centre ? centre - m : m - centre;
	u = div_floor((u128)distance << 66, (m >> 1) + (centre >> 1)); /* Q67 */
	square = mul_high(u, u) >> 6; /* Q64 */
	for (int term = 4; term >= 0; term--)
		series = odd[term] + mul_high(square, series);
	part = mul_high(u + mul_high(u, mul_high(square, series)), TWO_LOG10E_Q64) >> 9; /* Q58 */
	whole = (63 - shift) * LOG10_2_Q58 + log10_centres[cell];
	return m < centre ? whole - part : whole + part;
}
