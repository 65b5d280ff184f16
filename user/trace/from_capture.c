// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A capture as a source: each frame is taken as the packet path takes it, by the same text (bpf/parse.h and
 * bpf/identify.h), so that a capture yields what the kernel would have counted. Only whose it is, is found
 * otherwise: there are no maps with peers, so every sender found becomes one.
 */
#include <errno.h>
#include <inttypes.h>
#include <kphi/bfd.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/host.h"
#include "io/args.h"
#include "io/format.h"
#include "trace/input.h"
#include "trace/keys.h"

#define STRIDE        4096 /* packets between two looks at the clock */
#define NS_PER_SECOND 1000000000ULL
#define ROOM          (256U << 10) /* longer frames are not looked at beyond */
#define VRID          0xffULL /* of the first two bytes: the virtual router's number */

/* One kind of packets that are beats, and what sets apart those of one peer from those of another. */
struct kind {
	struct kphi_peer peer; /* what all its peers have in common */
	struct kphi_rule rule;
	bool each_source, each_port, each_vrid; /* a peer each; else as peer.id and the rule say */
};

#define KINDS (PRESETS * PRESET_PORTS)

struct capture {
	pcap_t *pcap;
	struct input *in; /* the pcap's, and closed by it */
	int link;
	struct kind kinds[KINDS];
	size_t kinds_count;
	bool native; /* native beats count, too */
	struct keys keys;
	uint64_t *epochs; /* by peer: the highest one accepted */
	uint32_t room; /* of epochs */
	uint8_t *frame;
};

/* --- which packets --- */

/* `from` is the format here. */
static const struct rule_spelling spelling = {.name = RULE_SPELLING("source", "local-rx", "dev"),
					      .abbreviates = true};

/* One of the protocols that kphi knows, on one of its ports, whoever sends it. */
static void add_known(struct capture *c, enum preset_number number, uint16_t port, uint8_t min_ttl)
{
	const struct preset *p = &presets[number];
	struct kind *k = &c->kinds[c->kinds_count++];

	*k = (struct kind){.rule = p->rule};
	k->peer.id = (struct kphi_id){.kind = KPHI_ID_RULE, .protocol = p->protocol, .port = port};
	k->peer.model = p->model;
	k->rule.preset = (uint8_t)number;
	k->rule.min_ttl = min_ttl ? min_ttl : p->rule.min_ttl;
	k->each_vrid = p->needs & RULE_BIT(VRID);
	k->each_source = !k->each_vrid;
	k->rule.any_source = k->each_vrid;
}

static void add_all_known(struct capture *c)
{
	c->native = true;
	for (int i = 0; i < PRESETS; i++) {
		const struct preset *p = &presets[i];

		if (i == PRESET_UDP || i == PRESET_IP)
			continue;
		if (!p->ports[0].port)
			add_known(c, (enum preset_number)i, p->port, 0);
		for (int k = 0; k < PRESET_PORTS && p->ports[k].port; k++)
			add_known(c, (enum preset_number)i, p->ports[k].port, p->ports[k].min_ttl);
	}
}

/*
 * What the words say; and what they leave out although a rule needs it, each packet says for itself: then
 * every sender, every port, every virtual router found is a peer.
 */
static int add_rule(struct flow *f, struct capture *c, const struct preset *p, const char *port)
{
	struct rule_text text = f->options.rule;
	struct kind *k = &c->kinds[c->kinds_count++];
	struct rule_fault fault;
	int err;

	*k = (struct kind){.each_vrid = p->needs & RULE_BIT(VRID) && !text.word[RULE_VRID],
			   .each_source = !(p->needs & RULE_BIT(VRID)) && !text.word[RULE_FROM],
			   .each_port = p->needs & RULE_BIT(PORT) && !port};
	if (k->each_vrid)
		text.word[RULE_VRID] = "1";
	if (k->each_source)
		text.word[RULE_FROM] = "0.0.0.0";
	text.word[RULE_PORT] = k->each_port ? "1" : port;
	err = rule_parse(&text, &spelling, &k->peer, &k->rule, &fault);
	if (err && fault.at != RULE_WORD_KINDS)
		return refuse(err, f->why, sizeof(f->why), "%s: %s", spelling.name[fault.at], fault.why);
	if (err)
		return refuse(err, f->why, sizeof(f->why), "%s", fault.why);
	if (k->each_vrid)
		k->rule.match[0].value &= ~VRID;
	return rule_settle(&k->rule, &spelling, false, &k->peer, f->why, sizeof(f->why));
}

/* Where a protocol has several ports and none is named, all of them. */
static int add_chosen(struct flow *f, struct capture *c)
{
	const char *proto = f->options.rule.word[RULE_PROTO], *port = f->options.rule.word[RULE_PORT];
	char why[WHY_SIZE / 2], number[8];
	int which = proto ? keyword_match(proto, preset_names, PRESETS, why, sizeof(why)) : PRESET_UDP;
	int err = 0;

	if (which < 0)
		return refuse(which, f->why, sizeof(f->why), "proto: %.400s", why);
	if (port || !presets[which].ports[0].port)
		return add_rule(f, c, &presets[which], port);
	for (int i = 0; i < PRESET_PORTS && presets[which].ports[i].port && !err; i++) {
		snprintf(number, sizeof(number), "%u", presets[which].ports[i].port);
		err = add_rule(f, c, &presets[which], number);
	}
	return err;
}

int flow_check_rule(struct flow *f)
{
	struct capture c = {.kinds_count = 0};

	return rule_is_written(&f->options.rule) ? add_chosen(f, &c) : 0;
}

/* --- whose is it --- */

/* A packet, parsed, and what became of it. */
struct packet {
	struct frame frame;
	uint64_t length;
	struct datagram datagram;
	struct kphi_beat beat;
};

/* Where each virtual router is a peer, its number is no part of what is asked for. */
static bool matches(const struct packet *p, const struct kind *k, int i)
{
	struct kphi_match m = k->rule.match[i];

	if (!m.width)
		return true;
	if (k->each_vrid && !i)
		m.mask &= ~VRID;
	return identify_match(&p->frame, &p->datagram, &m);
}

static bool fits(const struct packet *p, const struct kind *k)
{
	const struct datagram *d = &p->datagram;
	uint8_t source[16] = {0};

	if (d->protocol != k->peer.id.protocol ||
	    (d->protocol == IPPROTO_UDP && !k->each_port && d->port != k->peer.id.port))
		return false;
	if (!k->each_source && !k->rule.any_source) {
		identify_source(&p->frame, d, source);
		if (memcmp(source, k->peer.id.bytes, sizeof(source)) != 0)
			return false;
	}
	return matches(p, k, 0) && matches(p, k, 1);
}

static void name_of(struct trace_peer *t)
{
	const struct preset *p = &presets[t->rule.preset];
	char address[ADDRESS_SIZE], port[16] = "";
	const struct kphi_id *id = &t->settings.id;

	if (id->protocol == IPPROTO_UDP && id->port != p->port)
		snprintf(port, sizeof(port), " port %u", id->port);
	if (p->needs & RULE_BIT(VRID))
		snprintf(t->name, sizeof(t->name), "%s %u", p->name,
			 (unsigned int)(t->rule.match[0].value & VRID));
	else if (t->rule.any_source)
		snprintf(t->name, sizeof(t->name), "%s%s", p->name, port);
	else
		snprintf(t->name, sizeof(t->name), "%s %s%s", p->name, format_address(id->bytes, address),
			 port);
	memcpy(t->settings.name, t->name, sizeof(t->name));
}

/* The peer of a packet that fits, as if somebody had added it. */
static struct trace_peer rule_peer(const struct packet *p, const struct kind *k)
{
	struct trace_peer t = {.settings = k->peer, .rule = k->rule};
	struct kphi_id *id = &t.settings.id;
	uint64_t first = 0;

	if (k->each_port)
		id->port = p->datagram.port;
	if (k->each_source)
		identify_source(&p->frame, &p->datagram, id->bytes);
	if (k->each_vrid && !identify_bytes(&p->frame, &p->datagram, 0, 2, &first))
		t.rule.match[0].value |= first & VRID;
	for (int i = 0; i < KPHI_MATCHES; i++)
		id->match[i] = t.rule.match[i].value;
	name_of(&t);
	return t;
}

static struct trace_peer native_peer(const struct kphi_id *id)
{
	struct trace_peer t = {.settings.id = *id};

	format_uuid(id->bytes, t.name);
	memcpy(t.settings.name, t.name, sizeof(t.name));
	return t;
}

/* Its number; the flow gets to know it if it is new. */
static int64_t peer_number(struct flow *f, struct capture *c, struct trace_peer *t)
{
	struct key key = {{0}};
	int64_t number;
	bool fresh;

	_Static_assert(sizeof(t->settings.id) <= sizeof(key), "an identity fits a key");
	memcpy(key.bytes, &t->settings.id, sizeof(t->settings.id));
	number = keys_find(&c->keys, &key, &fresh);
	if (number < 0)
		return flow_wrong(f, -ENOMEM, f->from, "there is no memory for another peer");
	if (!fresh)
		return number;
	if (number >= c->room) {
		uint32_t room = c->room ? 2 * c->room : 64;
		uint64_t *epochs = reallocarray(c->epochs, room, sizeof(*epochs));

		if (!epochs)
			return flow_wrong(f, -ENOMEM, f->from, "there is no memory for another peer");
		c->epochs = epochs;
		c->room = room;
	}
	c->epochs[number] = 0;
	t->settings.interval_ns = t->rule.decoder ? 0 : f->options.interval_ns;
	return flow_peer(f, t);
}

/* As the packet path finds it: bpf/record.h. */
static void limit_epoch(struct capture *c, int64_t peer, struct kphi_beat *b)
{
	uint64_t *known = &c->epochs[peer];

	b->epoch_limit = *known;
	if (b->epoch <= *known)
		return;
	b->epoch_limit = b->now_ns / NS_PER_SECOND + KPHI_EPOCH_AHEAD_S;
	if (b->epoch <= b->epoch_limit)
		*known = b->epoch;
}

static int take_beat(struct flow *f, struct capture *c, struct packet *p, struct trace_peer *t)
{
	int64_t number = peer_number(f, c, t);

	if (number < 0)
		return (int)number;
	limit_epoch(c, number, &p->beat);
	return flow_arrival(f, (uint32_t)number, &p->beat);
}

/* 1 if it is not for the kind, else 0, or what went wrong. */
static int try_kind(struct flow *f, struct capture *c, struct packet *p, const struct kind *k)
{
	struct trace_peer t;

	if (!fits(p, k))
		return 1;
	if (p->datagram.fragment ||
	    identify_rule(&p->frame, &p->datagram, &k->rule, &p->beat) != KPHI_COUNT_beat) {
		f->refused++;
		return 0;
	}
	t = rule_peer(p, k);
	return take_beat(f, c, p, &t);
}

/* The message is read as a structure, so it gets memory of its own that is aligned for one. */
static int try_native(struct flow *f, struct capture *c, struct packet *p)
{
	struct kphi_wire copy;
	struct datagram d = p->datagram;
	struct frame message = {&copy, &copy + 1, &p->length, 0};
	struct trace_peer t;
	struct kphi_id id;

	if (!c->native || d.protocol != IPPROTO_UDP ||
	    frame_copy(&p->frame, d.payload, &copy, sizeof(copy)) < 0 ||
	    copy.magic != bpf_htonl(KPHI_WIRE_MAGIC))
		return 1;
	d.payload = 0;
	if (identify_native(&message, &d, &id, &p->beat) != KPHI_COUNT_beat) {
		f->refused++;
		return 0;
	}
	t = native_peer(&id);
	return take_beat(f, c, p, &t);
}

/* --- frames --- */

/* Bytes in front of the IP packet; -1 if there is none. *proto in network order. */
static int link_header(int link, const uint8_t *bytes, uint32_t size, uint16_t *proto)
{
	uint32_t family = 0;

	switch (link) {
	case DLT_LINUX_SLL:
		memcpy(proto, bytes + 14, size < 16 ? 0 : sizeof(*proto));
		return size < 16 ? -1 : 16;
	case DLT_LINUX_SLL2:
		memcpy(proto, bytes, size < 20 ? 0 : sizeof(*proto));
		return size < 20 ? -1 : 20;
	case DLT_NULL:
	case DLT_LOOP: /* an address family, of which 2 is IPv4 everywhere */
		memcpy(&family, bytes, size < 4 ? 0 : sizeof(family));
		*proto = bpf_htons(family == 2 || family == bpf_htonl(2) ? ETH_P_IP : ETH_P_IPV6);
		return size < 4 ? -1 : 4;
	default: /* none: the packet itself says its version */
		*proto = bpf_htons(size && bytes[0] >> 4 == 4 ? ETH_P_IP : ETH_P_IPV6);
		return 0;
	}
}

static bool link_is_known(int link)
{
	return link == DLT_EN10MB || link == DLT_LINUX_SLL || link == DLT_LINUX_SLL2 || link == DLT_NULL ||
	       link == DLT_LOOP || link == DLT_RAW || link == DLT_IPV4 || link == DLT_IPV6;
}

/* An enum kphi_counter, FOREIGN, or PARSED: then p->datagram says what it carries. */
static int parse_packet(const struct capture *c, struct packet *p, const uint8_t *bytes, uint32_t size)
{
	uint16_t proto = 0;
	int header;

	/* Two bytes ahead, network cards do so too, align the IP header behind Ethernet. */
	p->frame.data = c->frame + (c->link == DLT_EN10MB ? 2 : 0);
	memcpy(p->frame.data, bytes, size);
	p->frame.end = (uint8_t *)p->frame.data + size;
	p->frame.context = &p->length;
	if (c->link == DLT_EN10MB)
		return parse_frame(&p->frame, &p->datagram);
	header = link_header(c->link, bytes, size, &proto);
	return header < 0 ? FOREIGN
			  : parse_network(&p->frame, (uint8_t *)p->frame.data + header, proto, &p->datagram);
}

static int take_packet(struct flow *f, struct capture *c, const struct pcap_pkthdr *h, const uint8_t *bytes)
{
	struct packet p = {.length = h->len, .beat = {.type = KPHI_WIRE_BEAT}};
	int done = parse_packet(c, &p, bytes, h->caplen < ROOM ? h->caplen : ROOM);

	if (done != PARSED) {
		f->foreign += done == FOREIGN;
		f->refused += done != FOREIGN;
		return 0;
	}
	/* tv_usec has nanoseconds: they were asked for. */
	p.beat.now_ns = (uint64_t)h->ts.tv_sec * NS_PER_SECOND + (uint64_t)h->ts.tv_usec;
	done = try_native(f, c, &p);
	for (size_t i = 0; i < c->kinds_count && done == 1; i++)
		done = try_kind(f, c, &p, &c->kinds[i]);
	f->foreign += done == 1;
	return done == 1 ? 0 : done;
}

static int take_packets(struct flow *f, struct capture *c)
{
	struct trace_start start = {0};
	struct pcap_pkthdr *h;
	const uint8_t *bytes;
	int got, err = 0;

	for (uint64_t n = 0; !err && (got = pcap_next_ex(c->pcap, &h, &bytes)) == 1; n++) {
		if (!n) {
			start.wall_ns = start.monotonic_ns =
				(uint64_t)h->ts.tv_sec * NS_PER_SECOND + (uint64_t)h->ts.tv_usec;
			err = flow_begin(f, &start);
		}
		err = err ? err : take_packet(f, c, h, bytes);
		if (n % STRIDE == 0)
			progress_at(&f->progress, input_taken(c->in));
	}
	if (err || got != PCAP_ERROR)
		return err;
	/* A capture that was cut off within a packet is as good as one that was cut off behind it. */
	flow_wrong(f, -EBADMSG, f->from, "%s", pcap_geterr(c->pcap));
	f->cut_off = true;
	return f->arrivals ? 0 : -EBADMSG;
}

static int open_capture(struct flow *f, struct capture *c)
{
	char why[PCAP_ERRBUF_SIZE] = "there is no memory for it";
	FILE *stream;

	c->in = input_open(f);
	if (!c->in)
		return -EIO;
	stream = input_stream(c->in);
	if (stream)
		c->pcap = pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why);
	c->frame = malloc(ROOM + 2);
	if (!c->pcap || !c->frame) {
		if (!c->pcap && stream)
			fclose(stream);
		else if (!stream)
			input_close(c->in);
		return flow_wrong(f, -EBADMSG, f->from, "%s", why);
	}
	c->link = pcap_datalink(c->pcap);
	if (link_is_known(c->link))
		return 0;
	return flow_wrong(f, -ENOTSUP, f->from, "its link is %s: kphi reads Ethernet, IP and \"any\"",
			  pcap_datalink_val_to_description_or_dlt(c->link));
}

int flow_from_capture(struct flow *f)
{
	struct capture c = {.kinds_count = 0};
	int err = 0;

	if (rule_is_written(&f->options.rule))
		err = add_chosen(f, &c);
	else
		add_all_known(&c);
	err = err ? err : open_capture(f, &c);
	err = err ? err : take_packets(f, &c);
	if (c.pcap)
		pcap_close(c.pcap);
	keys_free(&c.keys);
	free(c.epochs);
	free(c.frame);
	return err;
}
