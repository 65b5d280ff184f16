#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What happens to a device under a daemon at work: renamed, moved to another network namespace and back, another MAC and MTU,
# robbed of its program by others' tools, two at once. Nobody is accused of any of it, and every device is heard again.
#
# db1 and db2 are heard by eth0 of b, far1 to far3 by eth1.

. "$(dirname "$0")/faults.bash"

PEERS=(db1 db2 db3 db4 db5)
DEVICES="{name: eth0}, {name: eth1}"
# A cable that was out takes the senders' kernels a moment to notice, too.
SETTING="pause: 2s"

begin() {
	for name in db1 db2; do sender "$name"; done
	for name in db3 db4 db5; do beat "$name" "${name#db}" 10.0.1.2 interval 100ms; done
	run
	ok "all are heard" eventually 20 heard "${PEERS[@]}"
	marked=0
}

# since FILTER: events since mark()
mark() {
	marked=$(wc -l < "$(log_of run)")
}

since() {
	tail -n "+$((marked + 1))" "$(log_of run)" | jq -cR "fromjson? | select(.type) | select($1)"
}

since_has() { # FILTER [N]
	[ "$(since "$1" | wc -l)" -ge "${2:-1}" ]
}

# after NAME: all are heard, and nobody was suspected since the mark
after() {
	ok "$1: all are heard" eventually 30 heard "${PEERS[@]}"
	is "$1: nobody was suspected" "$(since '.type == "suspect"')" ""
}

# lost NAME COMMAND...: what makes eth0 deaf; both peers there are blind
lost() {
	mark
	"${@:2}" > "$WORK/out" 2>&1 || note "status $? of ${*:2}: $(cat "$WORK/out")"
	ok "$1: both peers there are blind" eventually 20 since_has '.type == "blind"' 2
	is "$1: and nobody else" "$(since '.type == "blind"' | jq -r .peer | sort -u | xargs)" "db1 db2"
}

rename() { # FROM TO
	in_ns b ip link set "$1" down
	in_ns b ip link set "$1" name "$2"
	in_ns b ip link set "$2" up
}

# It keeps its number and its program, so it is the same one by another name.
renamed() {
	lost renamed rename eth0 wan0
	ok "renamed: both are sighted" eventually 20 since_has '.type == "sighted"' 2
	is "renamed: it is attached" "$(device b wan0 state)" attached
	after renamed
	is "renamed: no other device takes its place" "$(in_ns b kphi -j net show | jq -c '[.devices[].device] | sort')" '["eth1","wan0"]'
	mark
	kphi run reload socket "$SOCKET" > "$WORK/out" 2>&1 || true
	like "renamed: a reload misses the old name" "$(cat "$WORK/out")" "eth0"
	after "renamed, reloaded"
	lost "renamed back" rename wan0 eth0
	ok "renamed back: both are sighted" eventually 20 since_has '.type == "sighted"' 2
	after "renamed back"
}

# move FROM TO: eth0; what it had of addresses is gone with the move
move() {
	in_ns "$1" ip link set eth0 netns "${namespaces[$2]}"
}

# The program goes with its device into the other namespace, and hears nothing for this one.
moved() {
	local old

	lost moved move b c
	ok "moved: the hook is lost" eventually 20 since_has '.type == "hook" and .cause == "begun" and .subject == "eth0"'
	is "moved: that is what is seen here" "$(device b eth0 state)" gone
	move c b
	addr_add b eth0 10.0.0.2/24
	in_ns a ip neigh flush dev eth0
	ok "moved back: both are sighted" eventually 30 since_has '.type == "sighted"' 2
	is "moved back: it is attached, once" "$(in_ns b kphi -j net show | jq -c '[.devices[] | select(.device == "eth0") | .state]')" \
		'["attached"]'
	after "moved back"
	lost "moved again" move b c
	old=$(in_ns c ip -j link show dev eth0 | jq '.[0].ifindex')
	in_ns c ip link set eth0 name old0
	in_ns a ip link set eth0 name old0
	veth_pair a eth0 10.0.0.3/24 b eth0 10.0.0.2/24
	note "the device that was moved away has number $old, its successor $(in_ns b ip -j link show dev eth0 | jq '.[0].ifindex')"
	in_ns a ip link del old0
	ok "a successor of that name is attached" eventually 30 since_has '.type == "hook" and .cause == "ended" and .subject == "eth0"'
	after "a successor"
	is "a successor: there is one eth0" "$(kphi -j net show | jq -c '[.devices[] | select(.device == "eth0") | .state]')" '["attached"]'
}

# Neither is a reason for anything.
changed() {
	mark
	in_ns b ip link set eth0 address 02:00:00:00:00:77
	in_ns a ip neigh flush dev eth0
	in_ns b ip link set eth0 mtu 1400
	after "another MAC and MTU"
	in_ns b ip link set eth0 mtu 1500
	is "another MAC and MTU: it is attached" "$(device b eth0 state)" attached
	is "another MAC and MTU: nobody was blind" "$(since '.type == "blind" or .type == "hook"')" ""
}

# By the tools that people have. A link cannot be taken off by ip, which says so and changes nothing.
robbed() {
	local got=0

	mark
	in_ns b ip link set dev eth0 xdp off > "$WORK/out" 2>&1 || got=$?
	is "ip link set xdp off is refused by the kernel" "$([ $got != 0 ] && echo refused)" refused
	is "... and changes nothing" "$(device b eth0 state)" attached
	lost "link detached" bpftool link detach id "$(device b eth0 link_id)"
	in_ns b kphi net attach dev eth0 > /dev/null 2>&1
	ok "attached by hand: both are sighted" eventually 20 since_has '.type == "sighted"' 2
	after "attached by hand"
}

both() {
	in_ns b ip link set eth0 down
	in_ns b ip link set eth1 down
}

# Deleted and made anew, both in one moment, with other numbers.
anew() {
	in_ns b ip link del eth0
	in_ns b ip link del eth1
	veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
	veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
}

two_at_once() {
	mark
	both
	ok "both down: all are blind" eventually 20 since_has '.type == "blind"' 5
	in_ns b ip link set eth0 up
	in_ns b ip link set eth1 up
	ok "both up: all are sighted" eventually 20 since_has '.type == "sighted"' 5
	after "both down and up"
	mark
	anew
	ok "both anew: both are attached again" eventually 30 since_has '.type == "hook" and .cause == "ended"' 2
	after "both anew"
	is "both anew: each is there once" "$(kphi -j net show | jq -c '[.devices[].device] | sort')" '["eth0","eth1"]'
	is "... and said once" "$(since '.type == "hook" and .cause == "ended"' | jq -r .subject | sort | xargs)" "eth0 eth1"
}

ns_add a
ns_add b
ns_add c
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
meet eth0 10.0.0.2
meet eth1 10.0.1.2
write_file
begin
renamed
moved
changed
robbed
two_at_once
judges db1 "in the end"
