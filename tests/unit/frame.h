/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel side's parser, compiled for the host. Frames are copied into memory of exactly their size, so
 * that the AddressSanitizer sees the first byte read beyond one.
 */
#ifndef KPHI_TESTS_FRAME_H
#define KPHI_TESTS_FRAME_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/identify.h"

KPHI_INLINE uint64_t frame_length(const struct frame *f)
{
	return *(const uint64_t *)f->context;
}

/* What is beyond the first buffer is not there at all. */
KPHI_INLINE long frame_copy(const struct frame *f, uint32_t offset, void *to, uint32_t size)
{
	const char *from = (char *)f->data + offset;

	if (offset > (char *)f->end - (char *)f->data || size > (char *)f->end - from)
		return -1;
	memcpy(to, from, size);
	return 0;
}

/* What the parser makes of a frame. */
struct parsed {
	int verdict; /* PARSED, FOREIGN or a counter */
	uint16_t port;
	uint32_t length; /* of the payload, by its headers */
	uint32_t payload; /* where it begins */
	uint8_t ipv6;
	/* Only for PARSED: what the payload would count as on a native port, and whose message it is then. */
	enum kphi_counter native;
	struct kphi_id id;
	struct kphi_beat beat;
	uint8_t protocol, fragment;
	uint8_t source[16]; /* as which a rule would know its sender */
};

/* Messages are read as structures, which the packet path may do at any address, but not UBSan: they get one
 * of their own. */
static inline void frame_identify(struct parsed *p, const struct frame *f, struct datagram d)
{
	size_t present = frame_offset(f, f->end) - d.payload;
	char *copy = calloc(1, present);
	struct frame message = {copy, copy + present, NULL, 0};

	memcpy(copy, (char *)f->data + d.payload, present);
	d.payload = 0;
	p->native = identify_native(&message, &d, &p->id, &p->beat);
	free(copy);
}

/* Parses `length` bytes of which the first `linear` are in the first buffer. */
static inline struct parsed frame_parse(const uint8_t *bytes, uint64_t length, uint64_t linear)
{
	/* Two bytes ahead, network cards do so too, align the IP header. */
	char *room = calloc(1, 2 + linear);
	struct frame f = {room + 2, room + 2 + linear, &length, 0};
	struct parsed p = {.payload = 0};
	struct datagram d = {.payload = 0};

	if (linear)
		memcpy(f.data, bytes, linear);
	p.verdict = parse_frame(&f, &d);
	if (p.verdict == PARSED) {
		p.protocol = d.protocol;
		p.fragment = d.fragment;
		p.port = d.port;
		p.length = d.length;
		p.ipv6 = d.ipv6;
		p.payload = d.payload;
		if (p.protocol == IPPROTO_UDP)
			frame_identify(&p, &f, d);
		identify_source(&f, &d, p.source);
	}
	free(room);
	return p;
}

#endif
