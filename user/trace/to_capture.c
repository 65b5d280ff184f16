// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A capture as a sink: native beats, as Ethernet, IPv4 and UDP frames with nanoseconds. A beat says nothing
 * of the addresses it went between, so they are made up: peer n sends from 10.0.0.0 + n + 1 to 192.0.2.1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "beat/wire_codec.h"
#include "trace/flow.h"

#define NS_PER_SECOND 1000000000ULL
#define NS_PER_MS     1000000ULL
#define SNAP          65535
#define NETWORK       0x0a000000U /* 10.0.0.0/8 */
#define DESTINATION   0xc0000201U /* 192.0.2.1, RFC 5737 */

struct packets {
	pcap_t *pcap;
	pcap_dumper_t *to;
	uint8_t (*node_ids)[16]; /* by peer */
	uint32_t room;
};

struct beat_frame {
	struct ether_header ethernet;
	struct iphdr ip;
	struct udphdr udp;
	uint8_t message[sizeof(struct kphi_wire)];
} __attribute__((packed));

static int packets_begin(struct flow *f, const struct trace_start *start)
{
	struct packets *p;

	(void)start;
	if (flow_open_stream(f))
		return -EIO;
	p = f->sink = calloc(1, sizeof(*p));
	if (!p)
		return flow_wrong(f, -ENOMEM, f->to, "there is no memory for it");
	p->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, SNAP, PCAP_TSTAMP_PRECISION_NANO);
	p->to = p->pcap ? pcap_dump_fopen(p->pcap, f->stream) : NULL;
	if (!p->to)
		return flow_wrong(f, -EIO, f->to, "cannot be written: %s",
				  p->pcap ? pcap_geterr(p->pcap) : strerror(ENOMEM));
	f->stream = NULL; /* the dumper's now */
	return 0;
}

static int packets_peer(struct flow *f, uint32_t number, const struct trace_peer *peer)
{
	struct packets *p = f->sink;

	if (number == p->room) {
		uint32_t room = p->room ? 2 * p->room : 64;
		void *ids = reallocarray(p->node_ids, room, sizeof(*p->node_ids));

		if (!ids)
			return flow_wrong(f, -ENOMEM, f->to, "there is no memory for another peer");
		p->node_ids = ids;
		p->room = room;
	}
	memcpy(p->node_ids[number], peer->settings.id.bytes, sizeof(*p->node_ids));
	return 0;
}

/* Unix time of an arrival, as far as it is known. */
static uint64_t wall_ns(const struct flow *f, uint64_t now_ns)
{
	return f->start.wall_ns ? f->start.wall_ns + (now_ns - f->start.monotonic_ns) : now_ns;
}

static uint16_t ip_checksum(const struct iphdr *ip)
{
	uint16_t words[sizeof(*ip) / 2];
	uint32_t sum = 0;

	memcpy(words, ip, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void put_message(uint8_t *to, const uint8_t node_id[16], const struct kphi_beat *b, uint64_t sent_ms)
{
	struct wire_message m = {.type = (enum kphi_wire_type)b->type,
				 .flags = b->flags & ~KPHI_WIRE_SIGNED, /* without the key there is no tag */
				 .epoch = b->epoch,
				 .sequence = b->sequence,
				 .timestamp_ms = sent_ms,
				 .cluster_version = b->cluster_version};

	memcpy(m.node_id, node_id, sizeof(m.node_id));
	memcpy(&m.load_average, &b->load_average, sizeof(m.load_average));
	memcpy(&m.available_capacity, &b->available_capacity, sizeof(m.available_capacity));
	wire_encode(&m, to);
}

static void put_headers(struct beat_frame *frame, uint32_t number)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tot_len = htons(sizeof(*frame) - sizeof(frame->ethernet)),
		.frag_off = htons(IP_DF),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(NETWORK + number + 1),
		.daddr = htonl(DESTINATION),
	};
	uint32_t last = htonl(number + 1);

	ip.check = ip_checksum(&ip);
	frame->ip = ip;
	frame->ethernet = (struct ether_header){.ether_dhost = {2}, .ether_shost = {2, 1}};
	memcpy(frame->ethernet.ether_shost + 2, &last, sizeof(last));
	frame->ethernet.ether_type = htons(ETHERTYPE_IP);
	/* No checksum: IPv4 allows it. */
	frame->udp = (struct udphdr){.source = htons(KPHI_WIRE_PORT),
				     .dest = htons(KPHI_WIRE_PORT),
				     .len = htons(sizeof(frame->udp) + sizeof(frame->message))};
}

static int packets_arrival(struct flow *f, uint32_t number, const struct kphi_beat *b)
{
	struct packets *p = f->sink;
	uint64_t at_ns = wall_ns(f, b->now_ns);
	struct pcap_pkthdr h = {.caplen = sizeof(struct beat_frame), .len = sizeof(struct beat_frame)};
	struct beat_frame frame;

	if (!b->native || b->type < KPHI_WIRE_BEAT || b->type > KPHI_WIRE_DOWN) {
		f->left_out++;
		return 0;
	}
	if (at_ns / NS_PER_SECOND > UINT32_MAX)
		return flow_wrong(f, -ERANGE, f->from,
				  "arrival %" PRIu64 " is too late for a capture, whose seconds end in 2106",
				  f->arrivals);
	h.ts.tv_sec = (time_t)(at_ns / NS_PER_SECOND);
	h.ts.tv_usec = (suseconds_t)(at_ns % NS_PER_SECOND);
	put_headers(&frame, number);
	put_message(frame.message, p->node_ids[number], b, at_ns / NS_PER_MS);
	pcap_dump((u_char *)p->to, &h, (const u_char *)&frame);
	if (ferror(pcap_dump_file(p->to)))
		return flow_wrong(f, -EIO, f->to, "cannot be written: %s", strerror(errno));
	return 0;
}

static int packets_end(struct flow *f)
{
	struct packets *p = f->sink;

	if (!pcap_dump_flush(p->to))
		return 0;
	return flow_wrong(f, -EIO, f->to, "cannot be written: %s", strerror(errno));
}

static void packets_free(struct flow *f)
{
	struct packets *p = f->sink;

	if (p->to)
		pcap_dump_close(p->to);
	else if (f->stream)
		fclose(f->stream);
	f->stream = NULL;
	if (p->pcap)
		pcap_close(p->pcap);
	free(p->node_ids);
	free(p);
}

const struct sink_kind sink_pcap = {.begin = packets_begin,
				    .peer = packets_peer,
				    .arrival = packets_arrival,
				    .end = packets_end,
				    .free = packets_free};
