// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel side of kphi. Every packet goes on as it came: XDP_PASS, or to the next program of its hook. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "control.h"
#include "maps.h"
#include "record.h"

SEC("xdp.frags")
int kphi_xdp(struct xdp_md *ctx)
{
	record_frame(ctx);
	return XDP_PASS;
}

#define TC_NEXT (-1) /* TC_ACT_UNSPEC, TCX_NEXT: whoever comes next decides */

/* For TCX or clsact, where XDP cannot be had. */
SEC("tc")
int kphi_tc(struct __sk_buff *skb)
{
	record_buffer(skb, 1);
	return TC_NEXT;
}

/* The same on devices without Ethernet: tunnels. */
SEC("tc")
int kphi_tc_ip(struct __sk_buff *skb)
{
	record_buffer(skb, 0);
	return TC_NEXT;
}

/* Run by BPF_PROG_TEST_RUN with a struct kphi_control as its packet; attached to nothing. */
SEC("xdp")
int kphi_control(struct xdp_md *ctx)
{
	struct kphi_control *q = (void *)(long)ctx->data;

	if ((void *)(q + 1) > (void *)(long)ctx->data_end)
		return KPHI_CONTROL_BAD;
	return control(q);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
