/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a BFD speaker said last, in RFC 5880's words, and what a BFD that had heard the same would conclude.
 */
#ifndef KPHI_SHOW_BFD_H
#define KPHI_SHOW_BFD_H

#include <kphi/bfd.h>
#include <stdbool.h>

#include "io/output.h"
#include "show/view.h"

/* "AdminDown", "Down", "Init", "Up" */
const char *bfd_state_name(uint8_t state);

/* Section 4.1 in lower case: "no diagnostic", "control detection time expired", ...; "reserved" from 9 on. */
const char *bfd_diagnostic_name(uint8_t diagnostic);

enum bfd_verdict {
	BFD_EXPECTS_NOTHING, /* no session that silence could end: it is down, or in demand mode */
	BFD_HOLDS, /* the detection time has not passed */
	BFD_MAY_BE_DOWN, /* its lower bound has */
	BFD_IS_DOWN,
};

/*
 * Detection time (6.8.4): the sender's multiplier times the larger of its desired minimum transmit interval
 * and this host's required minimum receive interval. The latter leaves this host and is not seen; where it is
 * not known either (0), what is left is a lower bound.
 */
struct bfd_conclusion {
	enum bfd_verdict verdict;
	bool is_lower_bound;
	uint64_t detection_ns;
	uint64_t left_ns; /* holds: until it has passed, at least */
	uint64_t past_ns; /* down: since when; may be down: since when at the earliest */
};

struct bfd_conclusion bfd_conclude(const struct kphi_bfd *bfd, uint64_t local_rx_ns, uint64_t elapsed_ns);

/* The record's BFD, if the peer is one and was heard; else NULL. */
const struct kphi_bfd *view_bfd(const struct view *v);

/* A sentence on a session that is not simply up, "" else. */
void bfd_explain(const struct view *v, char *text, size_t size);

/* The object "bfd", or null. */
void say_bfd(struct out *o, const struct view *v, bool detail);

#endif
