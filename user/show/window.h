/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_SHOW_WINDOW_H
#define KPHI_SHOW_WINDOW_H

#include "core/models.h"
#include "io/output.h"

/* A window and its histogram, into an open object. `ring`: its n entries, oldest first; taken apart on the
 * way. */
void say_window(struct out *o, const char *name, const struct kphi_window *w, uint64_t *ring);

#endif
