/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One peer at one instant, as it is judged without a daemon. */
#ifndef KPHI_SHOW_VIEW_H
#define KPHI_SHOW_VIEW_H

#include "core/grace.h"
#include "core/hosts.h"
#include "core/policy.h"
#include "kernel/store.h"

#define VIEW_REASON 512

struct view {
	struct kphi_record record;
	struct kphi_peer peer;
	struct kphi_rule rule;
	struct kphi_seal seal; /* of a native peer that has demands */
	const char *key; /* name of the ring it has its key in, the store's; NULL: none */
	struct opinion opinion;
	struct grace grace;
	struct kphi_verdict verdict; /* if there is a daemon that has one, and view_daemon() was asked */
	const struct kphi_daemon *daemon; /* whose verdict that is; NULL: there is none */
	uint64_t discount_ns; /* how long this host was stalled during the silence, and counts that off */
	uint64_t now_ns;
	uint32_t slot;
	bool muted, is_rule;
};

/* Room for the ring of any window. */
struct view_ring {
	uint64_t entry[KPHI_WINDOW_MAX];
};

/*
 * What a model judges the peer by; false while it is learning. A model that looks at the ring finds it in
 * *ring, which must outlive *e, and v->record may become a newer one of the same life.
 */
bool view_estimate(struct view *v, const struct store *s, struct view_ring *ring, struct kphi_estimate *e);

/* Fills in the rest; `record` and `peer` have been read from `slot`. */
void view_judge(struct view *v, const struct store *s, uint32_t slot, const struct threshold *suspect,
		uint64_t now_ns);

/* Its policy state, save for two. */
enum view_state {
	VIEW_WAITING,
	VIEW_LEARNING,
	VIEW_UP,
	VIEW_DEGRADED, /* up, but its own health check fails */
	VIEW_SUSPECT,
	VIEW_HELD, /* it would be suspect, but is in grace after a stall of this host */
	VIEW_LEFT,
	VIEW_DOWN,
	VIEW_STATES,
};

enum view_state view_state(const struct view *v);
const char *view_state_name(enum view_state state);

/* What that says of the host it runs on. */
enum host_word view_host_word(const struct view *v);

/* May its source change, and with it nothing else? Then who spoke last, else NULL. */
const uint8_t *view_speaker(const struct view *v);

/* Is that a verdict to act on: suspect, or declared down? Not while it is held or muted. */
bool view_is_suspect(const struct view *v);

/* What the last message in its name lacked that was refused; NULL: none was. */
const char *view_refusal(const struct view *v);

/* Why it is in this state, as sentences with semicolons between; "" when there is nothing to explain. */
void view_explain(const struct view *v, char *text, size_t size);

#endif
