/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the object embedded in this binary to maps and programs in the kernel. */
#ifndef KPHI_KERNEL_LOAD_H
#define KPHI_KERNEL_LOAD_H

#include <kphi/maps.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel/pin.h"
#include "kernel/why.h"

struct kphi_bpf;

/* The maps of <kphi/maps.h> as they are pinned. */
struct load_map {
	const char *pin; /* file name in the store's folder */
	const char *map; /* name in the object */
	bool shared; /* frozen, and readable by the store's group */
};
extern const struct load_map load_maps[];
extern const size_t load_maps_count;

/* Fresh maps of the sizes in `header`, and the control program. The caller pins them and calls load_free().
 */
int load_fresh(struct kphi_bpf **skeleton, const struct kphi_store *header, struct why *w);

/* The programs of this binary over the pinned maps of an existing store. */
int load_over(struct kphi_bpf **skeleton, const struct pin *p, const struct kphi_store *header,
	      struct why *w);

void load_free(struct kphi_bpf *skeleton);

/* Descriptors that belong to the skeleton. */
int load_map_fd(const struct kphi_bpf *skeleton, const char *map);
int load_xdp_fd(const struct kphi_bpf *skeleton);
int load_control_fd(const struct kphi_bpf *skeleton);

/* libbpf's own chatter goes to the debug log, not to the person. */
void load_quiet(void);

#endif
