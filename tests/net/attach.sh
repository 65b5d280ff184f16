#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program on the devices: taken over by a newer one, refused, renamed, gone, in another namespace. Records are the
# store's, and outlive all of it.

. "$(dirname "$0")/pair.bash"

# of FILTER: from the reading of peer x in $WORK/peer
of() {
	jq -r ".$1" "$WORK/peer"
}

# An upgrade is an attach by another binary; by the same one it goes the same way.
again() {
	local program samples

	kphi peer add x id "$(uuid 1)" interval 10ms > /dev/null
	beat x 1 10.0.0.2 interval 10ms
	ok "beats arrive" eventually 20 beats_reach x 50
	program=$(device b eth0 program_id)
	samples=$(peer_field x samples)
	for _ in 1 2 3 4 5; do
		attach b eth0
		sleep 0.1
	done
	is "attached again: another program" "$([ "$(device b eth0 program_id)" != "$program" ] && echo another)" another
	is "attached again: on one link" "$(kphi -j net show | jq '.devices | length')" 1
	kphi -j peer show x > "$WORK/peer"
	is "attached again: not a beat is lost" "$(of lost)" 0
	is "attached again: each interval is in the window, or was this host's own stall" "$(of 'beats - .samples - .capped - .unlearned')" 1
	between "attached again: beats went on" "$(of "samples - $samples")" 20 100000
	is "attached again: it is the same life" "$(of restarts)" 0
	refused "another mode" "attached in native mode already.*net detach dev eth0" b eth0 mode generic
	is "after a refusal it listens as before" "$(device b eth0 mode)" native
}

# Beats that nobody listens to are lost, what was heard before is not.
detached() {
	local beats sent

	in_ns b kphi net detach dev eth0 > /dev/null
	is "detached: no device" "$(device b eth0 state)" gone
	is "detached: no port" "$(kphi -j net show | jq -c .native_ports)" "[]"
	kphi -j peer show x > "$WORK/peer"
	beats=$(of beats)
	sent=$(sent)
	ok "detached: beats are sent" eventually 20 sent_reach $((sent + 20))
	is "detached: and not heard" "$(peer_field x beats)" "$beats"
	attach b eth0
	ok "attached: heard again" eventually 20 beats_reach x $((beats + 20))
	is "attached: the same life" "$(peer_field x restarts)" 0
	between "attached: the gap is lost" "$(peer_field x lost)" 20 100000
	between "attached: the old window goes on" "$(peer_field x samples)" "$(of samples)" 100000
	ok "what is not attached cannot be detached" ! in_ns b kphi net detach dev lo
}

sent_reach() {
	[ "$(sent)" -ge "$1" ]
}

ifindex() {
	in_ns "$1" ip -j link show dev "$2" | jq '.[0].ifindex'
}

# Two namespaces with a device of the same name and number, one store.
namesakes() {
	ns_add c
	veth_pair a eth1 10.0.1.1/24 c eth0 10.0.1.2/24
	meet eth1 10.0.1.2
	is "the namesakes have one number" "$(ifindex b eth0)" "$(ifindex c eth0)"
	refused "a device of another namespace" "no such device in this network namespace" c eth7
	ok "its namesake is not there yet" ! in_ns c kphi net detach dev eth0
	attach c eth0
	is "both are shown" "$(in_ns b kphi -j net show | jq -c '[.devices[] | [.device, .same_netns]] | sort')" \
		'[["eth0",false],["eth0",true]]'
	kphi peer add c id "$(uuid 2)" interval 10ms > /dev/null
	beat c 2 10.0.1.2 interval 10ms
	ok "both hear: c" eventually 20 beats_reach c 20
	ok "both hear: b" eventually 20 beats_reach x $(($(peer_field x beats) + 20))
	in_ns c kphi net detach dev eth0 > /dev/null
	is "one is detached, seen from c" "$(device c eth0 state)" gone
	is "and not its namesake, seen from b" "$(device b eth0 state)" attached
	ok "which still hears" eventually 20 beats_reach x $(($(peer_field x beats) + 20))
	stop c
}

# rows DEV: of it in `net show`
rows() {
	kphi -j net show | jq --arg dev "$1" '[.devices[] | select(.device == $dev)] | length'
}

deleted() {
	local id

	veth_pair a eth2 10.0.2.1/24 b eth2 10.0.2.2/24
	attach b eth2
	id=$(device b eth2 ifindex)
	in_ns a ip link del eth2
	is "a deleted device is shown as gone" "$(device b eth2 state)" gone
	is "with the number it had" "$(device b eth2 ifindex)" "$id"
	veth_pair a eth2 10.0.2.1/24 b eth2 10.0.2.2/24
	attach b eth2
	is "a new one of that name can be attached" "$(device b eth2 state)" attached
	is "and takes the place of the old one" "$(rows eth2)" 1
	in_ns b kphi net detach dev eth2 > /dev/null
	is "and can be detached" "$(device b eth2 state)" gone
	is "which leaves no program on it" "$(in_ns b ip -j link show dev eth2 | jq '.[0].xdp')" null
}

# bpffs has no names with dots; people have devices with.
renamed() {
	in_ns b ip link set eth2 down
	in_ns b ip link set eth2 name e0.5
	in_ns b ip link set e0.5 up
	attach b e0.5
	is "a name with a dot" "$(device b e0.5 state)" attached
	attach b e0.5
	is "a name with a dot, again" "$(rows e0.5)" 1
	in_ns b ip link set e0.5 down
	in_ns b ip link set e0.5 name fresh
	is "renamed: shown by its present name" "$(device b fresh state)" attached
	in_ns b kphi net detach dev fresh > /dev/null
	is "renamed: detached by its present name" "$(device b fresh state),$(device b e0.5 state)" gone,gone
	in_ns b ip link del fresh
}

# Its program goes with a device into another namespace; kphi does not take itself for a stranger there.
moved() {
	veth_pair a eth3 10.0.3.1/24 b eth3 10.0.3.2/24
	attach b eth3
	in_ns b ip link set eth3 netns "${namespaces[c]}"
	refused "moved to another namespace" "kphi listens on it already, from another network namespace" c eth3
	in_ns b kphi net detach dev eth3 > /dev/null
	ok "moved: attached once it is detached where it was" attach c eth3
	in_ns c kphi net detach dev eth3 > /dev/null
}

no_such() {
	refused "a device that does not exist" "nowhere: there is no such device" b nowhere
	ok "nor can it be detached" ! in_ns b kphi net detach dev nowhere
	is "the others are as before" "$(kphi -j net show | jq '.devices | length')" 1
}

kphi store create peers 200 window 4096 > /dev/null # for as many beats as a busy machine takes to get on
pair
again
detached
namesakes
deleted
renamed
moved
no_such
stop x
