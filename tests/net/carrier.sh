#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is wrong with this host is not held against its peers: our cable, our device, our program. What is wrong behind
# the next switch is.
#
# The daemon is in b. near1 and near2 reach it over eth0, which is a cable to a switch; far1 to far3 over eth1, straight.

. "$(dirname "$0")/pair.bash"

SOCKET=$WORK/event.sock
declare -A ID=([near1]=1 [near2]=2 [far1]=3 [far2]=4 [far3]=5)

# a - switch - b (eth0), c - b (eth1)
cables() {
	ns_add a
	ns_add b
	ns_add c
	ns_add switch
	in_ns switch ip link add br0 type bridge
	in_ns switch ip link set br0 up
	veth_pair a eth0 10.0.0.1/24 switch left -
	veth_pair switch right - b eth0 10.0.0.2/24
	in_ns switch ip link set left master br0
	in_ns switch ip link set right master br0
	veth_pair c eth1 10.0.1.1/24 b eth1 10.0.1.2/24
	meet eth0 10.0.0.2
	eventually 10 in_ns c ping -c 1 -W 1 10.0.1.2
}

# beats NAME...
beats() {
	local name

	for name in "$@"; do
		case $name in
		near*) start "$name" in_ns a kphi beat to 10.0.0.2 id "$(uuid "${ID[$name]}")" interval 100ms state "$WORK/$name" ;;
		far*) start "$name" in_ns c kphi beat to 10.0.1.2 id "$(uuid "${ID[$name]}")" interval 100ms state "$WORK/$name" ;;
		esac
	done
}

daemon() {
	local name

	{
		echo "devices: [{name: eth0}, {name: eth1}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		echo "peers:"
		for name in "${!ID[@]}"; do
			echo "  - {name: $name, id: $(uuid "${ID[$name]}"), interval: 100ms}"
		done
		echo "consumers: [{name: page, suspect: 8, clear: 4}]"
	} > "$WORK/kphi.yaml"
	start run in_ns b kphi run config "$WORK/kphi.yaml"
	eventually 10 kphi event socket "$SOCKET"
}

# events FILTER: since mark(), as lines "type cause subject-or-peer"
events() {
	tail -n "+$((marked + 1))" "$(log_of run)" |
		jq -rR "fromjson? | select(.type) | select($1) | \"\(.type) \(.cause) \(.subject // .peer)\""
}

marked=0
mark() {
	marked=$(wc -l < "$(log_of run)")
}

has() { # COUNT FILTER
	[ "$(events "$2" | wc -l)" -ge "$1" ]
}

told_ms() { # TYPE: when the first such event was told, as the daemon says
	tail -n "+$((marked + 1))" "$(log_of run)" | jq -rR "fromjson? | select(.type == \"$1\").time" | head -n 1 | date -f - +%s%3N
}

# of_peers TYPE: whom such events named, each once
of_peers() {
	events ".type == \"$1\" and .peer" | awk '{ print $3 }' | sort -u | xargs
}

heard_again() {
	local name

	for name in "$@"; do
		[ "$(peer_field "$name" silence_ns)" -lt 100000000 ] || return 1
	done
}

well() {
	ok "$1: all are heard" eventually 10 heard_again "${!ID[@]}"
	sleep 1
	is "$1: nobody was suspected" "$(of_peers suspect)" ""
}

our_cable() {
	mark
	in_ns switch ip link set right down
	ok "our cable out: both peers on it are blind" eventually 3 has 2 '.type == "blind"'
	is "our cable out: these two" "$(of_peers blind)" "near1 near2"
	is "our cable out: because of the carrier" "$(events '.type == "blind" and .cause != "carrier"')" ""
	is "our cable out: the device" "$(events '.type == "carrier"')" "carrier begun eth0"
	is "our cable out: guard show" "$(in_ns b kphi -j guard show |
		jq -c '[.devices[] | select(.device == "eth0")][0] | [.state, .cause]')" '["blind","carrier"]'
	sleep 2
	in_ns switch ip link set right up
	ok "our cable in: both are sighted" eventually 3 has 2 '.type == "sighted"'
	well "our cable"
}

our_device() {
	mark
	in_ns b ip link set eth0 down
	ok "our device down: both peers on it are blind" eventually 3 has 2 '.type == "blind"'
	sleep 1
	in_ns b ip link set eth0 up
	ok "our device up: both are sighted" eventually 3 has 2 '.type == "sighted"'
	well "our device"
}

# Who dies while we cannot hear is found when we can again, after its own deadline.
dies_meanwhile() {
	mark
	in_ns switch ip link set right down
	ok "blind" eventually 3 has 2 '.type == "blind"'
	stop near1 KILL
	sleep 1
	is "not suspected while we are blind" "$(of_peers suspect)" ""
	in_ns switch ip link set right up
	ok "sighted: suspected" eventually 5 has 1 '.type == "suspect"'
	is "sighted: who died" "$(of_peers suspect)" near1
	beats near1
	ok "trusted again" eventually 5 has 1 '.type == "trust"'
}

# The switch's other cable is not ours: there is nothing that we know.
their_cable() {
	mark
	in_ns switch ip link set left down
	ok "their cable out: convicted" eventually 5 has 2 '.type == "suspect"'
	is "their cable out: both of them" "$(of_peers suspect)" "near1 near2"
	is "their cable out: we are not blind" "$(of_peers blind)" ""
	in_ns switch ip link set left up
	ok "their cable in: trusted" eventually 5 has 2 '.type == "trust"'
}

# The program taken from eth0 behind our back. The two peers there beat so often that they would be convicted before the
# check that comes once a second, and are too few to be held as correlated.
hook_lost() { # HOW COMMAND...
	local how=$1 ended

	shift
	mark
	"$@" > /dev/null
	ended=$(now_ms)
	ok "$how: noticed" eventually 3 has 1 '.type == "hook" and .cause == "begun"'
	between "$how: within a second (ms, before the command had ended if negative)" $(($(told_ms hook) - ended)) -10000 1250
	ok "$how: those behind it are blind" eventually 2 has 2 '.type == "blind" and .cause == "hook"'
	is "$how: these two" "$(of_peers blind)" "near1 near2"
	sleep 1.5
	is "$how: nobody puts it back in secret" "$(device b eth0 state)" gone
	in_ns b kphi net attach dev eth0 > /dev/null 2>&1
	ok "$how: attached by hand: sighted" eventually 3 has 2 '.type == "sighted"'
	well "$how"
	is "$how: nobody was held either" "$(of_peers hold)" ""
}

link_detach() {
	bpftool link detach id "$(device b eth0 link_id)"
}

remove_pin() {
	rm "$(device b eth0 pin)"
}

# The device of near1 and near2 is deleted and made anew, under the same name.
vanishes_and_returns() {
	mark
	in_ns b ip link del eth0
	ok "vanished: both peers on it are blind" eventually 3 has 2 '.type == "blind" or .type == "carrier"'
	sleep 1.5
	is "vanished: nobody is suspected" "$(of_peers suspect)" ""
	is "vanished: the hook is lost" "$(events '.type == "hook"')" "hook begun eth0"
	veth_pair switch right - b eth0 10.0.0.2/24
	in_ns switch ip link set right master br0
	ok "returned: attached again" eventually 5 has 1 '.type == "hook" and .cause == "ended"'
	is "returned: there it is" "$(device b eth0 state)" attached
	ok "returned: both are sighted" eventually 5 has 2 '.type == "sighted"'
	in_ns a ip neigh flush dev eth0 # it has another address on the cable
	well "returned"
	is "returned: one device of that name" "$(kphi -j net show | jq '[.devices[] | select(.device == "eth0")] | length')" 1
}

cables
beats "${!ID[@]}"
daemon
ok "all are heard" eventually 20 beats_reach near1 20
well "at first"
our_cable
our_device
dies_meanwhile
their_cable
hook_lost "link detached" link_detach
hook_lost "pin removed" remove_pin
hook_lost "net detach" in_ns b kphi net detach dev eth0
vanishes_and_returns
