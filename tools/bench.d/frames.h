/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the bench hands to its programs as packets; compiled by both sides. */
#ifndef KPHI_BENCH_FRAMES_H
#define KPHI_BENCH_FRAMES_H

#include <kphi/wire.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

/* A native heartbeat over IPv4. */
struct bench_frame {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
	struct kphi_wire wire;
} __attribute__((packed));

/* With which signed ones are signed. */
#define BENCH_KEY                                                                                            \
	{                                                                                                    \
		0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL                                                 \
	}
#define BENCH_KEY_ID 7

/* Beats of one peer, the first of its life, at times of the bench's choosing. */
struct bench_feed {
	uint32_t slot, generation;
	uint32_t beats, accepted;
	uint64_t now_ns; /* before the first one */
	uint64_t interval_ns, jitter_ns; /* from each to the next: interval + [0, jitter); jitter < 2^32 */
	uint64_t random; /* seed */
};

/* One message, now, of each of `count` peers of a new store, in an order that leaps across its slots. */
struct bench_round {
	uint32_t first, count; /* places in that order */
	uint32_t peers; /* all of them; a number that shares no factor with BENCH_STRIDE */
	uint32_t type; /* enum kphi_wire_type */
	uint32_t accepted, reserved;
	uint64_t sequence;
};

#define BENCH_STRIDE 61803U /* 3^4 x 7 x 109 */
#define BENCH_DEVICE 1 /* by which they came: the loopback device, as under BPF_PROG_TEST_RUN */

#endif
