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

#include "../../bpf/host.h"

/* A rule as it stands in the maps. */
struct frame_rule {
	struct kphi_id id;
	struct kphi_shape shape; /* number id.shape */
	struct kphi_rule rule;
};

struct frame_rules {
	const struct frame_rule *list;
	uint32_t n;
	uint32_t device; /* by which frames come */
};

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
	int rule; /* whose packet it is, -1: no rule's ... */
	enum kphi_counter ruled; /* ... and what it counts as by that */
	struct kphi_beat rule_beat;
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

/*
 * Whose packet is it? The packet path asks each shape of the port once and looks the answer up; here every
 * rule is asked whether that is what it is known by. Of several the one that asks for most has it.
 */
static inline void frame_find_rule(struct parsed *p, const struct frame *f, const struct datagram *d,
				   const struct frame_rules *rules)
{
	struct probe probe = {.device = rules->device,
			      .payload = d->payload,
			      .length = d->length,
			      .port = d->port,
			      .protocol = d->protocol};
	const struct frame_rule *best = NULL;

	identify_source(f, d, probe.source);
	for (uint32_t i = 0; i < rules->n; i++) {
		const struct frame_rule *r = &rules->list[i];
		struct kphi_id id;

		if (best && kphi_shape_rank(&r->shape) <= kphi_shape_rank(&best->shape))
			continue;
		if (!identify_shape(f, &probe, &r->shape, r->id.shape, &id) &&
		    !memcmp(&id, &r->id, sizeof(id)))
			best = r;
	}
	if (!best)
		return;
	p->rule = (int)(best - rules->list);
	p->rule_beat.type = KPHI_WIRE_BEAT;
	p->ruled = identify_rule(f, d, &best->rule, &p->rule_beat);
}

/* Parses `length` bytes of which the first `linear` are in the first buffer. */
static inline struct parsed frame_parse_for(const uint8_t *bytes, uint64_t length, uint64_t linear,
					    const struct frame_rules *rules)
{
	/* Two bytes ahead, network cards do so too, align the IP header. */
	char *room = calloc(1, 2 + linear);
	struct frame f = {room + 2, room + 2 + linear, &length, 0};
	struct parsed p = {.payload = 0, .rule = -1};
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
		if (!d.fragment)
			frame_find_rule(&p, &f, &d, rules);
	}
	free(room);
	return p;
}

static inline struct parsed frame_parse(const uint8_t *bytes, uint64_t length, uint64_t linear)
{
	return frame_parse_for(bytes, length, linear, &(const struct frame_rules){.n = 0});
}

#endif
