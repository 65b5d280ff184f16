/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two opinions of one peer, and what follows from them: pure, and without a number compared across scales. A
 * phi of theirs is told, with its scale, and judged by nobody here.
 */
#ifndef KPHI_CHECK_VERDICT_H
#define KPHI_CHECK_VERDICT_H

#include "check/claim.h"
#include "core/policy.h"

/* X(name, does it make the two disagree) */
#define CHECK_VERDICTS(X)                                                                                    \
	X(agree_up, 0)                                                                                       \
	X(agree_down, 0)                                                                                     \
	X(they_suspect, 1)                                                                                   \
	X(they_trust, 1)                                                                                     \
	X(undecided, 0)                                                                                      \
	X(unknown_to_us, 0)                                                                                  \
	X(unknown_to_them, 0)

enum check_verdict {
#define X(name, disagree) CHECK_##name,
	CHECK_VERDICTS(X)
#undef X
		CHECK_VERDICTS_COUNT,
};

/* Why nothing is concluded from what this host heard. */
enum check_doubt {
	DOUBT_NONE,
	DOUBT_BUSY, /* its record was written all the time */
	DOUBT_MUTED,
	DOUBT_BLIND, /* this host cannot hear it: carrier, hook */
	DOUBT_HELD, /* it would be suspect, but the evidence is against this host */
	DOUBT_WAITING, /* never heard, or a goodbye too old to be believed */
	DOUBT_LEARNING,
};

/* One stream as this host heard it, at one instant. */
struct check_ours {
	const char *peer; /* its name */
	const char *host; /* its label, or "" */
	enum peer_state state;
	enum check_doubt doubt;
	bool judged; /* phi means something */
	q32_t phi, threshold;
	uint8_t model; /* enum kphi_model */
	uint64_t silence_ns; /* 0 if it was never heard */
	uint64_t mean_ns; /* of its window; 0: none */
	uint64_t stalled_ns; /* how long this host stalled during the silence; that is taken off already */
	uint64_t last_stall_ns; /* length of the longest stall of this host's last minute; 0: none */
	uint64_t last_stall_ago_ns; /* and how long ago it ended */
	const char *reason; /* view_explain()'s sentences, or "" */
	const char *audible; /* another stream of the same host that is on time; NULL: there is none */
};

/* What withholds a conclusion. `held` and `blind` may be known from elsewhere, such as the daemon. */
enum check_doubt check_doubt(enum peer_state state, bool busy, bool muted, bool blind, bool held);

/* Either may be NULL, not both: then one side does not know the peer. */
enum check_verdict check_decide(const struct check_ours *ours, const struct claim *theirs);

const char *check_verdict_name(enum check_verdict verdict); /* "they_trust" */
bool check_is_disagreement(enum check_verdict verdict);

#define CHECK_WHY 1024

/*
 * One sentence with the figures behind the verdict on ours and theirs. `called` is the source's name. At most
 * CHECK_WHY bytes, zero included.
 */
void check_explain(const struct check_ours *o, const struct claim *c, const char *called, char *text,
		   size_t size);

#endif
