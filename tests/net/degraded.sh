#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Gray failure: a sender that beats in time and whose own health check fails, or hangs. Its beats say so and are as
# punctual as before.

. "$(dirname "$0")/pair.bash"

SICK=$WORK/sick

# checked NAME N COMMAND EVERY FAILS
checked() {
	kphi peer add "$1" id "$(uuid "$2")" interval 50ms > /dev/null
	start "$1" in_ns a kphi -j beat to 10.0.0.2 id "$(uuid "$2")" state "$WORK/state-$2" interval 50ms \
		check "$3" every "$4" fails "$5"
}

# The summary is the last line of the log; what was said before went to stderr.
summary() {
	tail -n 1 "$(log_of "$1")" | jq -c "$2"
}

worst_stall_ms() {
	kphi -j guard show | jq '[.. | .worst_gap_ns? // 0] | max / 1e6 | round'
}

says() { # NAME REGEX
	grep -qE "$2" "$(log_of "$1")"
}

failing() {
	local before

	checked x 1 "test ! -e $SICK" 100ms 3
	ok "healthy: up" eventually 10 state_is x up
	ok "healthy: many beats" eventually 10 beats_reach x 20
	is "healthy: not degraded" "$(peer_field x degraded)" false
	touch "$SICK"
	ok "it fails: degraded" eventually 10 state_is x degraded
	is "in JSON" "$(peer_field x degraded)" true
	like "the reason" "$(peer_field x reason)" "its own health check fails"
	like "in words" "$(kphi peer show x)" "degraded: yes"
	ok "the sender says so, once" eventually 5 says x "health check has failed \(exit status 1\): the beats say degraded"
	before=$(peer_field x beats)
	ok "it beats on" eventually 5 beats_reach x $((before + 20))
	rm "$SICK"
	ok "one success: up" eventually 5 state_is x up
	ok "the sender says so, too" eventually 5 says x "has succeeded: the beats do not say degraded any more"
	stop x
	is "two lines in all" "$(grep -c 'health check' "$(log_of x)")" 2
	between "failed so often" "$(summary x .checks_failed)" 3 1000
	is "at the end it was healthy" "$(summary x '[.degraded, .last_check]')" '[false,"success"]'
}

# A check that never ends is killed, with all it has started, and is a failure.
hanging() {
	local lost

	checked y 2 "sleep 4711 & sleep 4711" 300ms 2
	ok "it hangs: degraded" eventually 10 state_is y degraded
	ok "the sender says why" eventually 5 says y "no answer within 300ms"
	between "at most one of it is left" "$(sleepers)" 0 2
	lost=$(peer_field y lost)
	stop y
	is "no beat was lost" "$lost" 0
	is "it went with a goodbye" "$(peer_field y state)" left
	ok "and nothing of it is left" eventually 5 no_sleeper
	between "no beat was late, but for stalls of this host (ms)" "$(summary y '.delay_max_ns / 1000000')" 0 $((20 + $(worst_stall_ms)))
	is "no slot was skipped" "$(summary y .skipped)" 0
}

# How many processes have the word 4711.
sleepers() {
	grep -lzsx '471[1]' /proc/[0-9]*/cmdline | wc -l
}

no_sleeper() {
	[ "$(sleepers)" = 0 ]
}

# Degraded is alive: only silence is suspicious.
dies() {
	checked z 3 false 100ms 1
	ok "degraded" eventually 10 state_is z degraded
	stop z KILL
	ok "killed: suspect" eventually 10 state_is z suspect
	is "its last word was degraded" "$(peer_field z degraded)" true
}

refusals() {
	ok "every without a check is refused" ! kphi beat to 10.0.0.2 every 1s
	ok "fails without a check is refused" ! kphi beat to 10.0.0.2 fails 2
	ok "fails 0 is refused" ! kphi beat to 10.0.0.2 check true fails 0
}

pair
failing
hanging
dies
refusals
