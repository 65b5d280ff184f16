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

/* Who may do what with a map. */
enum load_sharing {
	LOAD_PRIVATE, /* root alone opens it */
	LOAD_FROZEN, /* user space reads, the store's group included, and nobody but the kernel side writes */
	LOAD_PUBLISHED, /* the daemon writes, the store's group reads by system calls: what is not frozen can
			   only be mapped by who may write it */
};

/* The maps of <kphi/maps.h> as they are pinned. */
struct load_map {
	const char *pin; /* file name in the store's folder */
	const char *map; /* name in the object */
	enum load_sharing sharing;
};
extern const struct load_map load_maps[];
extern const size_t load_maps_count;

/* Fresh maps of the sizes in `header`, and the control program. The caller pins them and calls load_free().
 */
int load_fresh(struct kphi_bpf **skeleton, const struct kphi_store *header, struct why *w);

/* The packet paths. Each costs the verifier some 0.2 s, so they are loaded as they are needed. */
enum load_program {
	LOAD_XDP = 1,
	LOAD_TC = 2, /* for TCX and clsact */
	LOAD_TC_IP = 4, /* the same on devices without an Ethernet header */
};

/* The XDP and control programs of this binary over the pinned maps of an existing store. */
int load_over(struct kphi_bpf **skeleton, const struct pin *p, const struct kphi_store *header,
	      struct why *w);

void load_free(struct kphi_bpf *skeleton);

/*
 * A choice of programs (bits of enum load_program) beside the control program, all from one load, so that
 * they have one number and the guard's ticks are not handed to and fro between them. Begins as {p, header,
 * needed}.
 */
struct programs {
	const struct pin *p;
	const struct kphi_store *header;
	uint32_t needed; /* whatever else is asked for */
	struct kphi_bpf *skeleton;
	uint32_t loaded;
};

/* Loads these, and all that was loaded before once more, unless they are there: descriptors from before are
 * then void. */
int programs_need(struct programs *g, uint32_t which, struct why *w);

/* Descriptors that belong to `g`. */
int programs_fd(const struct programs *g, enum load_program which);
int programs_control_fd(const struct programs *g);

void programs_free(struct programs *g);

/* Descriptors that belong to the skeleton. */
int load_map_fd(const struct kphi_bpf *skeleton, const char *map);
int load_xdp_fd(const struct kphi_bpf *skeleton);
int load_control_fd(const struct kphi_bpf *skeleton);

/* libbpf's own chatter goes to the debug log, not to the person. */
void load_quiet(void);

#endif
