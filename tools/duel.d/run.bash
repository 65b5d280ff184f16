#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.bash ROW...: a whole duel, in a room of its own. What it has measured is in $DUEL_RAW afterwards. For tools/duel.

# shellcheck source=tools/duel.d/scene.bash
. "$(dirname "$0")/scene.bash"
# shellcheck source=tools/duel.d/rows.bash
. "$(dirname "$0")/rows.bash"

RAW=$DUEL_RAW
HEALTHY_S=${FOR:-$HEALTHY_S}

tell() {
	printf '%s %s\n' "$(date +%T)" "$*" >&3
}

wanted=("$@")
tell "this takes about $(((60 + $(seconds_of "${wanted[@]}") + 59) / 60)) minutes: ${#wanted[@]} rows, each as it is and with threaded NAPI"
unpack frr bird2 keepalived serf || { tell "a package could not be fetched, or there are no overlays here" && exit 1; }
streams_of_duel
stage_duel
find_quota > "$RAW/no-quota" || tell "there will be no quota: $(cat "$RAW/no-quota")"
begin_duel
python3 "$DUEL/meta.py" begin "$RAW/meta.json"
ok "everybody is well" eventually 60 all_well
for name in "${wanted[@]}"; do
	[ "$name" != quota ] || [ ! -s "$RAW/no-quota" ] || continue
	for napi in sender thread; do
		tell "$name ($(row_words "$name")), packets taken in by $([ $napi = sender ] && echo "the sender's CPU" || echo "a thread on the starved core")"
		row "$name" $napi
	done
done
python3 "$DUEL/meta.py" end "$RAW/meta.json"
end_duel
