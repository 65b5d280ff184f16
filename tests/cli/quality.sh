#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/bench quality says the same of every trace and every detector, in JSON. What it says is docs/quality.md's.

. "$(dirname "$0")/../net/lib.sh"

ok "it runs" sh -c "cd '$ROOT' && nice build/tools/bench quality_quick > '$WORK/lines' 2> '$WORK/tables'"
is "every line is a figure" "$(jq -r .bench "$WORK/lines" | sort -u | paste -sd ' ')" "quality quality_wanted"
jq -c 'select(.bench == "quality")' "$WORK/lines" > "$WORK/figures"
is "of 16 detectors" "$(jq -r .detector "$WORK/figures" | sort -u | wc -l)" 16
is "each on as many traces" "$(jq -r .detector "$WORK/figures" | sort | uniq -c | awk '{ print $1 }' | sort -u | wc -l)" 1
# akka-replay is tried with 40 parameters, up to 100,000, and there may be no mistake-free one among them.
is "no detector makes more mistakes than the rate allows" \
	"$(jq -s '[.[] | .beats as $n | .at_mistakes_per_beat[] |
		select(.mistakes > .rate * $n + 0.5 and .parameter < 100000)] | length' "$WORK/figures")" 0
is "some make as many" \
	"$(jq -s '[.[] | select(.trace == "all" and .set == "lossy" and .detector == "fixed") | .at_mistakes_per_beat[0] | .mistakes > 80] | any' "$WORK/figures")" true
is "fewer mistakes take longer" \
	"$(jq -s '[.[] | [.at_mistakes_per_beat[].detection_mean_intervals] | select(. != sort)] | length' "$WORK/figures")" 0
is "phi is exceeded less often the higher it is" \
	"$(jq -s '[.[] | .silences_beyond_phi_1_to_6 // empty | select(. != (sort | reverse))] | length' "$WORK/figures")" 0
like "the tables name the traces" "$(cat "$WORK/tables")" "loss 5 % x3, jitter large"
if compgen -G "$ROOT/build/traces/own-*.trace" > /dev/null; then
	like "and traces of our own" "$(cat "$WORK/tables")" "own: "
else
	like "and how to get traces of our own" "$(cat "$WORK/tables")" "there are no traces of our own.* tools/own-traces makes them"
fi
