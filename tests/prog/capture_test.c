// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Traffic as it was: every frame of tests/prog/captures, which our own runs of real daemons left, and of
 * ../shared/pcap, which nobody made for these tests, goes through the program, and leaves it as it came. Each
 * capture is replayed twice, its UDP ports once listening for messages and once each sender being a rule's.
 */
#include <glob.h>

#include "prog/pcap.h"
#include "prog/world.h"
#include "unit/frame.h"

#define FLOWS_MAX 64

static struct world world;
static struct packet frame;

/* --- a second opinion: who sends UDP to where, for whole packets --- */

struct flow {
	uint8_t source[16];
	uint16_t port;
	uint64_t packets;
};

static struct flow flows[FLOWS_MAX];
static size_t flows_count;

/* Fills *f and returns true if the frame is a UDP packet or the first fragment of one. */
static bool decode_ipv4(const uint8_t *ip, uint32_t length, struct flow *f)
{
	uint32_t header = (ip[0] & 15U) * 4;

	if (length < 20 || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_UDP || get16(ip + 6) & 0x1fff ||
	    get16(ip + 2) > length || get16(ip + 2) < header + 8)
		return false;
	f->source[10] = f->source[11] = 0xff;
	memcpy(f->source + 12, ip + 12, 4);
	f->port = get16(ip + header + 2);
	return true;
}

static bool decode_ipv6(const uint8_t *ip, uint32_t length, struct flow *f)
{
	uint32_t at = 40, header = 40;
	uint8_t next = ip[6];

	if (length < 48 || ip[0] >> 4 != 6 || 40U + get16(ip + 4) > length)
		return false;
	while (next == EXTENSION_HOP || next == EXTENSION_ROUTING || next == EXTENSION_OPTIONS ||
	       next == EXTENSION_FRAGMENT) {
		if (next == EXTENSION_FRAGMENT && get16(ip + at + 2) & 0xfff8)
			return false;
		at += next == EXTENSION_FRAGMENT ? 8 : 8 + 8U * ip[at + 1];
		next = ip[header];
		header = at;
	}
	memcpy(f->source, ip + 8, 16);
	f->port = get16(ip + at + 2);
	return next == PROTOCOL_UDP;
}

static bool decode(const uint8_t *bytes, uint32_t length, struct flow *f)
{
	uint32_t at = 12;

	*f = (struct flow){.packets = 1};
	for (int tags = 0; tags < 2 && (get16(bytes + at) == TPID_Q || get16(bytes + at) == TPID_AD); tags++)
		at += 4;
	if (length < at + 2)
		return false;
	if (get16(bytes + at) == 0x0800)
		return decode_ipv4(bytes + at + 2, length - at - 2, f);
	return get16(bytes + at) == 0x86dd && decode_ipv6(bytes + at + 2, length - at - 2, f);
}

static void note_flow(const struct flow *f)
{
	for (size_t i = 0; i < flows_count; i++) {
		if (memcmp(flows[i].source, f->source, 16) || flows[i].port != f->port)
			continue;
		flows[i].packets++;
		return;
	}
	assert_true(flows_count < FLOWS_MAX);
	flows[flows_count++] = *f;
}

/* --- replaying --- */

/* Calls `each` for every frame that a test run takes; skips the test if there is no Ethernet in the file. */
static uint64_t replay(const char *path, void (*each)(void))
{
	uint64_t frames = 0;
	struct pcap pcap;
	const char *why = pcap_open(&pcap, path);

	if (!why && pcap.link_type != PCAP_ETHERNET) {
		pcap_close(&pcap);
		why = "its link is not Ethernet";
	}
	if (why) {
		print_message("%s\n", why);
		skip();
	}
	while ((frame.length = pcap_next(&pcap, frame.bytes, sizeof(frame.bytes)))) {
		frames++;
		if (frame.length >= WORLD_MIN_FRAME)
			each();
	}
	pcap_close(&pcap);
	return frames;
}

/* What it counts as where every port listens for messages. */
static void once_for_messages(void)
{
	struct parsed p = frame_parse(frame.bytes, frame.length, frame.length);
	struct flow f;

	if (p.verdict == PARSED && p.protocol != IPPROTO_UDP)
		p.verdict = FOREIGN;
	if (p.verdict == PARSED)
		assert_int_equal(control_listen(&world.control, p.port, true, &world.why), 0);
	expect(&world, &frame,
	       p.verdict == PARSED    ? (int)p.native
	       : p.verdict == FOREIGN ? NOTHING
				      : p.verdict,
	       0, "captured");
	if (decode(frame.bytes, frame.length, &f))
		note_flow(&f);
	if (p.verdict == PARSED)
		assert_int_equal(control_listen(&world.control, p.port, false, &world.why), 0);
}

static void once_for_rules(void)
{
	assert_int_equal(world_try(&world, &frame), 0);
}

static void a_capture(void **state)
{
	const struct kphi_peer rule = {.id = {.kind = KPHI_ID_RULE, .protocol = 17},
				       .interval_ns = 3600000000000};
	const char *path = *state;
	uint64_t frames;

	world_open(&world, "capture", FLOWS_MAX, 8);
	flows_count = 0;
	frames = replay(path, once_for_messages);
	for (size_t i = 0; i < flows_count; i++) {
		struct kphi_peer peer = rule;

		memcpy(peer.id.bytes, flows[i].source, 16);
		peer.id.port = flows[i].port;
		assert_int_equal(world_add(&world, &peer), i);
	}
	replay(path, once_for_rules);
	for (uint32_t i = 0; i < flows_count; i++)
		assert_int_equal(world_record(&world, i).beats, flows[i].packets);
	assert_int_equal(store_count(&world.store, KPHI_COUNT_internal), 0);
	print_message("%" PRIu64 " frames, %zu senders of UDP\n", frames, flows_count);
	if (strstr(path, "/bfd-"))
		assert_true(flows_count >= 2);
	world_close(&world);
}

static void those_of_others(void **state)
{
	(void)state;
	print_message("there are no captures in ../shared/pcap\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest one = cmocka_unit_test(a_capture);
	struct CMUnitTest *tests;
	glob_t found;

	glob("tests/prog/captures/*.pcap", 0, NULL, &found);
	glob("../shared/pcap/*/*.pcap*", GLOB_APPEND, NULL, &found);
	glob("../shared/pcap/*/*/*.pcap*", GLOB_APPEND, NULL, &found);
	tests = calloc(found.gl_pathc + 1, sizeof(*tests));
	for (size_t i = 0; tests && i < found.gl_pathc; i++) {
		tests[i] = one;
		tests[i].name = found.gl_pathv[i];
		tests[i].initial_state = found.gl_pathv[i];
	}
	if (tests && access("../shared/pcap", R_OK))
		tests[found.gl_pathc++] = (struct CMUnitTest)cmocka_unit_test(those_of_others);
	return tests ? _cmocka_run_group_tests("captures", tests, found.gl_pathc, NULL, NULL) : 1;
}
