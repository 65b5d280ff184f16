/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Yardsticks: the failure detectors of others, as their papers or their source define them, to be measured on
 * the same arrivals as kphi's own models. They exist only in replay and decide nothing live, so they compute
 * in floating point.
 *
 * All are seen as one thing: after each arrival, a silence that is granted. One parameter makes each of them
 * hastier or more patient, so that all can be compared along one axis.
 */
#ifndef KPHI_REPLAY_DETECTOR_H
#define KPHI_REPLAY_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a detector is told about the peer when its first arrival is there. */
struct detector_settings {
	uint32_t window; /* intervals or arrivals that it may remember */
	uint64_t interval_ns; /* in force; >= 1 */
	uint64_t min_std_ns, pause_ns; /* as for the normal model */
	uint64_t period_ns; /* of the sender's clock, where it is known exactly; 0: to be estimated */
};

/* The next arrival, and what lies between it and the one before. */
struct detector_arrival {
	uint64_t silence_ns;
	uint64_t steps; /* by how much the sequence number has grown; 1 if there is none */
	uint64_t interval_ns; /* in force, as in the settings */
};

enum detector_unit {
	DETECTOR_NUMBER,
	DETECTOR_TIME, /* nanoseconds */
};

struct detector {
	const char *name;
	const char *source; /* who defines it, and where */
	const char *parameter; /* what the parameter is called there */
	enum detector_unit unit;
	double usual; /* parameter; 0: it depends on the peer, and must be given */
	bool learns_by_verdict; /* the parameter decides what is learned: a state for each */
	size_t (*size)(const struct detector_settings *settings); /* of the state, in bytes */
	void (*init)(void *state, const struct detector_settings *settings);
	void (*arrive)(void *state, const struct detector_arrival *a, double parameter);
	/* The silence after the last arrival from which on it suspects, ns; not above 0: at once. */
	double (*deadline)(const void *state, double parameter);
};

extern const struct detector detector_fixed, detector_bfd, detector_jacobson;
extern const struct detector detector_chen, detector_bertier, detector_two_windows;
extern const struct detector detector_akka, detector_akka_port, detector_cassandra;

/* All of them, with a NULL at the end. */
extern const struct detector *const detectors[];

/* The one of exactly this name, or NULL. */
const struct detector *detector_by_name(const char *name);

#endif
