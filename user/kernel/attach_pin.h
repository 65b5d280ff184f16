/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of attachments' pins. */
#ifndef KPHI_KERNEL_ATTACH_PIN_H
#define KPHI_KERNEL_ATTACH_PIN_H

#include "kernel/attach.h"

/* Sets a->pin to where this attachment of the store at `p` belongs. */
void attach_pin_path(const struct pin *p, struct attachment *a);

/* From a pin's file name; false if it is none of an attachment. */
bool attach_pin_parse(const char *name, struct attachment *a);

#endif
