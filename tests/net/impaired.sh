#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a bad cable does to the figures: as much as it does to the frames, by its own count, and no suspicion. Four cables
# at once, a sender on each. The seed decides the fate of the n-th frame; this one spares the first beat and the goodbye,
# whose loss nobody could notice.

. "$(dirname "$0")/pair.bash"

COUNT=120
INTERVAL_MS=50
SEED=1

# sender NAME N: beats through cable N, from the first to the goodbye
sender() {
	kphi peer add "$1" id "$(uuid "$2")" interval ${INTERVAL_MS}ms > /dev/null
	start "$1" in_ns a kphi -j beat to "10.0.$2.2" interval ${INTERVAL_MS}ms count $COUNT id "$(uuid "$2")" \
		state "$WORK/state-$2"
}

# finished NAME N
finished() {
	ended "$1"
	eventually 5 state_is "$1" left || true
	sleep 0.2 # copies of the goodbye may still be held back
	stop "cable$2"
	is "$1: all of it took the cable" "$(cable_count "$2" .matched)" $((COUNT + 3))
	is "$1: which lost nothing by accident" "$(cable_count "$2" '.refused + .overrun + .unsent')" 0
}

# The mean of a stream is the sender's, whatever happens on the way. A slot that the sender had to skip stretches it.
mean_is_kept() {
	local slots

	slots=$((COUNT - 1 + $(tail -n 1 "$(log_of "$1")" | jq .skipped)))
	between "$1: the mean is the sender's" "$(peer_field "$1" mean_ns)" \
		$((slots * INTERVAL_MS * 950000 / (COUNT - 1))) $((slots * INTERVAL_MS * 1050000 / (COUNT - 1)))
}

# heard NAME: beats, lost, reordered, duplicates
heard() {
	kphi -j peer show "$1" | jq -r '[.beats, .lost, .reordered, .duplicates] | join(" ")'
}

ns_add a
ns_add b
bad_cable 1 seed $SEED delay 30ms jitter 10ms
bad_cable 2 seed $SEED loss 10%
bad_cable 3 seed $SEED reorder 10% hold 120ms
bad_cable 4 seed $SEED duplicate 10%
look
sender delayed 1
sender lossy 2
sender reordered 3
sender doubled 4

finished delayed 1
finished lossy 2
finished reordered 3
finished doubled 4
stop look

never_suspect delayed
is "delayed: nothing but the two copies of the goodbye beside the beats" "$(heard delayed)" "$COUNT 0 0 2"
mean_is_kept delayed

lost=$(cable_count 2 .lost)
never_suspect lossy
between "lossy: the cable loses about a tenth" "$lost" 5 30
is "lossy: just as many are lost" "$(heard lossy)" "$((COUNT - lost)) $lost 0 2"

late=$(cable_count 3 .reordered)
never_suspect reordered
between "reordered: the cable makes some late" "$late" 3 30
is "reordered: just as many are reordered, and none is lost" "$(heard reordered)" "$((COUNT - late)) 0 $late 2"

twice=$(cable_count 4 .duplicated)
never_suspect doubled
between "doubled: the cable repeats about a tenth" "$twice" 5 30
is "doubled: just as many are duplicates" "$(heard doubled)" "$COUNT 0 0 $((twice + 2))"
mean_is_kept doubled
