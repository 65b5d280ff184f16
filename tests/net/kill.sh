#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kill -9 of kphi processes of every kind at random moments, while beats arrive: nothing that was heard is lost, and the
# next command finds everything in order.

. "$(dirname "$0")/pair.bash"

ROUNDS=60
RANDOM=7 # the seed
killed=0

# Peers 100 to 109 come and go, peer 110 restarts, eth1 is attached and detached, eth0 gets new programs.
something() {
	local n=$((100 + RANDOM % 10))

	case $((RANDOM % 10)) in
	0 | 1) victim 25 in_ns b kphi net attach dev eth0 ;;
	2) victim 25 in_ns b kphi net attach dev eth1 ;;
	3) victim 25 in_ns b kphi net detach dev eth1 ;;
	4) victim 25 kphi peer add "k$n" id "$(uuid $n)" interval 10ms ;;
	5) victim 25 kphi peer del "k$n" ;;
	6) victim 25 kphi peer reset restless ;;
	7) victim 25 kphi -j peer show ;;
	8) victim 25 kphi peer window x ;;
	9) victim 25 in_ns a kphi beat to 10.0.0.2 interval 2ms id "$(uuid 110)" state "$WORK/state-110" ;;
	esac
}

watched_all_the_time() {
	kphi peer add x id "$(uuid 1)" interval 10ms > /dev/null
	kphi peer add restless id "$(uuid 110)" interval 10ms > /dev/null
	start x in_ns a kphi -j beat to 10.0.0.2 interval 10ms id "$(uuid 1)" state "$WORK/state-1"
	eventually 20 beats_reach x 10
	for ((round = 0; round < ROUNDS; round++)); do
		something
	done
	stop x
	between "processes killed at work" $killed $((ROUNDS / 4)) $ROUNDS

	kphi -j peer show x > "$WORK/peer"
	is "each beat was counted" "$(jq .beats "$WORK/peer")" "$(tail -n 1 "$(log_of x)" | jq .sent)"
	is "none is lost" "$(jq .lost "$WORK/peer")" 0
	is "it was one life" "$(jq .restarts "$WORK/peer")" 0
	is "each interval is in the window, or was this host's own stall" "$(jq '.beats - .samples - .capped - .unlearned' "$WORK/peer")" 1
	is "whatever anybody sent was looked at" "$(outcomes)" "$(sent)"
}

# Whoever is killed leaves nothing that stands in the way.
in_order() {
	ok "attaching works" attach b eth0
	ok "for the other device, too" attach b eth1
	is "each device is there once" "$(kphi -j net show | jq -c '[.devices[].device] | sort')" '["eth0","eth1"]'
	is "each peer is there once" "$(kphi -j peer show | jq '[.[].name] | length == (unique | length)')" true
	ok "a peer can be added" kphi peer add last id "$(uuid 111)"
	ok "and deleted" kphi peer del last
}

# A store is there as a whole or not at all.
half_made() {
	local elsewhere=$KPHI_PIN/elsewhere whole=0 none=0

	killed=0
	for ((round = 0; round < 20; round++)); do
		victim 25 "$KPHI" --pin "$elsewhere" store create
		if "$KPHI" --pin "$elsewhere" -j store show > "$WORK/store" 2>&1; then
			whole=$((whole + 1))
			"$KPHI" --pin "$elsewhere" store purge > /dev/null
		elif grep -q 'there is no store' "$WORK/store"; then
			none=$((none + 1))
		fi
	done
	note "$killed makers of a store were killed: $whole stores, $none times none"
	is "a store is there as a whole or not at all" $((whole + none)) 20
	ok "and can be made after that" "$KPHI" --pin "$elsewhere" store create
	ok "and used" "$KPHI" --pin "$elsewhere" peer add first id "$(uuid 1)"
}

kphi store create peers 200 window 4096 > /dev/null # for as many beats as a busy machine takes to get on
pair
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
watched_all_the_time
in_order
half_made
