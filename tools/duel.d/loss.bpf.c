// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loses packets on their way out of a device, before anybody who observes: `tc filter add dev DEV egress bpf
 * da obj loss.bpf.o sec loss_1000` loses 1,000 of a million. Only what tools/duel's peers send as a sign of
 * life is in danger; ARP is not. The numbers are those of a generator with a seed, one for each device.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MILLION 1000000

__u32 state = 20240229; /* of the generator: xorshift32. Two CPUs at once would only repeat a number */

static __always_inline int lose(const struct __sk_buff *skb, __u32 ppm)
{
	__u32 x = state;

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	state = x;
	return x % MILLION < ppm ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

#define LOSS(ppm)                                                                                            \
	SEC("loss/" #ppm) int lose_##ppm(struct __sk_buff *skb)                                              \
	{                                                                                                    \
		return lose(skb, ppm);                                                                       \
	}

LOSS(1000)
LOSS(10000)
LOSS(50000)

char _license[] SEC("license") = "Dual BSD/GPL";
