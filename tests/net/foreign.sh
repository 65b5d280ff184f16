#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A device on which somebody else's XDP program works already is left alone; and nobody detaches ours by accident.

. "$(dirname "$0")/pair.bash"

cat > "$WORK/foreign.c" << 'C'
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

# foreign HOW: loads it and attaches it to b's eth0 (xdpdrv: native, xdpgeneric)
foreign() {
	bpftool prog load "$WORK/foreign.o" "$KPHI_PIN/foreign" type xdp pinmaps "$KPHI_PIN/foreign-maps"
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

# stays HOW MODE: with their program there in that way, attaching in that mode is refused, and theirs goes on
stays() {
	local before status=0

	before=$(seen)
	attach b eth0 mode "$2" || status=$?
	is "$1: mode $2 is refused" "$status" 1
	like "$1: mode $2: it says whose it is" "$(cat "$WORK/attach")" "^Error: eth0: .*id $FOREIGN, name \"foreign_counter\""
	is "$1: mode $2: theirs is still there" "$(attached)" "$FOREIGN"
	in_ns a ping -c 3 -i 0.05 -W 1 10.0.0.2 > /dev/null
	between "$1: mode $2: and counts" $(($(seen) - before)) 3 100000
	is "$1: mode $2: nothing is left of ours" "$(kphi -j net show | jq -c .devices)" "[]"
}

occupied() {
	foreign "$1"
	stays "$1" auto
	stays "$1" native
	stays "$1" generic
	foreign_ends "$1"
	ok "$1: when it has gone, ours is attached" attach b eth0
	is "$1: native" "$(device b eth0 mode)" native
	in_ns b kphi net detach dev eth0 > /dev/null
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
	bpftool prog load "$WORK/foreign.o" "$KPHI_PIN/foreign" type xdp
	outlives "bpftool's overwrite ($1)" bpftool net attach "$2" pinned "$KPHI_PIN/foreign" dev eth0 overwrite
	rm "$KPHI_PIN/foreign"
	in_ns b kphi net detach dev eth0 > /dev/null
	is "$1: and ends with a detach" "$(attached)" null
}

clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -c "$WORK/foreign.c" -o "$WORK/foreign.o"
pair
in_ns b kphi net detach dev eth0 > /dev/null
occupied xdpdrv
occupied xdpgeneric
ours_stays native xdpdrv
ours_stays generic xdpgeneric
