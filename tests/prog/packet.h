/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames for the packet path, built from a description and byte by byte: nothing here knows the structures
 * that the program under test parses with, so both would have to be wrong in the same way.
 */
#ifndef KPHI_TESTS_PACKET_H
#define KPHI_TESTS_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "prog/siphash.h"

#define PACKET_MAX        65536
#define PACKET_TAGS       4
#define PACKET_EXTENSIONS 8

enum {
	TPID_Q = 0x8100,
	TPID_AD = 0x88a8,
	ETHERTYPE_ARP = 0x0806,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_ESP = 50,
	PROTOCOL_ICMP6 = 58,
	PROTOCOL_NONE = 59,
	PROTOCOL_VRRP = 112,
	EXTENSION_HOP = 0,
	EXTENSION_ROUTING = 43,
	EXTENSION_FRAGMENT = 44,
	EXTENSION_AH = 51,
	EXTENSION_OPTIONS = 60,
	FRAGMENT4_DF = 0x4000,
	FRAGMENT4_MORE = 0x2000,
	FRAGMENT6_MORE = 1, /* its offset is in units of 8 */
	PRIORITY = 0x7000, /* all of it, and VLAN 0 */
	MESSAGE_SIZE = 88,
	MESSAGE_TAG = 80, /* where it is */
	MESSAGE_SIGNED = 2, /* flag */
	MESSAGE_PORT = 7441,
};

/* A native message; what is zero here is zero on the wire. */
struct message {
	uint8_t id[16];
	uint8_t type; /* 1 beat, 2 leave, 3 down */
	uint16_t flags;
	uint64_t epoch, sequence, timestamp_ms, cluster_version;
	uint32_t load_average, available_capacity;
	uint32_t key_id;
	const uint8_t *key; /* 16 bytes: it is signed with them; NULL: it is not */
};

struct extension {
	uint8_t type;
	uint8_t length; /* the header's own length field: units of 8 beyond 8, for AH units of 4 beyond 8 */
	uint16_t fragment; /* of a fragment header: offset and flags */
};

/* Describes a frame. What is zero takes the usual value: no tag, no option, UDP to port 7441. */
struct shape {
	uint16_t tags[PACKET_TAGS]; /* their TPIDs, outermost first */
	uint16_t vlans[PACKET_TAGS]; /* their numbers; 0: 100 and up. PRIORITY is a tag without one */
	uint16_t ethertype;
	uint8_t version; /* 4 or 6; 0: no IP */
	uint8_t option_words; /* IPv4 */
	uint16_t fragment; /* IPv4: flags and offset */
	struct extension extensions[PACKET_EXTENSIONS]; /* IPv6 */
	uint8_t extensions_count;
	uint8_t protocol;
	uint16_t port;
	uint32_t trailer; /* bytes of payload behind the message */
	uint32_t padding; /* bytes behind the IP packet */
	uint8_t source; /* last byte of the source address */
	uint8_t ttl; /* or hop limit; 64 */
	bool bare; /* no UDP header: the payload is that of the IP protocol */
};

struct packet {
	uint8_t bytes[PACKET_MAX];
	uint32_t length;
	uint32_t linear; /* bytes in the first buffer; 0: as many as fit */
	uint32_t device; /* ifindex that it came by; 0: loopback */
	/* Offsets; an IP packet's headers end where its UDP header begins. */
	uint32_t network, headers_end, payload, padding;
	uint8_t version;
};

static inline void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)(value >> 16));
	put16(at + 2, (uint16_t)value);
}

static inline void put64(uint8_t *at, uint64_t value)
{
	put32(at, (uint32_t)(value >> 32));
	put32(at + 4, (uint32_t)value);
}

static inline uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void message_write(uint8_t *at, const struct message *m)
{
	memset(at, 0, MESSAGE_SIZE);
	memcpy(at, "KPHI", 4);
	at[4] = 1;
	at[5] = m->type;
	put16(at + 6, m->flags);
	put16(at + 8, MESSAGE_SIZE);
	memcpy(at + 16, m->id, 16);
	put64(at + 32, m->epoch);
	put64(at + 40, m->sequence);
	put64(at + 48, m->timestamp_ms);
	put32(at + 56, m->load_average);
	put32(at + 60, m->available_capacity);
	put64(at + 64, m->cluster_version);
	put32(at + 12, m->key_id);
	if (!m->key)
		return;
	put16(at + 6, m->flags | MESSAGE_SIGNED);
	put64(at + MESSAGE_TAG, sip_hash(at, MESSAGE_TAG, m->key));
}

/* Appends `n` bytes of value `fill` and returns where they are. */
static inline uint8_t *packet_append(struct packet *p, uint32_t n, uint8_t fill)
{
	uint8_t *at = p->bytes + p->length;

	memset(at, fill, n);
	p->length += n;
	return at;
}

static inline void packet_ethernet(struct packet *p, const struct shape *s)
{
	uint8_t *type;

	packet_append(p, 12, 2);
	type = packet_append(p, 2, 0);
	for (int i = 0; i < PACKET_TAGS && s->tags[i]; i++) {
		put16(type, s->tags[i]);
		put16(packet_append(p, 2, 0), s->vlans[i] ? s->vlans[i] : (uint16_t)(100 + i));
		type = packet_append(p, 2, 0);
	}
	put16(type, s->ethertype ? s->ethertype : s->version == 6 ? 0x86dd : 0x0800);
	p->network = p->length;
}

static inline void packet_ipv4(struct packet *p, const struct shape *s)
{
	uint8_t *at = packet_append(p, 20, 0);

	at[0] = (uint8_t)(0x45 + s->option_words);
	put16(at + 6, s->fragment);
	at[8] = s->ttl ? s->ttl : 64;
	at[9] = s->protocol ? s->protocol : PROTOCOL_UDP;
	put32(at + 12, 0x0a000000U | s->source);
	put32(at + 16, 0x0a0000feU);
	packet_append(p, 4U * s->option_words, 1); /* no-operation */
}

static inline uint32_t extension_size(const struct extension *e)
{
	if (e->type == EXTENSION_FRAGMENT)
		return 8;
	return e->type == EXTENSION_AH ? 8 + 4U * e->length : 8 + 8U * e->length;
}

static inline void packet_ipv6(struct packet *p, const struct shape *s)
{
	uint8_t *at = packet_append(p, 40, 0), *next = at + 6;

	at[0] = 0x60;
	at[7] = s->ttl ? s->ttl : 64;
	at[8] = 0xfd; /* fd00::N */
	at[23] = s->source;
	at[24] = 0xfd;
	for (int i = 0; i < s->extensions_count; i++) {
		const struct extension *e = &s->extensions[i];

		*next = e->type;
		next = packet_append(p, extension_size(e), 0);
		next[1] = e->type == EXTENSION_FRAGMENT ? 0 : e->length;
		if (e->type == EXTENSION_FRAGMENT)
			put16(next + 2, e->fragment);
	}
	*next = s->protocol ? s->protocol : PROTOCOL_UDP;
}

/* Writes the lengths that an IP packet ending at `ip_end` with a datagram ending at `udp_end` has, as far as
 * they exist. */
static inline void packet_set_lengths(struct packet *p, uint32_t ip_end, uint32_t udp_end)
{
	uint8_t *ip = p->bytes + p->network;

	if (p->version == 4 && ip_end >= p->network + 20)
		put16(ip + 2, (uint16_t)(ip_end - p->network));
	if (p->version == 6 && ip_end >= p->network + 40)
		put16(ip + 4, (uint16_t)(ip_end - p->network - 40));
	if (udp_end >= p->headers_end + 8)
		put16(p->bytes + p->headers_end + 4, (uint16_t)(udp_end - p->headers_end));
}

/* A frame of this shape around `size` bytes of payload. */
static inline void packet_build_around(struct packet *p, const struct shape *s, const void *payload,
				       uint32_t size)
{
	p->length = 0;
	p->linear = 0;
	p->device = 0;
	p->version = s->version;
	packet_ethernet(p, s);
	if (s->version == 4)
		packet_ipv4(p, s);
	else if (s->version == 6)
		packet_ipv6(p, s);
	p->headers_end = p->length;
	if (!s->bare) {
		uint8_t *udp = packet_append(p, 8, 0);

		put16(udp, 40000);
		put16(udp + 2, s->port ? s->port : MESSAGE_PORT);
	}
	p->payload = p->length;
	memcpy(packet_append(p, size, 0), payload, size);
	packet_append(p, s->trailer, 0xaa);
	p->padding = p->length;
	packet_append(p, s->padding, 0);
	packet_set_lengths(p, p->padding, s->bare ? 0 : p->padding);
}

static inline void packet_build(struct packet *p, const struct shape *s, const struct message *m)
{
	uint8_t message[MESSAGE_SIZE];

	message_write(message, m);
	packet_build_around(p, s, message, sizeof(message));
}

/* Where message fields are, for those who spoil them. */
static inline uint8_t *packet_message(struct packet *p, uint32_t offset)
{
	return p->bytes + p->payload + offset;
}

#endif
