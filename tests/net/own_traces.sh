#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/own-traces in short: each of its traces can be read, replayed and judged, and what it cannot do it says.

. "$(dirname "$0")/lib.sh"

# Its own room, its own namespaces.
own() {
	env -u KPHI_PIN "$ROOT/tools/own-traces" "$@"
}

# field FILE FILTER
field() {
	kphi -j trace show "$1" | jq -c "$2"
}

exits "no number" 2 "--seconds takes a whole number" own --seconds x "$WORK/none"
exits "no such word" 2 "'--second' is unknown" own --second
exits "two folders" 2 "there is one DIR" own "$WORK/a" "$WORK/b"
ok "it runs" own --seconds 3 "$WORK/traces"
expected=(burst2-0.1 burst2-1 burst3-1 burst3-5 clean clean-100ms gc gc-1 jitter jitter-1 loss-0.1 loss-1 loss-5)
type -P stress-ng > /dev/null && expected+=(stress stress-1 stress-20ms stress-burst)
is "a trace of each path" "$(ls "$WORK/traces")" "$(printf 'own-%s.trace\n' "${expected[@]}" | sort)"
for name in "${expected[@]}"; do
	file=$WORK/traces/own-$name.trace
	is "$name: whole, and of one peer" "$(field "$file" '[.ended, .torn_bytes, .peers[].peer]')" "[true,0,\"$name\"]"
	between "$name: as much as came" "$(field "$file" .arrivals)" 1 400
	ok "$name: it replays" kphi -j trace replay "$file"
done
