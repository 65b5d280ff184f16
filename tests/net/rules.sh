#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Peers that know nothing of kphi: any UDP packet from an address to a port is a beat. And what is nobody's beat.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# datagrams ADDRESS PORT COUNT GAP_MS [BYTES]: from a
datagrams() {
	in_ns a python3 -c 'if True:
		import socket, sys, time
		address, port, count, gap_ms, size = sys.argv[1], *map(float, sys.argv[2:])
		out = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
		for number in range(int(count)):
			out.sendto(bytes(int(size)), (address, int(port)))
			time.sleep(gap_ms / 1000)' "$1" "$2" "$3" "$4" "${5:-40}"
}

# arrived: UDP datagrams that reached b's sockets, or would have if there were any
arrived() {
	# shellcheck disable=SC2016 # awk's own dollars
	in_ns b awk '$1 == "Udp:" && /[0-9]/ { print $2 + $3 }' /proc/net/snmp
}

heard() {
	kphi peer add four from 10.0.0.1 port 5000 > /dev/null
	kphi peer add six from "$(v6 10.0.0.1)" port 5000 > /dev/null
	datagrams 10.0.0.2 5000 5 10
	is "a rule without an interval learns it" "$(peer_field four state)" learning
	datagrams 10.0.0.2 5000 45 10
	datagrams "$(v6 10.0.0.2)" 5000 30 10
	is "IPv4: each datagram is a beat" "$(peer_field four beats)" 50
	is "IPv6: each datagram is a beat" "$(peer_field six beats)" 30
	between "the mean is at least the gap" "$(peer_field six mean_ns)" 10000000 100000000
	between "the interval is learned" "$(peer_field six interval_ns)" 10000000 100000000
	is "a rule knows no epoch" "$(peer_field four epoch)" 0
	is "and what is lost it cannot know" "$(peer_field four lost)" null
}

told_apart() {
	kphi peer add port from 10.0.0.1 port 5001 > /dev/null
	kphi peer add address from 10.0.0.9 port 5001 > /dev/null
	datagrams 10.0.0.2 5001 10 0
	is "the port tells peers apart" "$(peer_field port beats),$(peer_field four beats)" 10,50
	is "the source address, too" "$(peer_field address beats)" 0

	kphi peer del port > /dev/null
	datagrams 10.0.0.2 5001 10 0
	is "a source that no rule names is counted as that" "$(counter no_rule)" 10
	kphi peer del address > /dev/null
	nothing_counts "with its last rule a port is forgotten" datagrams 10.0.0.2 5001 10 0
}

# Of a datagram in fragments the first is the beat.
fragments() {
	local beats

	beats=$(peer_field four beats)
	datagrams 10.0.0.2 5000 4 0 4000
	is "a datagram in three fragments is one beat" "$(($(peer_field four beats) - beats))" 4
	is "its other fragments are told as such" "$(counter fragment)" 8
}

# nothing_counts NAME COMMAND...: of ten datagrams
nothing_counts() {
	local looked before

	looked=$(outcomes)
	before=$(arrived)
	"${@:2}"
	between "$1: datagrams arrive" $(($(arrived) - before)) 10 10000
	is "$1: no counter moves" "$(outcomes)" "$looked"
}

tcp() {
	local looked

	looked=$(outcomes)
	start server in_ns b python3 "$ROOT/tests/net/udp.py" serve 10.0.0.2 7441
	eventually 5 in_ns b sh -c 'ss -Hltn | grep -q :7441'
	is "TCP to kphi's port passes" "$(in_ns a python3 "$ROOT/tests/net/udp.py" fetch 10.0.0.2 7441)" 1000000
	is "and moves no counter" "$(outcomes)" "$looked"
}

# What comes to the native port and is no heartbeat has a counter each; no peer is ever made of it.
not_a_beat() {
	local peers

	peers=$(kphi -j peer show | jq length)
	datagrams 10.0.0.2 7441 10 0 40
	is "too short a message is counted" "$(counter wire_short)" 10
	datagrams 10.0.0.2 7441 10 0 88
	is "one without the magic, too" "$(counter wire_magic)" 10
	beat stranger 99 10.0.0.2 interval 10ms count 5
	ended stranger
	is "an unknown sender, too" "$(counter unknown_peer)" 8
	is "but nothing is made of them" "$(kphi -j peer show | jq length)" "$peers"
}

pair
heard
told_apart
fragments
nothing_counts "UDP to another port" datagrams 10.0.0.2 9 10 0
tcp
not_a_beat
