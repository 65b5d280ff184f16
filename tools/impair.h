/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames on their way through tools/impair.c: what a packet socket leaves to be repaired, and the queue in
 * which they wait. Knows nothing of clocks, sockets or chance.
 */
#ifndef KPHI_TOOLS_IMPAIR_H
#define KPHI_TOOLS_IMPAIR_H

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VLAN_TAG  4
#define QUEUE_MAX 65536

/* What the packet socket hands over and takes: a virtio-net header and the frame behind it. */
struct frame {
	struct direction *direction;
	uint64_t deadline_ns;
	uint64_t order; /* breaks ties: first come, first served */
	uint64_t number; /* which of the direction's matched frames this is, from 1 */
	size_t length; /* of the Ethernet frame */
	struct virtio_net_hdr offload;
	uint8_t bytes[];
};

struct queue {
	struct frame *heap[QUEUE_MAX]; /* earliest deadline first */
	size_t count;
	uint64_t order;
};

/* --- repairs ---------------------------------------------------------------------------------- */

static inline uint16_t load16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline void store16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static inline bool is_vlan(uint16_t ethertype)
{
	return ethertype == ETH_P_8021Q || ethertype == ETH_P_8021AD;
}

/* The offset of the UDP header, 0 if there is none (or it is in a later fragment). */
static inline size_t find_udp(const struct frame *frame)
{
	const uint8_t *bytes = frame->bytes;
	size_t offset = 2 * ETH_ALEN;

	while (offset + VLAN_TAG + 2 <= frame->length && is_vlan(load16(bytes + offset)))
		offset += VLAN_TAG;
	offset += 2;
	if (offset + 40 + 8 <= frame->length && load16(bytes + offset - 2) == ETH_P_IPV6)
		return bytes[offset + 6] == IPPROTO_UDP ? offset + 40 : 0;
	if (offset + 20 + 8 <= frame->length && load16(bytes + offset - 2) == ETH_P_IP) {
		size_t udp = offset + 4 * (size_t)(bytes[offset] & 0xf);
		bool first = !(load16(bytes + offset + 6) & 0x1fff);

		return bytes[offset + 9] == IPPROTO_UDP && first && udp + 8 <= frame->length ? udp : 0;
	}
	return 0;
}

/* The sender has put the sum of the pseudo header into the field; the rest was left to the hardware. */
static inline void complete_checksum(struct frame *frame)
{
	size_t field = (size_t)frame->offload.csum_start + frame->offload.csum_offset;
	uint64_t sum = 0;

	if (!(frame->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || field + 2 > frame->length)
		return;
	for (size_t i = frame->offload.csum_start; i < frame->length; i++)
		sum += (i - frame->offload.csum_start) % 2 ? frame->bytes[i] : frame->bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	store16(frame->bytes + field, sum == 0xffff ? 0xffff : (uint16_t)~sum);
	frame->offload.flags = 0;
}

/* Puts back the tag that the kernel moved from the frame into the auxiliary data. */
static inline size_t restore_tag(uint8_t *bytes, size_t length, struct virtio_net_hdr *offload,
				 const struct tpacket_auxdata *auxdata)
{
	if (!(auxdata->tp_status & TP_STATUS_VLAN_VALID))
		return length;
	memmove(bytes + 2 * ETH_ALEN + VLAN_TAG, bytes + 2 * ETH_ALEN, length - 2 * ETH_ALEN);
	store16(bytes + 2 * ETH_ALEN,
		auxdata->tp_status & TP_STATUS_VLAN_TPID_VALID ? auxdata->tp_vlan_tpid : ETH_P_8021Q);
	store16(bytes + 2 * ETH_ALEN + 2, auxdata->tp_vlan_tci);
	if (offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		offload->csum_start += VLAN_TAG;
	if (offload->hdr_len)
		offload->hdr_len += VLAN_TAG;
	return length + VLAN_TAG;
}

/* --- the queue: a binary heap ----------------------------------------------------------------- */

static inline bool earlier(const struct frame *a, const struct frame *b)
{
	return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->order < b->order;
}

/* False if there is no room. */
static inline bool queue_push(struct queue *queue, struct frame *frame)
{
	size_t at = queue->count;

	if (at == QUEUE_MAX)
		return false;
	queue->count++;
	frame->order = queue->order++;
	for (; at > 0 && earlier(frame, queue->heap[(at - 1) / 2]); at = (at - 1) / 2)
		queue->heap[at] = queue->heap[(at - 1) / 2];
	queue->heap[at] = frame;
	return true;
}

static inline struct frame *queue_pop(struct queue *queue)
{
	struct frame *first = queue->heap[0];
	struct frame *last = queue->heap[--queue->count];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < queue->count; at = child) {
		if (child + 1 < queue->count && earlier(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!earlier(queue->heap[child], last))
			break;
		queue->heap[at] = queue->heap[child];
	}
	queue->heap[at] = last;
	return first;
}

#endif
