#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The hooks that this host has not: on Debian 12's 6.1, which has no TCX, clsact beside libxdp's dispatcher, on a VLAN device
# and on GRE; a bond and its ports; and what is left without cls_bpf.

. "$(dirname "$0")/guest.bash"

peer xdp-tools || skip_all "the package xdp-tools cannot be fetched"
cat > "$WORK/xdp.c" << 'C'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("xdp")
int foreign_counter(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&seen, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
C
clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -c "$WORK/xdp.c" -o "$WORK/xdp.o"
start guest "$ROOT/tests/vm/boot" -t 280 -r "$PEER" -f "$WORK/xdp.o" -f "$ROOT/tests/vm/hooks.guest" 'bash /test/hooks.guest'
ok "the guest boots, works and ends" eventually 280 grep -q vm-exit-status "$(log_of guest)"
