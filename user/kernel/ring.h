/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring buffers that packets fill while somebody asks for it: one reader at a time, who is root. The
 * kernel fills one for as long as a lease runs that its reader renews; when he is gone, it ends by itself.
 */
#ifndef KPHI_KERNEL_RING_H
#define KPHI_KERNEL_RING_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/control.h"
#include "kernel/pin.h"
#include "kernel/why.h"

/* What somebody reads, and as whom. */
struct ring_role {
	const char *name; /* of the pinned ring buffer */
	const char *lock; /* of what he holds in the store's folder meanwhile */
	uint32_t entries; /* that fit, at most */
	uint64_t lease_ns, renew_ns; /* how long a lease runs, and when it is renewed */
	int (*lease)(struct control *c, uint64_t until_ns, struct why *w);
	const char *taken; /* what is said if somebody has this role already */
	const char *takes_root; /* "Recording takes root" */
};

struct ring_reader {
	const struct ring_role *role;
	struct control control;
	struct ring_buffer *buffer;
	int lock;
	uint64_t until_ns, renew_ns; /* until_ns 0: no lease runs */
};

#define RING_CLOSED                                                                                          \
	{                                                                                                    \
		.lock = -1, .control.program = -1                                                            \
	}

/*
 * Takes the role, and throws away what a reader before has left. `role` has to outlive it. 0 or a negative
 * errno with a sentence; ring_close() is owed in either case.
 */
int ring_open(struct ring_reader *r, const struct pin *p, const struct ring_role *role,
	      ring_buffer_sample_fn take, void *context, struct why *w);

/* From now on, or once more: packets are told for as long as the role has it. 0 or a negative errno with a
 * sentence. */
int ring_lease(struct ring_reader *r, uint64_t now_ns, struct why *w);

/* Hands on what is there until `take` says -ECANCELED. 0 or a negative errno with a sentence. */
int ring_take(struct ring_reader *r, struct why *w);

/* Nothing more is told; what is there can still be taken. 0 or a negative errno with a sentence: then the
 * lease ends by itself. */
int ring_stop(struct ring_reader *r, struct why *w);

/* The store was purged meanwhile: nothing will come any more. */
bool ring_is_over(const struct ring_reader *r);

/* Stops, if that was not done, and gives the role back. */
void ring_close(struct ring_reader *r);

#endif
