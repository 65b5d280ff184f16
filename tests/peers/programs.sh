#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The clusters that there are: FRR and BIRD (BFD at 10, 50 and 300 ms), keepalived (VRRPv2 at 1 s, VRRPv3 at 100 ms), a Serf
# and a corosync of three nodes, all as Debian ships them, all at once. Nobody is suspected in a quiet minute, and the means
# are tcpdump's; then their peers are killed, frozen, shut down and started again, and kphi says which it was.

# shellcheck source=tests/peers/watch.bash
. "$(dirname "$0")/watch.bash"

QUIET_S=60
BFD=(frr10 frr50 frr300 bird10 bird50 bird300)

# --- a quiet minute ---------------------------------------------------------------------------------------------------

quiet() {
	local name

	ok "every stream is heard and learned" eventually 60 all_are up "${STREAMS[@]}"
	minute
	for name in "${STREAMS[@]}"; do
		compare "$name"
	done
	punctual
	undisturbed "${STREAMS[@]}"
	if [ ${#late[@]} -gt 0 ]; then
		note "another minute, because a machine that other people use, too, was late even with a real-time peer: ${late[*]}"
		capture in
		minute
		undisturbed "${late[@]}"
		for name in "${late[@]}"; do
			skip "$name: nothing is suspected in a quiet minute" "the peer itself was late in two minutes: $(gap "$name")"
		done
	fi
	is "Serf has no rhythm, and its model none" "$(was serf2 .model) $(was serf3 .model)" "exponential exponential"
	ok "kphi check frr: agrees" eventually 10 check_frr
	ok "kphi check bird: agrees" eventually 10 check_bird
	ok "kphi check serf: agrees" eventually 10 check_serf
}

# A minute, and what tcpdump, kphi and the daemons made of it.
minute() {
	local begin end name

	for name in "${STREAMS[@]}"; do
		former[$name]=$(downs "$name")
	done
	quiet_from=$(seq_now)
	begin=$(now_ns)
	sleep $QUIET_S
	end=$(now_ns)
	quiet_until=$(seq_now)
	kphi -j peer show > "$WORK/quiet"
	for name in "${STREAMS[@]}"; do
		kphi -j peer window "$name" > "$WORK/window-$name"
	done
	captured
	for name in "${STREAMS[@]}"; do
		wire "$name" from "$begin" until "$end" window "$WORK/window-$name" > "$WORK/wire-$name"
	done
}

# Pings alone have a rhythm, and all datagrams together have none. One ping that was late on a busy machine is not meant: nine tenths of
# the intervals are within so much.
punctual() {
	local name

	for name in coro2 coro3; do
		between "$name: pings alone are punctual (spread of nine tenths, us)" \
			"$(jq '.intervals_ns | sort | (.[(length * 0.95 | floor)] - .[(length * 0.05 | floor)]) / 1000 | round' "$WORK/window-$name")" 0 5000
	done
	tcpdump -n -r "$WORK/cluster.pcap" --time-stamp-precision nano -w "$WORK/all.pcap" \
		"udp dst port 5405 and src 10.9.0.2 and dst 10.9.0.1" 2> /dev/null
	between "... while all datagrams of a node are not (standard deviation, us)" \
		"$(python3 "$ROOT/tests/peers/wire.py" "$WORK/all.pcap" | jq '.sd_ns / 1000 | round')" 50000 10000000
}

was() { # STREAM FILTER: at the end of the minute
	jq -r --arg name "$1" ".[] | select(.name == \$name) | $2" "$WORK/quiet"
}

# compare STREAM: kphi's window with the capture of the same packets
compare() {
	between "$1: intervals to compare" "$(jq .intervals "$WORK/wire-$1")" 25 5000
	between "$1: they are on the wire (percent)" "$(jq '100 * .matched / .intervals | floor' "$WORK/wire-$1")" 90 100
	between "$1: the mean is within 2 % of tcpdump's (ppm)" \
		"$(jq '(.kphi_mean_ns / .capture_mean_ns - 1) * 1e6 | fabs | round' "$WORK/wire-$1")" 0 20000
}

# undisturbed STREAM...: nobody is suspected. Sets `late` to those whose peer was not on time, by the wire.
undisturbed() {
	local name suspected means

	late=()
	for name in "$@"; do
		suspected=$(suspicions "$name" "$quiet_from" "$quiet_until")
		means=$WORK/wire-$name
		printf '%-8s | %-12s | %-12s | %5s | %5s | %s\n' "$name" "$(jq '.kphi_mean_ns / 1e3 | round / 1e3' "$means") ms" \
			"$(jq '.capture_mean_ns / 1e3 | round / 1e3' "$means") ms" $(($(downs "$name") - former[$name])) "$suspected" \
			"$(gap "$name")" >> "$WORK/quiet-table"
		if healthy "$name"; then
			is "$name: nothing is suspected in a quiet minute" "$suspected" 0
		else
			late+=("$name")
		fi
	done
}

# --- deaths -----------------------------------------------------------------------------------------------------------

# found STREAM AFTER HOW SECONDS: it is suspected for its silence within so long
found() {
	ok "$1: $3 is found" eventually "$4" suspected "$1" "$2"
	events ".type == \"suspect\" and .peer == \"$1\" and .seq > $2" | head -n 1 > "$WORK/found"
	is "... for its silence" "$(jq -r .cause "$WORK/found")" silence
	row "$1" "$3" "$(jq -r '"\(.silence_ns / 1e6 | round) ms"' "$WORK/found")" "$(jq -r '"\(.phi | floor) (\(.model))"' "$WORK/found")"
}

row() {
	printf '%-8s | %-28s | %-10s | %s\n' "$@" >> "$WORK/table"
}

# The peers of both BFD programs die, one by each signal, and come back.
bfd_deaths() { # KILLED STOPPED
	local after ms victim frozen ends

	read -r -a ends <<< "$(ends_of "$1") $(ends_of "$2")"
	victim=$1-${ends[0]}
	frozen=$2-${ends[2]}
	after=$(seq_now)
	send KILL "$victim"
	send STOP "$frozen"
	for ms in "${BFD_MS[@]}"; do
		found "$1$ms" "$after" "kill -9" 10
		found "$2$ms" "$after" "SIGSTOP" 10
	done
	ok "kphi check frr: agrees" eventually 10 check_frr
	ok "kphi check bird: agrees" eventually 10 check_bird
	send CONT "$frozen"
	ahead chrt -f 15
	"$1" "${ends[0]}" 1 2
	ok "$1 and $2 are up again" eventually 30 bfd_up
}

bfd_up() {
	sessions_up frr && sessions_up bird && all_are up "${BFD[@]}"
}

# AdminDown is BFD's goodbye. FRR says it when a session is shut down; BIRD says nothing when it is told to stop, so that its
# silence is what anybody's is.
bfd_goodbyes() {
	local after ms

	after=$(seq_now)
	for ms in "${BFD_MS[@]}"; do
		frr_set f1 "$ms" 1 2 shutdown
	done
	bird_shell d1 disable links > /dev/null
	for ms in "${BFD_MS[@]}"; do
		ok "frr$ms: shutdown is a leave" eventually 5 told 1 ".type == \"leave\" and .peer == \"frr$ms\" and .seq > $after"
		found "bird$ms" "$after" "disable (says nothing)" 10
	done
	is "FRR: and none of it is suspected" "$(for ms in "${BFD_MS[@]}"; do suspicions "frr$ms" "$after"; done | xargs)" "0 0 0"
	ok "FRR: they have left" all_are left frr10 frr50 frr300
	for ms in "${BFD_MS[@]}"; do
		frr_set f1 "$ms" 1 2 "no shutdown"
	done
	bird_shell d1 enable links > /dev/null
	ok "FRR and BIRD: all are up again" eventually 30 bfd_up
}

# The two slow ones, one node by each signal.
cluster_deaths() {
	slow=$(seq_now)
	send KILL corosync-n2 serf-n2
	send STOP corosync-n3 serf-n3
}

cluster_found() {
	found coro2 "$slow" "kill -9" 30
	found coro3 "$slow" SIGSTOP 30
	found serf2 "$slow" "kill -9" 120
	found serf3 "$slow" SIGSTOP 120
	ok "kphi check serf: agrees that they are dead" eventually 10 check_serf
	send CONT corosync-n3 serf-n3
	ahead
	corosync 2
	serf 2
	ok "corosync: a new process is trusted at once, whatever its number" eventually 20 all_are up coro2 coro3
	ok "Serf: both are up again" eventually 60 all_are up serf2 serf3
}

# --- VRRP: a router is whoever speaks for it --------------------------------------------------------------------------

speaker_is() { # ADDRESS STREAM...
	local name

	for name in "${@:2}"; do
		[ "$(peer_field "$name" speaker)" = "$1" ] && state_is "$name" up || return 1
	done
}

handed_over() { # STREAM AFTER ADDRESS...: to whom, in this order
	[ "$(events ".type == \"handover\" and .peer == \"$1\" and .seq > $2" | jq -r .speaker | xargs)" = "${*:3}" ]
}

vrrp() {
	local after name

	after=$(seq_now)
	ok "keepalived: n2 speaks" speaker_is 10.9.0.2 vrrp2 vrrp3
	send KILL keepalived-n2
	ok "keepalived: kill -9 of the master: the backup speaks" eventually 20 speaker_is 10.9.0.3 vrrp2 vrrp3
	for name in vrrp2 vrrp3; do
		ok "$name: that is one handover" eventually 5 handed_over $name "$after" 10.9.0.3
	done
	ahead chrt -f 15
	keepalived 2 150
	ok "keepalived: the old master takes over again" eventually 20 speaker_is 10.9.0.2 vrrp2 vrrp3
	send STOP keepalived-n2
	ok "keepalived: SIGSTOP of the master: the backup speaks" eventually 20 speaker_is 10.9.0.3 vrrp2 vrrp3
	send CONT keepalived-n2
	ok "keepalived: the old master takes over again" eventually 20 speaker_is 10.9.0.2 vrrp2 vrrp3
	stop keepalived-n2
	for name in vrrp2 vrrp3; do
		ok "$name: a clean stop is a leave" eventually 5 told 1 ".type == \"leave\" and .peer == \"$name\" and .seq > $after"
	done
	ok "keepalived: and the backup speaks" eventually 20 speaker_is 10.9.0.3 vrrp2 vrrp3
	for name in vrrp2 vrrp3; do
		is "$name: in all of this, nothing was suspected" "$(suspicions $name "$after")" 0
	done

	after=$(seq_now)
	send STOP keepalived-n3
	found vrrp2 "$after" "SIGSTOP of the last speaker" 30
	found vrrp3 "$after" "SIGSTOP of the last speaker" 30
	send CONT keepalived-n3
	ok "keepalived: and trusted when it is back" eventually 20 all_are up vrrp2 vrrp3
}

# --- corosync: its pings have a number that is none of theirs -----------------------------------------------------------

# A switch that drops three pings, a program that multicasts as fast as it can, and a restart: a peer that is suspected for
# any of these would be suspected falsely, whatever the numbers of its pings do.
corosync_is_odd() {
	local after

	after=$(seq_now)
	capture_at heard n1 eth0 in
	capture_at sent n3 eth0 out
	eventually 10 grep -q listening "$(log_of wire-heard)"
	eventually 10 grep -q listening "$(log_of wire-sent)"
	in_ns switch bridge link set dev port3 state 0
	sleep 1.5
	in_ns switch bridge link set dev port3 state 3
	start flood in_ns n2 python3 "$ROOT/tests/peers/multicast.py" 5
	eventually 20 gone "$(pid_of flood)"
	sleep 1
	note "multicasts of n2: $(cat "$(log_of flood)")"
	stop flood
	stop wire-heard
	stop wire-sent
	between "corosync: pings that the switch dropped" $(($(pings sent coro3 .packets) - $(pings heard coro3 .packets))) 1 10
	between "corosync: the largest step of a number, in a busy cluster" "$(pings heard coro2 .largest_step)" 10 32768
	is "corosync: neither is a death" "$(suspicions coro2 "$after") $(suspicions coro3 "$after")" "0 0"
}

pings() { # CAPTURE STREAM FILTER
	tcpdump -n -r "$WORK/$1.pcap" --time-stamp-precision nano -w "$WORK/pings.pcap" "${FILTER[$2]}" 2> /dev/null
	python3 "$ROOT/tests/peers/wire.py" "$WORK/pings.pcap" knet | jq "$3"
}

# --- cross-checks: kphi is of the daemons' opinion, whichever that is -----------------------------------------------------------------------------------------------------

check_frr() {
	frr_peers f2 | kphi check frr
}

check_bird() {
	bird_sessions d2 | kphi check bird
}

check_serf() {
	serf_members 1 | kphi check serf
}

declare -A former=()
late=()
streams
unpack frr bird2 keepalived serf corosync || skip_all "a package could not be fetched, or there are no overlays here"
stage
capture in
begin "chrt -f 15" "chrt -f 15"
up
watch
quiet
corosync_is_odd
cluster_deaths
bfd_deaths frr bird
bfd_deaths bird frr
bfd_goodbyes
vrrp
cluster_found
note "$(printf '%-8s | %-12s | %-12s | %5s | %5s | %s' "quiet" "kphi's mean" "tcpdump's" downs kphi "largest gap on the wire")"
note "$(cat "$WORK/quiet-table")"
note "$(printf '%-8s | %-28s | %-10s | %s' stream "what happened" "silence" "phi (model)")"
note "$(cat "$WORK/table")"
