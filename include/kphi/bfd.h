/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BFD control packets (RFC 5880, 4.1), as somebody hears them who is no end of the session: which are sound,
 * and what they say. The sender tells its own rhythm, so nothing of it has to be configured. Pure, and the
 * same text in kernel, replay and tests.
 */
#ifndef KPHI_BFD_H
#define KPHI_BFD_H

#include "maps.h"

#define KPHI_BFD_VERSION  1
#define KPHI_BFD_PORT     3784 /* single hop, RFC 5881: TTL 255 */
#define KPHI_BFD_MULTIHOP 4784 /* RFC 5883 */
#define KPHI_BFD_LAG      6784 /* on each port of a bundle, RFC 7130 */

enum kphi_bfd_state {
	KPHI_BFD_ADMIN_DOWN = 0,
	KPHI_BFD_DOWN = 1,
	KPHI_BFD_INIT = 2,
	KPHI_BFD_UP = 3,
};

enum kphi_bfd_flag {
	KPHI_BFD_MULTIPOINT = 1 << 0,
	KPHI_BFD_DEMAND = 1 << 1,
	KPHI_BFD_AUTHENTICATED = 1 << 2,
	KPHI_BFD_INDEPENDENT = 1 << 3, /* of the control plane */
	KPHI_BFD_FINAL = 1 << 4,
	KPHI_BFD_POLL = 1 << 5,
};

/* The mandatory section, in network order. */
struct kphi_bfd_wire {
	uint8_t version; /* three bits; diagnostic, five */
	uint8_t state; /* two bits; enum kphi_bfd_flag, six */
	uint8_t multiplier;
	uint8_t length; /* of the packet */
	uint32_t mine, yours; /* discriminators */
	uint32_t desired_tx_us, required_rx_us, required_echo_rx_us;
};
KPHI_ASSERT_SIZE(struct kphi_bfd_wire, 24);

#define KPHI_BFD_AUTH_LEAST 2 /* an authentication section has a type and a length */

/*
 * KPHI_COUNT_beat if a payload of `length` bytes that begins with *w is what RFC 5880, 6.8.6 lets a receiver
 * take before it knows the session, with *to filled; else why not. The authentication itself is not verified.
 */
KPHI_INLINE enum kphi_counter kphi_bfd_read(const struct kphi_bfd_wire *w, uint32_t length,
					    struct kphi_bfd *to)
{
	uint32_t least = sizeof(*w);

	if (w->version >> 5 != KPHI_BFD_VERSION)
		return KPHI_COUNT_bfd_version;
	if (w->state & KPHI_BFD_AUTHENTICATED)
		least += KPHI_BFD_AUTH_LEAST;
	if (w->length < least || w->length > length)
		return KPHI_COUNT_bfd_short;
	if (!w->multiplier)
		return KPHI_COUNT_bfd_multiplier;
	if (w->state & KPHI_BFD_MULTIPOINT)
		return KPHI_COUNT_bfd_multipoint;
	to->state = w->state >> 6;
	if (!w->mine || (!w->yours && to->state > KPHI_BFD_DOWN))
		return KPHI_COUNT_bfd_discriminator;
	to->discriminator = kphi_be32(w->mine);
	to->desired_tx_us = kphi_be32(w->desired_tx_us);
	to->required_rx_us = kphi_be32(w->required_rx_us);
	to->diagnostic = w->version & 31;
	to->multiplier = w->multiplier;
	to->flags = w->state & 63;
	return KPHI_COUNT_beat;
}

/*
 * May silence follow that means nothing: is the sender administratively down, or the session in demand mode?
 * The bit asks this host to be quiet; whether this host has asked the same of the sender is in packets that
 * are not heard. It says something only while the session is up (RFC 5880, 6.6).
 */
KPHI_INLINE uint32_t kphi_bfd_is_quiet(const struct kphi_bfd *b)
{
	return b->state == KPHI_BFD_ADMIN_DOWN || (b->state == KPHI_BFD_UP && b->flags & KPHI_BFD_DEMAND);
}

/*
 * The interval at which the sender transmits, before jitter (RFC 5880, 6.8.2): the larger of what it desires
 * and what this host requires. 0: what this host requires is not known.
 */
KPHI_INLINE uint64_t kphi_bfd_interval_ns(const struct kphi_bfd *b, uint64_t local_rx_ns)
{
	uint64_t desired_ns = (uint64_t)b->desired_tx_us * 1000;

	if (!local_rx_ns)
		return 0;
	return desired_ns > local_rx_ns ? desired_ns : local_rx_ns;
}

/*
 * Packets of a poll, and answers to one, come outside the rhythm and may tell of an interval that is not in
 * force yet: who answers may be polling himself.
 */
KPHI_INLINE uint32_t kphi_bfd_is_poll(const struct kphi_bfd *b)
{
	return b->flags & (KPHI_BFD_POLL | KPHI_BFD_FINAL);
}

#endif
