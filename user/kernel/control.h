/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changing the store: requests to the pinned control program. Callers hold the store's lock (pin_lock), which
 * is what makes "find a free slot, then take it" one step among kphi commands.
 */
#ifndef KPHI_KERNEL_CONTROL_H
#define KPHI_KERNEL_CONTROL_H

#include <kphi/maps.h>

#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

struct control {
	int program; /* descriptor of the pinned control program */
	uint32_t shaped[KPHI_SHAPES + 1]; /* a slot that had a rule of this shape: looked at first */
};

int control_open(struct control *c, const struct pin *p, struct why *w);
void control_close(struct control *c);

/*
 * Add `peer` (name, identity, settings) to the first free slot at or after *slot; *slot becomes the one it
 * took. -EEXIST: the identity belongs to another peer. -ENOSPC: the store is full, or its rules have too many
 * shapes. Names are the caller's to check.
 *
 * `rule` completes the identity of a peer of kind KPHI_ID_RULE: its matches and its shape are filled in here.
 * NULL: the plain one, any packet from that source to that port (or of that protocol).
 */
int control_add(struct control *c, const struct store *s, struct kphi_peer *peer,
		const struct kphi_rule *rule, uint32_t *slot, struct why *w);

/* Of a native peer, what was heard of it before it was added again: older messages are stale from the start.
 */
struct control_floor {
	uint64_t epoch;
	uint64_t sequence; /* of that epoch; 0: none of it was heard, or it is not known */
};

/* The same for a peer that was known before, before a reboot for example. */
int control_restore(struct control *c, const struct store *s, struct kphi_peer *peer,
		    const struct kphi_rule *rule, const struct control_floor *floor, uint32_t *slot,
		    struct why *w);

/* The ways in which rules look at packets: for who adds many of them, and wants to know before whether all
 * fit.
 */
struct control_shapes {
	struct kphi_shape shape[KPHI_SHAPES];
	uint32_t count;
};

/* False: the rule looks in one more way than a store has. */
bool control_shapes_take(struct control_shapes *c, const struct kphi_rule *rule);

/* One request, as it is: 0, or -errno with a sentence that begins with `what`. */
int control_ask(struct control *c, struct kphi_control *q, struct why *w, const char *what);

/* The device of this name has this ifindex now: rules that name it follow. */
int control_follow(struct control *c, const struct store *s, const char *device, uint32_t ifindex,
		   struct why *w);

/* Delete the peer of this generation in `slot`, or reset it. -ESTALE: another one lives there by now. */
int control_delete(struct control *c, const struct store *s, uint32_t slot, uint32_t generation,
		   struct why *w);

/*
 * The same for many at once, in time that grows with the store and with `count` but not with their product.
 * Ends with the first that fails.
 */
int control_delete_all(struct control *c, const struct store *s, const struct kphi_slot *which,
		       uint32_t count, struct why *w);

int control_reset(struct control *c, uint32_t slot, uint32_t generation, struct why *w);

/*
 * Maintenance: no verdicts on the peer before until_ns, for a reason that people are shown (valid UTF-8,
 * shorter than KPHI_MUTE_REASON; NULL: none). An until_ns of 0 ends it. -ESTALE as above, here and in
 * control_watch().
 */
#define KPHI_MUTE_REASON sizeof(((struct kphi_peer *)0)->mute_reason)
int control_mute(struct control *c, uint32_t slot, uint32_t generation, uint64_t until_ns, const char *reason,
		 struct why *w);

/* Is a hint wanted at the next beat of this peer? */
int control_watch(struct control *c, uint32_t slot, uint32_t generation, bool on, struct why *w);

/* End the guard's tick on every CPU: for when no device is attached any more. The next beat on a CPU starts
 * its tick again. */
int control_stop_ticks(struct control *c, const struct store *s, struct why *w);

/* Listen for native heartbeats on a port, or stop. */
int control_listen(struct control *c, uint16_t port, bool on, struct why *w);

/* Arrivals go to the ring buffer `arrivals` until then (CLOCK_MONOTONIC); 0: no more. Takes no lock of the
 * store's: whoever records holds one of his own. */
int control_record(struct control *c, uint64_t until_ns, struct why *w);

/* The same for messages of unknown ids and the ring buffer `strangers`. */
int control_discover(struct control *c, uint64_t until_ns, struct why *w);

/* The daemon's alone; neither takes a lock. Publish all of *verdict but its version, whoever lives in the
 * slot. */
int control_verdict(struct control *c, uint32_t slot, const struct kphi_verdict *verdict, struct why *w);

/* Verdicts of the slots from `first` up to `end`, KPHI_REFRESH_SLOTS at most, that this life of the daemon
 * has written are valid until then. */
int control_refresh(struct control *c, uint32_t first, uint32_t end, uint32_t life, uint64_t until_ns,
		    struct why *w);

#endif
