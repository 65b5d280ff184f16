// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a packet costs in XDP: nanoseconds of one run under BPF_PROG_TEST_RUN, by the kernel's own watch. The
 * harness is in that figure, so the baseline is a program that does nothing. Caches are warm: a lower bound.
 */
#include <bench.skel.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <endian.h>
#include <kphi/bfd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "kernel/keyring.h"
#include "kernel/load.h"

#define ROUNDS       25
#define REPEAT       300000
#define RECORDED     15000 /* where somebody records: fewer than the ring of arrivals holds */
#define ASKED        800 /* where somebody asks for strangers: fewer than that ring holds */
#define INTERVAL_NS  10000000000ULL /* so long that a pause between two rounds is below the cap, too */
#define FOREIGN_PORT 5353
#define RULE_PORT    9000 /* one rule */
#define MANY_PORT    9001 /* so many rules of one shape */
#define MANY         10000
#define MATCH_PORT   9002 /* one rule that asks for four bytes of the payload */
#define SHAPES_PORT  9003 /* the last rule that is tried, of so many shapes */
#define SHAPES       8
#define BFD_PORT     KPHI_BFD_PORT

static const uint8_t node_id[16] = "kphi bench node", recorded_id[16] = "kphi on record",
		     keyed_id[16] = "kphi with a key", refused_id[16] = "kphi, not really",
		     replayed_id[16] = "kphi, of old", bound_id[16] = "kphi from there";

/* Version 1, Up, multiplier 3, 24 bytes, discriminators 1 and 2, a second each way, no echo. */
static const uint8_t bfd_up[] = {0x20, 0xc0, 3,    24,   0, 0,    0,    1,    0, 0, 0, 2,
				 0,    0x0f, 0x42, 0x40, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 0};

struct subject {
	const char *name;
	int program;
	int baseline; /* index of another subject, or its own */
	uint16_t port; /* to which its packet goes */
	enum kphi_counter counter; /* moved by every run; KPHI_COUNTERS: none is */
	enum kphi_control_op op; /* somebody records, or asks who knocks; 0: nobody */
	const char *ring; /* that he reads */
	enum kphi_counter note; /* moved besides, if not 0 */
	const uint8_t *node; /* who beats; NULL: node_id */
	bool again; /* the very same packet, always */
	uint32_t repeat;
	struct ring_buffer *reader;
	struct bench_frame frame;
	struct series ns;
};

/* Packets come from 10.0.0.1. */
static void add_rule(struct place *p, uint16_t port, uint32_t host, const struct kphi_rule *rule,
		     uint32_t *slot)
{
	struct kphi_peer peer = {.name = "rule",
				 .interval_ns = INTERVAL_NS,
				 .id = {.kind = KPHI_ID_RULE,
					.protocol = IPPROTO_UDP,
					.port = port,
					.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10}}};

	peer.id.bytes[14] = (uint8_t)(host >> 8);
	peer.id.bytes[15] = (uint8_t)host;
	*slot = place_add_rule(p, &peer, rule, *slot) + 1;
}

/* Two, because one that is refused all the time is another's cache line. */
static void add_keyed(struct place *p)
{
	const struct key key = {BENCH_KEY_ID, BENCH_KEY};
	struct kphi_peer peer = {.name = "keyed",
				 .interval_ns = INTERVAL_NS,
				 .id.kind = KPHI_ID_NATIVE,
				 .demands = KPHI_DEMAND_KEY};
	struct why w;
	int ring = keyring_make(&p->control, &p->store, "bench", &w);

	if (ring < 0 || keyring_add(&p->control, &p->store, ring, &key, &w))
		die("%s", w.text);
	peer.ring = (uint16_t)ring;
	memcpy(peer.id.bytes, keyed_id, sizeof(keyed_id));
	place_add(p, &peer, 0);
	memcpy(peer.id.bytes, refused_id, sizeof(refused_id));
	place_add(p, &peer, 0);
}

static void add_peers(struct place *p)
{
	struct kphi_peer native = {.name = "native", .interval_ns = INTERVAL_NS, .id.kind = KPHI_ID_NATIVE};
	const struct kphi_rule plain = {0}, bfd = {.decoder = KPHI_DECODER_BFD, .local_rx_ns = INTERVAL_NS};
	const struct kphi_rule match = {.match = {{KPHI_WIRE_MAGIC, UINT32_MAX, 0, 4, {0}}}};
	const struct kphi_rule elsewhere = {.sources = 1, .source = {{1, 2}}};
	uint32_t slot = 0;
	struct why w;

	memcpy(native.id.bytes, node_id, sizeof(node_id));
	place_add(p, &native, 0);
	memcpy(native.id.bytes, recorded_id, sizeof(recorded_id));
	place_add(p, &native, 0);
	memcpy(native.id.bytes, replayed_id, sizeof(replayed_id));
	place_add(p, &native, 0);
	native.demands = KPHI_DEMAND_SOURCE;
	memcpy(native.id.bytes, bound_id, sizeof(bound_id));
	place_add_rule(p, &native, &elsewhere, 0);
	native.demands = 0;
	add_keyed(p);
	add_rule(p, RULE_PORT, 1, &plain, &slot);
	add_rule(p, MATCH_PORT, 1, &match, &slot);
	add_rule(p, BFD_PORT, 1, &bfd, &slot);
	for (uint32_t i = 1; i < SHAPES; i++) { /* none of which the packet fits */
		const struct kphi_rule other = {.match = {{i, UINT8_MAX, (uint16_t)(40 + i), 1, {0}}}};

		add_rule(p, SHAPES_PORT, 1, &other, &slot);
	}
	add_rule(p, SHAPES_PORT, 1, &plain, &slot);
	for (uint32_t i = 1; i <= MANY; i++)
		add_rule(p, MANY_PORT, i, &plain, &slot);
	if (control_listen(&p->control, KPHI_WIRE_PORT, true, &w))
		die("%s", w.text);
}

static int forget(void *context, void *data, size_t size)
{
	++*(uint32_t *)context;
	(void)data;
	(void)size;
	return 0;
}

static void ask(struct place *p, enum kphi_control_op op, uint64_t until_ns)
{
	struct kphi_control q = {.op = (uint8_t)op, .until_ns = until_ns};
	struct why w;

	if (control_ask(&p->control, &q, &w, "bench"))
		die("%s", w.text);
}

/* As long as somebody reads; he takes what is in the ring before it is full, unless that is what is measured.
 */
static uint32_t run_read(struct place *p, const struct subject *s, uint32_t *taken)
{
	uint32_t ns;

	ask(p, s->op, UINT64_MAX);
	if (s->note) /* there is no room in it from the first on */
		place_run(s->program, &s->frame, sizeof(s->frame), ASKED * 2);
	ns = place_run(s->program, &s->frame, sizeof(s->frame), s->repeat);
	ask(p, s->op, 0);
	*taken = 0;
	ring_buffer__consume(s->reader);
	if (!s->note && *taken != s->repeat)
		die("%s: %u of %u messages were told", s->name, *taken, s->repeat);
	return ns;
}

/* The counters are the witness: a program that refused its packet early would make a fine figure. */
static void run(struct place *p, struct subject *s, int round, uint32_t *taken)
{
	const struct store *store = &p->store;
	uint64_t before[KPHI_COUNTERS], moved;
	uint32_t ns;

	for (enum kphi_counter i = 0; i < KPHI_COUNTERS; i++)
		before[i] = store_count(store, i);
	ns = s->op ? run_read(p, s, taken) : place_run(s->program, &s->frame, sizeof(s->frame), s->repeat);
	for (enum kphi_counter i = 0; i < KPHI_COUNTERS; i++) {
		moved = store_count(store, i) - before[i];
		if (s->note && (i == s->note || i == s->counter) ? moved < s->repeat
								 : moved != (i == s->counter ? s->repeat : 0))
			die("%s: counter %d moved by %llu", s->name, i, (unsigned long long)moved);
	}
	/* The kernel works on a copy of the packet: the next round goes on where this one ended. */
	if (s->port == KPHI_WIRE_PORT && !s->again)
		s->frame.wire.sequence = htobe64(be64toh(s->frame.wire.sequence) + s->repeat);
	if (round)
		series_add(&s->ns, ns);
}

static void print(const struct subject *s, const struct subject *baseline)
{
	printf("{\"bench\":\"%s\",\"ns\":%.0f", s->name, series_at(&s->ns, 0.5));
	if (baseline != s)
		printf(",\"over_noop_ns\":%.0f,\"noop\":\"%s\",\"noop_ns\":%.0f",
		       series_median_over(&s->ns, &baseline->ns), baseline->name,
		       series_at(&baseline->ns, 0.5));
	printf(",\"min_ns\":%.0f,\"p99_ns\":%.0f,\"max_ns\":%.0f,\"rounds\":%d,\"repeat\":%u}\n",
	       series_at(&s->ns, 0), series_at(&s->ns, 0.99), series_at(&s->ns, 1), ROUNDS, s->repeat);
}

static void prepare(struct place *p, struct subject *s, uint32_t *taken)
{
	s->frame = frame_make(s->port, s->op == KPHI_CONTROL_RECORD ? recorded_id
				       : s->node                    ? s->node
								    : node_id);
	if (s->node) {
		s->frame.wire.flags = htons(KPHI_WIRE_SIGNED);
		s->frame.wire.key_id = htonl(BENCH_KEY_ID);
	}
	s->repeat = s->op == KPHI_CONTROL_RECORD ? RECORDED : s->op && !s->note ? ASKED : REPEAT;
	if (!s->op)
		return;
	s->reader = ring_buffer__new(load_map_fd(p->kphi, s->ring), forget, taken, NULL);
	if (!s->reader)
		die("%s: the ring cannot be read", s->name);
}

/* One after the other, round by round. */
static void measure(struct place *p, struct subject *subjects, int n, uint32_t *taken)
{
	for (int round = 0; round <= ROUNDS; round++) /* the first one warms up */
		for (int i = 0; i < n; i++)
			run(p, &subjects[i], round, taken);
	for (int i = 0; i < n; i++)
		print(&subjects[i], &subjects[subjects[i].baseline]);
}

enum {
	NOOP,
	CLOCK,
	FOREIGN,
	RULE,
	MANY_RULES,
	MATCH,
	SHAPES_TRIED,
	BFD,
	BEAT_NOOP,
	BEAT,
	BEAT_RECORDED,
	BAD_TAG,
	SIGNED_NOOP,
	SIGNED,
	MALFORMED,
	BAD_MAGIC,
	UNKNOWN,
	UNKNOWN_ASKED,
	UNKNOWN_TOO_FAST,
	REPLAYED,
	SPOOFED,
	NO_RULE,
	SUBJECTS
};

/* What makes its packet another one than a beat of the peer that most of them are of. */
static void make_hostile(struct subject *subjects)
{
	static const uint8_t nobodys_id[16] = "kphi, a stranger";

	subjects[MALFORMED].frame.udp.len = htons(UINT16_MAX);
	subjects[BAD_MAGIC].frame.wire.magic = 0;
	for (int i = UNKNOWN; i <= UNKNOWN_TOO_FAST; i++)
		memcpy(subjects[i].frame.wire.node_id, nobodys_id, sizeof(nobodys_id));
	memcpy(subjects[REPLAYED].frame.wire.node_id, replayed_id, sizeof(replayed_id));
	memcpy(subjects[SPOOFED].frame.wire.node_id, bound_id, sizeof(bound_id));
	subjects[NO_RULE].frame.ip.saddr = htonl(0x0b000001);
	/* It was heard once. */
	place_run(subjects[REPLAYED].program, &subjects[REPLAYED].frame, sizeof(subjects[REPLAYED].frame), 1);
}

void bench_packets(void)
{
	static const struct store_size size = {.peers = MANY + KPHI_PEERS_DEFAULT, .window = 64};
	uint32_t taken = 0;
	struct place p;

	place_begin(&p, &size);
	add_peers(&p);

	int kphi = load_xdp_fd(p.kphi);
	int noop = bpf_program__fd(p.bench->progs.bench_noop);
	int clock = bpf_program__fd(p.bench->progs.bench_clock);
	int raise = bpf_program__fd(p.bench->progs.bench_beat_noop);
	int beat = bpf_program__fd(p.bench->progs.bench_beat);
	int sign = bpf_program__fd(p.bench->progs.bench_signed_noop);
	int signed_beat = bpf_program__fd(p.bench->progs.bench_signed);
	struct subject subjects[SUBJECTS] = {
		[NOOP] = {"xdp_noop", noop, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNTERS},
		[CLOCK] = {"xdp_clock", clock, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNTERS},
		[FOREIGN] = {"xdp_foreign", kphi, NOOP, FOREIGN_PORT, .counter = KPHI_COUNTERS},
		[RULE] = {"xdp_rule", kphi, NOOP, RULE_PORT, .counter = KPHI_COUNT_beat},
		[MANY_RULES] = {"xdp_rule_of_10000", kphi, NOOP, MANY_PORT, .counter = KPHI_COUNT_beat},
		[MATCH] = {"xdp_match", kphi, NOOP, MATCH_PORT, .counter = KPHI_COUNT_beat},
		[SHAPES_TRIED] = {"xdp_8_shapes", kphi, NOOP, SHAPES_PORT, .counter = KPHI_COUNT_beat},
		[BFD] = {"xdp_bfd", kphi, NOOP, BFD_PORT, .counter = KPHI_COUNT_beat},
		[BEAT_NOOP] = {"xdp_beat_noop", raise, BEAT_NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNTERS},
		[BEAT] = {"xdp_beat", beat, BEAT_NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_beat},
		[BEAT_RECORDED] = {"xdp_beat_recorded", beat, BEAT_NOOP, KPHI_WIRE_PORT,
				   .counter = KPHI_COUNT_beat, .op = KPHI_CONTROL_RECORD, .ring = "arrivals"},
		[BAD_TAG] = {"xdp_bad_tag", kphi, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_bad_tag,
			     .node = refused_id},
		[SIGNED_NOOP] = {"xdp_signed_noop", sign, SIGNED_NOOP, KPHI_WIRE_PORT,
				 .counter = KPHI_COUNTERS, .node = keyed_id},
		[SIGNED] = {"xdp_signed", signed_beat, SIGNED_NOOP, KPHI_WIRE_PORT,
			    .counter = KPHI_COUNT_beat, .node = keyed_id},
		[MALFORMED] = {"xdp_malformed", kphi, NOOP, KPHI_WIRE_PORT,
			       .counter = KPHI_COUNT_malformed_udp},
		[BAD_MAGIC] = {"xdp_bad_magic", kphi, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_wire_magic},
		[UNKNOWN] = {"xdp_unknown", kphi, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_unknown_peer},
		[UNKNOWN_ASKED] = {"xdp_unknown_asked", kphi, NOOP, KPHI_WIRE_PORT,
				   .counter = KPHI_COUNT_unknown_peer, .op = KPHI_CONTROL_DISCOVER,
				   .ring = "strangers"},
		[UNKNOWN_TOO_FAST] = {"xdp_unknown_too_fast", kphi, NOOP, KPHI_WIRE_PORT,
				      .counter = KPHI_COUNT_unknown_peer, .op = KPHI_CONTROL_DISCOVER,
				      .ring = "strangers", .note = KPHI_COUNT_undiscovered},
		[REPLAYED] = {"xdp_replayed", kphi, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_duplicate,
			      .again = true},
		[SPOOFED] = {"xdp_spoofed", kphi, NOOP, KPHI_WIRE_PORT, .counter = KPHI_COUNT_peer_source},
		[NO_RULE] = {"xdp_no_rule", kphi, NOOP, RULE_PORT, .counter = KPHI_COUNT_no_rule},
	};

	for (int i = 0; i < SUBJECTS; i++)
		prepare(&p, &subjects[i], &taken);
	memcpy(&subjects[BFD].frame.wire, bfd_up, sizeof(bfd_up));
	make_hostile(subjects);
	measure(&p, subjects, SUBJECTS, &taken);
	for (int i = 0; i < SUBJECTS; i++)
		ring_buffer__free(subjects[i].reader);
	place_end(&p);
}
