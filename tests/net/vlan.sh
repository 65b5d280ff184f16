#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Beats behind VLAN tags. The frames are written byte by byte, because a kernel without VLAN devices sends none; that
# makes them a second opinion on the wire format as well.

. "$(dirname "$0")/pair.bash"

COUNT=30

# tagged NAME N SOURCE TARGET [TAG...]: sender N's frames, and what the observer makes of them. If this machine stalled
# meanwhile, which kphi tells, they are sent once more.
tagged() {
	local name=$1 id try

	id=$(uuid "$2")
	kphi peer add "$name" id "$id" interval 10ms > /dev/null
	python3 "$ROOT/tests/net/frame.py" "$id" $EPOCHSECONDS "$3" "$4" $COUNT "${@:5}" > "$WORK/frames"
	for try in 1 2 3; do
		in_ns a chrt -f 20 "$TOOLS/rawsend" eth0 every 10ms < "$WORK/frames"
		[ "$(peer_field "$name" capped)$(peer_field "$name" unlearned)" != 00 ] || break
		[ "$try" = 3 ] || kphi peer reset "$name" > /dev/null
	done
	is "$name: each frame is a beat" "$(peer_field "$name" beats)" $COUNT
	is "$name: none is missing" "$(peer_field "$name" lost)" 0
	between "$name: the mean is about the interval" "$(peer_field "$name" mean_ns)" 7000000 20000000
	is "$name: fields behind the identity are where they should be" "$(peer_field "$name" available_capacity)" 0.75
}

# Three tags are more than anyone should send: not recognized, not harmful.
too_many() {
	local looked arrived

	looked=$(outcomes)
	arrived=$(packets b eth0)
	python3 "$ROOT/tests/net/frame.py" "$(uuid 1)" $EPOCHSECONDS 10.0.0.1 10.0.0.2 $COUNT 88a8:7 8100:6 8100:5 \
		> "$WORK/frames"
	in_ns a "$TOOLS/rawsend" eth0 < "$WORK/frames"
	between "three tags: the frames arrive" $(($(packets b eth0) - arrived)) $COUNT 10000
	is "three tags: none of ours" "$(outcomes)" "$looked"
}

pair
tagged untagged 1 10.0.0.1 10.0.0.2
tagged 802.1Q 2 10.0.0.1 10.0.0.2 8100:5
tagged QinQ 3 10.0.0.1 10.0.0.2 88a8:7 8100:5
tagged "QinQ as it was before 802.1ad" 4 10.0.0.1 10.0.0.2 8100:7 8100:4095
tagged "IPv6 in QinQ" 5 fd00::1 fd00::2 88a8:7 8100:5
too_many
in_ns b kphi net detach dev eth0 > /dev/null
attach b eth0 mode generic
tagged "802.1Q, generic XDP" 6 10.0.0.1 10.0.0.2 8100:5
tagged "QinQ, generic XDP" 7 10.0.0.1 10.0.0.2 88a8:7 8100:5
