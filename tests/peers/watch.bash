# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi beside the daemons of daemons.bash: which streams there are, what tcpdump says of each, what `kphi run` said.
#
#     FRR:   f1 (peer) - f2 (observer)       three cables, of sessions at 10, 50 and 300 ms
#     BIRD:  d1 (peer) - d2 (observer)       the same
#     n1 (observer), n2, n3 on a switch      keepalived (the master is n2), Serf, corosync
#
# kphi is attached to every device of the observers, all with one store and one daemon, which is in n1.

. "$(dirname "${BASH_SOURCE[0]}")/../net/pair.bash"
# shellcheck source=tests/peers/daemons.bash
. "$(dirname "${BASH_SOURCE[0]}")/daemons.bash"

SOCKET=$WORK/event.sock

# A stream has a name, settings for `peers:` of kphi run, what tcpdump calls it, and a place of capture (see capture).
STREAMS=()
declare -A SETTINGS=() FILTER=() PLACE=()

stream() { # NAME PLACE SETTINGS FILTER
	STREAMS+=("$1")
	PLACE[$1]=$2
	SETTINGS[$1]=$3
	FILTER[$1]=$4
}

# The interval of a BFD session is the sender's or what this side asked for, whichever is longer; the latter only this
# side knows (local_rx).
streams() {
	local ms program node

	for program in frr bird; do
		for ms in "${BFD_MS[@]}"; do
			stream "$program$ms" $program "proto: bfd, from: $(bfd_address "$ms" $program 1), local_rx: ${ms}ms" \
				"udp dst port 3784 and src $(bfd_address "$ms" $program 1)"
		done
	done
	stream vrrp2 cluster "proto: vrrp, vrid: 51" "ip proto 112 and ip[21] = 51"
	stream vrrp3 cluster "proto: vrrp, vrid: 52" "ip proto 112 and ip[21] = 52"
	for node in 2 3; do
		stream coro$node cluster "proto: corosync, from: 10.9.0.$node, host: n$node" \
			"udp dst port 5405 and src 10.9.0.$node and dst 10.9.0.1 and udp[8:2] = 0x0181"
		stream serf$node cluster "proto: memberlist, from: 10.9.0.$node, host: n$node" \
			"udp dst port 7946 and src 10.9.0.$node and dst 10.9.0.1"
	done
}

# stage: namespaces and cables, kphi on the observers' ends
stage() {
	local program ms ends

	for program in frr bird; do
		read -r -a ends <<< "$(ends_of $program)"
		ns_add "${ends[0]}"
		ns_add "${ends[1]}"
		for ms in "${BFD_MS[@]}"; do
			veth_pair "${ends[0]}" "ms$ms" "$(bfd_address "$ms" $program 1)/24" \
				"${ends[1]}" "ms$ms" "$(bfd_address "$ms" $program 2)/24"
			attach "${ends[1]}" "ms$ms"
		done
	done
	cluster
	attach n1 $CLUSTER_DEV
}

# ends_of PROGRAM: peer and observer
ends_of() {
	case $1 in frr) echo f1 f2 ;; bird) echo d1 d2 ;; esac
}

# cluster: n1, n2, n3 with a device each on a switch of their own
cluster() {
	local node

	ns_add switch
	in_ns switch ip link add br0 type bridge mcast_snooping 0 forward_delay 0
	in_ns switch ip link set br0 up
	for node in "${CLUSTER[@]}"; do
		ns_add "n$node"
		veth_pair "n$node" $CLUSTER_DEV "10.9.0.$node/24" switch "port$node" -
		in_ns switch ip link set "port$node" master br0
	done
}

# --- the programs -----------------------------------------------------------------------------------------------------

# begin PEERS OBSERVERS: all of them, and what goes before the commands of either. A peer that is late because this machine is busy
# would be suspected rightly, so it should go ahead of other processes. Not Serf, which, with a real-time priority, can starve
# itself, as any Go program; corosync has such a priority of its own.
begin() {
	local node

	# shellcheck disable=SC2086 # several words
	ahead $1
	frr f1 1 2
	bird d1 1 2
	keepalived 2 150
	keepalived 3 100
	# shellcheck disable=SC2086
	ahead $2
	frr f2 2 1
	bird d2 2 1
	keepalived 1 50
	ahead
	for node in "${CLUSTER[@]}"; do
		serf "$node"
		corosync "$node"
	done
}

sessions_up() { # PROGRAM
	local ms ends

	read -r -a ends <<< "$(ends_of "$1")"
	for ms in "${BFD_MS[@]}"; do
		[ "$("$1_state" "${ends[1]}" "$ms")" = up ] && [ "$("$1_state" "${ends[0]}" "$ms")" = up ] || return 1
	done
}

serf_joined() {
	[ "$(serf_members 1 | jq '[.members[] | select(.status == "alive")] | length')" = 3 ]
}

# The last membership is that of all three nodes.
corosync_joined() {
	[[ $(grep 'QUORUM. Members' "$(log_of corosync-n1)" | tail -n 1) == *"Members[3]: 1 2 3"* ]]
}

# n2 is the master of both routers, and the observer is not.
keepalived_settled() {
	local version

	for version in 2 3; do
		[[ $(grep "(v$version) Entering" "$(log_of keepalived-n1)" | tail -n 1) == *"BACKUP STATE"* ]] || return 1
		[[ $(grep "(v$version) Entering" "$(log_of keepalived-n2)" | tail -n 1) == *"MASTER STATE"* ]] || return 1
	done
}

# up: each program, as its observer sees it
up() {
	ok "FRR: the sessions are up" eventually 30 sessions_up frr
	ok "BIRD: the sessions are up" eventually 30 sessions_up bird
	ok "Serf: three members" eventually 60 serf_joined
	ok "corosync: three members" eventually 30 corosync_joined
	ok "keepalived: n2 is the master" eventually 30 keepalived_settled
}

# --- the daemon -------------------------------------------------------------------------------------------------------

CONSUMERS="{name: page, suspect: 8, clear: 4, correlated: off}"

# watch WORD...: kphi run, with more lines for its configuration. Nobody is spared because others are silent, too:
# several peers die at once here.
watch() {
	local name

	{
		echo "devices: [{name: $CLUSTER_DEV}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		printf '%s\n' "$@"
		echo "consumers: [$CONSUMERS]"
		echo "peers:"
		for name in "${STREAMS[@]}"; do
			echo "  - {name: $name, ${SETTINGS[$name]}}"
		done
	} > "$WORK/kphi.yaml"
	start run in_ns n1 kphi run config "$WORK/kphi.yaml"
	eventually 10 kphi event socket "$SOCKET"
}

# events FILTER: of those that the daemon told
events() {
	jq -cR "fromjson? | select(.type) | select($1)" < "$(log_of run)"
}

# told N FILTER: at least N
told() {
	[ "$(events "$2" | wc -l)" -ge "$1" ]
}

# The number of the last event: those with a higher one are from now on.
seq_now() {
	events true | tail -n 1 | jq .seq
}

# suspicions STREAM AFTER [UNTIL]: how often it was suspected after that event (and not after the other)
suspicions() {
	events ".type == \"suspect\" and .peer == \"$1\" and .seq > $2 and .seq <= ${3:-1e18}" | wc -l
}

suspected() { # STREAM AFTER
	[ "$(suspicions "$1" "$2")" -gt 0 ]
}

all_are() { # STATE STREAM...
	local name states

	states=$(kphi -j peer show | jq -c '[.[] | {(.name): .state}] | add')
	for name in "${@:2}"; do
		[ "$(jq -r ".$name" <<< "$states")" = "$1" ] || return 1
	done
}

# --- the wire ---------------------------------------------------------------------------------------------------------

# capture SIDE: begins a capture of each place, where the observers receive (`in`) or where the peers send (`out`)
capture() {
	local place

	for place in frr bird cluster; do
		# shellcheck disable=SC2046 # two words
		capture_at $place $(capture_point $place "$1") "$1"
	done
	for place in frr bird cluster; do
		eventually 10 grep -q listening "$(log_of "wire-$place")"
	done
}

capture_point() { # PLACE SIDE: namespace and device
	case $1-$2 in
	frr-in) echo f2 any ;;
	frr-out) echo f1 any ;;
	bird-in) echo d2 any ;;
	bird-out) echo d1 any ;;
	cluster-in) echo n1 $CLUSTER_DEV ;;
	cluster-out) echo switch port1 ;;
	esac
}

CAPTURED="udp dst port 3784 or udp dst port 5405 or udp dst port 7946 or ip proto 112"

capture_at() { # PLACE NS DEV SIDE
	start "wire-$1" in_ns "$2" chrt -f 10 tcpdump -i "$3" -Q "$4" -n -U --immediate-mode -B 16384 \
		--time-stamp-precision nano -w "$WORK/$1.pcap" "$CAPTURED"
}

captured() {
	local place

	sleep 0.3 # what was on its way is written
	for place in frr bird cluster; do
		stop "wire-$place"
	done
}

# wire STREAM [WORD...]: what the capture says of it (wire.py)
wire() {
	tcpdump -n -r "$WORK/${PLACE[$1]}.pcap" --time-stamp-precision nano -w "$WORK/$1.pcap" "${FILTER[$1]}" 2> /dev/null
	python3 "$ROOT/tests/peers/wire.py" "$WORK/$1.pcap" "${@:2}"
}

# The wall clock, as tcpdump's stamps have it.
now_ns() {
	echo "${EPOCHREALTIME/./}000"
}

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
