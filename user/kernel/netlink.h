/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One question to the kernel over netlink, and all of its answer. */
#ifndef KPHI_KERNEL_NETLINK_H
#define KPHI_KERNEL_NETLINK_H

#include <libmnl/libmnl.h>

#define NETLINK_ROOM 32768 /* what the kernel itself takes for one part of a dump */

/*
 * Sends `message` (of at most NETLINK_ROOM bytes, its memory is used for the answer) over a socket of its own
 * and gives each message of the answer to `each`, which returns MNL_CB_OK. 0 or a negative errno, the
 * kernel's own refusal included.
 */
int netlink_ask(int protocol, struct nlmsghdr *message, mnl_cb_t each, void *context);

#endif
