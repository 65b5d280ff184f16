#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The machinery of `make duel`, in two short rows: nobody in trouble, and the observers frozen for a second. What counts there is judged
# by the wire; here, that deaths are found by everybody, that who reads late accuses, and that kphi does not. And that table and figure
# come of it.

# shellcheck source=tools/duel.d/scene.bash
. "$(dirname "$0")/../../tools/duel.d/scene.bash"
# shellcheck source=tools/duel.d/rows.bash
. "$(dirname "$0")/../../tools/duel.d/rows.bash"

WITH=(frr)
HEALTHY_S=2 KILLED_S=4 AFTER_S=1.5 DEATHS=1
PIN_FIFO=$WORK.pins # not in $WORK, which is removed while it is mounted
EVERYBODY=(kphi-fifo kphi kphi-bfd user-reads user-timers gc-reads gc-timers bfdd)

result() { # ROW DETECTOR FILTER
	jq ".rows[] | select(.row == \"$1\").detectors[\"$2\"] | $3" "$RAW/results.json"
}

# finds NAME...: in the two rows together, because on a busy machine a session of BFD may be down when its peer dies
finds() {
	local name few=""

	for name in "$@"; do
		[ "$(jq "[.rows[].detectors[\"$name\"].times | length] | add" "$RAW/results.json")" -ge 1 ] || few+=" $name"
	done
	is "the dead are found by everybody: $*" "$few" ""
}

# Who was not on time, by the wire, was suspected rightly: that, too, proves that somebody looked.
accuses() { # ROW DETECTOR
	between "$1: $2 suspects who is alive" "$(result "$1" "$2" '.false + .justified')" 1 1000
}

unpack frr || skip_all "a package could not be fetched, or there are no overlays here"
[ "$(nproc)" -ge 2 ] || skip_all "there is one CPU: a peer cannot be kept from the observer's trouble"
ok "the judge is right about made-up logs" python3 "$ROOT/tests/peers/duel_judge.py"
streams_of_duel
stage_duel
begin_duel
python3 "$DUEL/meta.py" begin "$RAW/meta.json"
ok "everybody is well" eventually 40 all_well
row idle sender
row frozen1 sender
python3 "$DUEL/meta.py" end "$RAW/meta.json"
end_duel
umount "$PIN_FIFO" && rmdir "$PIN_FIFO"
python3 "$DUEL/distill.py" "$RAW"
python3 "$DUEL/table.py" "$RAW" "$WORK/docs" > "$WORK/tables"
note "$(cat "$WORK/tables")"
is "there are two rows" "$(jq -r '[.rows[] | .row + " " + .napi] | join(", ")' "$RAW/results.json")" "idle sender, frozen1 sender"
finds "${EVERYBODY[@]}"
accuses frozen1 bfdd
accuses frozen1 user-timers
for name in kphi-fifo kphi kphi-bfd; do
	is "frozen1: $name suspects nobody who was on time" "$(result frozen1 "$name" .false)" 0
done
between "as many stamps can be compared" "$(jq '.rows[0].jitter.xdp | length' "$RAW/results.json")" 100 100000
like "the page has both tables" "$(grep -c '^| frozen 1 s |' "$WORK/docs/duel.md")" '^4$'
ok "the figure is well-formed" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$WORK/docs/duel.svg"
