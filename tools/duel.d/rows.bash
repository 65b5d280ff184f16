# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The rows of a duel: what the observers suffer, while the peers are well and while they die. Source it after scene.bash. Each row
# writes to $RAW/rows.tsv when its phases began and ended, in Unix time (ns):
#
#     ROW  NAPI  PHASE  BEGIN  END  NOTE        PHASE: healthy, killed, or whole: from the beginning to the end of the trouble

# ROW, seconds that it takes longer than its two phases, what it is
ROWS='
idle      0   nothing else runs
cpu       0   stress-ng --cpu 4
hogs      0   16 busy processes on the core of the observers
switch    0   stress-ng --switch 4 --context 4
timer     0   stress-ng --timer 4
quota     0   10 of each 100 ms for each observer and a busy process beside it
fifo      0   a busy process at SCHED_FIFO 50 on the core of the observers
frozen1   0   SIGSTOP of the observers for 1 s
frozen5   6   SIGSTOP of the observers for 5 s
frozen10  16  SIGSTOP of the observers for 10 s
loss0.1   0   0.1 % of the packets lost on their way, before all observers
loss1     0   1 %
loss5     0   5 %
'
HEALTHY_S=8 # see FOR
KILLED_S=10
OTHER_S=6 # to begin, to end, to be well again
DEATHS=2 # of each daemon but Serf's
AFTER_S=2.5 # as long as the dead stay dead, or an observer has after it was frozen

# The names of all rows.
row_names() {
	awk 'NF { print $1 }' <<< "$ROWS"
}

row_extra() { # ROW
	awk -v row="$1" '$1 == row { print $2 }' <<< "$ROWS"
}

row_words() { # ROW
	awk -v row="$1" '$1 == row { $1 = $2 = ""; sub(/^ */, ""); print }' <<< "$ROWS"
}

# seconds_of ROW...: in both variants
seconds_of() {
	local row sum=0

	for row in "$@"; do
		sum=$((sum + 2 * (HEALTHY_S + KILLED_S + OTHER_S + $(row_extra "$row"))))
	done
	echo $sum
}

# --- begin and end of each trouble ------------------------------------------------------------------------------------

begin_trouble() { # ROW
	case $1 in
	cpu) stress --cpu 4 ;;
	hogs) hogs 1 ;;
	switch) stress --switch 4 --context 4 ;;
	timer) stress --timer 4 ;;
	fifo) start hog-fifo chrt -f 60 timeout 90 chrt -f 50 taskset -c 1 sh -c 'while :; do :; done' ;;
	quota) begin_quota ;;
	loss*) lose "loss/$(awk "BEGIN { print 10000 * ${1#loss} }")" ;;
	esac
}

end_trouble() { # ROW
	case $1 in
	cpu | switch | timer) stop stress ;;
	hogs) no_hogs ;;
	fifo) stop hog-fifo ;;
	quota) end_quota ;;
	loss*) lose "" ;;
	esac
}

stress() {
	start stress stress-ng --quiet --temp-path "$WORK" --timeout 120 "$@"
}

# A process at SCHED_FIFO has no place in a group without real-time budget, and no quota applies to it: it stays outside.
quota_of() {
	local name

	for name in "${OBSERVERS[@]}" run; do
		[ "$name" = run-fifo ] || "$1" "$name" "$GROUP/kphi-duel-${DUEL_TAG:-$$}-$name"
	done
}

begin_quota() {
	quota_of confine
}

end_quota() {
	quota_of free >> "$RAW/quota.txt"
}

# lose SECTION: of loss.bpf.o, on the way out of every peer; empty: no more
lose() {
	local at

	for at in "n2 $CLUSTER_DEV" "n3 $CLUSTER_DEV" "f1 duel1" "d1 duel1"; do
		[ -n "${namespaces[${at% *}]-}" ] || continue
		if [ -n "$1" ]; then
			in_ns "${at% *}" tc qdisc add dev "${at#* }" clsact
			in_ns "${at% *}" tc filter add dev "${at#* }" egress bpf da obj "$ROOT/build/bpf/loss.bpf.o" sec "$1"
		else
			in_ns "${at% *}" tc qdisc del dev "${at#* }" clsact
		fi
	done
}

# --- threaded NAPI ----------------------------------------------------------------------------------------------------

# thread 0 | 1: the packets of every observer are taken in by kernel threads, pinned to the observers' core. They belong to no room:
# who started this one pins them (tools/duel) and says how many there were.
thread() {
	local at

	for at in "n1 $CLUSTER_DEV" "n4 $CLUSTER_DEV" "f2 duel1" "d2 duel1"; do
		[ -n "${namespaces[${at% *}]-}" ] || continue
		set_threaded "${at% *}" "${at#* }" "$1"
	done
	pinned="the sender's CPU"
	[ "$1" = 1 ] || return 0
	pinned="not pinned"
	[ -p "${DUEL_PIN-}" ] || return 0
	echo "napi/duel 1" > "$DUEL_PIN"
	read -r pinned < "$DUEL_PIN.answer"
}

# --- the two phases ---------------------------------------------------------------------------------------------------

wall_ns() {
	date +%s%N
}

phase() { # ROW NAPI PHASE BEGIN NOTE
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$(wall_ns)" "$5" >> "$RAW/rows.tsv"
}

frozen_for() { # ROW: seconds
	case $1 in frozen*) echo "${1#frozen}" ;; *) echo 0 ;; esac
}

freeze_observers() { # SIGNAL
	send "$1" "${OBSERVERS[@]}" run
}

be_healthy() { # ROW
	local frozen

	frozen=$(frozen_for "$1")
	if [ "$frozen" = 0 ]; then
		sleep "$HEALTHY_S"
		return
	fi
	sleep 1
	freeze_observers STOP
	sleep "$frozen"
	freeze_observers CONT
	sleep $((HEALTHY_S - 1))
	eventually 20 bfd_well || true
}

# kill_peers PROGRAM...: with SIGKILL. Nothing that takes time is between the note and the signal.
kill_peers() {
	local program pids

	for program in "$@"; do
		has "$program" || continue
		pids=$(family "$(victim "$program")")
		note_death "$program"
		# shellcheck disable=SC2086 # several words
		kill -KILL $pids
		stop "$(victim "$program")" KILL
	done
}

note_death() { # PROGRAM
	printf '%s000\t%s\n' "${EPOCHREALTIME/./}" "$1" >> "$RAW/kills.tsv"
}

return_peers() {
	local program

	for program in "$@"; do
		! has "$program" || peer_begins "$program"
	done
}

be_killed() { # ROW
	local frozen

	frozen=$(frozen_for "$1")
	if [ "$frozen" = 0 ]; then
		die_often
	else
		die_unseen "$frozen"
	fi
}

# Serf takes six seconds, so it dies once, and for the whole of it.
die_often() {
	local end=$((${EPOCHREALTIME/./} + KILLED_S * 1000000)) n

	kill -USR1 "$(pid_of mortals)"
	kill_peers serf
	for ((n = 0; n < DEATHS; n++)); do
		kill_peers frr bird keepalived
		sleep "$AFTER_S"
		return_peers frr bird keepalived
		eventually 4 bfd_well || true
	done
	while [ ${EPOCHREALTIME/./} -lt $end ]; do
		sleep 0.1
	done
	return_peers serf
	kill -USR2 "$(pid_of mortals)"
}

# Who dies while the observers are frozen is dead for a while after that. At once, because a BFD speaker that hears nothing of the
# frozen soon says so.
die_unseen() { # SECONDS
	local suffering victims=() name program

	suffering=$(for name in "${OBSERVERS[@]}" run; do family "$name"; done)
	for program in frr bird keepalived; do
		! has $program || victims+=("$(family "$(victim $program)")")
	done
	# shellcheck disable=SC2086,SC2048 # several words
	kill -STOP $suffering && kill -KILL ${victims[*]} && kill -HUP "$(pid_of mortals)"
	for program in frr bird keepalived; do
		! has $program || note_death $program
	done
	for program in frr bird keepalived; do
		! has $program || stop "$(victim $program)" KILL
	done
	sleep "$1"
	freeze_observers CONT
	sleep "$AFTER_S"
	return_peers frr bird keepalived
	kill -USR2 "$(pid_of mortals)"
	sleep 1
}

# row NAME NAPI: NAPI is `sender` or `thread`
row() {
	local begin whole pinned

	eventually 40 all_well || note "row $1, $2: not everybody was well before"
	thread "$([ "$2" = thread ] && echo 1 || echo 0)"
	whole=$(wall_ns)
	begin_trouble "$1"
	sleep 0.5
	begin=$(wall_ns)
	be_healthy "$1"
	phase "$1" "$2" healthy "$begin" ""
	begin=$(wall_ns)
	be_killed "$1"
	phase "$1" "$2" killed "$begin" ""
	end_trouble "$1"
	sleep 0.5
	phase "$1" "$2" whole "$whole" "$pinned"
	[ "$2" = sender ] || thread 0
}
