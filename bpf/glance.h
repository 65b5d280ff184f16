/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A first look, because every packet of every device pays for it: is this plainly none of ours? Nearly all
 * packets are IP without tags, options, extensions or fragments, and not for a port of ours; a few loads at
 * fixed offsets say so. Whatever is in doubt goes on to the parser, which decides: a packet that is dismissed
 * here is one of which the parser would say FOREIGN, or that it is sound and for a port that is not ours.
 */
#ifndef KPHI_BPF_GLANCE_H
#define KPHI_BPF_GLANCE_H

#include "maps.h"
#include "parse.h"

#define IPV4_PLAIN 0x45 /* version 4, five words of header */

/* Unlike the kernel's ethhdr it is not packed: that would be read byte by byte. */
struct ethernet {
	uint16_t to[3], from[3], proto;
};

/* Is the UDP header, which begins the last `room` bytes of its packet, sound, and its port not ours? */
static __always_inline int glance_udp(const struct udphdr *udp, uint32_t room)
{
	uint32_t length = bpf_ntohs(udp->len);

	return length >= sizeof(*udp) && length <= room && !port_bits(bpf_ntohs(udp->dest));
}

static __always_inline int glance_ipv4(void *at, void *end)
{
	struct iphdr *ip = at;
	struct udphdr *udp = (void *)(ip + 1);
	uint32_t total;

	if ((void *)(udp + 1) > end || *(uint8_t *)at != IPV4_PLAIN || ip->frag_off & bpf_htons(0x3fff))
		return 0;
	total = bpf_ntohs(ip->tot_len);
	if (total < sizeof(*ip) || total > (uint64_t)end - (uint64_t)at)
		return 0;
	if (ip->protocol != IPPROTO_UDP)
		return !protocol_bits(ip->protocol);
	return glance_udp(udp, total - sizeof(*ip));
}

static __always_inline int glance_ipv6(void *at, void *end)
{
	struct ipv6hdr *ip = at;
	struct udphdr *udp = (void *)(ip + 1);
	uint32_t room;

	if ((void *)(udp + 1) > end || ip->version != 6)
		return 0;
	room = bpf_ntohs(ip->payload_len);
	if (room > (uint64_t)end - (uint64_t)udp)
		return 0;
	if (ip->nexthdr == IPPROTO_TCP || ip->nexthdr == IPPROTO_ICMPV6)
		return !protocol_bits(ip->nexthdr);
	return ip->nexthdr == IPPROTO_UDP && glance_udp(udp, room);
}

/* Non-zero: none of ours, and nothing to count. */
static __always_inline int glance_network(void *at, void *end, uint16_t proto)
{
	if (proto == bpf_htons(ETH_P_IP))
		return glance_ipv4(at, end);
	if (proto == bpf_htons(ETH_P_IPV6))
		return glance_ipv6(at, end);
	return 0;
}

static __always_inline int glance_foreign(void *data, void *end)
{
	struct ethernet *eth = data;

	if ((void *)(eth + 1) > end)
		return 0;
	return glance_network(eth + 1, end, eth->proto);
}

#endif
