// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets as FRR, BIRD, keepalived, corosync and Serf put them on the wire, byte by byte, and all their rules
 * side by side in one store. What ../shared/pcap proves at length, these prove wherever the tests run.
 */
#include <kphi/bfd.h>

#include "prog/presets.h"

/* Who is heard here; the order is that of their slots. */
enum who { FRR, BIRD, MULTIHOP, ROUTER, PING, PONG, DATA, SERF, PEERS, NOBODY };

static const struct stream streams[PEERS] = {
	[FRR] = {BFD, "10.0.0.1", 3784, 50000000}, [BIRD] = {BFD, "10.0.0.2", 3784, 0},
	[MULTIHOP] = {BFD, "10.0.0.1", 4784, 0},   [ROUTER] = {VRRP, NULL, 51, 0},
	[PING] = {KNET_PING, "10.0.0.2", 5405, 0}, [PONG] = {KNET_PONG, "10.0.0.2", 5405, 0},
	[DATA] = {KNET_DATA, "10.0.0.2", 5405, 0}, [SERF] = {DATAGRAM, "10.0.0.1", 7946, 0},
};

#define UDP_OF(n, to, hops)                                                                                  \
	{                                                                                                    \
		.version = 4, .fragment = FRAGMENT4_DF, .source = (n), .port = (to), .ttl = (hops)           \
	}
#define VRRP_OF(n, hops)                                                                                     \
	{                                                                                                    \
		.version = 4, .source = (n), .protocol = PROTOCOL_VRRP, .bare = true, .ttl = (hops)          \
	}

static const struct sample {
	const char *name;
	struct shape shape;
	const char *payload;
	enum who who;
	int outcome;
	uint32_t notes;
} samples[] = {
	{"FRR, down", UDP_OF(1, 3784, 255), "20400318 fe7fbabd 00000000 000f4240 000186a0 00000000", FRR,
	 KPHI_COUNT_beat, 0},
	{"FRR, up, polls", UDP_OF(1, 3784, 255), "20e00318 fe7fbabd 296ffbd7 0000c350 0000c350 0000c350", FRR,
	 KPHI_COUNT_beat, 0},
	{"FRR, answers", UDP_OF(1, 3784, 255), "20d00318 fe7fbabd 296ffbd7 0000c350 0000c350 0000c350", FRR,
	 KPHI_COUNT_beat, 0},
	{"FRR, up", UDP_OF(1, 3784, 255), "20c00318 fe7fbabd 296ffbd7 0000c350 0000c350 0000c350", FRR,
	 KPHI_COUNT_beat, KPHI_NOTE(renegotiated)},
	{"FRR, detection time expired", UDP_OF(1, 3784, 255),
	 "21400318 fe7fbabd 00000000 000f4240 000f4240 0000c350", FRR, KPHI_COUNT_beat,
	 KPHI_NOTE(renegotiated)},
	{"FRR, administratively down", UDP_OF(1, 3784, 255),
	 "27000318 fe7fbabd 00000000 000f4240 000f4240 0000c350", FRR, KPHI_COUNT_leave, 0},
	{"FRR, started anew", UDP_OF(1, 3784, 255), "20400318 6ef54483 00000000 000f4240 000186a0 00000000",
	 FRR, KPHI_COUNT_beat, KPHI_NOTE(restart)},
	{"FRR, authenticated", UDP_OF(1, 3784, 255),
	 "20c4031c 6ef54483 296ffbd7 000f4240 0000c350 0000c350 01040170", FRR, KPHI_COUNT_beat, 0},
	{"BIRD, up", UDP_OF(2, 3784, 255), "20c00318 7958e83d 322e42c4 0000c350 0000c350 00000000", BIRD,
	 KPHI_COUNT_beat, 0},
	{"from behind a router", UDP_OF(2, 3784, 254),
	 "20c00318 7958e83d 322e42c4 0000c350 0000c350 00000000", NOBODY, KPHI_COUNT_rule_ttl, 0},
	{"from somebody else", UDP_OF(3, 3784, 255), "20c00318 7958e83d 322e42c4 0000c350 0000c350 00000000",
	 NOBODY, KPHI_COUNT_no_rule, 0},
	{"multi-hop", UDP_OF(1, 4784, 255), "20c00318 457f7451 89860b19 0000c350 0000c350 00000000", MULTIHOP,
	 KPHI_COUNT_beat, 0},
	{"an echo packet", UDP_OF(1, 3785, 255), "20c00318 6ef54483 33eefa7c 0000c350 0000c350 0000c350",
	 NOBODY, NOTHING, 0},
	{"keepalived, version 2", VRRP_OF(1, 255), "21339601 00013e19 0a4d0064 0000000000000000", ROUTER,
	 KPHI_COUNT_beat, 0},
	{"keepalived, version 3", VRRP_OF(1, 255), "31339601 000a4333 0a4d0064", ROUTER, KPHI_COUNT_beat, 0},
	{"keepalived, leaves", VRRP_OF(1, 255), "31330001 000ad933 0a4d0064", ROUTER, KPHI_COUNT_leave, 0},
	{"keepalived, the backup", VRRP_OF(2, 255), "31336401 000a7533 0a4d0064", ROUTER, KPHI_COUNT_beat,
	 KPHI_NOTE(handover)},
	{"another virtual router", VRRP_OF(2, 255), "31346401 000a7533 0a4d0064", NOBODY, KPHI_COUNT_no_rule,
	 0},
	{"corosync, a ping", UDP_OF(2, 5405, 64), "018100020000 00 aa0700000000000030f7852800000000 0079 01",
	 PING, KPHI_COUNT_beat, 0},
	{"corosync, the next one", UDP_OF(2, 5405, 64),
	 "018100020000 00 ab0700000000000000a1c71000000000 007b 01", PING, KPHI_COUNT_beat, 0},
	{"corosync, the same again", UDP_OF(2, 5405, 64),
	 "018100020000 00 ab0700000000000000a1c71000000000 007b 01", PING, KPHI_COUNT_duplicate, 0},
	{"corosync, a pong", UDP_OF(2, 5405, 64), "018200020000 00 aa0700000000000030f7852800000000 0079 01",
	 PONG, KPHI_COUNT_beat, 0},
	{"corosync, data", UDP_OF(2, 5405, 64), "010000020000 00000000", DATA, KPHI_COUNT_beat, 0},
	{"corosync, path MTU", UDP_OF(2, 5405, 64), "018300020000 00000000", NOBODY, KPHI_COUNT_no_rule, 0},
	{"Serf, a ping", UDP_OF(1, 7946, 64),
	 "0085 a44e6f6465 a3706e32 a55365714e6f 07 aa536f7572636541646472 a40a4d0001 aa536f757263654e6f6465 "
	 "a3706e31 aa536f75726365506f7274 cd1f0a",
	 SERF, KPHI_COUNT_beat, 0},
	{"Serf, encrypted", UDP_OF(1, 7946, 64), "01 31e293e3bffd45d828576f7a 6095284d244bb20ec693fe4e", SERF,
	 KPHI_COUNT_beat, 0},
	{"Serf, a checksum in front", UDP_OF(1, 7946, 64), "0c 3e9fc1ee 07 02 003d 003d 0486a441646472a40a",
	 SERF, KPHI_COUNT_beat, 0},
};

static struct frame_rule list[PEERS];
static const struct frame_rules rules = {.list = list, .n = PEERS, .device = 1};

static uint8_t nibble(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Digits, with blanks wherever they help to read them. */
static uint32_t bytes_of_hex(const char *hex, uint8_t *to)
{
	uint32_t digits = 0;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		to[digits / 2] = (uint8_t)(digits % 2 ? to[digits / 2] << 4 | nibble(*hex) : nibble(*hex));
		digits++;
	}
	assert_int_equal(digits % 2, 0);
	return digits / 2;
}

static void build(const struct sample *s)
{
	uint8_t payload[256];
	uint32_t size = bytes_of_hex(s->payload, payload);

	packet_build_around(&packet, &s->shape, payload, size);
}

static int open_world(void **state)
{
	(void)state;
	world_open(&world, "protocols", PEERS, 8);
	for (int i = 0; i < PEERS; i++)
		assert_int_equal(stream_add(&streams[i], &list[i]), i);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

static int rule_on_host(void)
{
	return frame_parse_for(packet.bytes, packet.length, packet.length, &rules).rule;
}

/* Each goes to its peer and to nobody else, in the kernel and on the host. */
static void each_to_its_peer(void **state)
{
	uint64_t versions[PEERS];

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		const struct sample *s = &samples[i];

		for (uint32_t k = 0; k < PEERS; k++)
			versions[k] = world_record(&world, k).version;
		build(s);
		expect(&world, &packet, s->outcome, s->notes, s->name);
		if (s->outcome != KPHI_COUNT_rule_ttl &&
		    rule_on_host() != (s->who == NOBODY ? -1 : (int)s->who))
			fail_msg("%s: rule %d on the host", s->name, rule_on_host());
		for (uint32_t k = 0; k < PEERS; k++)
			if ((world_record(&world, k).version != versions[k]) != (k == s->who))
				fail_msg("%s: peer %u", s->name, k);
	}
}

static void what_they_say(void **state)
{
	static const uint8_t backup[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
	struct kphi_record r;

	(void)state;
	each_to_its_peer(state);
	r = world_record(&world, FRR);
	assert_int_equal(r.bfd.discriminator, 0x6ef54483);
	assert_int_equal(r.bfd.state, KPHI_BFD_UP);
	assert_int_equal(r.bfd.multiplier, 3);
	assert_int_equal(r.bfd.desired_tx_us, 1000000);
	assert_int_equal(r.bfd.required_rx_us, 50000);
	assert_int_equal(r.window.interval_ns, 1000000000);
	assert_int_equal(r.restarts, 1);
	assert_int_equal(r.epoch, 1);
	assert_int_equal(world_record(&world, BIRD).window.interval_ns, 0); /* it is measured */
	r = world_record(&world, ROUTER);
	assert_memory_equal(r.speaker, backup, 16);
	assert_int_equal(r.beats, 3);
	assert_int_equal(r.state, KPHI_UP);
	r = world_record(&world, PING);
	assert_int_equal(r.sequence.first, 0x79);
	assert_int_equal(r.sequence.highest, 0x7b);
	assert_int_equal(r.sequence.lost, 1); /* it went to the third node */
	assert_int_equal(r.duplicates, 1);
	assert_int_equal(world_record(&world, SERF).beats, 3);
}

/* No beginning of such a packet is a beat, if its headers say more. */
static void no_beginning_is_a_beat(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		uint32_t whole;

		build(&samples[i]);
		whole = packet.length;
		for (packet.length = WORLD_MIN_FRAME; packet.length < whole; packet.length++)
			expect(&world, &packet, KPHI_COUNT_malformed_ipv4, 0, samples[i].name);
	}
}

/* Frames as they were captured, with all that a builder would leave out. */
static void whole_frames(void **state)
{
	static const struct {
		struct stream stream;
		const char *frame;
	} frames[] = {
		{{BFD, "10.78.0.1", 3784, 0},
		 "c6e14835d4d8 b28831f3afcb 0800 45c00034 3a984000 ff112bc2 0a4e0001 0a4e0002 c0000ec8 "
		 "002014d0 "
		 "20c00318 6ef54483 33eefa7c 0000c350 0000c350 0000c350"},
		{{BFD, "10.78.0.2", 3784, 0},
		 "b28831f3afcb c6e14835d4d8 0800 45c00034 dc130000 ff11ca46 0a4e0002 0a4e0001 b59f0ec8 "
		 "002014d0 "
		 "20c00318 7958e83d 322e42c4 0000c350 0000c350 00000000"},
		{{VRRP, NULL, 51, 0},
		 "01005e000012 3e672943e330 0800 45c00028 00030000 ff70d042 0a4d0001 e0000012 "
		 "21339601 00013e19 0a4d0064 00000000 00000000"},
		{{DATAGRAM, "10.77.0.1", 7946, 0},
		 "b28831f3afcb c6e14835d4d8 0800 4500005b b7304000 40116ec5 0a4d0001 0a4d0002 1f0a1f0a "
		 "004714f5 "
		 "0085a44e 6f6465a3 706e32a5 5365714e 6f07aa53 6f757263 65416464 72a40a4d 0001aa53 6f757263 "
		 "654e6f64 65a3706e 31aa536f 75726365 506f7274 cd1f0a"},
	};
	struct frame_rule rule;

	(void)state;
	world_close(&world);
	world_open(&world, "frames", COUNT(frames), 8);
	for (size_t i = 0; i < COUNT(frames); i++) {
		uint32_t slot = stream_add(&frames[i].stream, &rule);

		packet.length = bytes_of_hex(frames[i].frame, packet.bytes);
		packet.linear = packet.device = 0;
		expect(&world, &packet, KPHI_COUNT_beat, 0, frames[i].frame);
		assert_int_equal(beats_of(slot), 1);
	}
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(each_to_its_peer),
		IN_A_WORLD(what_they_say),
		IN_A_WORLD(no_beginning_is_a_beat),
		IN_A_WORLD(whole_frames),
	};

	return cmocka_run_group_tests_name("protocols", tests, NULL, NULL);
}
