#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# No room: a full file system, a read-only one, standard output that takes nothing, a reader that goes. Every command
# says so in one sentence, what was on disk before stays, and with room again everything goes on.

. "$(dirname "$0")/faults.bash"

SMALL=$WORK/small
ID=$(uuid 7)

fill() {
	dd if=/dev/zero of="$SMALL/fill" bs=1k 2> /dev/null || true
	! dd if=/dev/zero of="$SMALL/probe" bs=1k count=1 2> /dev/null || fail "the file system is full" "$(df "$SMALL")"
	rm -f "$SMALL/probe"
}

SEND=(in_ns a "$KPHI" beat to 10.0.0.2 id "$ID" state "$SMALL/epoch" count 1)

# refused_all WHY: everything that writes a file there
refused_all() {
	local before epoch

	before=$(sha256sum "$SMALL/saved" "$SMALL/epoch" "$SMALL/state/token")
	epoch=$(cut -d' ' -f3 "$SMALL/epoch")
	fails "$1: the daemon" "state/token: cannot save the fencing token: $1. Name another .state." in_ns b kphi run config "$FILE"
	fails "$1: store save" "saved: cannot be written: $1" kphi store save "$SMALL/saved"
	fails "$1: a key" "/key: cannot be made: $1" kphi key add k generate "$SMALL/key"
	is "... is not added either" "$(kphi -j key show | jq length)" 0
	fails "$1: a recording" "/new.trace: cannot be written: $1" in_ns b kphi trace record "$SMALL/new.trace" for 100ms
	fails "$1: a sender's epoch" "/epoch: cannot save the epoch: $1. Name another place" "${SEND[@]}"
	is "$1: nothing half made is left" "$(find "$SMALL" -mindepth 1 -maxdepth 1 ! -name fill ! -name '*lock' -printf '%f\n' | sort | xargs)" "epoch saved state"
	is "$1: what was there is as it was" "$(sha256sum "$SMALL/saved" "$SMALL/epoch" "$SMALL/state/token")" "$before"
	ok "$1: the saved store can be read" kphi store restore "$SMALL/saved"
	is "$1: the epoch is as it was" "$(cut -d' ' -f3 "$SMALL/epoch")" "$epoch"
}

# room_again NAME: the witness: the very same commands
room_again() {
	local epoch

	epoch=$(cut -d' ' -f3 "$SMALL/epoch")
	run
	ok "$1: the daemon starts" running run
	stop run
	ok "$1: a store can be saved" kphi store save "$SMALL/saved"
	ok "$1: a key can be made" kphi key add k generate "$SMALL/key"
	kphi key drop k > /dev/null
	rm "$SMALL/key"
	ok "$1: arrivals can be recorded" in_ns b kphi trace record "$SMALL/new.trace" for 100ms
	rm "$SMALL/new.trace"
	ok "$1: a sender starts" "${SEND[@]}"
	ok "$1: its epoch goes on" test "$(cut -d' ' -f3 "$SMALL/epoch")" -gt "$epoch"
}

full() {
	mount -t tmpfs -o size=32k tmpfs "$SMALL"
	room_again_first
	fill
	refused_all "No space left on device"
	rm "$SMALL/fill"
	room_again "room again"
	mount -o remount,ro "$SMALL"
	refused_all "Read-only file system"
	mount -o remount,rw "$SMALL"
	room_again "writable again"
}

room_again_first() {
	mkdir "$SMALL/state"
	run
	stop run
	kphi store save "$SMALL/saved" > /dev/null
	"${SEND[@]}" > /dev/null 2>&1
}

# Its events go to a file on a disk that is full for a while. Each line is there in the end, whole and in order.
events_wait() {
	local log=$SMALL/events before

	STATE=$WORK/state
	write_file
	rm -rf "$SMALL/state"
	start full in_ns b bash -c 'exec "$0" --pin "$1" run config "$2" > "$3" 2>> "$4"' "$KPHI" "$KPHI_PIN" "$FILE" "$log" "$WORK/run.err"
	eventually 20 kphi event socket "$SOCKET" || true
	eventually 20 heard "${PEERS[@]}" || true
	fill
	# Each is an event; together they are more than what is left of the last page.
	for ((i = 0; i < 15; i++)); do
		kphi run reload socket "$SOCKET" > /dev/null
	done
	stop db2 KILL 2> /dev/null
	ok "events: no room is said" eventually 30 said "standard output takes no events now: No space left on device"
	ok "... clients get them" eventually 20 sh -c "'$KPHI' event socket '$SOCKET' | grep -q '\"suspect\"'"
	before=$(wc -c < "$log")
	sleep 2
	is "... once" "$(times "takes no events now")" 1
	rm "$SMALL/fill"
	ok "events: room is said" eventually 20 said "standard output takes events again"
	ok "... what waited is written" eventually 20 grep -q '"type":"suspect".*"db2"' "$log"
	ok "... which was not there before" test "$(wc -c < "$log")" -gt "$before"
	is "... every line of it whole, none lost, none twice" \
		"$(jq -s -c '[.[].seq] as $s | [($s | length) > 0, $s == [range(1; ($s | length) + 1)]]' "$log")" '[true,true]'
	stop full
	sender db2
}

# Every command that prints, as text and as JSON, into a device that is always full. What it was to do is done all the same.
no_output() {
	local words json status wrong

	run
	eventually 20 heard "${PEERS[@]}" || true
	in_ns b kphi trace record "$WORK/t.trace" for 1s > /dev/null 2>&1
	for words in "peer show" "peer show db1" "peer presets" "peer window db1" "peer explain db1" "peer show metrics" \
		"peer mute db1 for 1s" "peer unmute db1" "net show" "store show" "store save $WORK/saved" "store restore $WORK/saved" \
		"key add k$RANDOM generate $WORK/key" "key show" "guard show" "doctor" "run config $FILE check" "run reload socket $SOCKET" \
		"trace show $WORK/t.trace" "trace convert $WORK/t.trace - to csv" "trace replay $WORK/t.trace" "top once" \
		"run help" "event help" "web help" "check help" "trace help" "key help" "beat help" "doctor help" "top help" "version"; do
		wrong=
		for json in "" -j; do
			status=0
			rm -f "$WORK/key"
			[ "$words" != version ] || words=-V
			# shellcheck disable=SC2086 # words
			in_ns b timeout 20 "$KPHI" --pin "$KPHI_PIN" $json $words > /dev/full 2> "$WORK/err" || status=$?
			[ $status = 1 ] && grep -qE 'cannot write to standard output: No space|standard output: cannot be written: No space' "$WORK/err" ||
				wrong+="$json: status $status: $(head -c 300 "$WORK/err") "
		done
		is "kphi ${words//$WORK\//}: a full output is a failure, and said" "$wrong" ""
	done
	status=0
	kphi event follow state socket "$SOCKET" > /dev/full 2> "$WORK/err" & 
	daemons[follow]=$!
	stop db3 KILL 2> /dev/null
	ok "kphi event follow: it ends" eventually 20 gone "$(pid_of follow)"
	stop follow
	is "... and says so" "$stopped $(grep -c 'No space left on device' "$WORK/err")" "1 1"
	sender db3
	is "what a command was to do is done" "$(test -s "$WORK/saved" && echo saved)" saved
}

# Who has read enough goes; that is no failure of who writes, and nobody is killed by it silently.
broken_pipes() {
	local words status

	for words in "peer show metrics" "peer presets" "doctor" "help" "trace show $WORK/t.trace" "trace convert $WORK/t.trace - to csv"; do
		status=0
		# The reader is gone before there is anything to read.
		# shellcheck disable=SC2086 # words
		{ in_ns b "$KPHI" --pin "$KPHI_PIN" $words 2> "$WORK/err" || status=$?; echo $status > "$WORK/status"; } | head -c 0
		is "kphi ${words//$WORK\//}: no signal ends it" "$(($(cat "$WORK/status") < 126))" 1
	done
	stop run
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
mkdir "$SMALL"
STATE=$SMALL/state
write_file
kphi store create peers 16 window 64 > /dev/null
full
for name in "${PEERS[@]}"; do sender "$name"; done
events_wait
no_output
broken_pipes
