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

# Beside libxdp's dispatcher.
is "xdp-loader's dispatcher is on the device" "$(result loader)" 0
is "kphi listens beside it by clsact" "$(result beside)" clsact,tc,filter,attached
like "and says so when attaching" "$(result said)" 'Warning: eth0: an XDP program that is not kphi.s.*name "xdp_dispatcher"'
like "the reason is still known" "$(result why)" 'id [0-9]+, name "xdp_dispatcher"'
is "and the occupant" "$(result occupant)" xdp_dispatcher
like "and what it means" "$(result stamps)" 'after the socket buffer.*"xdp_dispatcher" drops or redirects'
is "over an exchange no beat and no interval is lost" "$(result beside_lost)" "[0,1]"
is "the dispatcher stays" "$(result dispatcher)" stays
between "and its program counts on" "$(result counted)" 30 100000
is "rules on a parent hold the VLAN against packets" "$(result rule_vlan)" 10,0,10
is "detached: the qdisc that kphi made is gone" "$(result qdisc_left)" 0
is "and the dispatcher stays" "$(result dispatcher_left)" stays

# Devices without XDP of their own.
is "a VLAN device: clsact" "$(result vlan)" clsact,tc
like "with the parent's name" "$(result vlan_why)" "eth0.7: .*hears its packets earlier: .kphi net attach dev eth0.*vlan 7"
is "it is heard" "$(result vlan_beats)" 10
is "GRE: clsact" "$(result gre)" clsact,tc
is "it is heard, with one remote end and with many" "$(result gre_beats)" 10,10,10
is "that a device with a filter vanished is told" "$(result vanished)" 0
is "and when it returns it is attached again" "$(result returned)" clsact,attached
is "and heard" "$(result returned_beats)" 20

# Bonds.
like "a bond's port is refused, with its master's name" "$(result port)" "^1 Error: eth1: it is a port of bond bond0"
is "the bond is native" "$(result bond)" xdp,native
is "and heard" "$(result bond_beats)" true

# Without cls_bpf.
is "the last rung is generic" "$(result generic)" xdp,generic
like "with both warnings" "$(result generic_said)" "Warning: eth0.7: a VLAN.*Warning: eth0.7: generic XDP: beats are stamped later"
like "and mode tc says what it misses" "$(result no_tc)" "^1 Error: eth0.7: neither TCX .*nor a clsact filter"
sed 's/^/# /' "$(log_of guest)" | tail -n 60
