/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where things are pinned. The root is a directory on a bpffs: ours at /run/kphi/bpf, or one the user names.
 * In it each ABI has a folder of its own, so that a binary never opens maps of another layout:
 *
 *   ROOT/abi-1a2b3c4d/{store,peers,records,...}    the maps
 *   ROOT/abi-1a2b3c4d/control                      the control program
 *   ROOT/abi-1a2b3c4d/links/...                    one bpf_link a device, see attach.h
 *   ROOT/abi-1a2b3c4d/recorder                     empty; locked by whoever records arrivals
 */
#ifndef KPHI_KERNEL_PIN_H
#define KPHI_KERNEL_PIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/why.h"

#define PIN_ROOT_DEFAULT "/run/kphi/bpf"
#define PIN_DRAFT        "new-store" /* a folder in which a store is being made, until its rename */
#define PIN_PATH         512

struct pin {
	char root[PIN_PATH];
	char store[PIN_PATH]; /* ROOT/abi-... of this binary */
	int lock; /* descriptor of the locked root, or -1 */
	bool ours; /* the default root, which kphi mounts and unmounts itself */
	bool made; /* a root that this command has made or mounted, until pin_close() */
	bool swept; /* the lock found what a killed purge had left */
};

/*
 * Find the root: `root` NULL means the default. With `create`, mounts a bpffs at the default root or makes
 * the named directory. Without, -ENOENT when there is no root yet.
 */
int pin_open(struct pin *p, const char *root, bool create, struct why *w);

/* Commands that change anything queue here; released by pin_close() or the end of the process. */
int pin_lock(struct pin *p, struct why *w);

/* Would pin_lock() have to wait now? For those who must not. */
bool pin_is_locked(const struct pin *p);

void pin_close(struct pin *p);

/* mkdir(2) with just this mode, whatever the umask: the store's group has to get through. 0 or -errno. */
int pin_make_folder(const char *path, mode_t mode);

/* Removes ROOT/FOLDER and all that is pinned in it. */
int pin_discard(const struct pin *p, const char *folder);

/* ROOT/abi-.../NAME into `path` (of PIN_PATH bytes). */
const char *pin_path(const struct pin *p, const char *name, char *path);

/* Is there a store of this binary's ABI? Of another one (its eight digits into `abi`, of 16 bytes)? */
bool pin_has_store(const struct pin *p);
bool pin_other_abi(const struct pin *p, char *abi);

/* Unpins everything in the folder of `abi` (NULL: this binary's), and the default root itself if nothing is
 * left. */
int pin_purge(struct pin *p, const char *abi, struct why *w);

#endif
