// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Captures of real daemons, small ones of our own and those of ../shared/pcap, through the rules that their
 * protocols' presets are. The same text on the host is given the times of the capture, so that means and
 * deviations are those that were measured on the wire; the program in the kernel has to count the same.
 */
#include "core/models.h"
#include "prog/pcap.h"
#include "prog/presets.h"

#define HERE   "tests/prog/captures/"
#define OWN    "../shared/pcap/own/"
#define PUBLIC "../shared/pcap/public/"
#define MS     1000000.0

/* A stream in a capture, and what somebody else has measured of it. */
static const struct expected {
	const char *file;
	struct stream stream;
	uint64_t beats;
	double mean_ms, sd_ms; /* 0: not asked */
	uint32_t leaves, notes[3]; /* handovers, renegotiations, restarts */
	uint64_t lost;
} all[] = {
	/* Up, shut down by its operator, which is said once, and up again; the other end slows down
	 * meanwhile.
	 */
	{HERE "bfd-frr-50ms-shutdown.pcap", {BFD, "10.1.5.1", 3784, 50000000}, 43, 0, 0, 1, {0}, 0},
	{HERE "bfd-frr-50ms-shutdown.pcap", {BFD, "10.1.5.2", 3784, 50000000}, 36, 0, 0, 0, {0, 2, 0}, 0},
	/* A session begins. */
	{HERE "bfd-bird-50ms.pcap", {BFD, "10.2.5.1", 3784, 50000000}, 41, 0, 0, 0, {0, 1, 0}, 0},
	{HERE "bfd-bird-50ms.pcap", {BFD, "10.2.5.2", 3784, 50000000}, 39, 0, 0, 0, {0, 1, 0}, 0},
	/* The master leaves, and the backup speaks. */
	{HERE "vrrp-v2-1s.pcap", {VRRP, NULL, 51, 0}, 11, 0, 0, 1, {1, 0, 0}, 0},
	{HERE "vrrp-v3-100ms-failover.pcap", {VRRP, NULL, 52, 0}, 69, 0, 0, 1, {1, 0, 0}, 0},
	{HERE "corosync.pcap", {KNET_PING, "10.9.0.2", 5405, 0}, 20, 600.34, 0.48, 0, {0}, 19},
	{HERE "serf.pcap", {DATAGRAM, "10.9.0.2", 7946, 0}, 15, 914.3, 780, 0, {0}, 0},
	{OWN "bfd-frr-300ms.pcap", {BFD, "10.78.0.2", 3784, 0}, 201, 257.6, 22.2, 0, {0}, 0},
	{OWN "bfd-frr-50ms.pcap", {BFD, "10.78.0.1", 3784, 0}, 400, 43.8, 3.8, 0, {0}, 0},
	{OWN "bfd-frr-10ms.pcap", {BFD, "10.78.0.1", 3784, 0}, 399, 8.95, 0.75, 0, {0}, 0},
	{OWN "bfd-bird-300ms.pcap", {BFD, "10.78.0.2", 3784, 0}, 243, 247.0, 12.8, 0, {0}, 0},
	{OWN "bfd-bird-50ms.pcap", {BFD, "10.78.0.2", 3784, 0}, 400, 41.3, 2.2, 0, {0}, 0},
	{OWN "bfd-bird-10ms.pcap", {BFD, "10.78.0.1", 3784, 0}, 401, 8.22, 0.64, 0, {0}, 0},
	{OWN "bfd-frr-ipv6-and-multihop-100ms.pcap", {BFD, "fd77::1", 3784, 0}, 76, 86.5, 7.6, 0, {0}, 0},
	{OWN "bfd-frr-ipv6-and-multihop-100ms.pcap", {BFD, "10.77.0.1", 4784, 0}, 74, 88.1, 7.1, 0, {0}, 0},
	/* Down at 1 s, a poll, up at 100 ms; one end is killed, the other goes down and slows to 1 s. */
	{OWN "bfd-mixed-bird-frr-start-stop.pcap",
	 {BFD, "10.78.0.1", 3784, 100000000},
	 102,
	 0,
	 0,
	 0,
	 {0, 1, 0},
	 0},
	{OWN "bfd-mixed-bird-frr-start-stop.pcap",
	 {BFD, "10.78.0.2", 3784, 100000000},
	 102,
	 0,
	 0,
	 0,
	 {0, 2, 0},
	 0},
	{PUBLIC "tcpdump-bfd-lag.pcap", {BFD, "10.0.0.2", 6784, 0}, 5, 0, 0, 0, {0}, 0},
	{PUBLIC "tcpdump-bfd-multihop.pcap", {BFD, "101.0.0.12", 4784, 0}, 12, 0, 0, 0, {0}, 0},
	{OWN "vrrp-v2-1s.pcap", {VRRP, NULL, 51, 0}, 120, 1000.36, 0.15, 0, {0}, 0},
	{OWN "vrrp-v3-100ms.pcap", {VRRP, NULL, 51, 0}, 300, 100.31, 0.16, 0, {0}, 0},
	/* Three masters for a moment, then one; it leaves, so does the next, and the last one leaves twice.
	 */
	{OWN "vrrp-v3-100ms-unicast-failover.pcap", {VRRP, NULL, 51, 0}, 174, 0, 0, 3, {4, 0, 0}, 0},
	{PUBLIC "tcpdump-vrrp.pcap", {VRRP, NULL, 42, 0}, 34, 0, 0, 0, {6, 0, 0}, 0},
	{PUBLIC "tcpdump-vrrp.pcap", {VRRP, NULL, 45, 0}, 32, 0, 0, 0, {6, 0, 0}, 0},
	{PUBLIC "pcpp-VRRP-V3-IPv6.pcap", {VRRP, "fe80::1", 1, 0}, 1, 0, 0, 0, {0}, 0},
	/*
	 * Pings alone have a deviation of a fifth of a millisecond, all datagrams one of 295 ms. knet numbers
	 * its pings to all nodes in one row: of three nodes each hears about every second.
	 */
	{OWN "corosync-knet-token1000.pcap", {KNET_PING, "10.77.0.2", 5405, 0}, 25, 600.33, 0.19, 0, {0}, 23},
	{OWN "corosync-knet-token1000.pcap", {KNET_PONG, "10.77.0.2", 5405, 0}, 25, 600.30, 0.06, 0, {0}, 0},
	{OWN "corosync-knet-token1000.pcap", {KNET_DATA, "10.77.0.3", 5405, 0}, 50, 303.9, 0.28, 0, {0}, 0},
	{OWN "corosync-knet-token1000.pcap", {DATAGRAM, "10.77.0.2", 5405, 0}, 50, 294, 295, 0, {0}, 0},
	/* Multiples of a second, to a member that chance picks. */
	{OWN "serf-lan.pcap", {SERF_PING, "10.77.0.2", 7946, 0}, 29, 2036, 680, 0, {0}, 0},
	{OWN "serf-lan.pcap", {SERF_ACK, "10.77.0.2", 7946, 0}, 29, 2071, 753, 0, {0}, 0},
	{OWN "serf-lan.pcap", {DATAGRAM, "10.77.0.2", 7946, 0}, 58, 1018, 802, 0, {0}, 0},
	{OWN "serf-encrypted.pcap", {DATAGRAM, "10.77.0.2", 7946, 0}, 26, 912, 544, 0, {0}, 0},
	{OWN "serf-join-fail.pcap", {DATAGRAM, "10.77.0.3", 7946, 0}, 11, 0, 0, 0, {0}, 0},
	{PUBLIC "consul-serf-udp.pcap", {DATAGRAM, "10.1.1.1", 8301, 0}, 19, 0, 0, 0, {0}, 0},
};

/* What the host makes of it: a record of its own, and how often each counter would have moved. */
static struct {
	struct kphi_record record;
	struct kphi_peer peer;
	uint64_t ring[KPHI_RING_SIZE(KPHI_WINDOW_DEFAULT)], moved[KPHI_COUNTERS];
} host;

static void take_on_host(const struct frame_rules *rules, uint64_t time_ns)
{
	struct parsed p = frame_parse_for(packet.bytes, packet.length, packet.length, rules);
	enum kphi_counter outcome = p.ruled;
	uint32_t notes = 0;

	if (p.rule < 0) {
		host.moved[KPHI_COUNT_no_rule] += p.verdict == PARSED &&
						  p.protocol == rules->list->id.protocol &&
						  p.port == rules->list->id.port;
		return;
	}
	p.rule_beat.now_ns = time_ns;
	if (outcome == KPHI_COUNT_beat)
		outcome = kphi_record_take(&host.record, &host.peer, host.ring, KPHI_WINDOW_DEFAULT,
					   &p.rule_beat, &notes);
	host.moved[outcome]++;
	for (int i = KPHI_COUNT_restart; i < KPHI_COUNTERS; i++)
		host.moved[i] += notes >> (i - KPHI_COUNT_restart) & 1;
}

static void replay(const struct expected *x, const struct frame_rules *rules)
{
	struct pcap pcap;
	const char *why = pcap_open(&pcap, x->file);

	if (why) {
		print_message("%s: %s\n", x->file, why);
		skip();
	}
	packet.linear = packet.device = 0;
	while ((packet.length = pcap_next(&pcap, packet.bytes, sizeof(packet.bytes)))) {
		take_on_host(rules, pcap.time_ns);
		assert_int_equal(world_try(&world, &packet), 0);
	}
	pcap_close(&pcap);
}

/* All that does not depend on when a packet was heard. */
static void assert_kernel_as_host(uint32_t slot)
{
	struct kphi_record r = world_record(&world, slot);

	for (int i = 0; i < KPHI_COUNTERS; i++)
		if (i != KPHI_COUNT_capped && i != KPHI_COUNT_retuned && i != KPHI_COUNT_fragment &&
		    (i < KPHI_COUNT_malformed_ethernet || i > KPHI_COUNT_ipv6_extensions))
			assert_int_equal(store_count(&world.store, i), host.moved[i]);
	assert_int_equal(r.beats, host.record.beats);
	assert_int_equal(r.state, host.record.state);
	assert_int_equal(r.restarts, host.record.restarts);
	assert_int_equal(r.epoch, host.record.epoch);
	assert_memory_equal(&r.sequence, &host.record.sequence, sizeof(r.sequence));
	assert_memory_equal(r.speaker, host.record.speaker, sizeof(r.speaker));
}

static void assert_near(double is, double should, double by)
{
	if (is < should - by || is > should + by)
		fail_msg("%f is not within %f of %f", is, by, should);
}

static void a_stream(void **state)
{
	const struct expected *x = *state;
	struct frame_rule rule;
	struct frame_rules rules = {.list = &rule, .n = 1, .device = 1};
	const struct kphi_window *w = &host.record.window;
	uint32_t slot;

	world_open(&world, "stream", 4, 8);
	memset(&host, 0, sizeof(host));
	host.peer = stream_peer(&x->stream);
	host.record.state = KPHI_WAITING;
	kphi_window_begin(&host.record.window, &host.peer);
	slot = stream_add(&x->stream, &rule);
	replay(x, &rules);

	assert_kernel_as_host(slot);
	assert_int_equal(host.moved[KPHI_COUNT_beat], x->beats);
	assert_int_equal(host.moved[KPHI_COUNT_leave], x->leaves);
	assert_int_equal(host.moved[KPHI_COUNT_handover], x->notes[0]);
	assert_int_equal(host.moved[KPHI_COUNT_renegotiated], x->notes[1]);
	assert_int_equal(host.moved[KPHI_COUNT_restart], x->notes[2]);
	assert_int_equal(host.record.sequence.lost, x->lost);
	print_message("# %s: mean %.3f ms, deviation %.3f ms, interval in force %.3f ms\n", x->file,
		      (double)window_mean_ns(w) / MS, (double)window_stddev_ns(w) / MS,
		      (double)w->interval_ns / MS);
	if (x->mean_ms > 0) {
		assert_int_equal(w->n, x->beats - 1);
		assert_near((double)window_mean_ns(w) / MS, x->mean_ms, x->mean_ms / 50);
		assert_near((double)window_stddev_ns(w) / MS, x->sd_ms, x->sd_ms / 20 + 0.02);
	}
	if (strstr(x->file, "start-stop") && x->notes[1] == 2)
		assert_int_equal(w->interval_ns, 1000000000);
	world_close(&world);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(all)];

	for (size_t i = 0; i < COUNT(all); i++) {
		const struct CMUnitTest one = {all[i].file, a_stream, NULL, NULL, (void *)&all[i]};

		tests[i] = one;
	}
	return _cmocka_run_group_tests("streams", tests, COUNT(all), NULL, NULL);
}
