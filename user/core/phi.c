// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The curves are cubic Hermite tables: at each node the value and the slope. What makes them fit to decide by
 * is that they never step back, not by one unit, and this is built in.
 *
 * The slope of -ln Q(z) is the hazard rate of the normal distribution, which is positive, increasing and
 * convex (Sampford, Ann. Math. Statist. 24, 1953). So the first three derivatives are positive, and so are,
 * seen from the left end of a cell, all coefficients of the cubic: Horner's rule with each product rounded
 * down is a chain of non-decreasing steps, and stays below the next node. Once z^2 / (2 ln 10) is taken out
 * of the tail, the second derivative is negative, and the same holds seen from the right end, going
 * backwards. log10(1 + 10^x) for x <= 0 is of the first kind. tests/unit/phi_test.c checks the sign of every
 * coefficient, and walks over every joint.
 */
#include "phi.h"

#include "fixed.h"
#include "phi_logistic.h"
#include "phi_table.h"

#define NORMAL_FIRST_Z40 (-7 * Z40_ONE) /* phi is 5.6e-13 there: below half a unit of Q32.32 */
#define NORMAL_LAST_Z40  (8 * Z40_ONE)
#define NORMAL_CELL_LOG2 35 /* 1/32 */

/* 1 / (2 ln 10) * 2^66 */
#define HALF_SQUARE_Q66 0xde5bd8a937287195U

/* log10(e) * 2^50 */
#define LOG10_E_Q50 0x1bcb7b1526e51U

/* Akka's 1.5976 and 0.070566 in decades, that is divided by ln 10: * 2^44 and * 2^69. */
#define AKKA_LINEAR_Q44 0xb19ec4b9240U
#define AKKA_CUBIC_Q69  0xfb0e35d2912bda4eU
#define AKKA_CAP_Y40    (4200 * Z40_ONE) /* phi is beyond PHI_MAX there, and y^2 within 64 bits of Q39 */
#define AKKA_W_BITS     84

#define LOGISTIC_END_Q60   ((uint64_t)LOGISTIC_END_DECADES << 60)
#define LOGISTIC_CELL_LOG2 54 /* 1/64 */

/*
 * How far a curve has risen at u / 2^64 of a cell that rises by `total`, with the slopes `near` at u = 0 and
 * `far` at u = 2^64, in units of a cell. Q4.60. All coefficients are non-negative.
 */
static inline uint64_t hermite_rise(uint64_t u, uint64_t total, uint64_t near, uint64_t far)
{
	uint64_t cubic = near + far - 2 * total;
	uint64_t square = total - near - cubic;

	return mul_high(u, near + mul_high(u, square + mul_high(u, cubic)));
}

/* z in [-7, 8). */
static inline q32_t normal_body(int64_t z40)
{
	uint64_t distance = (uint64_t)(z40 - NORMAL_FIRST_Z40);
	const struct phi_node *node = &normal_nodes[distance >> NORMAL_CELL_LOG2];
	uint64_t u = distance << (64 - NORMAL_CELL_LOG2);

	return q60_to_q32(node[0].value +
			  hermite_rise(u, node[1].value - node[0].value, node[0].rise, node[1].rise));
}

/*
 * z in [8, cap): z^2 / (2 ln 10), and the table of the rest, whose rows are doublings of z. Shifted so that
 * its highest bit is set, z shows the row by the shift, the cell by the next six bits, and the place in it by
 * the others.
 */
static inline q32_t normal_tail(int64_t z40)
{
	unsigned shift = (unsigned)__builtin_clzll((uint64_t)z40);
	uint64_t z = (uint64_t)z40 << shift;
	const struct phi_node *node = &tail_nodes[20 - shift][z >> 57 & 63];
	uint64_t u = ~(z << 7); /* from the right end; short of it by 2^-64 */
	uint64_t square = mul_high(mul_high(z, z), HALF_SQUARE_Q66) >> (2 * shift - 14); /* Q32.32 */
	uint64_t rest =
		node[1].value - hermite_rise(u, node[1].value - node[0].value, node[1].rise, node[0].rise);

	return square + (rest >> 28) + 1; /* on average, two roundings down took one unit */
}

q32_t phi_normal(int64_t z40)
{
	if (z40 < NORMAL_FIRST_Z40)
		return 0;
	if (z40 < NORMAL_LAST_Z40)
		return normal_body(z40);
	return z40 < NORMAL_CAP_Z40 ? normal_tail(z40) : PHI_MAX;
}

/* One unit is taken off so that w = 0 is in the last cell. */
uint64_t logistic(uint64_t w_q60)
{
	uint64_t distance = LOGISTIC_END_Q60 - 1 - w_q60;
	const struct phi_node *node = &logistic_nodes[distance >> LOGISTIC_CELL_LOG2];
	uint64_t u = distance << (64 - LOGISTIC_CELL_LOG2);

	return node[0].value + hermite_rise(u, node[1].value - node[0].value, node[0].rise, node[1].rise);
}

/*
 * With w = |y| (A + B y^2) in decades: log10(1 + 10^-w) for y < 0, and w more for y > 0. That sum is monotone
 * because w grows by more than half a unit of y at each step of y, 2^19 units of Q60, and the table falls by
 * less than that.
 */
q32_t phi_akka(int64_t y40)
{
	uint64_t y = y40 < 0 ? -(uint64_t)y40 : (uint64_t)y40;
	uint64_t slope, w_q60;
	u128 w;

	if (y >= AKKA_CAP_Y40)
		return y40 < 0 ? 0 : PHI_MAX;
	slope = AKKA_LINEAR_Q44 + mul_high((uint64_t)((u128)y * y >> 41), AKKA_CUBIC_Q69);
	w = (u128)y * slope;
	if (w >> AKKA_W_BITS >= LOGISTIC_END_DECADES) {
		if (y40 < 0)
			return 0;
		return w >> AKKA_W_BITS < PHI_MAX >> 32 ? (q32_t)(w >> (AKKA_W_BITS - 32)) : PHI_MAX;
	}
	w_q60 = (uint64_t)(w >> (AKKA_W_BITS - 60));
	return q60_to_q32(logistic(w_q60) + (y40 < 0 ? 0 : w_q60));
}

q32_t phi_exponential(uint64_t t_ns, uint64_t n, uint64_t sum_ns)
{
	u128 decades =
		(u128)t_ns * n * LOG10_E_Q50 >> (50 - 32); /* n <= 2^12: below 2^125 before the shift */
	q32_t phi = div_floor(decades, sum_ns ? sum_ns : 1);

	return phi < PHI_MAX ? phi : PHI_MAX;
}

/*
 * floor(floor(t n L / 2^18) / sum) >= threshold, both divisors being positive integers, is the same as
 * t n L >= threshold sum 2^18; n L fits 61 bits.
 */
uint64_t phi_exponential_inverse(q32_t threshold, uint64_t n, uint64_t sum_ns)
{
	u128 least = (u128)threshold * (sum_ns ? sum_ns : 1);

	if (threshold > PHI_MAX || least >> (128 - 18))
		return UINT64_MAX;
	return div_ceil(least << 18, n * LOG10_E_Q50);
}

/* Bisection needs no more than that phi is monotone, and is exact. */
static inline int64_t smallest_z40(q32_t (*phi)(int64_t z40), q32_t threshold)
{
	int64_t below = NORMAL_FIRST_Z40 - 1, reached = NORMAL_CAP_Z40;

	while (reached - below > 1) {
		int64_t middle = below + (reached - below) / 2;

		if (phi(middle) >= threshold)
			reached = middle;
		else
			below = middle;
	}
	return reached;
}

int64_t phi_normal_inverse(q32_t threshold)
{
	return smallest_z40(phi_normal, threshold);
}

int64_t phi_akka_inverse(q32_t threshold)
{
	return smallest_z40(phi_akka, threshold);
}
