#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi trace replay and calibrate, on traces whose truth is known: what they say as text and as JSON, that a seed repeats a
# run, that damage is told, and that the YAML is taken by `kphi run`.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

cd "$WORK"

# Two peers that beat every 100 ms for 200 s: a steadily, b with a pause of 900 ms after every 500 beats.
awk 'BEGIN {
	print "peer,arrival_ns,sequence"
	for (i = 0; i < 2000; i++) {
		printf "a,%.0f,%d\n", 1e9 + i * 1e8, i
		if (i && i % 500 == 0) late += 8e8
		printf "b,%.0f,%d\n", 1e9 + i * 1e8 + late + 1e6, i
	}
}' | sort -t, -k2,2n > two.csv
kphi trace convert two.csv two.trace from csv to trace interval 100ms > /dev/null

# figure JQ WORD...: a figure of a replay
figure() {
	kphi -j trace replay two.trace "${@:2}" | jq -r "$1"
}

# --- replay

is "every arrival is replayed" "$(figure '[.arrivals, .peers, .lost] | @text')" "[4000,2,0]"
is "the three pauses are mistakes at phi 8" "$(figure '.all[0] | [.detector, .threshold, .mistakes, .intervals] | @text' model normal)" '["normal",8,3,3998]'
is "they are b's" "$(figure '[.each[] | "\(.peer) \(.mistakes)"] | join(", ")' model normal)" "a 0, b 3"
is "the peer's own model is named" "$(figure '[.all[0].detector, .each[0].detector] | @text')" '["own","normal"]'
is "a timeout of 500 ms has suspected for 400 each time" \
	"$(figure '.all[0] | [.parameter_ns, .mistakes, .mistaken_ns, .mistake_duration_ns, .mistake_duration_max_ns] | @text' detector fixed:500ms)" \
	"[500000000,3,1200000000,400000000,400000000]"
is "one of 900 ms is exactly long enough" "$(figure '.all[0].mistakes' detector fixed:900ms)" 0
is "detection ends with the timeout" "$(figure '.all[0] | .detection_max_ns <= 500000000 and .detection_p50_ns >= 400000000' detector fixed:500ms)" true
is "no mistakes, no times between them" "$(figure '.all[0] | [.mistake_recurrence_ns, .query_accuracy] | @text' detector fixed:2s)" "[null,1]"
is "no crashes, no detection" "$(figure '.all[0] | [.crashes, .detection_p50_ns] | @text' crashes 0)" "[0,null]"
is "one peer alone" "$(figure '[.peers, .all[0].mistakes] | @text' peer a detector bfd)" "[1,0]"
is "models, thresholds and yardsticks together" \
	"$(figure '[.all[] | .detector] | unique | length' model normal,akka,exponential threshold 1,8 detector fixed:1s,bfd:3:5,jacobson,chen:50ms,bertier,2w:50ms,akka-replay,akka-port,cassandra)" 12
is "the records are told" "$(figure '[.records[] | "\(.peer) \(.beats) \(.samples) \(.mean_ns)"] | join(", ")')" \
	"a 2000 1000 100000000, b 2000 1000 101600000"
kphi -j trace replay two.trace seed 3 > first
kphi -j trace replay two.trace seed 3 > again
kphi -j trace replay two.trace seed 4 > other
ok "the same seed, the same crashes" cmp -s first again
ok "another seed, others" ! cmp -s first other
kphi trace replay two.trace model normal,akka > text
like "text has the table" "$(cat text)" "DETECTOR +AT +MISTAKES"
like "and one of the peers" "$(cat text)" "b +normal +8.000 +3"

# --- calibrate

kphi -j trace calibrate two.trace consumer router max-detect 600ms consumer pager max-false 1/year > calibrated 2> warned
is "a choice for each" "$(jq -r '[.choices[] | select(.chosen) | .consumer] | join(", ")' calibrated)" "router, pager"
is "one model for all" "$(jq -r '[.choices[] | select(.chosen) | .model] | unique | length' calibrated)" 1
is "it meets its bounds" \
	"$(jq -r '[.choices[] | select(.chosen) | if .consumer == "router" then .qos.detection_max_ns <= 600e6 else .qos.mistakes == 0 end] | all' calibrated)" true
is "the curves of models fall" "$(jq -r '[.curves[] | select(.model) | .points | [.[].mistakes] | . == (sort | reverse)] | all' calibrated)" true
is "yardsticks have theirs" "$(jq -r '[.choices[] | select(.consumer == "pager") | .detector // empty] | join(" ")' calibrated)" \
	"fixed bfd jacobson chen bertier 2w akka-replay akka-port cassandra"
is "models that have a pause are tried with several" "$(jq -r '[.curves[] | select(.model == "normal") | .pause_intervals] | unique | join(" ")' calibrated)" "0 1 2 3"
like "200 s prove no year" "$(cat warned)" "pager.*too little to show"

printf 'devices: [{name: lo}]\npeers: [{name: a, id: 6d7f3a52-90c4-4a55-8f0e-2f1f8a4b7c10}]\n' > kphi.yaml
jq -r .yaml calibrated >> kphi.yaml
ok "kphi run takes the YAML" kphi run config kphi.yaml check
# Settings of a peer are in its remarks, because peers are listed elsewhere in the file.
kphi -j trace calibrate two.trace model normal consumer router max-detect 600ms > tuned
jq -r .yaml tuned | sed -n '/^# in each entry/,/^consumers/s/^#   //p' > settings
is "they are those of the choice" "$(paste -s -d ' ' settings)" \
	"$(jq -r '.choices[] | select(.chosen) | "model: normal pause: \(.pause_intervals * 100)ms min_std: \(.min_std_intervals * 100)ms"' tuned)"
sed "/^peers/s/}\\]/, $(paste -s -d , settings | sed 's/,/, /g')}]/" kphi.yaml > settled.yaml
ok "and taken too" kphi run config settled.yaml check
# The witness: what is no YAML of kphi's is refused.
sed 's/suspect:/suspects:/' kphi.yaml > bad.yaml
ok "and would not take anything" ! kphi run config bad.yaml check
got=0
kphi trace calibrate two.trace consumer rash max-detect 1ms > said 2> why || got=$?
is "a bound that nothing meets is a failure" "$got" 1
like "and is said" "$(cat why)" "consumer 'rash': no threshold of .* meets"

# --- what cannot be replayed

cp two.trace whole.trace
refused() {
	local got=0

	kphi trace "${@:3}" > out 2> why || got=$?
	is "$1: ${*:3}" "$got $(grep -c '' why) $(grep -cF -- "$2" why)" "$(($1)) 1 1"
}

awk 'BEGIN { for (i = 0; i < 50000; i++) printf "a,%.0f,%d\n", 1e9 + i * 1e8, i }' > long.csv
kphi trace convert long.csv long.trace from csv to trace interval 100ms > /dev/null
truncate -s -100 long.trace
is "a torn tail is told" "$(kphi -j trace replay long.trace | jq '.torn_bytes > 0 and .arrivals > 1000 and .arrivals < 50000')" true
truncate -s -100 two.trace
refused 1 "is a torn block" replay two.trace
mv whole.trace two.trace
refused 1 "cannot be read" replay nowhere
refused 1 "it is no trace" replay two.csv
refused 1 "it is no trace" calibrate two.csv
refused 1 "no arrival of 'c'" replay two.trace peer c
refused 2 "a file is missing" replay
refused 2 "needs its alpha" replay two.trace detector chen
refused 2 "'nfd' is unknown" replay two.trace detector nfd:3
refused 2 "is no number" replay two.trace detector bfd:three
refused 2 "is no list" replay two.trace threshold 8,,9
refused 2 "must be above 0" replay two.trace threshold 0
refused 2 "'bell' is unknown" replay two.trace model bell
refused 2 "is no rate" calibrate two.trace consumer a max-false often
refused 2 "\`consumer NAME\` comes first" calibrate two.trace max-false 1/day
refused 2 "a name is missing" calibrate two.trace consumer
