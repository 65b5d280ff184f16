/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef KPHI_BEAT_NODE_ID_H
#define KPHI_BEAT_NODE_ID_H

#include <stdint.h>

/*
 * The id of a host that was given none: made from /etc/machine-id for kphi alone, because machine-id(5) wants
 * the machine's own id kept from the network. The same on every call until the host is installed anew.
 * 0, or -errno when the host has no machine id.
 */
int node_id_of_host(uint8_t node_id[16]);

#endif
