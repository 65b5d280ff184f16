/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errnos of attaching, as sentences with a remedy: bpf_link_create() itself gives nothing but a number. */
#ifndef KPHI_KERNEL_EXPLAIN_H
#define KPHI_KERNEL_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/attach.h"
#include "kernel/why.h"

/* Returns `err` with the sentence for it. */
int explain_attach(struct why *w, int err, const char *name, enum attach_mode mode);

/* The name of a loaded program, or "?" if it cannot be had. */
void explain_program(uint32_t id, char *name, size_t size);

#endif
