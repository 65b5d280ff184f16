/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The native heartbeat: the payload of one UDP datagram.
 *
 * Every field is in network byte order and aligned to its own size. A receiver accepts a datagram that is
 * longer than the message: what follows is ignored (and never authenticated), so that later versions can
 * append.
 */
#ifndef KPHI_WIRE_H
#define KPHI_WIRE_H

#include "types.h"

#define KPHI_WIRE_MAGIC   0x4b504849U /* "KPHI" */
#define KPHI_WIRE_VERSION 1
#define KPHI_WIRE_PORT    7441

enum kphi_wire_type {
	KPHI_WIRE_BEAT = 1,
	KPHI_WIRE_LEAVE = 2, /* an orderly goodbye: holds until a newer beat or a higher epoch */
	KPHI_WIRE_DOWN = 3, /* the watched process died: holds until a higher epoch */
	KPHI_WIRE_PROBE = 4, /* reserved */
	KPHI_WIRE_REPLY = 5, /* reserved */
};

enum kphi_wire_flag {
	KPHI_WIRE_DEGRADED = 1 << 0, /* the sender lives, but its own health check fails */
	KPHI_WIRE_SIGNED = 1 << 1, /* `tag` holds the SipHash-2-4 of the 80 bytes before it, see siphash.h */
};

struct kphi_wire {
	uint32_t magic;
	uint8_t version;
	uint8_t type; /* enum kphi_wire_type */
	uint16_t flags; /* enum kphi_wire_flag, or'ed */
	uint16_t length; /* of this message in bytes, tag included: at least sizeof(struct kphi_wire) */
	uint16_t reserved;
	uint32_t key_id; /* which of the receiver's keys made the tag; 0 when unsigned */
	uint8_t node_id[16]; /* UUID of the sender */
	uint64_t epoch; /* the sender's restart counter: max(saved + 1, wall clock seconds at start) */
	uint64_t sequence; /* 1 for the first message of an epoch; leave and down use one too */
	uint64_t timestamp_ms; /* sender's wall clock, Unix time; informational */
	uint32_t load_average; /* IEEE 754 bits of the one-minute load average */
	uint32_t available_capacity; /* IEEE 754 bits, 0.0 to 1.0: the share of the host that is idle */
	uint64_t cluster_version; /* the application's; informational */
	uint64_t ack_sequence; /* reserved for replies; 0 */
	uint64_t tag; /* zero when unsigned */
};

KPHI_ASSERT_SIZE(struct kphi_wire, 88);
KPHI_ASSERT_OFFSET(struct kphi_wire, node_id, 16);
KPHI_ASSERT_OFFSET(struct kphi_wire, epoch, 32);
KPHI_ASSERT_OFFSET(struct kphi_wire, tag, 80);

#endif
