#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Behind XDP, at the tc ingress: by order, on devices that have nothing earlier, and on one without Ethernet.

. "$(dirname "$0")/pair.bash"

# hears NAME N COMMAND...: sender N's 20 beats, which the command sends
hears() {
	kphi peer add "$1" id "$(uuid "$2")" interval 10ms > /dev/null
	"${@:3}"
	is "$1: each beat counts" "$(peer_field "$1" beats),$(peer_field "$1" lost)" 20,0
}

# beats NAME N ADDR
beats() {
	beat "$1" "$2" "$3" interval 10ms count 20
	ended "$1"
}

# frames N TAG...: written byte by byte; on the way to the tc ingress the kernel takes the outermost tag off
frames() {
	python3 "$ROOT/tests/net/frame.py" "$(uuid "$1")" $EPOCHSECONDS 10.0.0.1 10.0.0.2 20 "${@:2}" > "$WORK/frames"
	in_ns a "$TOOLS/rawsend" eth0 every 10ms < "$WORK/frames"
}

by_order() {
	ok "mode tc" attach b eth0 mode tc
	ok "without a warning: it was asked for" ! grep ^Warning "$WORK/attach"
	is "what it came to" "$(in_ns b kphi -j net show | jq -c '.devices[0] | [.hook, .mode, .wanted, .attach]')" \
		'["tcx","tc","tc","link"]'
	like "why" "$(device b eth0 why)" "eth0: \`mode tc\` was asked for"
	like "what it means, in words" "$(kphi net show)" "eth0: beats are stamped after the socket buffer is made and after GRO"
	hears IPv4 1 beats IPv4 1 10.0.0.2
	hears IPv6 2 beats IPv6 2 "$(v6 10.0.0.2)"
	hears 802.1Q 3 frames 3 8100:5
	hears QinQ 4 frames 4 88a8:7 8100:5
	is "nothing was malformed" "$(kphi -j net show | jq '[.counters | to_entries[] | select(.key | startswith("malformed")) | .value] | add')" 0
	refused "another mode" "attached in tc mode already.*net detach dev eth0" b eth0 mode native
}

# Payloads in pages of their own: the headers alone are in the first piece of the socket buffer.
scattered() {
	kphi peer add paged from 10.0.0.1 port 5000 > /dev/null
	in_ns a python3 -c 'if True:
		import socket
		out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		out.setsockopt(socket.SOL_SOCKET, 60, 1)  # SO_ZEROCOPY
		for _ in range(10):
			out.sendto(bytes(1400), 0x4000000, ("10.0.0.2", 5000))'
	is "payloads in pages: each datagram is a beat" "$(peer_field paged beats)" 10
}

# Not the same packets twice: this one is exchanged, too, and no beat goes missing.
upgraded() {
	local program

	kphi peer add x id "$(uuid 5)" interval 10ms > /dev/null
	beat x 5 10.0.0.2 interval 10ms
	ok "beats arrive" eventually 20 beats_reach x 50
	program=$(device b eth0 program_id)
	for _ in 1 2 3 4 5; do
		attach b eth0
		sleep 0.1
	done
	is "another program" "$([ "$(device b eth0 program_id)" != "$program" ] && echo another)" another
	kphi -j peer show x > "$WORK/peer"
	is "not a beat is lost" "$(jq .lost "$WORK/peer")" 0
	is "and each interval is in the window, or was this host's own stall" "$(jq '.beats - .samples - .capped - .unlearned' "$WORK/peer")" 1
	is "as it was" "$(device b eth0 hook),$(device b eth0 mode)" tcx,tc
	stop x
	in_ns b kphi net detach dev eth0 > /dev/null
	is "detached: nothing is left on the device" "$(in_ns b bpftool -j net show dev eth0 | jq -c '.[0] | [.xdp, .tc] | add')" '[]'
}

# A device without native XDP: the next rung, and never quietly.
macvlan() {
	in_ns b ip link add mv0 link eth0 type macvlan mode bridge
	# Or eth0 answers for mv0's address, too, and whose answer comes last decides where the beats go.
	in_ns b sh -c 'echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore'
	addr_add b mv0 10.0.4.2/24
	addr_add a eth0 10.0.4.1/24
	meet eth0 10.0.4.2
	refused "macvlan: native" "mv0: driver macvlan has no native XDP.*use .mode tc" b mv0 mode native
	is "macvlan: and nothing else is done instead" "$(device b mv0 state)" gone
	ok "macvlan: auto" attach b mv0
	like "macvlan: it says why" "$(cat "$WORK/attach")" "Warning: mv0: driver macvlan has no native XDP"
	like "macvlan: and what that means" "$(cat "$WORK/attach")" "Warning: mv0: so kphi listens by tcx: beats are stamped after"
	is "macvlan: by TCX" "$(device b mv0 hook),$(device b mv0 mode),$(device b mv0 wanted)" tcx,tc,auto
	like "macvlan: the reason is still known" "$(device b mv0 why)" "driver macvlan has no native XDP"
	hears macvlan 6 beats macvlan 6 10.0.4.2
	in_ns b kphi net detach dev mv0 > /dev/null
}

# A tunnel: IP from the first byte on, out of a file here.
tunnel() {
	in_ns b ip tuntap add mode tun name tun0
	in_ns b ip addr add 10.9.0.2/24 dev tun0
	in_ns b ip link set tun0 up
	refused "tun: XDP" "tun0: its packets have no Ethernet header.*Use .mode tc" b tun0 mode generic
	ok "tun: auto" attach b tun0
	is "tun: by TCX" "$(device b tun0 hook),$(device b tun0 mode)" tcx,tc
	kphi peer add inner4 from 10.9.0.1 port 5000 > /dev/null
	kphi peer add inner6 from fd00:10:9::1 port 5000 > /dev/null
	in_ns b python3 "$ROOT/tests/net/tun.py" tun0 10.9.0.1 10.9.0.2 5000 20
	in_ns b python3 "$ROOT/tests/net/tun.py" tun0 fd00:10:9::1 fd00:10:9::2 5000 20
	is "tun: IPv4, each datagram is a beat" "$(peer_field inner4 beats)" 20
	is "tun: IPv6, each datagram is a beat" "$(peer_field inner6 beats)" 20
	attach b eth0
	is "tun: exchanged together with another hook's" "$(device b eth0 hook),$(device b tun0 hook)" xdp,tcx
	in_ns b python3 "$ROOT/tests/net/tun.py" tun0 10.9.0.1 10.9.0.2 5000 20
	is "tun: and still heard" "$(peer_field inner4 beats)" 40
	in_ns b kphi net detach dev tun0 > /dev/null
	in_ns b kphi net detach dev eth0 > /dev/null
}

kphi store create peers 200 window 4096 > /dev/null # for as many beats as a busy machine takes to get on
pair
in_ns b kphi net detach dev eth0 > /dev/null
by_order
scattered
upgraded
macvlan
tunnel
