/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two halves of devices.h share: knowing (devices.c) and hearing (devices_hear.c). Nobody else
 * includes this. */
#ifndef KPHI_KERNEL_DEVICES_STATE_H
#define KPHI_KERNEL_DEVICES_STATE_H

#include "kernel/devices.h"
#include "kernel/links.h"

#define ALIASES 16 /* of one device, the latest ones */

struct device {
	char name[IFNAMSIZ]; /* its latest one */
	uint64_t netns;
	uint32_t ifindex; /* its latest one */
	/* Other numbers under which beats by this device are recorded: those it had before it vanished and
	 * returned, and its members' (native XDP on a bond runs on these). */
	uint32_t alias[ALIASES], aliases;
	enum attach_mode mode, wanted;
	enum attach_hook hook;
	bool here;
	uint32_t round; /* of the listing that found the pin of its link */
	bool pinned; /* kphi means to be attached: the pin of its link is there */
	bool alive; /* and the link says that the program is on a device */
	bool present; /* rtnetlink knows its number */
	bool no_carrier; /* carrier is gone, or set down; as it was, while it is not present */
	bool set_down;
	bool deaf; /* since_ns is about this */
	uint64_t since_ns; /* that it is deaf, or hears */
	bool said_hook, said_carrier; /* what was announced as lost */
};

struct devices {
	struct pin pin;
	struct links *links; /* rtnetlink */
	struct device *list;
	uint32_t count;
	uint32_t round; /* listings so far */
	uint64_t sure_ns; /* when all of this was last made sure of */
	bool changed; /* somebody went deaf or hears again, and whoever listens by it does not know yet */
	bool upset; /* a device vanished or returned: the pinned links are to be asked */
	int (*reattach)(void *context, const char *device, enum attach_mode mode);
	void *context;
};

/* CAUSE_HOOK, CAUSE_CARRIER or CAUSE_NONE. */
enum event_cause device_deafness(const struct device *v);
bool device_has_alias(const struct device *v, uint32_t ifindex);

/* Asks the kernel about every device, unless it was asked a moment ago. What cannot be asked stays as it was.
 */
void devices_make_sure(struct devices *d, uint64_t now_ns);

#endif
