/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_SHOW_GUARD_H
#define KPHI_SHOW_GUARD_H

#include "io/output.h"
#include "kernel/pin.h"
#include "kernel/store.h"

/* What this host knows about its own hearing, into an open object. Needs no daemon; asks the kernel for its
 * devices, which root alone may: to others they are null. */
void say_guard(struct out *o, const struct pin *pin, const struct store *s, uint64_t now_ns);

#endif
