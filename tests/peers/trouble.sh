#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The peers are well, and the wire proves it; their *observer* is in trouble: frozen, on one core with 16 hogs, under a CPU quota.
# Each program's daemon and `kphi run` are treated alike, and the verdicts of both are counted, side by side.
#
# The peers have CPU 0 and, but for Serf, a real-time priority; the observers are ordinary processes, kphi's own included. On veth a
# packet is received on the CPU of its sender: kphi's packet path is out of the trouble's reach, as on a NIC whose interrupts go to
# another CPU. The last trouble is the opposite: with threaded NAPI a kernel thread, which competes with the hogs, takes the packets
# in. Then the stamps themselves are late, and no tick of a CPU tells: kphi is not above that.

# shellcheck source=tests/peers/watch.bash
. "$(dirname "$0")/watch.bash"
# shellcheck source=tests/peers/starve.bash
. "$(dirname "$0")/starve.bash"

OBSERVERS=(frr-f2 bird-d2 keepalived-n1 serf-n1 corosync-n1)

# --- a trouble --------------------------------------------------------------------------------------------------------

# trouble TITLE COMMAND...: the rows of the table for it. Sets `flaps`, `wrong` (streams that kphi suspected though they were on time), and
# the sums of both sides' false verdicts, `theirs` and `ours`.
trouble() {
	local title=$1 name before well=0 suspected
	declare -A former=()

	shift
	ok "$title: all is well before" eventually 60 all_are up "${STREAMS[@]}"
	for name in "${STREAMS[@]}"; do
		former[$name]=$(downs "$name")
	done
	former[token]=$(corosync_said 1 "A processor failed")
	before=$(seq_now)
	capture out
	"$@"
	ok "$title: all is well again" eventually 60 settled
	captured
	wrong="" theirs=0 ours=0
	for name in "${STREAMS[@]}"; do
		flaps[$name]=$(($(downs "$name") - former[$name]))
		suspected=$(suspicions "$name" "$before")
		wire "$name" > "$WORK/wire-$name"
		row "$title" "$(program "$name")" "${flaps[$name]}" "$suspected" "$(gap "$name")"
		healthy "$name" || { note "$title: the peer of $name was not on time: $(cat "$WORK/wire-$name")" && continue; }
		well=$((well + 1)) theirs=$((theirs + flaps[$name])) ours=$((ours + suspected))
		[ "$suspected" = 0 ] || wrong+=" $name:$suspected"
	done
	flaps[token]=$(($(corosync_said 1 "A processor failed") - former[token]))
	row "$title" "corosync token" "${flaps[token]}" - -
	between "$title: as many were on time, by the wire" $well $((${#STREAMS[@]} / 2)) ${#STREAMS[@]}
}

# harmless TITLE COMMAND...: a trouble that kphi is above
harmless() {
	trouble "$@"
	is "$1: kphi suspects nobody who was on time" "$wrong" ""
}

row() {
	printf '%-28s | %-20s | %5s | %5s | %s\n' "$@" >> "$WORK/table"
}

settled() {
	sessions_up frr && sessions_up bird && serf_joined && corosync_joined && keepalived_settled
}

# at_least N NAME...: flaps that are certain
at_least() {
	local name few=""

	for name in "${@:2}"; do
		[ "${flaps[$name]}" -ge "$1" ] || few+=" $name:${flaps[$name]}"
	done
	is "... and these are taken for dead by their own daemons: ${*:2}" "$few" ""
}

# --- frozen -----------------------------------------------------------------------------------------------------------

freeze() { # SECONDS TIMES
	local n

	for ((n = 0; n < $2; n++)); do
		send STOP "${OBSERVERS[@]}" run
		sleep "$1"
		send CONT "${OBSERVERS[@]}" run
		eventually 30 settled
	done
}

# --- kphi check names it ----------------------------------------------------------------------------------------------

# An observer that is deaf, because its host drops what the peer sends, behind kphi, takes its peer for dead for as long as that
# lasts. One that was frozen or starved does so for a moment: seldom long enough to be asked.
names_it() {
	local program ends

	for program in frr bird; do
		read -r -a ends <<< "$(ends_of $program)"
		deaf "${ends[1]}" ms50 "$(bfd_address 50 $program 1)"
		ok "kphi check $program: a deaf observer's verdict is none of the wire's" eventually 20 named $program
		told_of
		in_ns "${ends[1]}" ip route del blackhole "$(bfd_address 50 $program 1)"
		ok "$program: up again" eventually 30 sessions_up $program
	done
}

told_of() {
	note "$(grep -m 1 they_suspect "$WORK/named" | cut -c -250)"
}

# deaf NS DEV ADDRESS: the stack drops what comes from there, as packets whose answers have no way back
deaf() {
	in_ns "$1" sh -c "echo 1 > /proc/sys/net/ipv4/conf/$2/rp_filter"
	in_ns "$1" ip route add blackhole "$3"
}

# The one thing that they disagree on is that the daemon suspects who was on time.
named() { # PROGRAM
	local status=0

	"opinion_of_$1" | kphi check "$1" > "$WORK/named" 2>&1 || status=$?
	[ $status = 3 ] && grep -q they_suspect "$WORK/named" && ! grep -q they_trust "$WORK/named"
}

opinion_of_frr() {
	frr_peers f2
}

opinion_of_bird() {
	bird_sessions d2
}

# --- one core with hogs -----------------------------------------------------------------------------------------------

one_core() {
	local end=$((SECONDS + 15)) seen=0 asked=0

	pin 1
	hogs 1
	while [ $SECONDS -lt $end ]; do
		asked=$((asked + 1))
		! named frr || seen=$((seen + 1))
		sleep 0.2
	done
	no_hogs
	pin 0,1
	note "kphi check frr, asked $asked times among the hogs: said $seen times that bfdd suspects who was on time"
}

# In the same trouble, who really dies is found: that nobody was suspected above is not for want of looking.
deaths_among_hogs() {
	local name after

	pin 1
	hogs 1
	after=$(seq_now)
	send KILL frr-f1 bird-d1
	for name in frr10 frr50 frr300 bird10 bird50 bird300; do
		ok "$name: a peer that is killed among the hogs is found" eventually 30 suspected $name "$after"
	done
	no_hogs
}

# A device's packets are taken in by a kernel thread, without a CPU of its own.
threaded() { # 0 OR 1
	local ms

	for ms in "${BFD_MS[@]}"; do
		set_threaded f2 "ms$ms" "$1"
		set_threaded d2 "ms$ms" "$1"
	done
	set_threaded n1 eth0 "$1"
}

both_cores_threaded() {
	threaded 1
	hogs 0,1
	sleep 10
	no_hogs
	threaded 0
}

# --- a CPU quota ------------------------------------------------------------------------------------------------------

# Ten of each hundred milliseconds, for each observer and a busy process beside it, as in a container that is too small.
# corosync keeps its real-time priority, which no quota applies to.
quota() {
	local name

	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = corosync-n1 ] || confine "$name" "$GROUP/kphi-${WORK##*/}-$name"
	done
	sleep 10
	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = corosync-n1 ] || free "$name" "$GROUP/kphi-${WORK##*/}-$name"
	done
}

declare -A flaps=()
streams
unpack frr bird2 keepalived serf corosync || skip_all "a package could not be fetched, or there are no overlays here"
[ "$(nproc)" -ge 2 ] || skip_all "there is one CPU: a peer cannot be kept from the observer's trouble"
stage
begin "chrt -f 15 taskset -c 0" ""
up
watch "priority: 0"

names_it
harmless "frozen for 1 s, 3 times" freeze 1 3
at_least 1 frr10 frr50 bird10 bird50
harmless "frozen for 5 s" freeze 5 1
at_least 1 frr10 frr50 frr300 bird10 bird50 bird300 token
harmless "$HOGS hogs, one core, 15 s" one_core
if reason=$(find_quota); then
	find_quota
	harmless "quota of 10 in 100 ms, 10 s" quota
else
	skip "a CPU quota" "$reason"
fi
trouble "$HOGS hogs, both, NAPI thread" both_cores_threaded
ok "... kphi is wrong no more often than the daemons are" test $ours -le $theirs
note "false verdicts on peers that were on time: the daemons $theirs, kphi $ours ($wrong )"
deaths_among_hogs
note "$(printf '%-28s | %-20s | %5s | %5s | %s' "trouble of the observer" "daemon" "downs" "kphi" "largest gap on the wire")"
note "$(cat "$WORK/table")"
note "kphi's stalls meanwhile: $(events '.type == "stall"' | wc -l), late loops: $(events '.type == "loop_late"' | wc -l)"
