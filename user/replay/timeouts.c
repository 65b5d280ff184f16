// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Yardsticks that time an interval: a fixed timeout, BFD's multiple, Jacobson's mean and deviation. */
#include <math.h>

#include "replay/detector.h"

/* --- a fixed timeout: the heartbeat algorithm of the textbooks */

static size_t fixed_size(const struct detector_settings *settings)
{
	(void)settings;
	return 0;
}

static void fixed_init(void *state, const struct detector_settings *settings)
{
	(void)state;
	(void)settings;
}

static void fixed_arrive(void *state, const struct detector_arrival *a, double timeout_ns)
{
	(void)state;
	(void)a;
	(void)timeout_ns;
}

static double fixed_deadline(const void *state, double timeout_ns)
{
	(void)state;
	return timeout_ns;
}

const struct detector detector_fixed = {
	.name = "fixed",
	.source = "a timeout from the last arrival",
	.parameter = "timeout",
	.unit = DETECTOR_TIME,
	.size = fixed_size,
	.init = fixed_init,
	.arrive = fixed_arrive,
	.deadline = fixed_deadline,
};

/* --- BFD: a number of the sender's intervals, whatever they really were */

struct bfd {
	double interval_ns;
};

static size_t bfd_size(const struct detector_settings *settings)
{
	(void)settings;
	return sizeof(struct bfd);
}

static void bfd_init(void *state, const struct detector_settings *settings)
{
	*(struct bfd *)state = (struct bfd){(double)settings->interval_ns};
}

static void bfd_arrive(void *state, const struct detector_arrival *a, double multiplier)
{
	(void)multiplier;
	((struct bfd *)state)->interval_ns = (double)a->interval_ns;
}

static double bfd_deadline(const void *state, double multiplier)
{
	return multiplier * ((const struct bfd *)state)->interval_ns;
}

const struct detector detector_bfd = {
	.name = "bfd",
	.source = "RFC 5880, 6.8.4: the detection time",
	.parameter = "detect multiplier",
	.usual = 3,
	.size = bfd_size,
	.init = bfd_init,
	.arrive = bfd_arrive,
	.deadline = bfd_deadline,
};

/*
 * --- Jacobson's retransmission timeout, with an interval for a round trip. RFC 6298, section 2, without
 * (2.4): a least timeout of a second is about TCP's retransmissions and not about heartbeats.
 */

#define JACOBSON_ALPHA (1 / 8.0)
#define JACOBSON_BETA  (1 / 4.0)

struct jacobson {
	double mean_ns, deviation_ns; /* SRTT, RTTVAR */
	bool measured;
};

static size_t jacobson_size(const struct detector_settings *settings)
{
	(void)settings;
	return sizeof(struct jacobson);
}

static void jacobson_begin(struct jacobson *j, double interval_ns, bool measured)
{
	*j = (struct jacobson){interval_ns, interval_ns / 2, measured};
}

static void jacobson_init(void *state, const struct detector_settings *settings)
{
	jacobson_begin(state, (double)settings->interval_ns, false);
}

static void jacobson_arrive(void *state, const struct detector_arrival *a, double k)
{
	struct jacobson *j = state;
	double x = (double)a->silence_ns;

	(void)k;
	if (!j->measured) {
		jacobson_begin(j, x, true);
		return;
	}
	j->deviation_ns += JACOBSON_BETA * (fabs(j->mean_ns - x) - j->deviation_ns);
	j->mean_ns += JACOBSON_ALPHA * (x - j->mean_ns);
}

static double jacobson_deadline(const void *state, double k)
{
	const struct jacobson *j = state;

	return j->mean_ns + k * j->deviation_ns;
}

const struct detector detector_jacobson = {
	.name = "jacobson",
	.source = "RFC 6298, section 2 (Jacobson, SIGCOMM 1988), on intervals",
	.parameter = "K",
	.usual = 4,
	.size = jacobson_size,
	.init = jacobson_init,
	.arrive = jacobson_arrive,
	.deadline = jacobson_deadline,
};
