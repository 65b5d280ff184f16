// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every header shape through the real program, whole, cut at every length and spoilt: the verdict is
 * XDP_PASS, the packet is unchanged, and exactly the right counter moved. What is right follows from where
 * the builder put things, not from reading the frame again.
 */
#include "prog/world.h"

#define MALFORMED_IP(shape) ((shape)->version == 4 ? KPHI_COUNT_malformed_ipv4 : KPHI_COUNT_malformed_ipv6)

/* So slow that no pause of a test is a capped interval. */
static const struct kphi_peer hourly = {.id.kind = KPHI_ID_NATIVE, .interval_ns = 3600000000000};

static struct world world;
static struct packet packet, cut;
static uint32_t slot;

static struct message fresh(void)
{
	static uint64_t sequence;

	return world_message(&world, slot, 1, ++sequence);
}

struct shape_case {
	const char *name;
	struct shape shape;
	int outcome;
};

#define V4(...)                                                                                              \
	{                                                                                                    \
		.version = 4, __VA_ARGS__                                                                    \
	}
#define V6(...)                                                                                              \
	{                                                                                                    \
		.version = 6, __VA_ARGS__                                                                    \
	}
#define CHAIN(n, ...) .extensions_count = (n), .extensions = {__VA_ARGS__}
#define HOP                                                                                                  \
	{                                                                                                    \
		EXTENSION_HOP, 0, 0                                                                          \
	}
#define ROUTING                                                                                              \
	{                                                                                                    \
		EXTENSION_ROUTING, 2, 0                                                                      \
	}
#define OPTIONS                                                                                              \
	{                                                                                                    \
		EXTENSION_OPTIONS, 0, 0                                                                      \
	}
#define AH                                                                                                   \
	{                                                                                                    \
		EXTENSION_AH, 4, 0                                                                           \
	}
#define ATOMIC                                                                                               \
	{                                                                                                    \
		EXTENSION_FRAGMENT, 0, 0                                                                     \
	}
#define FIRST                                                                                                \
	{                                                                                                    \
		EXTENSION_FRAGMENT, 0, FRAGMENT6_MORE                                                        \
	}
#define LATER                                                                                                \
	{                                                                                                    \
		EXTENSION_FRAGMENT, 0, 185 * 8                                                               \
	}

static const struct shape_case ours[] = {
	{"IPv4", V4(), KPHI_COUNT_beat},
	{"IPv4, do not fragment", V4(.fragment = FRAGMENT4_DF), KPHI_COUNT_beat},
	{"IPv4, one word of options", V4(.option_words = 1), KPHI_COUNT_beat},
	{"IPv4, ten words of options", V4(.option_words = 10), KPHI_COUNT_beat},
	{"IPv4, longer message", V4(.trailer = 40), KPHI_COUNT_beat},
	{"IPv4, padded frame", V4(.padding = 20), KPHI_COUNT_beat},
	{"802.1Q, IPv4", V4(.tags = {TPID_Q}), KPHI_COUNT_beat},
	{"802.1ad, IPv4", V4(.tags = {TPID_AD}), KPHI_COUNT_beat},
	{"802.1ad, 802.1Q, IPv4 with options", V4(.tags = {TPID_AD, TPID_Q}, .option_words = 2),
	 KPHI_COUNT_beat},
	{"802.1Q twice, IPv4", V4(.tags = {TPID_Q, TPID_Q}), KPHI_COUNT_beat},
	{"IPv4, first fragment", V4(.fragment = FRAGMENT4_MORE), KPHI_COUNT_beat},
	{"IPv4, middle fragment", V4(.fragment = FRAGMENT4_MORE + 1), KPHI_COUNT_fragment},
	{"IPv4, last fragment", V4(.fragment = 0x1fff), KPHI_COUNT_fragment},
	{"IPv6", V6(), KPHI_COUNT_beat},
	{"802.1Q, IPv6", V6(.tags = {TPID_Q}), KPHI_COUNT_beat},
	{"802.1ad, 802.1Q, IPv6", V6(.tags = {TPID_AD, TPID_Q}), KPHI_COUNT_beat},
	{"IPv6, padded frame", V6(.padding = 9), KPHI_COUNT_beat},
	{"IPv6, hop-by-hop", V6(CHAIN(1, HOP)), KPHI_COUNT_beat},
	{"IPv6, long hop-by-hop", V6(CHAIN(1, {EXTENSION_HOP, 30, 0})), KPHI_COUNT_beat},
	{"IPv6, routing", V6(CHAIN(1, ROUTING)), KPHI_COUNT_beat},
	{"IPv6, destination options", V6(CHAIN(1, OPTIONS)), KPHI_COUNT_beat},
	{"IPv6, AH", V6(CHAIN(1, AH)), KPHI_COUNT_beat},
	{"IPv6, shortest AH", V6(CHAIN(1, {EXTENSION_AH, 0, 0})), KPHI_COUNT_beat},
	{"IPv6, atomic fragment", V6(CHAIN(1, ATOMIC)), KPHI_COUNT_beat},
	{"IPv6, first fragment", V6(CHAIN(1, FIRST)), KPHI_COUNT_beat},
	{"IPv6, later fragment", V6(CHAIN(1, LATER)), KPHI_COUNT_fragment},
	{"IPv6, options, later fragment", V6(CHAIN(3, HOP, ROUTING, LATER)), KPHI_COUNT_fragment},
	{"IPv6, the chain of RFC 8200", V6(CHAIN(6, HOP, OPTIONS, ROUTING, FIRST, AH, OPTIONS)),
	 KPHI_COUNT_beat},
	{"IPv6, seven extension headers", V6(CHAIN(7, HOP, OPTIONS, ROUTING, ATOMIC, AH, OPTIONS, OPTIONS)),
	 KPHI_COUNT_ipv6_extensions},
	{"IPv6, seven of one kind",
	 V6(CHAIN(7, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS)),
	 KPHI_COUNT_ipv6_extensions},
};

static void whole_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ours); i++) {
		struct message m = fresh();

		packet_build(&packet, &ours[i].shape, &m);
		expect(&world, &packet, ours[i].outcome, 0, ours[i].name);
	}
}

/* Which lengths say what is left of a cut packet, rather than what was there. */
enum follow { FOLLOW_NONE, FOLLOW_IP, FOLLOW_UDP };

static bool first_fragment(const struct shape *s)
{
	for (int i = 0; i < s->extensions_count; i++)
		if (s->extensions[i].type == EXTENSION_FRAGMENT)
			return s->extensions[i].fragment & FRAGMENT6_MORE;
	return s->fragment & FRAGMENT4_MORE;
}

static uint32_t fixed_header(const struct shape *s)
{
	return s->version == 4 ? 20 : 40;
}

/* What the first `length` bytes of a packet of this shape, whose whole counts as `outcome`, count as. */
static int cut_outcome(const struct shape_case *c, const struct packet *p, uint32_t length,
		       enum follow follow)
{
	const struct shape *s = &c->shape;

	if (length < p->network)
		return KPHI_COUNT_malformed_ethernet;
	if (length >= p->padding)
		return c->outcome;
	if (length < p->network + fixed_header(s) || follow == FOLLOW_NONE)
		return MALFORMED_IP(s);
	/* An IPv4 fragment is known by its fixed header, but a packet shorter than its header comes first. */
	if (length < p->headers_end)
		return MALFORMED_IP(s);
	if (s->protocol || (c->outcome != KPHI_COUNT_beat && c->outcome != NOTHING))
		return c->outcome; /* known without what follows the headers */
	if (length < p->headers_end + 8 || (follow == FOLLOW_IP && !first_fragment(s)))
		return KPHI_COUNT_malformed_udp;
	if (c->outcome == NOTHING)
		return NOTHING;
	return length < p->payload + MESSAGE_SIZE ? KPHI_COUNT_wire_short : KPHI_COUNT_beat;
}

static void cut_everywhere(const struct shape_case *c, enum follow follow)
{
	for (uint32_t length = WORLD_MIN_FRAME;; length++) {
		struct message m = fresh();

		packet_build(&packet, &c->shape, &m);
		if (length > packet.length)
			return;
		cut = packet;
		cut.length = length;
		if (follow != FOLLOW_NONE && length < packet.padding)
			packet_set_lengths(&cut, length, follow == FOLLOW_UDP ? length : 0);
		expect(&world, &cut, cut_outcome(c, &packet, length, follow), 0, c->name);
	}
}

static void cut_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ours); i++)
		cut_everywhere(&ours[i], FOLLOW_NONE);
}

static void cut_packets(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ours); i++)
		cut_everywhere(&ours[i], FOLLOW_IP);
}

static void cut_datagrams(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ours); i++)
		cut_everywhere(&ours[i], FOLLOW_UDP);
}

/* What an IP packet says is not its own does not count, though the frame goes on: it is padding. */
static void cut_packets_in_whole_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * COUNT(ours); i++) {
		const struct shape_case *c = &ours[i / 2];
		enum follow follow = i % 2 ? FOLLOW_IP : FOLLOW_UDP;
		uint32_t length = 0;

		do {
			struct message m = fresh();

			packet_build(&packet, &c->shape, &m);
			length = length ? length + 1 : packet.network + fixed_header(&c->shape);
			packet_set_lengths(&packet, length, follow == FOLLOW_UDP ? length : 0);
			expect(&world, &packet, cut_outcome(c, &packet, length, follow), 0, c->name);
		} while (length < packet.padding);
	}
}

/* --- none of ours: nothing moves. Beside each, the packet it differs from in one thing, which is a beat ---
 */

static const struct {
	const char *name;
	struct shape foreign, witness;
} foreigners[] = {
	{"ARP", {.ethertype = ETHERTYPE_ARP}, V4()},
	{"tagged ARP", {.ethertype = ETHERTYPE_ARP, .tags = {TPID_Q}}, V4(.tags = {TPID_Q})},
	{"IPv4 behind the ethertype of ARP", V4(.ethertype = ETHERTYPE_ARP), V4()},
	{"three tags", V4(.tags = {TPID_AD, TPID_Q, TPID_Q}), V4(.tags = {TPID_AD, TPID_Q})},
	{"another port, IPv4", V4(.port = MESSAGE_PORT + 1), V4(.port = MESSAGE_PORT)},
	{"another port, IPv6", V6(.port = MESSAGE_PORT - 1), V6(.port = MESSAGE_PORT)},
	{"the port's neighbour in the bitmap's byte", V4(.port = MESSAGE_PORT ^ 1), V4()},
	{"port 0xffff", V4(.port = 0xffff), V4()},
	{"TCP over IPv4", V4(.protocol = PROTOCOL_TCP), V4()},
	{"TCP over IPv4, later fragment", V4(.protocol = PROTOCOL_TCP, .fragment = 1),
	 V4(.fragment = FRAGMENT4_MORE)},
	{"TCP over IPv6", V6(.protocol = PROTOCOL_TCP), V6()},
	{"ICMPv6 behind hop-by-hop", V6(.protocol = PROTOCOL_ICMP6, CHAIN(1, HOP)), V6(CHAIN(1, HOP))},
	{"TCP over IPv6, later fragment", V6(.protocol = PROTOCOL_TCP, CHAIN(1, LATER)), V6(CHAIN(1, FIRST))},
	{"nothing behind IPv6", V6(.protocol = PROTOCOL_NONE), V6()},
	{"ESP behind options", V6(.protocol = PROTOCOL_ESP, CHAIN(1, OPTIONS)), V6(CHAIN(1, OPTIONS))},
	{"TCP behind six extension headers",
	 V6(.protocol = PROTOCOL_TCP, CHAIN(6, HOP, OPTIONS, ROUTING, ATOMIC, AH, OPTIONS)),
	 V6(CHAIN(6, HOP, OPTIONS, ROUTING, ATOMIC, AH, OPTIONS))},
	{"UDP behind an IPv4 AH", V4(.protocol = EXTENSION_AH), V4()},
};

static void foreign_frames_move_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(foreigners); i++) {
		struct message m = fresh();

		packet_build(&packet, &foreigners[i].foreign, &m);
		expect(&world, &packet, NOTHING, 0, foreigners[i].name);
		packet_build(&packet, &foreigners[i].witness, &m);
		expect(&world, &packet, KPHI_COUNT_beat, 0, foreigners[i].name);
	}
}

/* A foreign packet is foreign only if it is whole; what is malformed is nobody's. Three tags are never looked
 * behind. */
static void cut_foreign_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(foreigners); i++) {
		const struct shape_case c = {foreigners[i].name, foreigners[i].foreign, NOTHING};

		if (!c.shape.version || c.shape.ethertype || c.shape.tags[2])
			continue;
		cut_everywhere(&c, FOLLOW_NONE);
		cut_everywhere(&c, FOLLOW_IP);
		cut_everywhere(&c, FOLLOW_UDP);
	}
}

/* --- whole frames with a field that cannot be --- */

enum base { NETWORK, UDP, MESSAGE };

static const struct spoilt {
	const char *name;
	uint8_t version;
	enum base base;
	uint32_t offset;
	uint16_t value;
	uint8_t bytes; /* of the value */
	int outcome;
} spoilt[] = {
	{"IPv4 with version 5", 4, NETWORK, 0, 0x55, 1, KPHI_COUNT_malformed_ipv4},
	{"IPv4 with version 0", 4, NETWORK, 0, 0x05, 1, KPHI_COUNT_malformed_ipv4},
	{"IPv4 header of 16 bytes", 4, NETWORK, 0, 0x44, 1, KPHI_COUNT_malformed_ipv4},
	{"IPv4 header of none", 4, NETWORK, 0, 0x40, 1, KPHI_COUNT_malformed_ipv4},
	{"IPv4 total below its header", 4, NETWORK, 2, 19, 2, KPHI_COUNT_malformed_ipv4},
	{"IPv4 total of none", 4, NETWORK, 2, 0, 2, KPHI_COUNT_malformed_ipv4},
	{"IPv4 total of a header", 4, NETWORK, 2, 20, 2, KPHI_COUNT_malformed_udp},
	{"IPv4 total beyond the frame by one", 4, NETWORK, 2, 20 + 8 + 88 + 1, 2, KPHI_COUNT_malformed_ipv4},
	{"IPv4 total beyond every frame", 4, NETWORK, 2, 0xffff, 2, KPHI_COUNT_malformed_ipv4},
	{"IPv4 with UDP cut by one", 4, NETWORK, 2, 20 + 8 + 87, 2, KPHI_COUNT_malformed_udp},
	{"IPv4 whose options are the datagram", 4, NETWORK, 0, 0x4f, 1,
	 KPHI_COUNT_malformed_udp}, /* zeros of the message */
	{"IPv6 with version 4", 6, NETWORK, 0, 0x40, 1, KPHI_COUNT_malformed_ipv6},
	{"IPv6 payload beyond the frame by one", 6, NETWORK, 4, 8 + 88 + 1, 2, KPHI_COUNT_malformed_ipv6},
	{"IPv6 payload of none", 6, NETWORK, 4, 0, 2, KPHI_COUNT_malformed_udp},
	{"IPv6 payload of part of UDP", 6, NETWORK, 4, 7, 2, KPHI_COUNT_malformed_udp},
	{"UDP length below its header", 4, UDP, 4, 7, 2, KPHI_COUNT_malformed_udp},
	{"UDP length of none", 6, UDP, 4, 0, 2, KPHI_COUNT_malformed_udp},
	{"UDP length beyond its packet by one", 4, UDP, 4, 8 + 88 + 1, 2, KPHI_COUNT_malformed_udp},
	{"UDP length beyond its packet", 6, UDP, 4, 0xffff, 2, KPHI_COUNT_malformed_udp},
	{"UDP length of a header", 4, UDP, 4, 8, 2, KPHI_COUNT_wire_short},
	{"message short by one", 6, UDP, 4, 8 + 87, 2, KPHI_COUNT_wire_short},
	{"magic, first byte", 4, MESSAGE, 0, 'k', 1, KPHI_COUNT_wire_magic},
	{"magic, last byte", 6, MESSAGE, 3, 'J', 1, KPHI_COUNT_wire_magic},
	{"version 0", 4, MESSAGE, 4, 0, 1, KPHI_COUNT_wire_version},
	{"version 2", 4, MESSAGE, 4, 2, 1, KPHI_COUNT_wire_version},
	{"type 0", 4, MESSAGE, 5, 0, 1, KPHI_COUNT_wire_type},
	{"type probe", 4, MESSAGE, 5, 4, 1, KPHI_COUNT_wire_type},
	{"type reply", 4, MESSAGE, 5, 5, 1, KPHI_COUNT_wire_type},
	{"type 255", 4, MESSAGE, 5, 255, 1, KPHI_COUNT_wire_type},
	{"message length 0", 4, MESSAGE, 8, 0, 2, KPHI_COUNT_wire_length},
	{"message length 87", 4, MESSAGE, 8, 87, 2, KPHI_COUNT_wire_length},
	{"message length beyond the datagram", 6, MESSAGE, 8, 89, 2, KPHI_COUNT_wire_length},
	{"a node id nobody added", 4, MESSAGE, 31, 0xee, 1, KPHI_COUNT_unknown_peer},
	{"the message's reserved field", 4, MESSAGE, 10, 0xffff, 2, KPHI_COUNT_beat},
	{"an acknowledgement", 4, MESSAGE, 72, 0xffff, 2, KPHI_COUNT_beat},
	{"a UDP checksum", 4, UDP, 6, 0x1234, 2, KPHI_COUNT_beat},
};

static void spoil(struct packet *p, const struct spoilt *s)
{
	static const struct shape plain[] = {[4] = {.version = 4}, [6] = {.version = 6}};
	struct message m = fresh();
	uint8_t *at;

	packet_build(p, &plain[s->version], &m);
	at = p->bytes + s->offset +
	     (s->base == NETWORK ? p->network
	      : s->base == UDP   ? p->headers_end
				 : p->payload);
	if (s->bytes == 1)
		*at = (uint8_t)s->value;
	else
		put16(at, s->value);
}

static void spoilt_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(spoilt); i++) {
		spoil(&packet, &spoilt[i]);
		expect(&world, &packet, spoilt[i].outcome, 0, spoilt[i].name);
	}
}

/* A message may be longer than this version's, but not longer than what carries it. */
static void longer_messages(void **state)
{
	const struct shape shape = {.version = 4, .trailer = 12};

	(void)state;
	for (uint16_t length = 86; length < 104; length++) {
		struct message m = fresh();

		packet_build(&packet, &shape, &m);
		put16(packet_message(&packet, 8), length);
		expect(&world, &packet,
		       length < 88 || length > 100 ? KPHI_COUNT_wire_length : KPHI_COUNT_beat, 0,
		       "message length");
	}
}

/* --- several buffers --- */

static void jumbo_frames(void **state)
{
	static const struct shape_case jumbo[] = {
		{"IPv4, 9000 bytes", V4(.trailer = 9000 - 20 - 8 - MESSAGE_SIZE), KPHI_COUNT_beat},
		{"IPv6, 9000 bytes", V6(.trailer = 9000 - 40 - 8 - MESSAGE_SIZE), KPHI_COUNT_beat},
		{"IPv4, 60000 bytes", V4(.tags = {TPID_Q}, .trailer = 60000), KPHI_COUNT_beat},
		{"IPv6, padding in further buffers", V6(.padding = 8000), KPHI_COUNT_beat},
		{"IPv6, later fragment", V6(CHAIN(1, LATER), .trailer = 8000), KPHI_COUNT_fragment},
		{"IPv4, another port", V4(.port = 53, .trailer = 8000), NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(jumbo); i++) {
		struct message m = fresh();

		packet_build(&packet, &jumbo[i].shape, &m);
		expect(&world, &packet, jumbo[i].outcome, 0, jumbo[i].name);
		if (packet.padding < packet.length)
			continue;
		packet.length--; /* now the IP packet is longer than all the buffers together */
		expect(&world, &packet, MALFORMED_IP(&jumbo[i].shape), 0, jumbo[i].name);
	}
}

/*
 * The first buffer ends within the headers or the message: what is not in it is as good as missing. Only that
 * a length exceeds the frame is judged by the frame's whole length.
 */
static int split_outcome(const struct shape *s, const struct packet *p, uint32_t linear)
{
	uint32_t walked = p->network + fixed_header(s);

	if (linear < p->network)
		return KPHI_COUNT_malformed_ethernet;
	if (linear < walked)
		return MALFORMED_IP(s);
	for (int i = 0; i < s->extensions_count; i++) {
		if (linear < walked + 8)
			return KPHI_COUNT_malformed_ipv6;
		walked += extension_size(&s->extensions[i]);
	}
	if (linear < p->headers_end + 8)
		return KPHI_COUNT_malformed_udp;
	return linear < p->payload + MESSAGE_SIZE ? KPHI_COUNT_wire_short : KPHI_COUNT_beat;
}

static void split_anywhere(void **state)
{
	static const struct shape shapes[] = {
		V4(.tags = {TPID_AD, TPID_Q}, .option_words = 3, .trailer = 10),
		V6(.tags = {TPID_Q}, CHAIN(3, HOP, {EXTENSION_OPTIONS, 3, 0}, AH), .trailer = 10),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		for (uint32_t linear = WORLD_MIN_FRAME; linear < 14 + 8 + 32 + 8 + MESSAGE_SIZE; linear++) {
			struct message m = fresh();

			packet_build(&packet, &shapes[i], &m);
			packet.linear = linear;
			if (linear == WORLD_MIN_FRAME && world_try(&world, &packet) == -EINVAL) {
				print_message(
					"this kernel's test runs fill the first buffer (before 6.18)\n");
				skip();
			}
			expect(&world, &packet, split_outcome(&shapes[i], &packet, linear), 0, "split");
		}
	}
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "parse", 16, 8);
	slot = world_add(&world, &hourly);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_frames),
		cmocka_unit_test(cut_frames),
		cmocka_unit_test(cut_packets),
		cmocka_unit_test(cut_datagrams),
		cmocka_unit_test(cut_packets_in_whole_frames),
		cmocka_unit_test(foreign_frames_move_nothing),
		cmocka_unit_test(cut_foreign_frames),
		cmocka_unit_test(spoilt_fields),
		cmocka_unit_test(longer_messages),
		cmocka_unit_test(jumbo_frames),
		cmocka_unit_test(split_anywhere),
	};

	return cmocka_run_group_tests_name("parse", tests, open_world, close_world);
}
