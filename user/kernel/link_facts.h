/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All that rtnetlink says about a device, where links.h keeps to what changes. */
#ifndef KPHI_KERNEL_LINK_FACTS_H
#define KPHI_KERNEL_LINK_FACTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct link_facts {
	uint32_t ifindex;
	char name[IFNAMSIZ];
	char kind[16]; /* "vlan", "bond", "vxlan" ...; "" for hardware and the loopback */
	char port_kind[16]; /* of what it is a port: "bond", "bridge" ...; "" */
	uint32_t master; /* ifindex of that; 0: none */
	uint32_t lower; /* ifindex of the device below, or of a cable's other end; 0: none */
	bool lower_elsewhere; /* and that one is in another network namespace */
	uint16_t type; /* ARPHRD_ETHER ... */
	uint16_t vlan; /* VLAN id; 0: none */
	bool up, carrier;
	bool promiscuous, all_multicast; /* whoever asked for it */
	uint32_t mtu;
	uint32_t tx_queues, rx_queues; /* that it was made with */
	uint64_t rx_packets, rx_dropped, rx_errors;
	uint8_t xdp_mode; /* XDP_ATTACHED_NONE ... */
	uint32_t xdp_program; /* id; 0: none, or more than one */
};

/* With what its packets begin. */
enum link_packets {
	LINK_FOREIGN, /* nothing that kphi reads */
	LINK_ETHERNET,
	LINK_IP, /* for tc only: XDP begins with an Ethernet header */
};

enum link_packets link_packets(uint16_t type);

/* Every device of this network namespace. 0 or a negative errno. */
int link_facts_each(void (*each)(void *context, const struct link_facts *link), void *context);

/* One of them. -ENODEV: there is none of that number. */
int link_facts_of(uint32_t ifindex, struct link_facts *link);

#endif
