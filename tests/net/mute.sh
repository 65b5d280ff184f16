#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Maintenance: a muted peer is recorded but not judged, says so everywhere, and is judged again by itself.

. "$(dirname "$0")/pair.bash"

reason_of() {
	peer_field "$1" reason
}

not_muted() {
	[ "$(peer_field "$1" muted_until_ns)" = null ]
}

# The exit status is the verdict for scripts.
suspect_to_scripts() {
	local status=0

	kphi --exit-status peer show "$1" > /dev/null || status=$?
	[ $status = 3 ]
}

muted() {
	local beats

	kphi peer add x id "$(uuid 1)" interval 50ms > /dev/null
	beat x 1 10.0.0.2 interval 50ms
	ok "beats arrive" eventually 20 beats_reach x 20
	is "not muted: JSON says null" "$(peer_field x muted_until_ns)/$(peer_field x mute_reason)" null/null
	is "mute answers" "$(kphi -j peer mute x for 1h reason "new kernel: päckchen")" \
		'{"muted":"x","for_ns":3600000000000,"reason":"new kernel: päckchen"}'
	is "the reason is shown in JSON" "$(peer_field x mute_reason)" "new kernel: päckchen"
	between "and for how long" "$(peer_field x muted_for_ns)" 3500000000000 3600000000000
	like "and in words" "$(kphi peer show x)" "muted for another 1h00m: new kernel: päckchen"
	like "in the list, too" "$(kphi peer show)" "muted for another 1h00m"
	beats=$(peer_field x beats)
	ok "it is recorded all the same" eventually 20 beats_reach x $((beats + 10))
	stop x KILL
	ok "its silence is seen" eventually 20 state_is x suspect
	ok "but it is no verdict for scripts" ! suspect_to_scripts x
	kphi peer unmute x > /dev/null
	ok "unmuted: a verdict" suspect_to_scripts x
	is "unmuted: no reason is left" "$(peer_field x muted_until_ns)/$(peer_field x mute_reason)" null/null
}

ends_by_itself() {
	kphi peer mute x for 1s > /dev/null
	ok "muted without a reason" ! suspect_to_scripts x
	like "muted without a reason: words" "$(reason_of x)" "^muted for another [0-9.]+ms; silent"
	ok "it ends by itself" eventually 5 not_muted x
	ok "and the verdict is back" suspect_to_scripts x
	kphi peer mute x for 1h reason twice > /dev/null
	kphi peer mute x for 0 > /dev/null
	ok "for 0 ends it at once" not_muted x
	kphi peer mute x for 1h reason again > /dev/null
	kphi peer reset x > /dev/null
	is "a reset forgets the beats, not the maintenance" "$(peer_field x state)/$(peer_field x mute_reason)" waiting/again
}

# refused WORDS REGEX
refused() {
	local said status=0

	# shellcheck disable=SC2086 # several words
	said=$(kphi peer $1 2>&1) || status=$?
	like "refused: $1" "$status $said" "$2"
}

refusals() {
	refused "mute x" "^2 .*for"
	refused "mute y for 1m" "^1 .*y: there is no peer of that name"
	refused "mute x for 366d" "^2 "
	refused "mute x for 1m reason $(printf 'x%.0s' {1..48})" "^2 .*48 bytes are too many. It may have 47"
	refused "mute x for 1m reason $(printf 'a\001b')" "^2 .*byte 2 is a control character"
	refused "mute x for 1m reason $(printf 'ab\xff')" "^2 .*byte 3 is no UTF-8"
	refused "unmute x now" "^2 "
	ok "47 bytes are taken" kphi peer mute x for 1m reason "$(printf 'x%.0s' {1..47})"
	is "all of them" "$(peer_field x mute_reason | tr -d '\n' | wc -c)" 47
}

pair
muted
ends_by_itself
refusals
