// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Yardsticks that set a freshness point behind the expected arrival: Chen's NFD-E, Bertier, two windows. */
#include <math.h>
#include <stddef.h>

#include "replay/expected.h"

/* --- NFD-E: the expected arrival, and a constant margin */

static void chen_init(void *state, const struct detector_settings *settings)
{
	expected_init(state, settings);
}

static void chen_arrive(void *state, const struct detector_arrival *a, double alpha_ns)
{
	(void)alpha_ns;
	expected_arrive(state, a);
}

static double chen_deadline(const void *state, double alpha_ns)
{
	return expected_silence(state) + alpha_ns;
}

const struct detector detector_chen = {
	.name = "chen",
	.source = "NFD-E: Chen, Toueg and Aguilera, IEEE ToC 51(5), 2002, section 6.3",
	.parameter = "alpha",
	.unit = DETECTOR_TIME,
	.size = expected_size,
	.init = chen_init,
	.arrive = chen_arrive,
	.deadline = chen_deadline,
};

/*
 * --- Bertier, Marin and Sens: the margin follows the error of the expectation, as Jacobson's timeout follows
 * a round trip. Their gamma is 0.1 and their beta 1; phi, which weighs the variation, is 4 in their paper and
 * the parameter here. The variation begins with half an interval, as RFC 6298 begins: from nothing, the
 * first interval would be a mistake as a rule.
 */

#define BERTIER_GAMMA 0.1
#define BERTIER_BETA  1

struct bertier {
	double delay_ns, variation_ns;
	struct expected expected;
};

static size_t bertier_size(const struct detector_settings *settings)
{
	return offsetof(struct bertier, expected) + expected_size(settings);
}

static void bertier_init(void *state, const struct detector_settings *settings)
{
	struct bertier *b = state;

	b->delay_ns = 0;
	b->variation_ns = (double)settings->interval_ns / 2;
	expected_init(&b->expected, settings);
}

/* Beats that were lost have no error; the one that came was expected as many periods later. */
static void bertier_arrive(void *state, const struct detector_arrival *a, double phi)
{
	struct bertier *b = state;
	double expected_ns = expected_silence(&b->expected) +
			     (double)(a->steps ? a->steps - 1 : 0) * expected_period(&b->expected);
	double error_ns = (double)a->silence_ns - expected_ns - b->delay_ns;

	(void)phi;
	b->delay_ns += BERTIER_GAMMA * error_ns;
	b->variation_ns += BERTIER_GAMMA * (fabs(error_ns) - b->variation_ns);
	expected_arrive(&b->expected, a);
}

static double bertier_deadline(const void *state, double phi)
{
	const struct bertier *b = state;

	return expected_silence(&b->expected) + BERTIER_BETA * b->delay_ns + phi * b->variation_ns;
}

const struct detector detector_bertier = {
	.name = "bertier",
	.source = "Bertier, Marin and Sens, DSN 2002",
	.parameter = "phi",
	.usual = 4,
	.size = bertier_size,
	.init = bertier_init,
	.arrive = bertier_arrive,
	.deadline = bertier_deadline,
};

/*
 * --- 2W-FD: NFD-E over a long window and over a short one at once, the later expectation counts. The short
 * window is a single arrival, as the authors recommend: it expects the next beat one period after the last.
 */

static double two_windows_deadline(const void *state, double margin_ns)
{
	const struct expected *e = state;

	return fmax(expected_silence(e), expected_period(e)) + margin_ns;
}

const struct detector detector_two_windows = {
	.name = "2w",
	.source = "2W-FD: Tomsic, Sens, Garcia, Arantes and Sopena, IPDPS 2015",
	.parameter = "margin",
	.unit = DETECTOR_TIME,
	.size = expected_size,
	.init = chen_init,
	.arrive = chen_arrive,
	.deadline = two_windows_deadline,
};
