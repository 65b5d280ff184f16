#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Devices on different hooks under one store: exchanged together while they all hear, vanished and returned under a daemon,
# moved, purged; and a store of another layout, replaced by the commands that kphi names.

. "$(dirname "$0")/pair.bash"

DEVICES=(n0 t0 g0 m0)
declare -A MODE=([n0]=native [t0]=tc [g0]=generic [m0]=auto)
declare -A COMES_TO=([n0]="xdp native" [t0]="tcx tc" [g0]="xdp generic" [m0]="tcx tc") # hook and mode
declare -A ADDRESS=([n0]=10.0.1.2 [t0]=10.0.2.2 [g0]=10.0.3.2 [m0]=10.0.4.2)

# cable DEV: m0 is a macvlan, which has no native XDP, on a cable of its own
cable() {
	local below=$1

	[ "$1" != m0 ] || below=below
	veth_pair a "$1" "${ADDRESS[$1]%.2}.1/24" b "$below" -
	if [ "$1" = m0 ]; then
		in_ns b ip link add m0 link below type macvlan mode bridge
	else
		in_ns b sh -c "echo 0 > /proc/sys/net/ipv6/conf/$1/disable_ipv6"
	fi
	addr_add b "$1" "${ADDRESS[$1]}/24"
}

# uncable DEV
uncable() {
	in_ns a ip link del "$1"
}

# everywhere COMMAND...: with each device
everywhere() {
	local dev

	for dev in "${DEVICES[@]}"; do
		"$@" "$dev"
	done
}

# is_on DEV
is_on() {
	[ "$(device b "$1" hook) $(device b "$1" mode) $(device b "$1" state)" = "${COMES_TO[$1]} attached" ]
}

begin() {
	local dev=$1

	cable "$dev"
	meet "$dev" "${ADDRESS[$dev]}"
	attach b "$dev" mode "${MODE[$dev]}"
	ok "$dev: mode ${MODE[$dev]} comes to ${COMES_TO[$dev]}" is_on "$dev"
	kphi peer add "$dev" id "$(uuid $((${#dev} + $(printf %d "'$dev"))))" interval 20ms > /dev/null
	beat "$dev" $((${#dev} + $(printf %d "'$dev"))) "${ADDRESS[$dev]}" interval 20ms
	ok "$dev: beats arrive" eventually 20 beats_reach "$dev" 20
	in_ns b kphi peer add "rule-$dev" proto udp from "${ADDRESS[$dev]%.2}.1" port 5000 dev "$dev" > /dev/null
	by_rule "$dev"
}

# by_rule DEV: datagrams for the rule that names the device are heard
by_rule() {
	local beats

	beats=$(peer_field "rule-$1" beats)
	in_ns a bash -c "for n in 1 2 3; do echo beat > /dev/udp/${ADDRESS[$1]}/5000; done"
	is "$1: a rule that names it hears" $(($(peer_field "rule-$1" beats) - beats)) 3
}

# One attach puts new programs on all of them.
exchanged() {
	local before after

	before=$(kphi -j net show | jq -c '[.devices[].program_id] | unique')
	attach b t0
	after=$(kphi -j net show | jq -c '[.devices[].program_id] | unique')
	is "one load has a program for XDP and one for tc" "$(jq length <<< "$after")" 2
	is "and no former one is left" "$(jq -n "$before - ($before - $after) | length")" 0
	for _ in 1 2 3; do
		attach b n0
		attach b m0
	done
	everywhere unbroken
}

# unbroken DEV: no beat of it is lost, and each interval is in the window
unbroken() {
	ok "$1: beats go on" eventually 20 beats_reach "$1" $(($(peer_field "$1" beats) + 10))
	kphi -j peer show "$1" > "$WORK/peer"
	is "$1: none was lost" "$(jq .lost "$WORK/peer")" 0
	is "$1: nor its interval" "$(jq '.beats - .samples - .capped - .unlearned' "$WORK/peer")" 1
	ok "$1: on the same hook" is_on "$1"
}

# The daemon attaches what comes back, to the rung it had by the wish it had.
returned() {
	printf 'devices: [{name: n0}]\nstate: %s/state\noutputs: {socket: %s/socket}\n' "$WORK" "$WORK" > "$WORK/kphi.yaml"
	start daemon in_ns b kphi run config "$WORK/kphi.yaml"
	ok "kphi run watches" eventually 10 grep -q '"type":"config"' "$(log_of daemon)"
	everywhere vanished
	everywhere returns
	stop daemon
}

vanished() {
	uncable "$1"
	ok "$1: that it vanished is told" eventually 10 grep -q "\"type\":\"hook\".*\"$1\"" "$(log_of daemon)"
}

returns() {
	local beats

	cable "$1"
	ok "$1: back on its hook" eventually 30 is_on "$1"
	beats=$(peer_field "$1" beats)
	ok "$1: and heard" eventually 20 beats_reach "$1" $((beats + 10))
	by_rule "$1"
	is "$1: once" "$(in_ns b kphi -j net show | jq "[.devices[] | select(.device == \"$1\")] | length")" 1
}

# A TCX link goes with its device, too, and a second one there would count each packet twice.
moved() {
	ns_add c
	in_ns b ip link set t0 netns "${namespaces[c]}"
	refused "a device that brought its link along" "kphi listens on it already, from another network namespace" c t0 mode tc
	in_ns b kphi net detach dev t0 > /dev/null
	ok "attached once it is detached where it was" attach c t0 mode tc
}

programs() {
	bpftool -j prog show | jq --argjson map "$1" '[.[] | select(.map_ids // [] | index($map))] | length'
}

none_left() {
	[ "$(programs "$1")" = 0 ]
}

purged() {
	local records

	records=$(bpftool -j map show pinned "$(echo "$KPHI_PIN"/abi-*/records)" | jq .id)
	between "programs of this store" "$(programs "$records")" 3 100
	kphi store purge > /dev/null
	ok "purge leaves none, on whatever hook" eventually 10 none_left "$records"
}

# As if a kphi of another layout had made it: the commands are those of its own sentence.
another_abi() {
	local abi said

	attach b n0
	kphi peer add kept id "$(uuid 1)" interval 20ms > /dev/null
	kphi store save "$WORK/saved" > /dev/null
	abi=$(basename "$KPHI_PIN"/abi-*)
	mv "$KPHI_PIN/$abi" "$KPHI_PIN/abi-00000000"
	said=$(kphi peer show 2>&1 || true)
	like "a reader is told the way" "$said" 'ABI 00000000, this kphi '"${abi#abi-}"'.*store save FILE.*store purge abi 00000000.*store restore FILE'
	refused "attaching beside it" "does not touch maps of another layout.*store restore FILE" b n0
	between "its program listens on" "$(in_ns b ip -j link show dev n0 | jq '.[0].xdp.prog.id')" 1 1000000000
	kphi store purge abi 00000000 > /dev/null
	is "until it is purged" "$(in_ns b ip -j link show dev n0 | jq '.[0].xdp')" null
	kphi store restore "$WORK/saved" > /dev/null
	attach b n0
	is "its peers are there" "$(peer_field kept interval_ns)" 20000000
	beat kept 1 10.0.1.2 interval 20ms
	ok "and heard" eventually 20 beats_reach kept 10
	stop kept
}

kphi store create peers 200 window 4096 > /dev/null # for as many beats as a busy machine takes to get on
ns_add a
ns_add b
everywhere begin
exchanged
returned
everywhere stop
moved
purged
another_abi
