/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring buffers that packets fill while somebody asks for it: one reader at a time, who is root. */
#ifndef KPHI_KERNEL_RING_H
#define KPHI_KERNEL_RING_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/pin.h"
#include "kernel/why.h"

struct ring_role {
	const char *taken; /* what is said if somebody has this role already */
	const char *takes_root; /* "Recording takes root" */
};

/* Takes a role, of this name, until the descriptor is closed. A negative errno comes with a sentence. */
int ring_lock(const struct pin *p, const char *name, const struct ring_role *role, struct why *w);

/*
 * Opens the pinned ring buffer of this name, of at most `entries` entries, and throws away what a reader
 * before has left. NULL after a sentence; free it with ring_buffer__free().
 */
struct ring_buffer *ring_open(const struct pin *p, const char *name, uint32_t entries,
			      ring_buffer_sample_fn take, void *context, struct why *w);

/* The store was purged meanwhile: nothing will come any more. */
bool ring_is_over(int lock);

#endif
