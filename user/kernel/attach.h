/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program on the devices. What holds it on a device is pinned in the store's folder under
 * NETNS-IFINDEX-MODE-NAME (dots of the name as colons: bpffs allows none): the bpf_link, or, where the kernel
 * has none for its hook, the program. So removing the file detaches a link, no other tool can by accident,
 * and links of two network namespaces cannot be taken for each other. MODE keeps what was asked for, what
 * came of it and why, see attach_pin.c.
 */
#ifndef KPHI_KERNEL_ATTACH_H
#define KPHI_KERNEL_ATTACH_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/pin.h"
#include "kernel/store.h"
#include "kernel/why.h"

/* From the earliest stamp to the latest; auto is the first of them that can be had. */
enum attach_mode { ATTACH_AUTO, ATTACH_NATIVE, ATTACH_TC, ATTACH_GENERIC };
#define ATTACH_MODES 4
extern const char *const attach_modes[ATTACH_MODES + 1]; /* their names, then NULL */

enum attach_hook { HOOK_XDP, HOOK_TCX, HOOK_CLSACT };
extern const char *const attach_hooks[];

struct attachment {
	char device[IFNAMSIZ]; /* its present name if it is in our network namespace, else the one it was
				  attached by */
	uint64_t netns; /* inode of its network namespace */
	uint32_t ifindex;
	enum attach_mode wanted; /* as it was asked for */
	enum attach_mode mode; /* what came of it: native, tc or generic */
	enum attach_hook hook;
	int refusal; /* of native XDP, a negative errno; 0: it was not tried, or not refused */
	uint16_t priority; /* of a clsact filter */
	bool own_qdisc; /* which hangs on a qdisc that kphi made */
	bool here; /* in this process's network namespace */
	bool alive; /* false: the device is gone, or somebody forced the program off */
	bool known; /* false: a filter in another network namespace, of which only that one can tell */
	uint32_t program_id, link_id; /* link_id 0: a filter */
	char pin[PIN_PATH]; /* removing this file detaches a link */
};

/*
 * Attach to `device`, or, if it is attached already, put this binary's program in the place of the present
 * one. Every other device of the store gets the new program too, all from one load; no window and no beat is
 * lost. Rules that name the device follow it. Under the lock. *result tells what came of it; `w` holds the
 * reason for anything less than native XDP that was not asked for even when 0 is returned, else "".
 */
int attach_device(struct pin *p, const struct store *s, const char *device, enum attach_mode mode,
		  struct attachment *result, struct why *w);

/* Under the lock. -ENOENT: not attached. */
int attach_detach(struct pin *p, const char *device, struct why *w);

/* Under the lock: whatever removing the pins alone would leave on the devices (clsact filters), in the store
 * of `abi` (NULL: this binary's). */
void attach_abandon(const struct pin *p, const char *abi);

/* Calls `each` for every attachment until it returns non-zero; returns that, or a negative errno. */
int attach_each(const struct pin *p, int (*each)(const struct attachment *a, void *context), void *context,
		struct why *w);

/* Is the program on the device this very binary's? Then an exchange would change nothing. Loads it to
 * compare. */
bool attach_is_current(const struct pin *p, const struct store *s, const struct attachment *a);

#endif
