#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The peers are well, and the wire proves it; their *observer* is in trouble: frozen, on one core with 16 hogs, under a CPU quota.
# Each program's daemon and `kphi run` are treated alike, and the verdicts of both are counted, side by side.
#
# The peers have CPU 0 and, but for Serf, a real-time priority; the observers are ordinary processes, kphi's own included. On veth a
# packet is received on the CPU of its sender, so what the packet path of a real NIC suffers with the observers' CPU is
# shown by threaded NAPI: there, a kernel thread that competes with the hogs takes the packets in.

# shellcheck source=tests/peers/watch.bash
. "$(dirname "$0")/watch.bash"

OBSERVERS=(frr-f2 bird-d2 keepalived-n1 serf-n1 corosync-n1)
HOGS=16

# --- a trouble --------------------------------------------------------------------------------------------------------

# trouble TITLE COMMAND...: the rows of the table for it
trouble() {
	local title=$1 name before false_alarms="" well=0 tokens
	declare -A former=()

	shift
	ok "$title: all is well before" eventually 60 all_are up "${STREAMS[@]}"
	for name in "${STREAMS[@]}"; do
		former[$name]=$(downs "$name")
	done
	tokens=$(corosync_said 1 "A processor failed")
	before=$(seq_now)
	capture out
	"$@"
	settle "$title"
	captured
	for name in "${STREAMS[@]}"; do
		flaps[$name]=$(($(downs "$name") - former[$name]))
		wire "$name" > "$WORK/wire-$name"
		row "$title" "$(program "$name")" "${flaps[$name]}" "$(suspicions "$name" "$before")" "$(gap "$name")"
		healthy "$name" || { note "$title: the peer of $name was not on time: $(cat "$WORK/wire-$name")" && continue; }
		well=$((well + 1))
		[ "$(suspicions "$name" "$before")" = 0 ] || false_alarms+=" $name"
	done
	flaps[token]=$(($(corosync_said 1 "A processor failed") - tokens))
	row "$title" "corosync token" "${flaps[token]}" - -
	is "$title: kphi suspects nobody who was on time" "$false_alarms" ""
	between "$title: as many were on time, by the wire" $well $((${#STREAMS[@]} / 2)) ${#STREAMS[@]}
}

row() {
	printf '%-28s | %-20s | %5s | %5s | %s\n' "$@" >> "$WORK/table"
}

settle() {
	ok "$1: all is well again" eventually 60 settled
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

# bfdd, frozen for half a second, finds when it thaws that its peer has given it up, and is down itself until the next packet, up
# to a second later; all the while that peer was on time. It may be up again before the question is put: therefore several
# times. BIRD is up again within a millisecond, so it is made deaf instead: its host drops what the peer sends, behind kphi.
names_it() {
	ok "kphi check frr: a frozen observer's verdict is none of the wire's" frozen_is_named
	note "$(grep they_suspect "$WORK/named" | cut -c -160)"
	ok "FRR is up again" eventually 30 sessions_up frr
	in_ns d2 ip route add blackhole "$(bfd_address 50 bird 1)"
	ok "kphi check bird: a deaf observer's verdict is none of the wire's" eventually 10 named bird
	note "$(grep they_suspect "$WORK/named" | cut -c -160)"
	in_ns d2 ip route del blackhole "$(bfd_address 50 bird 1)"
	ok "BIRD is up again" eventually 30 sessions_up bird
}

frozen_is_named() {
	local n

	for ((n = 0; n < 10; n++)); do
		send STOP frr-f2
		sleep 0.5
		send CONT frr-f2
		for _ in {1..5}; do
			! named frr || return 0
		done
		eventually 30 sessions_up frr
	done
	return 1
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

hogs() { # CPUS SECONDS
	local n

	for ((n = 0; n < HOGS; n++)); do
		start "hog$n" taskset -c "$1" timeout $(($2 + 10)) sh -c 'while :; do :; done'
	done
	sleep "$2"
	for ((n = 0; n < HOGS; n++)); do
		stop "hog$n"
	done
}

pin() { # CPUS
	local name pid

	for name in "${OBSERVERS[@]}" run; do
		for pid in $(family "$name"); do
			taskset -acp "$1" "$pid" > /dev/null
		done
	done
}

one_core() {
	pin 1
	hogs 1 20
	pin 0,1
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

# /sys shows the devices of the namespace that it was mounted in.
set_threaded() {
	# shellcheck disable=SC2016 # expanded inside
	in_ns "$1" unshare --mount sh -c 'mount -t sysfs sysfs /sys && echo "$2" > "/sys/class/net/$1/threaded"' sh "$2" "$3"
}

both_cores_threaded() {
	threaded 1
	hogs 0,1 12
	threaded 0
}

# --- a CPU quota ------------------------------------------------------------------------------------------------------

GROUP=/sys/fs/cgroup

# Ten of each hundred milliseconds, for each observer and a busy process beside it, as in a container that is too small.
# corosync keeps its real-time priority, which no quota applies to.
quota() {
	local name

	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = corosync-n1 ] || confine "$name" "$GROUP/kphi-${WORK##*/}-$name"
	done
	sleep 15
	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = corosync-n1 ] || free "$name" "$GROUP/kphi-${WORK##*/}-$name"
	done
}

confine() { # NAME GROUP
	mkdir "$2"
	if [ -e "$2/cpu.max" ]; then
		echo "10000 100000" > "$2/cpu.max"
	else
		echo 10000 > "$2/cpu.cfs_quota_us"
	fi
	start "beside-$1" timeout 60 sh -c 'while :; do :; done'
	enter "$1" "$2"
	enter "beside-$1" "$2"
}

free() { # NAME GROUP
	note "$1: $(awk '$1 == "nr_throttled" { t = $2 } $1 == "nr_periods" { p = $2 } END { print t " of " p " periods throttled" }' "$2/cpu.stat")"
	enter "$1" "$GROUP"
	enter "beside-$1" "$GROUP"
	stop "beside-$1"
	rmdir "$2"
}

enter() { # NAME GROUP
	local pid

	for pid in $(family "$1"); do
		echo "$pid" > "$2/cgroup.procs"
	done
}

# Sets GROUP to the root of the controller, or why there is none.
find_quota() {
	if [ -e $GROUP/cpu/cpu.cfs_period_us ]; then
		GROUP=$GROUP/cpu
	elif ! grep -qw cpu $GROUP/cgroup.subtree_control 2> /dev/null; then
		echo "no cgroup has the cpu controller here"
		return 1
	fi
	[ -w "$GROUP" ] || { echo "cgroups cannot be made here" && return 1; }
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
trouble "frozen for 1 s, 3 times" freeze 1 3
at_least 1 frr10 frr50 bird10 bird50
trouble "frozen for 5 s" freeze 5 1
at_least 1 frr10 frr50 frr300 bird10 bird50 bird300 token
trouble "$HOGS hogs, one core, 20 s" one_core
if reason=$(find_quota); then
	find_quota
	trouble "quota of 10 in 100 ms, 15 s" quota
else
	skip "a CPU quota" "$reason"
fi
trouble "hogs everywhere, NAPI thread" both_cores_threaded
note "$(printf '%-28s | %-20s | %5s | %5s | %s' "trouble of the observer" "daemon" "downs" "kphi" "largest gap on the wire")"
note "$(cat "$WORK/table")"
note "kphi's stalls meanwhile: $(events '.type == "stall"' | wc -l), late loops: $(events '.type == "loop_late"' | wc -l)"
