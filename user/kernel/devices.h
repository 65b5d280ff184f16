/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a long-running kphi knows about the devices that are attached: can it hear by them? A device is deaf
 * if its carrier is gone or it is set down (from rtnetlink, for devices of this network namespace), or if the
 * program is no longer on it (from its pinned link, wherever the device is). Times are CLOCK_MONOTONIC and
 * the caller's.
 *
 * No descriptor of a link is kept open: the pin alone holds a link, so that removing the pin detaches.
 */
#ifndef KPHI_KERNEL_DEVICES_H
#define KPHI_KERNEL_DEVICES_H

#include <kphi/maps.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/event.h"
#include "kernel/attach.h"
#include "kernel/pin.h"
#include "kernel/why.h"

/* A device whose arrival was in the last so many intervals before a record's last one counts as lately heard
 * on. */
#define DEVICES_LATELY 10

struct devices;

/*
 * The attached devices of the store as they are now; none is fine. `pin` is copied. Nothing is said about
 * them until devices_check() is called, which should be at once. NULL, with the reason in `w`.
 */
struct devices *devices_new(const struct pin *pin, struct why *w);
void devices_free(struct devices *d); /* NULL is fine */

/* Who attaches a device that vanished and returned under the same name (attach_device() under the store's
 * lock). 0 or a negative errno: then it is asked again at the next check, once a second. Without this call
 * nothing is attached again. */
void devices_on_return(struct devices *d,
		       int (*reattach)(void *context, const char *device, enum attach_mode mode),
		       void *context);

/* The rtnetlink socket, to be polled for input. It never blocks. */
int devices_fd(const struct devices *d);

/*
 * Reads what has come on devices_fd(). devices_check() asks every pinned link, so it is for once a second,
 * and after an attach or detach of one's own. Both say what has changed through event(): EVENT_carrier and
 * EVENT_hook, with CAUSE_BEGUN when a device goes deaf, CAUSE_ENDED when it hears again; `subject` is its
 * name, `detail` a sentence. Both return 1 if a device went deaf or hears again, so that every peer wants a
 * look, 0 if not, or a negative errno (what is known then stays as it was).
 */
int devices_dispatch(struct devices *d, uint64_t now_ns,
		     void (*event)(void *context, const struct event *event), void *context);
int devices_check(struct devices *d, uint64_t now_ns, void (*event)(void *context, const struct event *event),
		  void *context);

/*
 * How this host stands towards a peer. Blind if all the devices are deaf by which the record was lately heard
 * (its last one, and the other one if that is not long ago), or, for a peer not heard yet, all that are
 * attached; a record that names a device nobody knows anything about is not blind, unless nothing is attached
 * at all. since_ns: on the devices that do hear, the time from which they do without a gap: the earliest of
 * them for a peer that was heard, the latest for one that was not (it may be behind any of them).
 *
 * If the peer is overdue, or not heard yet, what is known of the devices is made sure of first: a verdict
 * does not wait for news that is a second late. It is asked at most every DEVICES_SURE_NS; events of what is
 * found come with the next devices_check().
 */
#define DEVICES_SURE_NS 5000000ULL
struct engine_hearing devices_hearing(struct devices *d, const struct kphi_record *record, uint64_t now_ns);

/* One device, for display and metrics. */
struct devices_view {
	const char *name;
	uint64_t netns; /* inode of its network namespace */
	uint32_t ifindex;
	enum attach_mode mode;
	enum attach_hook hook;
	bool here; /* in this process's network namespace: its carrier is known */
	enum event_cause deaf; /* CAUSE_CARRIER, CAUSE_HOOK or CAUSE_NONE */
	const char *reason; /* of deaf, a sentence; "" */
	uint64_t since_ns; /* deaf or hearing since; as far as is known */
};

uint32_t devices_count(const struct devices *d);
struct devices_view devices_view(const struct devices *d, uint32_t i);

#endif
