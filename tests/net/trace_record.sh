#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi trace record as people use it, on a cable that loses, doubles and delays: what it says as text, as JSON and on a
# terminal, what its file replays to, that a killed recorder is in nobody's way, and what is refused.

. "$(dirname "$0")/pair.bash"

# of FILE FILTER: of what is said of a trace
of() {
	kphi -j trace show "$1" | jq -c "$2"
}

# record NAME WORD...: begins; once there is something in its file, it records
record() {
	start "$1" kphi -j trace record "$WORK/$1.trace" "${@:2}"
	eventually 10 test -s "$WORK/$1.trace"
}

# said NAME FILTER: by a recorder that has ended
said() {
	jq -s -c "if length == 1 then .[0] | $2 else error(\"not one document\") end" "$(log_of "$1")"
}

# not_recorded NAME EXIT FRAGMENT WORD...: an exit code, one sentence with that in it, and nothing else; text and JSON
not_recorded() {
	local name=$1 exit=$2 fragment=$3 got=0 wrong=

	"${as[@]}" "$KPHI" --pin "$KPHI_PIN" trace record "${@:4}" > "$WORK/out" 2> "$WORK/err" || got=$?
	[ $got = "$exit" ] || wrong+="text: exit code $got; "
	grep -qF -- "$fragment" "$WORK/err" || wrong+="text: not said, but: $(cat "$WORK/err"); "
	[ "$(wc -l < "$WORK/err")" = 1 ] && [ ! -s "$WORK/out" ] || wrong+="text: more than one sentence; "
	got=0
	"${as[@]}" "$KPHI" --pin "$KPHI_PIN" -j trace record "${@:4}" > "$WORK/out" 2> "$WORK/err" || got=$?
	[ $got = "$exit" ] || wrong+="json: exit code $got; "
	[[ $(jq -ers 'if length == 1 then .[0].error else empty end' "$WORK/out") == *"$fragment"* ]] ||
		wrong+="json: $(cat "$WORK/out")"
	is "$name" "$wrong" ""
}
as=()

# records: what is known of each peer, live; replayed: the same out of a trace
FIGURES='{beats, lost, duplicates, reordered, stale, restarts, capped, retuned, unlearned, stamp_inverted, interval_ns,
	samples, mean_ns, stddev_ns}'
records() {
	kphi -j peer show | jq -S -c "[.. | objects | select(.name?) | {(.name): $FIGURES}] | add"
}

replayed() {
	kphi -j trace replay "$1" | jq -S -c "[.records[] | {(.peer): $FIGURES}] | add"
}

as_live() {
	local live

	record live
	beat one 1 10.0.1.2 interval 5ms
	beat two 2 10.0.1.2 interval 10ms
	ok "beats come" eventually 30 beats_reach two 150
	stop one KILL
	beat one 1 10.0.1.2 interval 5ms
	ok "and of another life" eventually 30 beats_reach one "$(($(peer_field one beats) + 300))"
	stop one
	stop two
	sleep 0.5 # what is still on the way
	stop live
	is "an interrupted recorder ends in order" "$stopped" 0
	live=$(records)
	is "what was recorded replays to the same records" "$(replayed "$WORK/live.trace")" "$live"
	like "which had something to tell" "$(jq -c '.one | [.restarts, .lost > 0, .duplicates > 0, .beats >= 400]' <<< "$live")" \
		'\[1,true,true,true\]'
	is "it says what it did" "$(said live '[.peers, .arrivals, .lost, .end]')" \
		"[2,$(of "$WORK/live.trace" .arrivals),0,\"interrupted\"]"
	is "and how large it is" "$(said live .bytes)" "$(stat -c %s "$WORK/live.trace")"
	is "its end is whole" "$(of "$WORK/live.trace" '[.ended, .torn_bytes, .lost]')" '[true,0,0]'
	is "with the settings" "$(of "$WORK/live.trace" '[.peers[] | [.peer, .interval_ns]] | sort')" '[["one",5000000],["two",0]]'
}

# Whoever is up when it begins, is reset, or is deleted and added again, replays to what lives on.
from_the_middle() {
	local live

	beat one 1 10.0.1.2 interval 5ms
	beat two 2 10.0.1.2 interval 10ms
	ok "who was heard long before" eventually 30 beats_reach two 200
	record middle
	eventually 30 beats_reach two 300
	kphi peer reset one > "$WORK/out"
	eventually 30 beats_reach one 100
	kphi peer del two > "$WORK/out"
	kphi peer add two id "$(uuid 2)" > "$WORK/out"
	eventually 30 beats_reach two 50
	stop one
	stop two
	sleep 0.5 # what is still on the way
	stop middle
	live=$(records)
	is "a recording from the middle replays to the same records" "$(replayed "$WORK/middle.trace")" "$live"
	between "of more than was recorded" "$(jq .two.beats <<< "$live")" 50 100000
	is "the one who was deleted and the one who was added are two" \
		"$(of "$WORK/middle.trace" '[.peers[].peer] | sort')" '["one","two","two"]'
	is "its version" "$(of "$WORK/middle.trace" .version)" 2
	kphi trace convert "$WORK/middle.trace" "$WORK/copy.trace" > "$WORK/out"
	is "a copy says the same" "$(replayed "$WORK/copy.trace")" "$live"
}

# One peer, for a while, on a terminal. What it says at the end stays there.
one_peer() {
	local shown

	beat one 1 10.0.1.2 interval 5ms
	beat two 2 10.0.1.2 interval 10ms
	shown=$(TERM=xterm script -qec "'$KPHI' --pin '$KPHI_PIN' trace record '$WORK/one.trace' peer one for 2s" /dev/null < /dev/null)
	like "a terminal sees how it goes on" "$shown" "recording: .*one.trace: [0-9]+ arrivals of 1 peers in .*, .*, 0 lost"
	like "and what became of it" "$shown" "recorded: .*one.trace.*peers: 1.*arrivals: .*lost: 0.*size: .*bytes per arrival: "
	is "only the peer that was asked for" "$(of "$WORK/one.trace" '[.peers[].peer]')" '["one"]'
	between "for so long" "$(of "$WORK/one.trace" .span_ns)" 1500000000 10000000000
	kphi trace record "$WORK/some.trace" peer one peer two for 200ms > "$WORK/text" 2>&1
	is "nobody else sees it" "$(grep -c recording "$WORK/text")" 0
	is "both that were asked for" "$(of "$WORK/some.trace" '[.peers[].peer] | sort')" '["one","two"]'
}

killed() {
	record killed
	not_recorded "there is one recorder at a time" 1 "somebody records the arrivals of this store already" "$WORK/other.trace"
	ok "and the other leaves no file" ! test -e "$WORK/other.trace"
	ok "what is flushed can be read meanwhile" eventually 20 sh -c \
		"[ \$('$KPHI' -j trace show '$WORK/killed.trace' | jq .arrivals) -gt 10 ]"
	stop killed KILL
	is "a killed one leaves a trace that was not ended" "$(of "$WORK/killed.trace" '[.ended, .arrivals > 10]')" '[false,true]'
	like "in words" "$(kphi trace show "$WORK/killed.trace")" "end: not ended"
	record next for 1s
	ended next
	is "and is in nobody's way" "$(said next '[.end, .arrivals > 0, .lost]')" '["time is over",true,0]'
}

# A small file system that is full after a while.
full() {
	local got=0

	mkdir "$WORK/small"
	mount -t tmpfs -o size=16k tmpfs "$WORK/small"
	kphi trace record "$WORK/small/full.trace" > "$WORK/out" 2> "$WORK/err" || got=$?
	is "a full disk ends it" "$got $(wc -l < "$WORK/err")" "1 1"
	like "in one sentence" "$(cat "$WORK/err")" "full.trace: the recording ended after [0-9]+ arrivals: No space left on device"
	is "what is there is whole" "$(of "$WORK/small/full.trace" '[.arrivals > 0, .torn_bytes, .ended]')" '[true,0,false]'
	umount "$WORK/small"
}

refusals() {
	local file=$WORK/refused.trace

	not_recorded "no file" 2 "trace record: a FILE is missing"
	not_recorded "standard output" 2 "name a FILE" -
	not_recorded "no such peer" 1 "three: there is no peer of that name" "$file" peer one peer three
	not_recorded "no name" 2 "peer: " "$file" peer ''
	not_recorded "no time" 2 "for: " "$file" for 0
	not_recorded "a file that is there" 1 "live.trace: cannot be written: File exists. Remove it" "$WORK/live.trace"
	not_recorded "no such folder" 1 "no/such.trace: cannot be written: No such file or directory" "$WORK/no/such.trace"
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	install -m 755 "$KPHI" "$WORK/kphi"
	chmod 755 "$WORK"
	KPHI=$WORK/kphi not_recorded "without privilege" 1 "Run it as root" "$file"
	as=()
	ok "nothing of it leaves a file" ! test -e "$file"
}

# Nobody can record a store that is gone, and who does so ends.
purged() {
	record purged
	kphi store purge > "$WORK/out"
	eventually 20 gone "$(pid_of purged)" || true
	stop purged
	is "a purge ends it" "$stopped" 1
	like "and is told" "$(said purged .error)" "the store was purged"
	is "what came before is there" "$(of "$WORK/purged.trace" .ended)" true
	not_recorded "no store" 1 "there is no store yet" "$WORK/refused.trace"
}

ns_add a
ns_add b
bad_cable 1 loss 5% duplicate 3% jitter 4ms
kphi peer add one id "$(uuid 1)" interval 5ms > "$WORK/out"
kphi peer add two id "$(uuid 2)" > "$WORK/out"
as_live
from_the_middle
one_peer
killed
full
refusals
purged
