// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that exist to be measured. BPF_PROG_TEST_RUN repeats a program over the same buffer, in which the
 * second beat would be a duplicate of the first; so the ones here raise the sequence number in their own
 * packet, and have a no-op that does the same. The product's program never writes to a packet.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../../bpf/maps.h"
#include "../../bpf/record.h"
#include "frames.h"

static __always_inline void raise_sequence(struct xdp_md *ctx)
{
	struct bench_frame *f = (void *)(long)ctx->data;

	if ((void *)(f + 1) <= (void *)(long)ctx->data_end)
		f->wire.sequence = bpf_cpu_to_be64(bpf_be64_to_cpu(f->wire.sequence) + 1);
}

SEC("xdp.frags")
int bench_noop(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

SEC("xdp.frags")
int bench_clock(struct xdp_md *ctx)
{
	(void)ctx;
	return bpf_ktime_get_ns() ? XDP_PASS : XDP_ABORTED;
}

SEC("xdp.frags")
int bench_beat_noop(struct xdp_md *ctx)
{
	raise_sequence(ctx);
	return XDP_PASS;
}

SEC("xdp.frags")
int bench_beat(struct xdp_md *ctx)
{
	raise_sequence(ctx);
	record_frame(ctx);
	return XDP_PASS;
}

/* The next beat as its sender would have signed it: what that costs is in the no-op as well. */
static __always_inline void sign(struct xdp_md *ctx)
{
	struct bench_frame *f = (void *)(long)ctx->data;
	const uint64_t key[2] = BENCH_KEY;
	void *wire = &f->wire;

	if ((void *)(f + 1) > (void *)(long)ctx->data_end)
		return;
	f->wire.sequence = bpf_cpu_to_be64(bpf_be64_to_cpu(f->wire.sequence) + 1);
	f->wire.tag = kphi_be64(kphi_wire_tag(wire, key));
}

SEC("xdp.frags")
int bench_signed_noop(struct xdp_md *ctx)
{
	sign(ctx);
	return XDP_PASS;
}

SEC("xdp.frags")
int bench_signed(struct xdp_md *ctx)
{
	sign(ctx);
	record_frame(ctx);
	return XDP_PASS;
}

static long feed_one(uint32_t i, void *context)
{
	struct bench_feed *q = context;
	struct kphi_beat b = {.epoch = 1, .sequence = i + 1, .native = 1, .type = KPHI_WIRE_BEAT};

	q->random = q->random * 6364136223846793005ULL + 1442695040888963407ULL;
	q->now_ns += q->interval_ns + ((q->random >> 32) * q->jitter_ns >> 32);
	b.now_ns = q->now_ns;
	q->accepted += record_beat(&b, q->slot, q->generation) == KPHI_COUNT_beat;
	return 0;
}

/* All beats of struct bench_feed, the packet; XDP_PASS if they were accepted. */
SEC("xdp")
int bench_feed(struct xdp_md *ctx)
{
	struct bench_feed *packet = (void *)(long)ctx->data;
	struct bench_feed q;

	if ((void *)(packet + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	q = *packet;
	bpf_loop(q.beats, feed_one, &q, 0);
	return q.accepted == q.beats ? XDP_PASS : XDP_DROP;
}

static long round_one(uint32_t i, void *context)
{
	struct bench_round *q = context;
	struct kphi_beat b = {
		.now_ns = bpf_ktime_get_ns(),
		.epoch = 1,
		.sequence = q->sequence,
		.device = BENCH_DEVICE,
		.cpu = bpf_get_smp_processor_id(),
		.type = q->type,
		.native = 1,
	};
	uint64_t place = (uint64_t)(q->first + i) * BENCH_STRIDE;
	int outcome = record_beat(&b, place % q->peers, 0);

	count(b.cpu, outcome);
	q->accepted += outcome == KPHI_COUNT_beat || outcome == KPHI_COUNT_leave;
	return 0;
}

/* The messages of struct bench_round, the packet; XDP_PASS if they were accepted. */
SEC("xdp")
int bench_round(struct xdp_md *ctx)
{
	struct bench_round *packet = (void *)(long)ctx->data;
	struct bench_round q;

	if ((void *)(packet + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	q = *packet;
	if (!q.peers)
		return XDP_ABORTED;
	bpf_loop(q.count, round_one, &q, 0);
	return q.accepted == q.count ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
