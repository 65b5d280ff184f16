#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The guard without a daemon: ticks where beats are taken, real stalls, what they withhold, what all of it costs.

. "$(dirname "$0")/pair.bash"

CPU=$(($(nproc) - 1)) # takes the beats

guard() {
	kphi -j guard show | jq -c "$1"
}

# The softirq of a veth pair runs on the CPU of the sender.
beat_on_cpu() { # NAME N INTERVAL
	kphi peer add "$1" id "$(uuid "$2")" interval "$3" > /dev/null
	start "$1" in_ns a taskset -c $CPU "$KPHI" --pin "$KPHI_PIN" beat to 10.0.0.2 id "$(uuid "$2")" \
		state "$WORK/state-$2" interval "$3"
}

stall() { # MILLISECONDS
	taskset -c 0 "$TOOLS/stall" "$1" $CPU
}

before_beats() {
	ok "no store: no guard" ! kphi guard show
	kphi store create group nogroup > /dev/null
	pair
	is "no beats: nothing ticks" "$(guard '[.cpus, .cpus_ticking, .wakeups_per_second]')" '[[],0,0]'
	like "no beats: in words" "$(kphi guard show)" "cost of the ticks: none"
}

ticks() {
	local before

	beat_on_cpu fast 1 100ms
	beat_on_cpu slow 2 20s
	ok "beats arrive" eventually 20 beats_reach fast 20
	is "one CPU ticks" "$(guard '[.cpus_ticking, .wakeups_per_second, .cpus[0].cpu, .cpus[0].state]')" \
		"[1,100,$CPU,\"ticking\"]"
	is "it ticks at home" "$(guard '.cpus[0].migrated')" false
	like "the cost in words" "$(kphi guard show)" "100 wake-ups a second on each of 1 of [0-9]+ CPUs, none elsewhere"
	before=$(guard '.cpus[0].ticks')
	sleep 1
	between "a hundred in a second, or so" "$(guard ".cpus[0].ticks - $before")" 80 130
	is "no stall so far" "$(guard '[.stalls, .grace, .cpus[0].stalls]')" '[[],[],0]'
}

stalled() {
	local length

	stall 700
	kphi -j peer show > "$WORK/peers"
	kphi -j guard show > "$WORK/guard"
	length=$(jq '.stalls[0].length_ns' "$WORK/guard")
	is "one stall" "$(jq '.stalls | length' "$WORK/guard")" 1
	between "as long as it was" "$((length / 1000000))" 690 1500
	is "on that CPU" "$(jq '.stalls[0].cpu' "$WORK/guard")" "$CPU"
	between "just now" "$(jq '.stalls[0].ago_ns / 1000000' "$WORK/guard")" 0 1000
	is "the total is that one" "$(jq '.cpus[0].stalled_total_ns' "$WORK/guard")" "$length"
	is "the worst gap, too" "$(jq '.cpus[0].worst_gap_ns' "$WORK/guard")" "$length"
	is "a peer that beats every 20 s takes no notice" "$(jq '[.[] | select(.name == "slow")][0].grace_for_ns' "$WORK/peers")" null
	is "nobody is suspected" "$(jq '[.[] | select(.state == "suspect")] | length' "$WORK/peers")" 0
	like "in words: when, how long, where" "$(kphi guard show)" "STALL ENDED AGO +LENGTH +CPU"
	ok "beats go on" eventually 5 beats_reach fast $(($(peer_field fast beats) + 3))
	is "no grace after a beat" "$(guard .grace)" "[]"
	between "the stall was not learned" "$(($(peer_field fast mean_ns) / 1000000))" 95 105
	between "but noted" "$(peer_field fast unlearned)" 1 20
}

# A sender that dies during a stall: the stall is not held against it, its death is.
dies_in_a_stall() {
	local said=() state last=

	kill -STOP "$(pid_of fast)"
	stall 900
	for _ in {1..200}; do
		kphi -j peer show fast > "$WORK/peer"
		state=$(jq -r .state "$WORK/peer")
		[ "$state" = "$last" ] || said+=("$state")
		last=$state
		[ "$state" != held ] || cp "$WORK/peer" "$WORK/held"
		[ "$state" != suspect ] || break
		sleep 0.01
	done
	is "up, held, suspect" "${said[*]}" "up held suspect"
	like "held: because of the stall" "$(jq -r .reason "$WORK/held")" \
		"silent for .*; held for another [0-9.]+[mu]?s: this host stalled [0-9.]+m?s; not counted: this host stalled"
	between "held: for less than the stall" "$(jq '.grace_for_ns / 1000000' "$WORK/held")" 0 1000
	like "suspect: the stall is still not counted" "$(jq -r .reason "$WORK/peer")" "not counted: this host stalled"
	between "suspect: that much" "$(jq '.stalled_ns / 1000000' "$WORK/peer")" 890 1700
	kill -CONT "$(pid_of fast)"
	ok "it lives on: up" eventually 5 state_is fast up
}

blind() {
	is "from another namespace the carrier is not seen" "$(guard '.devices[0].state')" '"unknown"'
	is "from its own it is" "$(in_ns b kphi -j guard show | jq -c '.devices[0] | [.device, .blind, .state]')" \
		'["eth0",false,"hears"]'
	in_ns a ip link set eth0 down
	is "no carrier: blind" "$(in_ns b kphi -j guard show | jq -c '.devices[0] | [.blind, .cause, .reason]')" \
		'[true,"carrier","the device has no carrier"]'
	in_ns a ip link set eth0 up
}

# Members of the store's group may look at all but the links, which are root's.
readers() {
	local as=(setpriv --reuid 65534 --regid "$(getent group nogroup | cut -d: -f3)" --clear-groups)

	"${as[@]}" test -x "$KPHI" || { skip "group readers" "nobody may not run $KPHI" && return; }
	"${as[@]}" "$KPHI" --pin "$KPHI_PIN" -j guard show > "$WORK/guard"
	is "a reader of the group sees the ticks" "$(jq '.cpus[0].cpu' "$WORK/guard")" "$CPU"
	is "and what is withheld, but no devices" "$(jq -c '[.devices, .holds]' "$WORK/guard")" "[null,[]]"
	like "and is told why" "$(jq -r .devices_unknown "$WORK/guard")" "ermission denied"
	ok "a stranger sees nothing" ! setpriv --reuid 65534 --regid 65533 --clear-groups "$KPHI" --pin "$KPHI_PIN" guard show
}

detached() {
	in_ns b kphi net detach dev eth0 > /dev/null
	is "detached: nothing ticks" "$(guard '[.cpus_ticking, .cpus[0].state, .devices]')" '[0,"ended",[]]'
	sleep 0.3
	is "and nothing is taken for a stall" "$(guard '[.cpus[0].open_stall_ns, .cpus[0].stalls]')" '[0,2]'
}

before_beats
ticks
stalled
dies_in_a_stall
blind
readers
detached
