#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `store purge` leaves no trace: no pin, no map, no program, not even one that was replaced long ago. The kernel frees
# them a little later than asked. Other stores may live on this machine: only what belongs to this one is looked for.

. "$(dirname "$0")/pair.bash"

# programs: ids of all programs, attached or not, that use the store's records
programs() {
	bpftool -j prog show | jq --argjson map "$RECORDS" '.[] | select(.map_ids // [] | index($map)) | .id'
}

no_programs() {
	[ -z "$(programs)" ]
}

# maps: of those that the store had, the ids that are still there
maps() {
	bpftool -j map show | jq --argjson ids "$MAPS" '.[].id | select(. as $id | $ids | index($id))'
}

no_maps() {
	[ -z "$(maps)" ]
}

# What there is of a store that is in use, before it goes.
take_stock() {
	local programs

	RECORDS=$(bpftool -j map show pinned "$(echo "$KPHI_PIN"/abi-*/records)" | jq .id)
	programs=$(programs)
	MAPS=$(bpftool -j prog show | jq --argjson map "$RECORDS" '[.[] | .map_ids // [] | select(index($map))[]] | unique')
	between "$1: there are programs" "$(wc -w <<< "$programs")" 2 100
	between "$1: and maps" "$(jq length <<< "$MAPS")" 5 100
}

# nothing_left NAME
nothing_left() {
	ok "$1: no program is left" eventually 10 no_programs
	ok "$1: no map is left" eventually 10 no_maps
	is "$1: no pin is left" "$(find "$KPHI_PIN" -mindepth 1 ! -name '*.debug')" "" # those are the kernel's own
	is "$1: the device is free" "$(in_ns b ip -j link show dev eth0 | jq '.[0].xdp')" null
	ok "$1: and there is no store" ! kphi store show
}

upgrades() {
	local first

	take_stock "after an upgrade"
	first=$(programs)
	attach b eth0
	ok "after an upgrade: the replaced programs are freed" eventually 10 replaced "$first"
}

# replaced IDS: none of these programs is there any more, while others are
replaced() {
	! no_programs && ! programs | grep -qxF "$1"
}

under_fire() {
	local arrived

	beat x 1 10.0.0.2 interval 5ms
	eventually 20 beats_reach x 50
	take_stock "under fire"
	ok "under fire: purged" kphi store purge
	arrived=$(packets b eth0)
	nothing_left "under fire"
	ok "under fire: beats still reach the device" eventually 20 packets_reach $((arrived + 50))
	is "under fire: the sender lives" "$(running x && echo lives)" lives
}

packets_reach() {
	[ "$(packets b eth0)" -ge "$1" ]
}

# The next store begins empty: the sender that beats all the while is unknown to it.
afresh() {
	attach b eth0
	is "afresh: no peers" "$(kphi -j peer show)" "[]"
	ok "afresh: the old sender is unknown" eventually 20 unknown_arrive
	kphi peer add x id "$(uuid 1)" interval 5ms > /dev/null
	ok "afresh: until it is added" eventually 20 beats_reach x 20
	is "afresh: a peer from the middle of its life has lost nothing" "$(peer_field x lost)" 0
	stop x
	take_stock afresh
	ok "afresh: purged" kphi store purge
	nothing_left afresh
}

unknown_arrive() {
	[ "$(counter unknown_peer)" -gt 0 ]
}

pair
kphi peer add x id "$(uuid 1)" interval 5ms > /dev/null
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
attach b eth1 mode generic
upgrades
under_fire
is "the other device is free, too" "$(in_ns b ip -j link show dev eth1 | jq '.[0].xdp')" null
afresh
ok "there is nothing to purge twice" ! kphi store purge
