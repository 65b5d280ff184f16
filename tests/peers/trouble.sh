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

# --- what is counted --------------------------------------------------------------------------------------------------

# downs STREAM: how often the program's own observer took the peer of this stream for dead, until now
downs() {
	case $1 in
	frr*) frr_downs f2 "${1#frr}" ;;
	bird*) bird_downs d2 "${1#bird}" 1 ;;
	vrrp*) keepalived_masters 1 "${1#vrrp}" ;;
	serf*) serf_failures 1 "n${1#serf}" ;;
	coro*) corosync_said 1 "link: host: ${1#coro} link: 0 is down" ;;
	esac
}

program() { # STREAM
	case $1 in
	frr*) echo "bfdd 3x${1#frr} ms" ;;
	bird*) echo "BIRD 3x${1#bird} ms" ;;
	vrrp2) echo "keepalived 1 s" ;;
	vrrp3) echo "keepalived 100 ms" ;;
	serf*) echo "Serf (n${1#serf})" ;;
	coro*) echo "corosync link (n${1#coro})" ;;
	esac
}

# healthy STREAM: the sender was on time, by the wire. BFD: it never was silent for its own multiple of what it had announced; keepalived: for
# less than three intervals; corosync: it skipped no ping; Serf, whose members are asked at random: no ten seconds.
healthy() {
	case $1 in
	frr* | bird*) jq -e '.packets > 10 and .largest_gap_ratio < 3' ;;
	vrrp2) jq -e '.packets > 1 and .largest_gap_ns < 3e9' ;;
	vrrp3) jq -e '.packets > 10 and .largest_gap_ns < 3e8' ;;
	coro*) jq -e '.packets > 1 and .largest_gap_ns < 12e8' ;;
	serf*) jq -e '.packets > 1 and .largest_gap_ns < 1e10' ;;
	esac < "$WORK/wire-$1" > /dev/null
}

gap() { # STREAM: the largest while its sender was at its usual pace, and the multiple
	jq -r '"\((.largest_gap_up_ns // .largest_gap_ns) / 1e5 | round / 10) ms" +
		(if .largest_gap_ratio then " (\(.largest_gap_ratio)x)" else "" end)' "$WORK/wire-$1"
}

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
		names_it
		eventually 30 settled
	done
}

# Right after it has thawed, a BFD daemon takes its peers for dead. kphi knows better, and says so.
names_it() {
	for _ in {1..20}; do
		named frr
		named bird
		[ ! -e "$WORK/named-frr" ] || [ ! -e "$WORK/named-bird" ] || break
	done
}

named() {
	local status=0

	opinion "$1" > "$WORK/opinion"
	kphi check "$1" "$WORK/opinion" > "$WORK/check-$1" 2>&1 || status=$?
	[ $status != 3 ] || [ -e "$WORK/named-$1" ] || cp "$WORK/check-$1" "$WORK/named-$1"
}

opinion() {
	case $1 in
	frr) frr_peers f2 ;;
	bird) bird_sessions d2 ;;
	esac
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
		[ "$name" = corosync-n1 ] || confine "$name" "$GROUP/kphi-$$-$name"
	done
	sleep 15
	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = corosync-n1 ] || free "$name" "$GROUP/kphi-$$-$name"
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
watch "priority: 0"
begin "chrt -f 15 taskset -c 0" ""
up

trouble "frozen for 1 s, 3 times" freeze 1 3
at_least 1 frr10 frr50 bird10 bird50
trouble "frozen for 5 s" freeze 5 1
at_least 1 frr10 frr50 frr300 bird10 bird50 bird300 token
for program in frr bird; do
	ok "kphi check $program names it" test -s "$WORK/named-$program"
	note "$(head -n 20 "$WORK/named-$program")"
done
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
