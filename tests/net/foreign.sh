#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Somebody else's XDP program on the device stays and goes on, and kphi listens beside it; and nobody detaches ours by
# accident.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

cat > "$WORK/foreign.c" << 'C'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifdef XDP
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps"), drop SEC(".maps");

SEC("xdp")
int foreign_counter(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&seen, &zero), *deny = bpf_map_lookup_elem(&drop, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	return deny && *deny ? XDP_DROP : XDP_PASS;
}
#else
SEC("tc")
int foreign_filter(struct __sk_buff *skb)
{
	return 0; /* TC_ACT_OK: nobody behind it is asked */
}
#endif

char LICENSE[] SEC("license") = "GPL";
C

# foreign HOW: loads it and attaches it to b's eth0 (xdpdrv: native, xdpgeneric)
foreign() {
	bpftool prog load "$WORK/xdp.o" "$KPHI_PIN/foreign" type xdp pinmaps "$KPHI_PIN/foreign-maps"
	in_ns b bpftool net attach "$1" pinned "$KPHI_PIN/foreign" dev eth0
	FOREIGN=$(bpftool -j prog show pinned "$KPHI_PIN/foreign" | jq .id)
}

foreign_ends() {
	in_ns b bpftool net detach "$1" dev eth0
	rm -r "$KPHI_PIN/foreign" "$KPHI_PIN/foreign-maps"
}

seen() {
	bpftool -j map dump pinned "$KPHI_PIN/foreign-maps/seen" | jq '.[0].formatted.value'
}

# attached: id of the program on b's eth0, `null` if there is none
attached() {
	in_ns b ip -j link show dev eth0 | jq '.[0].xdp.prog.id'
}

# beside HOW: with their program there in that way, kphi goes to the tc ingress, and each beat is counted by both
beside() {
	local before

	before=$(seen)
	ok "$1: auto" attach b eth0
	is "$1: listens beside it" "$(in_ns b kphi -j net show | jq -c '.devices[0] | [.hook, .mode, .attach, .state]')" \
		'["tcx","tc","link","attached"]'
	like "$1: not without a warning" "$(cat "$WORK/attach")" "Warning: eth0: .*id $FOREIGN, name \"foreign_counter\""
	like "$1: and what it may hide" "$(cat "$WORK/attach")" "Warning: eth0: so kphi listens by tcx.*\"foreign_counter\" drops"
	like "$1: the reason is still known" "$(device b eth0 why)" "id $FOREIGN, name \"foreign_counter\""
	is "$1: and the occupant" "$(device b eth0 occupant | jq -c '[.program_id, .name]')" "[$FOREIGN,\"foreign_counter\"]"
	kphi peer add "$1" id "$(uuid "$2")" interval 10ms > /dev/null
	beat "$1" "$2" 10.0.0.2 interval 10ms count 100
	ok "$1: beats arrive" eventually 20 beats_reach "$1" 20
	attach b eth0
	ended "$1"
	is "$1: each beat counts, over an upgrade" "$(peer_field "$1" beats),$(peer_field "$1" lost)" 100,0
	is "$1: theirs is still there" "$(attached)" "$FOREIGN"
	between "$1: and counts on" $(($(seen) - before)) 100 100000
}

# refuses HOW MODE: what has to have the place of their program is refused, and theirs goes on
refuses() {
	local before

	before=$(seen)
	refused "$1: mode $2" "^Error: eth0: .*id $FOREIGN, name \"foreign_counter\".*mode tc" b eth0 mode "$2"
	is "$1: mode $2: theirs is still there" "$(attached)" "$FOREIGN"
	in_ns a ping -c 3 -i 0.05 -W 1 10.0.0.2 > /dev/null
	between "$1: mode $2: and counts" $(($(seen) - before)) 3 100000
	is "$1: mode $2: nothing is left of ours" "$(kphi -j net show | jq -c .devices)" "[]"
}

occupied() {
	foreign "$1"
	beside "$1" "$2"
	in_ns b kphi net detach dev eth0 > /dev/null
	is "$1: ours goes, theirs stays" "$(attached),$(device b eth0 state)" "$FOREIGN,gone"
	refuses "$1" native
	refuses "$1" generic
	attach b eth0
	foreign_ends "$1"
	like "$1: when it has gone, ours says so" "$(device b eth0 why)" "has gone. For native XDP: .*net detach dev eth0"
	attach b eth0
	is "$1: and stays where it is" "$(device b eth0 hook)" tcx
	in_ns b kphi net detach dev eth0 > /dev/null
	ok "$1: attached anew" attach b eth0
	is "$1: it is native" "$(device b eth0 mode)" native
	in_ns b kphi net detach dev eth0 > /dev/null
}

# One whose program drops: kphi hears nothing and has said so.
hides() {
	foreign xdpdrv
	attach b eth0
	kphi peer add hidden from 10.0.0.1 port 5000 > /dev/null
	bpftool map update pinned "$KPHI_PIN/foreign-maps/drop" key 0 0 0 0 value 1 0 0 0 0 0 0 0
	in_ns a bash -c 'for n in 1 2 3 4 5; do echo beat > /dev/udp/10.0.0.2/5000; done'
	is "what it drops is not heard" "$(peer_field hidden beats)" 0
	bpftool map update pinned "$KPHI_PIN/foreign-maps/drop" key 0 0 0 0 value 0 0 0 0 0 0 0 0
	in_ns a bash -c 'for n in 1 2 3 4 5; do echo beat > /dev/udp/10.0.0.2/5000; done'
	is "what it passes is" "$(peer_field hidden beats)" 5
	in_ns b kphi net detach dev eth0 > /dev/null
	foreign_ends xdpdrv
}

# Other programs at the tc ingress: ours is before them, and they go on.
among_others() {
	in_ns b tc qdisc add dev eth0 clsact
	in_ns b tc filter add dev eth0 ingress bpf direct-action object-file "$WORK/tc.o" section tc
	foreign xdpdrv
	attach b eth0
	kphi peer add among id "$(uuid 9)" interval 10ms > /dev/null
	beat among 9 10.0.0.2 interval 10ms count 20
	ended among
	is "a filter that accepts all is behind ours" "$(peer_field among beats)" 20
	in_ns b kphi net detach dev eth0 > /dev/null
	like "and stays when ours goes" "$(in_ns b tc filter show dev eth0 ingress)" "direct-action"
	in_ns b tc qdisc del dev eth0 clsact
	foreign_ends xdpdrv
}

# outlives NAME COMMAND...: ours does, whether the command fails or finds nothing in the slot it looks at
outlives() {
	in_ns b "${@:2}" > /dev/null 2>&1 || true
	is "ours outlives $1" "$(attached)" "$(device b eth0 program_id)"
}

# ours_stays MODE FLAG: bpftool and ip call the same slot by the same name
ours_stays() {
	attach b eth0 mode "$1"
	ok "$1: switching it off by its slot is refused" ! in_ns b ip link set dev eth0 "$2" off
	outlives "ip's xdp off ($1)" ip link set dev eth0 xdp off
	outlives "ip's xdpdrv off ($1)" ip link set dev eth0 xdpdrv off
	outlives "ip's xdpgeneric off ($1)" ip link set dev eth0 xdpgeneric off
	outlives "bpftool's detach ($1)" bpftool net detach xdp dev eth0
	bpftool prog load "$WORK/xdp.o" "$KPHI_PIN/foreign" type xdp
	outlives "bpftool's overwrite ($1)" bpftool net attach "$2" pinned "$KPHI_PIN/foreign" dev eth0 overwrite
	rm "$KPHI_PIN/foreign"
	in_ns b kphi net detach dev eth0 > /dev/null
	is "$1: and ends with a detach" "$(attached)" null
}

clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -DXDP -c "$WORK/foreign.c" -o "$WORK/xdp.o"
clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -c "$WORK/foreign.c" -o "$WORK/tc.o"
pair
in_ns b kphi net detach dev eth0 > /dev/null
occupied xdpdrv 1
occupied xdpgeneric 2
hides
among_others
ours_stays native xdpdrv
ours_stays generic xdpgeneric
