#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kphi doctor on real devices: each trouble is made, found, and gone again.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

NOBODY=65534

# doctor NS [WORD...]: its findings in $WORK/findings, what it says besides in $WORK/says, its exit status in STATUS
doctor() {
	STATUS=0
	in_ns "$1" kphi -j doctor "${@:2}" > "$WORK/findings" 2> "$WORK/says" || STATUS=$?
}

# of SUBJECT CHECK KEY: of the first such finding; `none` if there is none
of() {
	jq -r --arg of "$1" --arg check "$2" "[.[] | select(.subject == \$of and .check == \$check)][0] | .$3 // \"none\"" \
		"$WORK/findings"
}

# finds SUBJECT CHECK STATUS REGEX
finds() {
	like "$1 $2: $3" "$(of "$1" "$2" status) $(of "$1" "$2" finding)" "^$3 .*$4"
}

fails() {
	jq '[.[] | select(.status == "fail")] | length' "$WORK/findings"
}

empty() {
	doctor b for 0
	is "no store: nothing fails" "$STATUS $(fails)" "0 0"
	is "no store: one document of well-formed findings" "$(jq -s 'length == 1 and (.[0] | length > 20 and all(
		(.check | test("^[a-z_]+$")) and (.status | IN("ok", "warn", "fail", "unknown")) and
		has("subject") and (.finding | length > 0) and has("remedy") and (.figures | type == "object")))' \
		"$WORK/findings")" true
	is "no store: and nothing besides" "$(cat "$WORK/says")" ""
	is "no store: what is wrong or missing is no line twice" "$(jq -r '[.[] | .subject + " " + .check] | length == (unique | length)' \
		"$WORK/findings")" true
	finds host store ok "none yet"
	finds host devices warn "no device"
	finds host kernel_version ok "Linux $(uname -r)"
	is "the clock is the one the kernel names" "$(of host clocksource figures.clocksource)" \
		"$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
	finds host bpf_timer ok tried
	finds eth0 native_xdp ok "veth has native XDP"
	finds eth0 hook ok free
	ok "no store: and none is made" test ! -e "$KPHI_PIN"/abi-*
	doctor b dev eth9
	is "a device that does not exist" "$STATUS" 1
	like "is said to" "$(cat "$WORK/findings" "$WORK/says")" "eth9: there is no such device"
	doctor b for ever
	is "bad usage" "$STATUS" 2
}

# Threaded NAPI is told by sysfs, which shows the devices of the namespace that it was mounted in.
threaded() {
	local doctor="mount -t sysfs sysfs /sys && '$KPHI' --pin '$KPHI_PIN' -j doctor dev eth0 for 0"

	attach b eth0 # which gives it NAPI
	is "in a /sys of another namespace nothing is said of threads" "$(in_ns b kphi -j doctor dev eth0 for 0 |
		jq '[.[] | select(.check == "threaded_napi")] | length')" 0
	in_ns b unshare --mount sh -c "$doctor" > "$WORK/findings"
	finds eth0 threaded_napi ok "by softirq"
	in_ns b unshare --mount sh -c "mount -t sysfs sysfs /sys && echo 1 > /sys/class/net/eth0/threaded"
	in_ns b unshare --mount sh -c "$doctor" > "$WORK/findings"
	finds eth0 threaded_napi warn "wait for a CPU"
	in_ns b unshare --mount sh -c "mount -t sysfs sysfs /sys && echo 0 > /sys/class/net/eth0/threaded"
	kphi store purge > /dev/null
}

# Beats of a stranger, then of a friend.
arrivals() {
	attach b eth0
	kphi peer add x id "$(uuid 1)" interval 20ms > /dev/null
	doctor b for 300ms
	is "nothing is sent: it fails" "$STATUS" 1
	finds host arrivals fail "nothing for our ports has ever arrived"
	beat stranger 2 10.0.0.2 interval 20ms
	ok "a stranger is heard" eventually 20 counts unknown_peer 5
	doctor b for 1s
	finds host refused warn "just now; most are heartbeats of a node id that was never added"
	finds host arrivals warn "none of them is a beat"
	like "a stranger: what to do" "$(of host arrivals remedy)" "kphi peer discover.*kphi peer add"
	stop stranger
	beat x 1 10.0.0.2 interval 20ms
	ok "a friend is heard" eventually 20 beats_reach x 5
	doctor b for 1s
	is "beats: nothing fails" "$STATUS $(fails)" "0 0"
	finds host arrivals ok "beats in 1s"
	between "beats: as many as there were" "$(of host arrivals figures.beats_watched)" 10 100
	finds host peers ok "all of 1"
	finds host ticks ok "the worst gap was"
	finds eth0 hook ok "native mode"
	finds eth0 packets ok "packets in 1s"
	is "the remedy stands in the line for people" "$(in_ns b kphi doctor for 0 | grep -c '^ok .* eth0 .*native mode')" 1
	stop x
}

counts() {
	[ "$(counter "$1")" -ge "$2" ]
}

unprivileged() {
	chmod 755 "$WORK"
	install -m 755 "$KPHI" "$WORK/kphi"
	STATUS=0
	in_ns b setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups "$WORK/kphi" --pin "$KPHI_PIN" -j doctor for 0 \
		> "$WORK/findings" 2> "$WORK/says" || STATUS=$?
	is "nobody: nothing fails, nothing besides" "$STATUS $(fails) $(cat "$WORK/says")" "0 0 "
	finds host capabilities warn "CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON"
	finds host devices unknown "only root"
	finds host bpf_timer ok "type information"
	finds eth0 hook unknown "only root can tell whether that is kphi's"
	finds eth0 tc_hook unknown CAP_NET_ADMIN
	finds eth0 mtu ok "MTU 1500"
}

down() {
	in_ns a ip link set eth0 down
	doctor b for 0
	is "the other end is down: it fails" "$STATUS" 1
	finds eth0 link fail "no carrier"
	in_ns a ip link set eth0 up
	in_ns b ip link set eth0 down
	doctor b for 0
	finds eth0 link fail "set down"
	is "down: what to do" "$(of eth0 link remedy)" "ip link set eth0 up"
	in_ns b ip link set eth0 up
	ok "up again" eventually 10 link_is ok
}

link_is() {
	doctor b for 0
	[ "$(of eth0 link status)" = "$1" ]
}

jumbo() {
	veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
	in_ns a ip link set eth1 mtu 9000
	in_ns b ip link set eth1 mtu 9000
	doctor b dev eth1 for 0
	finds eth1 mtu ok "MTU 9000"
	is "MTU 9000: in several buffers" "$(of eth1 mtu figures.frags)" true
	attach b eth1
	is "MTU 9000: it was right" "$(device b eth1 mode)" native
	in_ns b kphi net detach dev eth1 > /dev/null
	in_ns a ip link set eth1 mtu 1500
	in_ns b ip link set eth1 mtu 1500
	is "only what was asked for is judged" "$(jq -r '[.[].subject] | unique | join(" ")' "$WORK/findings")" "eth1 host"
}

kinds() {
	in_ns b ip link add br0 type bridge
	in_ns b ip link set eth1 master br0
	in_ns b ip link set br0 up
	doctor b dev br0 for 0
	finds br0 kind warn "bridge has no native XDP"
	finds br0 native_xdp warn "no native XDP"
	doctor b dev eth1 for 0
	finds eth1 kind ok "a port of bridge br0"
	in_ns b ip link add vx0 type vxlan id 5 dstport 4789 local 10.0.0.2
	in_ns b ip link set vx0 up
	doctor b dev vx0 for 0
	finds vx0 kind ok "vxlan: here is heard what came through the tunnel"
	finds host tunnels ok "vx0"
	in_ns b ip link del vx0
	in_ns b ip tuntap add dev tun0 mode tun
	doctor b dev tun0 for 0
	finds tun0 kind ok "without an Ethernet header, so kphi listens at tc"
	in_ns b ip link del tun0
	sub_interface macvlan "macvlan on eth1" mode bridge
	sub_interface vlan "VLAN 5 of eth1" id 5
	in_ns b ip link del br0
}

# sub_interface KIND REGEX WORD...: on top of eth1, where this kernel has such devices
sub_interface() {
	if ! in_ns b ip link add link eth1 name sub0 type "$1" "${@:3}" 2> "$WORK/says"; then
		note "this kernel has no $1: that is left to the unit tests"
		return
	fi
	doctor b dev sub0 for 0
	finds sub0 kind warn "$2"
	in_ns b ip link del sub0
}

taken() {
	cat > "$WORK/foreign.c" << 'C'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("tc")
int foreign_tc(struct __sk_buff *skb)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
C
	clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -c "$WORK/foreign.c" -o "$WORK/foreign.o"
	bpftool prog loadall "$WORK/foreign.o" "$KPHI_PIN/foreign"
	in_ns b bpftool net attach xdpdrv pinned "$KPHI_PIN/foreign/foreign_pass" dev eth1
	in_ns b tc qdisc add dev eth1 clsact
	in_ns b tc filter add dev eth1 ingress bpf da object-pinned "$KPHI_PIN/foreign/foreign_tc"
	doctor b dev eth1 for 0
	finds eth1 hook warn "not kphi's: id $(bpftool -j prog show pinned "$KPHI_PIN/foreign/foreign_pass" | jq .id), \"foreign_pass\""
	finds eth1 tc_hook ok "foreign_tc"
	is "taken: by one at tc, too" "$(of eth1 tc_hook figures.programs)" 1
	in_ns b bpftool net detach xdpdrv dev eth1
	in_ns b tc qdisc del dev eth1 clsact
	rm -r "$KPHI_PIN/foreign"
	doctor b dev eth1 for 0
	finds eth1 hook ok free
	finds eth1 tc_hook ok "no BPF program"
}

# A rule of UDP port 1985 is HSRP, which is sent to 224.0.0.2.
groups() {
	kphi peer add router from 10.0.0.9 port 1985 interval 1s > /dev/null
	doctor b dev eth0 for 0
	finds eth0 multicast ok "nobody has joined 224.0.0.2 .HSRP, for router., but a veth device filters nothing"
	is "not joined" "$(of eth0 multicast 'figures | .joined | tostring')" false
	in_ns b ip address add 224.0.0.2/32 dev eth0 autojoin
	doctor b dev eth0 for 0
	finds eth0 multicast ok "224.0.0.2 .HSRP, for router. is received: joined"
	is "joined" "$(of eth0 multicast figures.joined)" true
	kphi peer del router > /dev/null
	doctor b dev eth0 for 0
	finds eth0 multicast ok "no peer"
}

# The pin is there, the device is not.
vanished() {
	attach b eth1
	in_ns b ip link del eth1
	doctor b for 0
	is "vanished: it fails" "$STATUS" 1
	finds eth1 hook fail "has vanished"
}

strange_roots() {
	STATUS=0
	"$KPHI" --pin "$WORK" -j doctor for 0 > "$WORK/findings" || STATUS=$?
	is "a root that is no bpffs fails" "$STATUS" 1
	finds host bpffs fail "is not on a bpffs"
	kphi store purge > /dev/null
	mkdir "$KPHI_PIN/abi-00000000"
	doctor b for 0
	is "a store of another ABI fails" "$STATUS" 1
	finds host store fail "ABI 00000000"
	rmdir "$KPHI_PIN/abi-00000000"
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
empty
threaded
arrivals
unprivileged
down
jumbo
kinds
taken
groups
vanished
strange_roots
