# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Who takes part in a duel, and where. Source it in a room of its own (tests/run --room).
#
#     f1 (peer) - f2 (observer)    FRR: six sessions of BFD, 3 x 50 ms, on one cable
#     d1 (peer) - d2 (observer)    BIRD: the same
#     n1 (observer)  n2  n3  n4    a switch. n2 is VRRP's master and has the senders of native beats; n3 a third member of Serf.
#                                  In n1 are keepalived, Serf, the detectors in user space and the `kphi run` that is no better off
#                                  than they are; in n4 one as it is shipped, at SCHED_FIFO
#
# Native beats are multicast: each is one packet, which all that watch beats hear. Peers, captures and whoever writes down have CPU 0 and a
# real-time priority, but for Serf; observers have CPU 1.

# shellcheck source=tests/peers/watch.bash
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/peers/watch.bash"
# shellcheck source=tests/peers/starve.bash
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/peers/starve.bash"

DUEL=$ROOT/tools/duel.d
BUILT=$ROOT/build/tools/duel.d
WITH=(frr bird keepalived serf) # which programs of others take part
RAW=$WORK/raw
PIN_FIFO=$ROOT/build/duel/bpffs # where the maps of the second kphi are

CLUSTER=(1 2 3 4)
CLUSTER_DEV=duel0
BFD_MS=(1 2 3 4 5 6)
BEATS=10
GROUP_ADDRESS=239.77.66.1
# Everybody who watches BFD or beats has a timeout of 150 ms.
BFD_PAUSE_MS=78 # mean 43.75 (BFD sends after 75 to 100 % of 50 ms) + this + 5.61 times the floor, 5 ms
BEAT_PAUSE_MS=72 # mean 50
CONSUMERS+=", {name: gossip, suspect: 3, clear: 1.5, correlated: off, peers: ['serf*']}" # 6.9 mean intervals: about Serf's own six seconds
VRRP_PAUSE_MS=224 # keepalived's own timeout is 3 x 100 ms + 80 at this priority

USERS=(user-reads user-timers gc-reads gc-timers)
CAPTURED="udp dst port 3784 or udp dst port 7946 or udp dst port 7441 or ip proto 112"
AHEAD_OF_ALL=(chrt -f 15 taskset -c 0)
SCRIBE=(chrt -f 12 taskset -c 0)

bfd_interval() { echo 50; }
bfd_dev() { echo duel1; }
bfd_address() {
	case $2 in frr) echo "10.1.$1.$3" ;; bird) echo "10.2.$1.$3" ;; esac
}

has() { # PROGRAM
	[[ " ${WITH[*]} " == *" $1 "* ]]
}

node_id() { # N
	printf 'd0e10000-0000-4000-8000-%012d' "$1"
}

# --- namespaces -------------------------------------------------------------------------------------------------------

# stage_duel: and kphi on the observers' ends, of two stores
stage_duel() {
	local program ends

	mkdir -p "$RAW" "$PIN_FIFO"
	mount -t bpf bpf "$PIN_FIFO"
	cluster
	in_ns n2 ip route add 239.0.0.0/8 dev $CLUSTER_DEV
	in_ns n1 ip route add 239.0.0.0/8 dev $CLUSTER_DEV
	attach n1 $CLUSTER_DEV
	in_ns n4 "$KPHI" --pin "$PIN_FIFO" net attach dev $CLUSTER_DEV > "$WORK/attach-fifo"
	for program in frr bird; do
		has $program || continue
		read -r -a ends <<< "$(ends_of $program)"
		bfd_cable "$program" "${ends[@]}"
		attach "${ends[1]}" duel1
	done
}

bfd_cable() { # PROGRAM PEER OBSERVER
	local n

	ns_add "$2"
	ns_add "$3"
	veth_pair "$2" duel1 "$(bfd_address 1 "$1" 1)/24" "$3" duel1 "$(bfd_address 1 "$1" 2)/24"
	for n in "${BFD_MS[@]:1}"; do
		in_ns "$2" ip addr add "$(bfd_address "$n" "$1" 1)/24" dev duel1
		in_ns "$3" ip addr add "$(bfd_address "$n" "$1" 2)/24" dev duel1
	done
}

# --- what kphi watches ------------------------------------------------------------------------------------------------

streams_of_duel() {
	local program n

	for program in frr bird; do
		has $program || continue
		for n in "${BFD_MS[@]}"; do
			stream "$program$n" $program "proto: bfd, from: $(bfd_address "$n" $program 1), local_rx: 50ms, pause: ${BFD_PAUSE_MS}ms" ""
		done
	done
	! has keepalived || stream vrrp3 cluster "proto: vrrp, vrid: 52, interval: 100ms, pause: ${VRRP_PAUSE_MS}ms" ""
	if has serf; then
		stream serf2 cluster "proto: memberlist, from: 10.9.0.2" ""
		stream serf3 cluster "proto: memberlist, from: 10.9.0.3" ""
	fi
	for ((n = 1; n <= BEATS; n++)); do
		stream "beat$n" cluster "id: $(node_id "$n"), interval: 50ms, pause: ${BEAT_PAUSE_MS}ms" ""
	done
}

# The second kphi, as it is shipped: SCHED_FIFO 10. It watches the beats.
watch_fifo() {
	local n

	{
		echo "devices: [{name: $CLUSTER_DEV}]"
		echo "outputs: {socket: $WORK/fifo.sock}"
		echo "state: $WORK/fifo-state"
		echo "web: {listen: no}"
		echo "consumers: [{name: page, suspect: 8, clear: 4, correlated: off}]"
		echo "peers:"
		for ((n = 1; n <= BEATS; n++)); do
			echo "  - {name: beat$n, ${SETTINGS[beat$n]}}"
		done
	} > "$WORK/fifo.yaml"
	start run-fifo in_ns n4 "$KPHI" --pin "$PIN_FIFO" run config "$WORK/fifo.yaml"
	eventually 10 kphi event socket "$WORK/fifo.sock"
}

# user NAME ORDER PAUSE_MS STAMPS: a detector in user space
user() {
	local n peers=()

	for ((n = 1; n <= BEATS; n++)); do
		peers+=("beat$n=$(node_id "$n")")
	done
	start "$1" in_ns n1 taskset -c 1 "$BUILT/user-detector" 7441 $GROUP_ADDRESS "$2" "$3" 2000 "$4" $BEAT_PAUSE_MS "${peers[@]}"
	eventually 10 grep -q ready "$(log_of "$1")"
}

# --- the start --------------------------------------------------------------------------------------------------------

# begin_duel: everybody, those who write down first
begin_duel() {
	export TZ=UTC # of the programs' logs
	watch "priority: 0" "web: {listen: no}"
	watch_fifo
	start tape "${SCRIBE[@]}" "$KPHI" --pin "$KPHI_PIN" trace record "$RAW/alike.trace"
	start tape-fifo "${SCRIBE[@]}" "$KPHI" --pin "$PIN_FIFO" trace record "$RAW/fifo.trace"
	user user-reads reads 0 "$RAW/stamps.tsv"
	user user-timers timers 0 -
	user gc-reads reads 200 -
	user gc-timers timers 200 -
	capture_duel
	start mortals in_ns n2 "${AHEAD_OF_ALL[@]}" python3 "$DUEL/mortals.py" "$KPHI" "$WORK" $GROUP_ADDRESS $BEATS "$RAW/kills.tsv"
	OBSERVERS=(run-fifo "${USERS[@]}")
	begin_others
	pin 1
	start stamp "${SCRIBE[@]}" python3 "$DUEL/stamp.py" "$RAW/stamped.tsv" "$(log_of keepalived-n1)" "$(log_of serf-n1)"
}

# Peers before observers, so that whoever restarts a peer finds nothing else changed.
begin_others() {
	local program ends node

	for program in frr bird; do
		has $program || continue
		read -r -a ends <<< "$(ends_of $program)"
		peer_begins $program
		ahead
		$program "${ends[1]}" 2 1
		OBSERVERS+=("$program-${ends[1]}")
	done
	if has keepalived; then
		peer_begins keepalived
		ahead
		keepalived 1 50
		OBSERVERS+=(keepalived-n1)
	fi
	if has serf; then
		ahead
		for node in 1 2 3; do
			serf $node
		done
		OBSERVERS+=(serf-n1)
	fi
}

peer_begins() { # PROGRAM
	ahead "${AHEAD_OF_ALL[@]}"
	# Who changes the host's /etc/group takes away what is mounted over it, here as well.
	getent group frr > /dev/null || users
	case $1 in
	frr) frr f1 1 2 ;;
	bird) bird d1 1 2 ;;
	keepalived) keepalived 2 150 ;;
	serf) ahead && serf 3 ;;
	esac
}

victim() { # PROGRAM: the daemon that is killed
	case $1 in frr) echo frr-f1 ;; bird) echo bird-d1 ;; keepalived) echo keepalived-n2 ;; serf) echo serf-n3 ;; esac
}

capture_duel() {
	capture_on cluster switch port1
	! has frr || capture_on frr f1 duel1
	! has bird || capture_on bird d1 duel1
}

capture_on() { # PLACE NS DEV
	start "wire-$1" in_ns "$2" "${SCRIBE[@]}" tcpdump -i "$3" -Q out -n -U --immediate-mode -B 16384 -s 192 \
		--time-stamp-precision nano -w "$RAW/$1.pcap" "$CAPTURED"
	eventually 10 grep -q listening "$(log_of "wire-$1")"
}

# --- is all well? -----------------------------------------------------------------------------------------------------

# Overrides the one of watch.bash: all sessions are on one device.
sessions_up() { # PROGRAM
	local ends

	read -r -a ends <<< "$(ends_of "$1")"
	[ "$("up_of_$1" "${ends[1]}")" = ${#BFD_MS[@]} ] && [ "$("up_of_$1" "${ends[0]}")" = ${#BFD_MS[@]} ]
}

up_of_frr() { # NS
	frr_peers "$1" | jq '[.[] | select(.status == "up")] | length'
}

up_of_bird() { # NS
	bird_sessions "$1" | grep -cw Up || true
}

master_is_n2() {
	[[ $(grep "(v3) Entering" "$(log_of keepalived-n1)" | tail -n 1) == *"BACKUP STATE"* ]] &&
		[[ $(grep "(v3) Entering" "$(log_of keepalived-n2)" | tail -n 1) == *"MASTER STATE"* ]]
}

all_well() {
	{ ! has frr || sessions_up frr; } && { ! has bird || sessions_up bird; } && { ! has keepalived || master_is_n2; } &&
		{ ! has serf || serf_joined; } && all_are up "${STREAMS[@]}"
}

# bfd_well: what a second kill waits for
bfd_well() {
	{ ! has frr || sessions_up frr; } && { ! has bird || sessions_up bird; }
}

# The end of the recordings. Everybody else ends with the room.
end_duel() {
	local name

	sleep 0.3 # what was on its way is written
	for name in mortals tape tape-fifo "${USERS[@]}" stamp wire-cluster wire-frr wire-bird run run-fifo; do
		! running "$name" || stop "$name"
	done
	for name in run run-fifo "${USERS[@]}" frr-f2 bird-d2; do
		[ ! -e "$(log_of "$name")" ] || cp "$(log_of "$name")" "$RAW"
	done
	"$BUILT/deadlines" "$RAW/alike.trace" > "$RAW/alike.tsv"
	"$BUILT/deadlines" "$RAW/fifo.trace" > "$RAW/fifo.tsv"
	rm -f "$RAW"/*.trace
}
