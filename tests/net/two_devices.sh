#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One sender, two cables: each beat counts once, whichever way it came first, and the second copy bends nothing.

. "$(dirname "$0")/pair.bash"

COUNT=60

# Every beat and the three copies of the goodbye left a once for each cable.
once() {
	is "$1: each beat is counted" "$(peer_field "$2" beats)" $COUNT
	is "$1: none is missing" "$(peer_field "$2" lost)" 0
	is "$1: all other copies are duplicates" "$(peer_field "$2" duplicates)" $((COUNT + 5))
	is "$1: it said goodbye" "$(peer_field "$2" state)" left
	is "$1: each interval is one between beats" \
		"$(($(peer_field "$2" samples) + $(peer_field "$2" capped) + $(peer_field "$2" unlearned)))" $((COUNT - 1))
	between "$1: the mean is about the interval" "$(peer_field "$2" mean_ns)" 45000000 75000000
}

two_cables() {
	kphi peer add plain id "$(uuid 1)" interval 50ms > /dev/null
	beat plain 1 10.0.0.2 10.0.1.2 interval 50ms count $COUNT
	ended plain
	once "two cables" plain
	is "two cables: all that was sent is accounted for" "$(outcomes)" "$(sent)"
}

# Always behind, never in order with the first: what comes 120 ms late came first by the other way.
one_is_slow() {
	bad_cable 2 delay 120ms
	kphi peer add slow id "$(uuid 2)" interval 50ms > /dev/null
	look
	beat slow 2 10.0.0.2 10.0.2.2 interval 50ms count $COUNT
	ended slow
	eventually 5 duplicates_reach slow $((COUNT + 5)) || true
	stop look
	never_suspect slow
	once "one cable is slow" slow
}

duplicates_reach() {
	[ "$(peer_field "$1" duplicates)" -ge "$2" ]
}

# A way that is gone is no loss while the other works.
one_is_cut() {
	kphi peer add cut id "$(uuid 3)" interval 50ms > /dev/null
	look
	beat cut 3 10.0.0.2 10.0.1.2 interval 50ms
	ok "one cable is cut: beats arrive" eventually 20 beats_reach cut 15
	in_ns a ip link set eth1 down
	ok "one cable is cut: and go on" eventually 20 beats_reach cut $(($(peer_field cut beats) + 30))
	stop look
	never_suspect cut
	stop cut
	is "one cable is cut: no beat is missing" "$(peer_field cut lost)" 0
}

pair
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
meet eth1 10.0.1.2
attach b eth1
two_cables
one_is_slow
one_is_cut
