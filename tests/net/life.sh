#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The life of a peer as its observer sees it: beats, silence, another life, goodbye. The sender is `kphi beat`; how much
# it sent is counted by the kernel of its namespace.

. "$(dirname "$0")/pair.bash"

FOUR=10.0.0.2
SIX=$(v6 10.0.0.2)

# of FILTER: from the reading of a peer in $WORK/peer
of() {
	jq -r ".$1" "$WORK/peer"
}

both_beat() {
	kphi peer add four id "$(uuid 4)" interval 20ms > /dev/null
	kphi peer add six id "$(uuid 6)" interval 50ms > /dev/null
	is "a peer that was never heard is waiting" "$(peer_field four state)" waiting

	beat four 4 $FOUR interval 20ms
	beat six 6 "$SIX" interval 50ms
	ok "IPv4 beats arrive" eventually 20 beats_reach four 100
	ok "IPv6 beats arrive" eventually 20 beats_reach six 40
	as_it_should_be four 20000000
	as_it_should_be six 50000000
}

# as_it_should_be NAME INTERVAL_NS
as_it_should_be() {
	kphi -j peer show "$1" > "$WORK/peer"
	is "$1 is up" "$(of state)" up
	between "the mean of $1 is about its interval" "$(of mean_ns)" $(($2 * 9 / 10)) $(($2 * 3 / 2))
	between "its silence is not surprising" "$(of phi)" 0 7.9
	is "each interval is in the window, or was this host's own stall" "$(of 'beats - .samples - .capped - .unlearned')" 1
	is "no number is missing" "$(of lost)" 0
}

# A killed sender says nothing. From its last beat on, each reading foretells the same moment, and that is the moment.
killed() {
	local silence="map(select(.last_ns == (\$all | max_by(.last_ns).last_ns)))"

	look
	stop six KILL
	ok "a killed sender is suspected" eventually 20 state_is six suspect
	stop look
	readings six ". as \$all | $silence" > "$WORK/silence"
	between "readings foretold it" "$(jq 'map(select(.state == "up")) | length' "$WORK/silence")" 1 100000
	is "all of them the same silence" \
		"$(jq 'map(select(.state == "up").silence_ns + .suspect_in_ns) | unique | length' "$WORK/silence")" 1
	is "suspected from then on, and not before" "$(jq '(.[0].silence_ns + .[0].suspect_in_ns) as $foretold |
		all((.state == "suspect") == (.silence_ns >= $foretold))' "$WORK/silence")" true
	between "phi is then at least 8" "$(peer_field six phi)" 8 2147483648
	is "while the other is up" "$(peer_field four state)" up
}

restarted() {
	local before samples

	before=$(peer_field six epoch)
	samples=$(peer_field six samples)
	beat six 6 "$SIX" interval 50ms
	ok "a restarted sender is up" eventually 20 state_is six up
	kphi -j peer show six > "$WORK/peer"
	between "in a higher epoch" "$(of "epoch - $before")" 1 1000000
	is "that is one restart" "$(of restarts)" 1
	between "its window is a new one" "$(of samples)" 0 $((samples - 1))
	is "the other was not restarted" "$(peer_field four restarts)" 0
	is "no number of the new life is missing" "$(of lost)" 0
}

left() {
	stop four
	is "an orderly end has exit status 0" "$stopped" 0
	ok "and is a goodbye" eventually 5 state_is four left
	is "after which no silence is judged" "$(peer_field four phi)" null
	is "no number was missing to the end" "$(peer_field four lost)" 0
}

# Nobody sends any more: each datagram that left a was a beat, the goodbye, or a copy of the goodbye.
accounted() {
	local beats

	stop six KILL
	beats=$(kphi -j peer show | jq 'map(.beats) | add')
	is "each beat was counted" "$((beats + $(counter leave) + $(counter duplicate)))" "$(sent)"
	is "and nothing else was looked at" "$(outcomes)" "$(sent)"
	is "the goodbye once" "$(counter leave)" 1
}

watched_process() {
	start victim sleep 1000
	beat four 4 $FOUR interval 20ms watch-pid "$(pid_of victim)"
	ok "the sender of a watched process is up" eventually 20 state_is four up
	stop victim KILL
	ok "the death is told, not suspected" eventually 5 state_is four down
	ended four
}

kphi store create peers 200 window 4096 > /dev/null # for as many beats as a busy machine takes to get on
pair
both_beat
killed
restarted
left
accounted
watched_process
