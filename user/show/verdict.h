/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `kphi run` thinks of a peer, beside what anybody may think who reads its record. */
#ifndef KPHI_SHOW_VERDICT_H
#define KPHI_SHOW_VERDICT_H

#include "io/output.h"
#include "show/view.h"

/* "unknown", "trust", "suspect", "held", "blind" */
const char *verdict_state_name(uint8_t state);

/* In snake_case, as in the daemon's events; NULL for KPHI_BECAUSE_NOTHING. */
const char *verdict_cause_name(uint8_t cause);

/*
 * The verdict on a peer that was judged already. `daemon`: what store_daemon() found alive, or NULL; it must
 * outlive the view. A verdict of an earlier daemon, or on an earlier life of the peer, is none.
 */
void view_daemon(struct view *v, const struct store *s, const struct kphi_daemon *daemon);

enum view_found {
	VIEW_NOBODY,
	VIEW_BUSY, /* somebody, but the record was being written all the time */
	VIEW_PEER,
};

/* Who is in the slot, read, judged and, by `daemon` as above, with its verdict. */
enum view_found view_take(struct view *v, const struct store *s, const struct kphi_daemon *daemon,
			  const struct threshold *suspect, uint32_t slot, uint64_t now_ns);

/* JSON always; people see it in detail, and only what is not as it should be. */
void say_verdict(struct out *o, const struct view *v, bool detail);

#endif
