/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a frame to what it carries: UDP, or another protocol of IP. Pure pointer arithmetic: the tests and
 * fuzzers compile this text for the host. Whoever includes it defines frame_length(), the length of the whole
 * frame when part of it may lie in further buffers (multi-buffer XDP), and frame_copy(); headers are always
 * in the first buffer.
 */
#ifndef KPHI_BPF_PARSE_H
#define KPHI_BPF_PARSE_H

#include <kphi/counters.h>
#include <kphi/types.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#define VLAN_TAGS       2
#define IPV6_EXTENSIONS 6 /* headers walked between the IPv6 header and UDP */

struct frame {
	void *data, *end; /* the first buffer */
	void *context; /* the includer's ... */
	int socket_buffer; /* ... and of which kind it is */
};

KPHI_INLINE uint64_t frame_length(const struct frame *f);

/* Copies `size` bytes (1 to 8) from an offset, whichever buffer they are in. 0, or below if they are not all
 * there. */
KPHI_INLINE long frame_copy(const struct frame *f, uint32_t offset, void *to, uint32_t size);

/*
 * What was found, as offsets from the frame's first byte rather than pointers: numbers of unknown value are
 * all that the verifier has to carry on from here, however many shapes of packet lead to them.
 */
struct datagram {
	uint32_t source; /* network address: 4 or 16 bytes */
	uint32_t payload; /* behind the UDP header, or behind the IP headers of another protocol */
	uint32_t length; /* of the payload by its headers; less of it may be in the first buffer */
	uint16_t port; /* destination, host order; 0 if it is not UDP */
	uint16_t vlan; /* id of the outermost tag; 0: none to be seen */
	uint8_t protocol;
	uint8_t ipv6;
	uint8_t ttl; /* or hop limit */
	uint8_t fragment; /* not the first one, and not of UDP: there is no beginning to look at */
};

/* No offset can be larger: Ethernet, tags, IPv6 and six extension headers of at most 2 KiB. */
#define OFFSET_MASK 0x3fff

/* `size` bytes at an offset, or NULL if they are not all in the first buffer. */
KPHI_INLINE void *frame_at(const struct frame *f, uint32_t offset, uint32_t size)
{
	char *at = (char *)f->data + (offset & OFFSET_MASK);

	return (void *)(at + size) <= f->end ? at : 0;
}

KPHI_INLINE uint32_t frame_offset(const struct frame *f, const void *at)
{
	return (uint64_t)at - (uint64_t)f->data;
}

/* Verdicts of a parsing step: go on, or the packet is none of ours (FOREIGN), or a counter says what is wrong
 * with it. */
enum { PARSED = -2, FOREIGN = -1 };

struct vlan {
	uint16_t tag, proto;
};

#define VLAN_ID 0x0fff

/* Sets *at behind the Ethernet header and up to two VLAN tags. */
KPHI_INLINE int parse_ethernet(const struct frame *f, void **at, uint16_t *proto, struct datagram *d)
{
	struct ethhdr *eth = f->data;

	if ((void *)(eth + 1) > f->end)
		return KPHI_COUNT_malformed_ethernet;
	*proto = eth->h_proto;
	*at = eth + 1;
	for (int i = 0; i < VLAN_TAGS; i++) {
		struct vlan *v = *at;

		if (*proto != bpf_htons(ETH_P_8021Q) && *proto != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(v + 1) > f->end)
			return KPHI_COUNT_malformed_ethernet;
		if (!d->vlan)
			d->vlan = bpf_ntohs(v->tag) & VLAN_ID;
		*proto = v->proto;
		*at = v + 1;
	}
	return PARSED;
}

/* Do `length` bytes from `at` fit in the frame? Padding behind them is legal. */
KPHI_INLINE int frame_holds(const struct frame *f, void *at, uint32_t length)
{
	uint64_t begin = frame_offset(f, at);

	if (begin + length <= (uint64_t)f->end - (uint64_t)f->data)
		return 1;
	return begin + length <= frame_length(f);
}

/*
 * The UDP header at an offset, in an IP packet that has `room` bytes left for it. A first fragment carries
 * only part of its datagram, so its length cannot be held against it.
 */
KPHI_INLINE int parse_udp(const struct frame *f, uint32_t offset, uint32_t room, int first_fragment,
			  struct datagram *d)
{
	struct udphdr *udp = frame_at(f, offset, sizeof(*udp));
	uint32_t length;

	if (!udp || room < sizeof(*udp))
		return KPHI_COUNT_malformed_udp;
	length = bpf_ntohs(udp->len);
	if (length < sizeof(*udp) || (length > room && !first_fragment))
		return KPHI_COUNT_malformed_udp;
	d->protocol = IPPROTO_UDP;
	d->port = bpf_ntohs(udp->dest);
	d->payload = offset + sizeof(*udp);
	d->length = (length < room ? length : room) - sizeof(*udp);
	return PARSED;
}

/* Any other protocol: `room` bytes of it at an offset, and nothing is known of what they should be. */
KPHI_INLINE int parse_other(uint8_t protocol, uint32_t offset, uint32_t room, int fragment,
			    struct datagram *d)
{
	d->protocol = protocol;
	d->port = 0;
	d->payload = offset;
	d->length = room;
	d->fragment = fragment != 0;
	return PARSED;
}

KPHI_INLINE int parse_ipv4(const struct frame *f, void *at, struct datagram *d)
{
	struct iphdr *ip = at;
	uint32_t header, total;
	uint16_t fragment;

	if ((void *)(ip + 1) > f->end)
		return KPHI_COUNT_malformed_ipv4;
	header = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header || !frame_holds(f, at, total))
		return KPHI_COUNT_malformed_ipv4;
	fragment = bpf_ntohs(ip->frag_off);
	d->source = frame_offset(f, &ip->saddr);
	d->ipv6 = 0;
	d->ttl = ip->ttl;
	if (ip->protocol != IPPROTO_UDP)
		return parse_other(ip->protocol, frame_offset(f, at) + header, total - header,
				   fragment & 0x1fff, d);
	if (fragment & 0x1fff)
		return KPHI_COUNT_fragment;
	return parse_udp(f, frame_offset(f, at) + header, total - header, fragment & 0x2000, d);
}

struct ipv6_fragment {
	uint8_t next, length;
	uint16_t offset;
	uint32_t id;
};

/* An IPv6 packet on its way from one header to the next. */
struct walk {
	uint32_t offset; /* of the header that `next` names */
	uint32_t room; /* bytes of the packet from there on */
	uint8_t next;
	uint8_t first_fragment, later_fragment;
};

/* One extension header: moves *w behind it. FOREIGN: `next` is no extension header that is walked. */
KPHI_INLINE int parse_extension(const struct frame *f, struct walk *w)
{
	struct ipv6_fragment *header; /* eight bytes are the shortest of them all */
	uint32_t length;

	if (w->next != IPPROTO_HOPOPTS && w->next != IPPROTO_ROUTING && w->next != IPPROTO_DSTOPTS &&
	    w->next != IPPROTO_FRAGMENT && w->next != IPPROTO_AH)
		return FOREIGN;
	header = frame_at(f, w->offset, sizeof(*header));
	if (!header || w->room < sizeof(*header))
		return KPHI_COUNT_malformed_ipv6;
	/* Their second byte is a length in units of 8 bytes without the first 8; AH counts in 4 and leaves
	 * out 8. */
	length = (header->length + 1) * 8;
	if (w->next == IPPROTO_AH)
		length = (header->length + 2) * 4;
	if (w->next == IPPROTO_FRAGMENT) {
		length = sizeof(*header);
		w->later_fragment = (header->offset & bpf_htons(0xfff8)) != 0;
		if (w->later_fragment && header->next == IPPROTO_UDP)
			return KPHI_COUNT_fragment;
		w->first_fragment |= (header->offset & bpf_htons(1)) != 0;
	}
	if (w->room < length)
		return KPHI_COUNT_malformed_ipv6;
	w->next = header->next;
	w->offset += length;
	w->room -= length;
	return PARSED;
}

KPHI_INLINE int parse_ipv6(const struct frame *f, void *at, struct datagram *d)
{
	struct ipv6hdr *ip = at;
	struct walk w = {};

	if ((void *)(ip + 1) > f->end)
		return KPHI_COUNT_malformed_ipv6;
	w.room = bpf_ntohs(ip->payload_len);
	w.next = ip->nexthdr;
	if (ip->version != 6 || !frame_holds(f, at, sizeof(*ip) + w.room))
		return KPHI_COUNT_malformed_ipv6;
	d->source = frame_offset(f, &ip->saddr);
	d->ipv6 = 1;
	d->ttl = ip->hop_limit;
	w.offset = frame_offset(f, ip + 1);
	for (int i = 0; i <= IPV6_EXTENSIONS; i++) {
		int verdict;

		if (w.next == IPPROTO_UDP)
			return parse_udp(f, w.offset, w.room, w.first_fragment, d);
		verdict = w.later_fragment ? FOREIGN : parse_extension(f, &w);
		if (verdict == FOREIGN)
			return parse_other(w.next, w.offset, w.room, w.later_fragment, d);
		if (verdict != PARSED)
			return verdict;
	}
	return KPHI_COUNT_ipv6_extensions;
}

/* An IP packet at `at`, as `proto` (in network order) says. */
KPHI_INLINE int parse_network(const struct frame *f, void *at, uint16_t proto, struct datagram *d)
{
	if (proto == bpf_htons(ETH_P_IP))
		return parse_ipv4(f, at, d);
	if (proto == bpf_htons(ETH_P_IPV6))
		return parse_ipv6(f, at, d);
	return FOREIGN;
}

/* PARSED: *d is what the headers say, and they are sound. FOREIGN, or an enum kphi_counter, otherwise.
 * d->vlan may be set already, by who has taken the tag off. */
KPHI_INLINE int parse_frame(const struct frame *f, struct datagram *d)
{
	uint16_t proto = 0;
	void *at = 0;
	int verdict = parse_ethernet(f, &at, &proto, d);

	return verdict == PARSED ? parse_network(f, at, proto, d) : verdict;
}

#endif
