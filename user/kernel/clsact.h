/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tc ingress of kernels without TCX (before 6.6): a filter of type bpf, direct action, on the clsact
 * qdisc. Others may have filters there, so ours has a handle of its own, and what is not ours is not touched.
 * All of it in the network namespace of the caller.
 */
#ifndef KPHI_KERNEL_CLSACT_H
#define KPHI_KERNEL_CLSACT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/netlink.h"

/* The least number goes first; a priority that is another kind of filter's, or has our handle, is left to it.
 */
#define CLSACT_PRIORITIES 8

/* Makes the qdisc unless it, or an ingress qdisc, is there. 1: made; 0: there was one; a negative errno. */
int clsact_open(uint32_t ifindex);

/* A new filter. -EEXIST: our handle is taken at this priority. -EINVAL: this priority is not for our kind. */
int clsact_add(uint32_t ifindex, uint16_t priority, int program);

/* Another program in the place of the present one, in one step. */
int clsact_replace(uint32_t ifindex, uint16_t priority, int program);

/* Id of the program in our filter, or 0. */
uint32_t clsact_program(uint32_t ifindex, uint16_t priority);

void clsact_remove(uint32_t ifindex, uint16_t priority);

/* Each filter, whoever's, in TC_H_MIN_INGRESS or _EGRESS, as its message says it. 0 or a negative errno. */
int clsact_each(uint32_t ifindex, uint32_t half, mnl_cb_t each, void *context);

/* Removes the qdisc if there is no filter in it. */
void clsact_close(uint32_t ifindex);

#endif
