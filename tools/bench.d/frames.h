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

/* Beats of one peer, the first of its life, at times of the bench's choosing. */
struct bench_feed {
	uint32_t slot, generation;
	uint32_t beats, accepted;
	uint64_t now_ns; /* before the first one */
	uint64_t interval_ns, jitter_ns; /* from each to the next: interval + [0, jitter); jitter < 2^32 */
	uint64_t random; /* seed */
};

#endif
