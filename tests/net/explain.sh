#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Why is it suspected? The page of real beats, in text and in JSON, while the peer lives and after it has died.

. "$(dirname "$0")/pair.bash"

MODELS="normal akka exponential loss empirical"

# explain NAME [WORD...]: as JSON, into $page
explain() {
	page=$(kphi -j peer explain "$@")
}

# of FILTER: what it says of the page
of() {
	jq -r "$1" <<< "$page"
}

# holds NAME FILTER: true of the page
holds() {
	is "$1" "$(of "$2")" true
}

# Every model, in its order; each threshold crossed where its phi has come to it, and the times of one moment agree.
sound() {
	is "$1: every model" "$(of '[.models[].model] | join(" ")')" "$MODELS"
	is "$1: one is the peer's own" "$(of '[.models[] | select(.own) | .model] | join(" ")')" "$(peer_field x model)"
	is "$1: its phi is the peer's" "$(of '.models[] | select(.own) | .phi')" "$(of .phi)"
	is "$1: thresholds" "$(of '[.models[0].thresholds[].threshold] | join(" ")')" "$2"
	holds "$1: reached is phi at the threshold or above" \
		'[.models[] | .phi as $phi | .thresholds[] | .reached == ($phi >= .threshold)] | all'
	holds "$1: the silence that reaches it is what remains, and what was" '.silence_ns as $now |
		[.models[].thresholds[] | .silence_ns == $now + (.in_ns // -.ago_ns)] | all'
	holds "$1: a higher threshold comes later" \
		'[.models[].thresholds | map(.silence_ns) | . == sort] | all'
	holds "$1: time after the last beat has the stalls in it" '.stalled_ns as $stalled |
		[.models[].thresholds[] | .after_last_beat_ns - .silence_ns == $stalled] | all'
}

unheard() {
	kphi peer add x id "$(uuid 1)" interval 50ms > /dev/null
	kphi peer add y id "$(uuid 2)" > /dev/null
	explain x
	like "not heard yet" "$(of .summary)" "^x is waiting: no beat yet, for "
	is "not heard yet: no models" "$(of '.models | length')/$(of .phi)" 0/null
}

alive() {
	beat x 1 10.0.0.2 interval 50ms
	ok "beats arrive" eventually 20 beats_reach x 30
	explain x
	sound alive "1 3 5 8 12"
	like "alive: in words" "$(of .summary)" "^x has been silent for .* it beats every .* \(normal, pause 150ms\) that is phi"
	between "alive: the window is the peer's" "$(of .window.samples)" 20 1000
	is "alive: ten intervals" "$(of '.last | length')" 10
	is "alive: of a step each" "$(of '[.last[].steps] | unique | join(" ")')" 1
	is "alive: what is in force, and why" "$(of '[.settings[] | "\(.value_ns / 1000000) \(.from)"] | join(", ")')" \
		"50 configured, 5 interval / 10, 150 3 intervals, 500 10 intervals"
	is "alive: nothing lost" "$(of '"\(.losses.lost) \(.sequence.lost)"')" "0 0"
	between "alive: but the prior is no certainty" "$(of .losses.p)" 0.0009 0.1
}

# It is dead, so what is said of one silence does not change but for the time that passes.
dead() {
	local first

	stop x KILL
	ok "its silence is seen" eventually 20 state_is x suspect
	explain x threshold 8,0.5,100000
	sound dead "0.5 8 100000"
	like "dead: in words" "$(of .summary)" "Phi 8, where it is suspected, was reached .* ago"
	first=$(of '[.models[].thresholds[].silence_ns] | @json')
	explain x threshold 0.5,8,8,100000
	is "dead: crossings are where they were" "$(of '[.models[].thresholds[].silence_ns] | @json')" "$first"
	ok "dead: an exit status for scripts" test "$(kphi --exit-status peer explain x > /dev/null || echo $?)" = 3
}

# Bayes' rule by another program's arithmetic.
bayes() {
	explain x prior 0.01%
	is "prior: as it was given" "$(of .prior)" 0.0001
	holds "prior: P(failed | silent)" '[.models[] | .posterior - 0.0001 / (0.0001 + 0.9999 * pow(10; -.phi)) | fabs < 2e-6] | all'
	like "prior: what phi is not" "$(of .bayes)" "^Phi alone is not a failure probability"
	explain x
	is "no prior, no posterior" "$(of '"\(.prior) \([.models[].posterior] | unique | @json)"')" "null [null]"
}

# The same facts for people.
people() {
	local text

	text=$(kphi peer explain x prior 0.01)
	for model in $MODELS; do
		is "text: $model twice" "$(grep -c "^$model " <<< "$text")" 2
	done
	like "text: Bayes' warning" "$text" "Phi alone is not a failure probability"
	like "text: no ranking" "$text" "A threshold has meaning only with its model"
	is "text: 80 columns" "$(awk 'length > 80' <<< "$text")" ""
	text=$(kphi peer explain name y)
	like "text: of who was never heard" "$text" "^y is waiting"
	is "text: without tables" "$(grep -cE '^(MODEL|INTERVAL|SETTING) ' <<< "$text")" 0
}

# refused WORDS REGEX
refused() {
	local said status=0

	# shellcheck disable=SC2086 # several words
	said=$(kphi peer explain $1 2>&1) || status=$?
	like "refused: $1" "$status $said" "$2"
}

refusals() {
	refused "" "^2 .*a name"
	refused "z" "^1 .*z: there is no peer of that name"
	refused "x prior" "^2 "
	refused "x prior 0" "^2 .*prior: '0' must be above 0 and below 1"
	refused "x prior 100%" "^2 .*must be above 0 and below 1"
	refused "x prior often" "^2 .*prior: 'often' is no probability: write a decimal number such as 0.0001"
	refused "x prior 0.00000000001" "^2 .*has too many decimals"
	refused "x threshold 0" "^2 .*threshold: '0' must be above 0"
	refused "x threshold 1,,2" "^2 .*threshold: '1,,2' is no list"
	refused "x threshold 1," "^2 .*is no list"
	refused "x threshold high" "^2 .*threshold: 'high' is no phi"
	refused "x threshold 1,2,3,4,5,6,7" "^2 .*6 thresholds at once are the most"
	refused "x now" "^2 "
}

pair
unheard
alive
dead
bayes
people
refusals
