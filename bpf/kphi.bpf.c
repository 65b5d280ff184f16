// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel side of kphi. Every packet leaves with XDP_PASS, unmodified. */
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
