/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is behind the handle of <kphi.h>: nothing in it changes after kphi_open(). */
#ifndef KPHI_LIB_HANDLE_H
#define KPHI_LIB_HANDLE_H

#include <kphi.h>
#include <sys/types.h>

#include "core/models.h"
#include "kernel/pin.h"
#include "kernel/store.h"

struct kphi {
	struct store store;
	struct pin pin;
	struct threshold usual; /* phi 8, ready */
	dev_t device; /* of the pin of the store's header, by which it is known again */
	ino_t inode;
};

#endif
