#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Which life of a sender is believed: never an older one, none from the far future, any after a reset.

. "$(dirname "$0")/pair.bash"

COUNT=20
NOW=$EPOCHSECONDS

# life EPOCH: beats 1 to COUNT of it
life() {
	python3 "$ROOT/tests/net/frame.py" "$(uuid 1)" "$1" 10.0.0.1 10.0.0.2 $COUNT > "$WORK/frames"
	in_ns a "$TOOLS/rawsend" eth0 every 10ms < "$WORK/frames"
}

# heard: epoch, beats, restarts, stale
heard() {
	kphi -j peer show x | jq -r '[.epoch, .beats, .restarts, .stale] | join(" ")'
}

pair
kphi peer add x id "$(uuid 1)" interval 10ms > /dev/null
life "$NOW"
is "a life" "$(heard)" "$NOW $COUNT 0 0"
between "has its window" "$(kphi -j peer show x | jq '.samples + .capped + .unlearned')" $((COUNT - 1)) $((COUNT - 1))

life $((NOW - 1))
is "an older one is not believed" "$(heard)" "$NOW $COUNT 0 $COUNT"
is "but counted" "$(counter stale_epoch)" $COUNT
ok "it does not speak for the peer" eventually 10 state_is x suspect
like "and the way out is told" "$(peer_field x reason)" "older epoch.*peer reset"

life $((NOW + 2 * 86400))
is "one from the far future is not believed" "$(heard)" "$NOW $COUNT 0 $COUNT"
is "but counted" "$(counter future_epoch)" $COUNT

life $((NOW + 10))
is "a newer one begins with an empty window" "$(heard) $(peer_field x samples)" \
	"$((NOW + 10)) $((2 * COUNT)) 1 $COUNT $((COUNT - 1 - $(peer_field x capped)))"

kphi peer reset x > /dev/null
is "reset: waiting" "$(peer_field x state)" waiting
life $((NOW - 1))
is "reset: an older life is accepted" "$(heard)" "$((NOW - 1)) $COUNT 0 0"
