#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Native where the driver can, tc where it cannot, generic by order, and nothing less than native quietly; jumbo frames; a
# port of one's own.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# hears NAME N DEV ADDR [PORT]: sender N's beats, by the device
hears() {
	kphi peer add "$1" id "$(uuid "$2")" interval 10ms > /dev/null
	beat "$1" "$2" "$4:${5:-7441}" interval 10ms count 20
	ended "$1"
	is "$1: each beat counts" "$(peer_field "$1" beats),$(peer_field "$1" lost)" 20,0
}

generic_by_order() {
	ok "generic: attached" attach b eth0 mode generic
	is "generic: shown" "$(device b eth0 mode)" generic
	like "generic: why" "$(device b eth0 why)" "eth0: .mode generic. was asked for"
	like "generic: not without a warning" "$(cat "$WORK/attach")" "Warning: eth0: generic XDP: beats are stamped later"
	hears generic 1 eth0 10.0.0.2
	if attach b eth0 mode native; then
		fail "generic: native is refused on top" "$(cat "$WORK/attach")"
	else
		like "generic: native is refused on top" "$(cat "$WORK/attach")" "attached in generic mode already"
	fi
	attach b eth0
	is "generic: stays generic when attached again" "$(device b eth0 mode)" generic
	in_ns b kphi net detach dev eth0 > /dev/null
}

# A bridge is what this kernel has of devices without native XDP.
bridge() {
	in_ns b ip link add br0 type bridge forward_delay 0
	in_ns b ip link set eth0 master br0
	in_ns b ip addr flush dev eth0
	addr_add b br0 10.0.0.2/24
	meet eth0 10.0.0.2
	if attach b br0 mode native; then
		fail "bridge: native is refused" "$(cat "$WORK/attach")"
	else
		like "bridge: native is refused" "$(cat "$WORK/attach")" "br0: a bridge has no native XDP. Attach to its ports"
	fi
	is "bridge: and nothing else is done instead" "$(device b br0 state)" gone
	ok "bridge: auto falls back" attach b br0
	like "bridge: saying why" "$(cat "$WORK/attach")" "Warning: br0: a bridge has no native XDP"
	like "bridge: and what it means" "$(cat "$WORK/attach")" "Warning: br0: so kphi listens by tcx: beats are stamped"
	is "bridge: to tc" "$(device b br0 mode)" tc
	hears bridge 2 br0 10.0.0.2
	in_ns b kphi net detach dev br0 > /dev/null
	attach b eth0
	is "a bridge's port is native" "$(device b eth0 mode)" native
	hears port 3 eth0 10.0.0.2
	in_ns b kphi net detach dev eth0 > /dev/null
}

# Frames longer than a page come in several buffers; the program says that it can take them.
jumbo() {
	veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
	in_ns a ip link set eth1 mtu 9000
	in_ns b ip link set eth1 mtu 9000
	meet eth1 10.0.1.2
	ok "MTU 9000: native" attach b eth1 mode native
	kphi peer add jumbo from 10.0.1.1 port 5000 > /dev/null
	in_ns a python3 -c 'if True:
		import socket
		out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for _ in range(10):
			out.sendto(bytes(8900), ("10.0.1.2", 5000))'
	is "MTU 9000: each long datagram is a beat" "$(peer_field jumbo beats)" 10
	is "MTU 9000: in one piece" "$(counter fragment)" 0
	hears short 4 eth1 10.0.1.2
	in_ns b kphi net detach dev eth1 > /dev/null
	ok "MTU 9000: tc" attach b eth1 mode tc
	hears short_tc 8 eth1 10.0.1.2
	in_ns b kphi net detach dev eth1 > /dev/null
}

another_port() {
	local looked arrived

	attach b eth0 port 7500
	is "port 7500: listens to that" "$(kphi -j net show | jq -c .native_ports)" "[7500]"
	hears port7500 5 eth0 10.0.0.2 7500
	looked=$(outcomes)
	arrived=$(packets b eth0)
	beat deaf 6 10.0.0.2:7441 interval 10ms count 20
	ended deaf
	between "port 7500: beats to 7441 arrive" "$(($(packets b eth0) - arrived))" 23 100000
	is "port 7500: and are nobody's" "$(outcomes)" "$looked"
	attach b eth0
	is "attached again: the port is kept" "$(kphi -j net show | jq -c .native_ports)" "[7500]"
	attach b eth0 port 7441
	is "ports add up" "$(kphi -j net show | jq -c .native_ports)" "[7441,7500]"
	hears both 7 eth0 10.0.0.2
	in_ns b kphi net detach dev eth0 > /dev/null
	attach b eth0
	is "detached and attached: the usual one" "$(kphi -j net show | jq -c .native_ports)" "[7441]"
}

pair
in_ns b kphi net detach dev eth0 > /dev/null
generic_by_order
bridge
jumbo
another_port
