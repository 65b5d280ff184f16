/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program on the devices. A device is held by a bpf_link that is pinned in the store's folder under
 * NETNS-IFINDEX-MODE-NAME (dots of the name as colons: bpffs allows none), so that removing the file detaches
 * it, no other tool can by accident, and links of two network namespaces cannot be taken for each other.
 */
#ifndef KPHI_KERNEL_ATTACH_H
#define KPHI_KERNEL_ATTACH_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

enum attach_mode { ATTACH_AUTO, ATTACH_NATIVE, ATTACH_GENERIC };

struct attachment {
	char device[IFNAMSIZ]; /* its present name if it is in our network namespace, else the one it was
				  attached by */
	uint64_t netns; /* inode of its network namespace */
	uint32_t ifindex;
	enum attach_mode mode; /* native or generic */
	bool here; /* in this process's network namespace */
	bool alive; /* false: the device is gone, or somebody forced the link off */
	uint32_t program_id, link_id;
	char pin[PIN_PATH]; /* removing this file detaches */
};

/*
 * Attach to `device`, or, if it is attached already, put this binary's program in the place of the present
 * one. Every other device of the store gets the new program too; no window and no beat is lost. Under the
 * lock. *result tells what came of it; `w` holds the reason for a fallback to generic mode even when 0 is
 * returned, else "".
 */
int attach_device(struct pin *p, const struct store *s, const char *device, enum attach_mode mode,
		  struct attachment *result, struct why *w);

/* Under the lock. -ENOENT: not attached. */
int attach_detach(struct pin *p, const char *device, struct why *w);

/* Calls `each` for every attachment until it returns non-zero; returns that, or a negative errno. */
int attach_each(const struct pin *p, int (*each)(const struct attachment *a, void *context), void *context,
		struct why *w);

#endif
