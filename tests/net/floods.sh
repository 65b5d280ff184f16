#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Hostile floods at the line rate of this machine, one class of packets after the other, while native peers beat through another
# device and through the very same one, and `kphi run` judges them. Each packet that arrives moves the one counter of its
# class; no state is made; nobody is suspected who was sending; the windows are what was on the wire. The witness is one
# who is killed while his own beats are replayed by the hundred thousand: he is found out.
#
# The flooded device has neither ARP nor IPv6, so that what it counts is the flood and the beats of the one peer there.

. "$(dirname "$0")/pair.bash"

PORT=7441 RULE_PORT=9000
INTERVAL_US=50000
PEERS=(open keyed bound same) # real ones that beat natively all the time; `victim` is to die, `ruled` is known by a rule
MALFORMED=malformed_ipv4,malformed_ipv6,malformed_udp,wire_magic,wire_version,wire_length

# --- who is there -----------------------------------------------------------------------------------------------------

# bare_cable: a's eth0 to b's, with nothing on it but what is sent on purpose
bare_cable() {
	local end ns

	veth_pair a eth0 - b eth0 -
	for end in a:10.9.0.1 a:10.9.0.3 b:10.9.0.2 b:10.9.0.4; do
		in_ns "${end%:*}" ip addr add "${end#*:}/24" dev eth0
	done
	for ns in a b; do
		in_ns $ns ip link set eth0 arp off
		in_ns $ns ip link set eth0 up
	done
	in_ns a ip route replace 10.9.0.4/32 dev eth0 src 10.9.0.3
}

# capture NAME NS DEV SOURCE: what leaves it, as native beats, into $WORK/NAME.pcap
capture() {
	start "tape-$1" in_ns "$2" tcpdump -i "$3" --immediate-mode -U -s 0 -Q out --time-stamp-precision nano -w "$WORK/$1.pcap" \
		"udp port $PORT and src host $4"
	eventually 20 test -s "$WORK/$1.pcap"
}

# sender NAME N NS TARGET [WORD...]: ahead of everybody else, so that what the flood does to this machine is not done to him
sender() {
	start "$1" in_ns "$3" kphi beat to "$4" id "$(uuid "$2")" state "$WORK/state-$2" interval 50ms "${@:5}"
}

setup() {
	local name

	ns_add a
	ns_add b
	ns_add c
	bare_cable
	veth_pair c eth1 10.10.0.1/24 b eth1 10.10.0.2/24
	in_ns c ip addr add 10.10.0.3/24 dev eth1
	in_ns c ip addr add 10.10.0.5/24 dev eth1
	meet_c
	kphi store create peers 16 window 100 > /dev/null
	attach b eth0
	attach b eth1
	kphi key add cluster generate "$WORK/key" > /dev/null
	kphi peer add open id "$(uuid 1)" interval 50ms > /dev/null
	kphi peer add keyed id "$(uuid 2)" interval 50ms key cluster > /dev/null
	kphi peer add bound id "$(uuid 3)" interval 50ms from 10.10.0.1,10.10.0.3,10.10.0.5 ttl 255 > /dev/null
	kphi peer add same id "$(uuid 4)" interval 50ms > /dev/null
	kphi peer add victim id "$(uuid 5)" interval 50ms > /dev/null
	kphi peer add ruled from 10.10.0.1 port $RULE_PORT interval 50ms > /dev/null
	capture c c eth1 10.10.0.1
	capture same a eth0 10.9.0.3
	capture victim a eth0 10.9.0.1
	sender open 1 c 10.10.0.2
	sender keyed 2 c 10.10.0.2 key "$WORK/key"
	sender bound 3 c 10.10.0.2
	sender same 4 a 10.9.0.4
	sender victim 5 a 10.9.0.2
	echo 62656174 | in_ns c python3 "$ROOT/tests/net/frame.py" packet 10.10.0.1 10.10.0.2 udp:$RULE_PORT 64 > "$WORK/rule"
	start ruled in_ns c chrt -f 10 "$TOOLS/rawsend" eth1 count 1000000 every 50ms "$(cat "$WORK/rule")"
	for name in "${PEERS[@]}" victim ruled; do
		ok "$name is heard" eventually 20 beats_reach "$name" 20
	done
	printf 'state: %s/state\noutputs: {socket: %s/socket}\nweb: {listen: no}\nconsumers: [{name: page, suspect: 8}]\n' "$WORK" "$WORK" \
		> "$WORK/kphi.yaml"
	start run in_ns b kphi run config "$WORK/kphi.yaml"
	ok "the daemon judges" eventually 20 grep -q '"type":"config"' "$(log_of run)"
}

meet_c() {
	eventually 10 in_ns c ping -c 1 -W 1 -I eth1 10.10.0.2
}

# --- what is counted --------------------------------------------------------------------------------------------------

counters() {
	kphi -j net show | jq -c .counters
}

# dropped: frames that were sent on the flooded cable and did not arrive, as both ends count
dropped() {
	echo $(($(in_ns a ip -j -s link show dev eth0 | jq '.[0].stats64.tx.dropped') +
		$(in_ns b ip -j -s link show dev eth0 | jq '.[0].stats64.rx.dropped')))
}

# lost: of these, beats, as their sequence tells
lost() {
	kphi -j peer show | jq '[.. | objects | select(.name? == "same" or .name? == "victim") | .lost] | add'
}

# moved BEFORE NAMES: the sum of what these outcomes (with commas) moved since then
moved() {
	jq -n --argjson before "$1" --argjson after "$(counters)" --arg names "$2" \
		'[$names | split(",")[] | $after[.] - $before[.]] | add // 0'
}

# others BEFORE NAMES: the outcomes and lives that moved since then and are neither these nor beats
others() {
	jq -n -c --argjson before "$1" --argjson after "$(counters)" --arg names "$2" \
		'($names + ",beat,capped,unlearned,stamp_inverted,undiscovered" | split(",")) as $ours |
		[$after | to_entries[] | select(.value != $before[.key]) | .key] - $ours'
}

# all_counted BEFORE NAMES DROPPED LOST SENT: whatever was sent and not dropped is in one of these counters
all_counted() {
	[ "$(moved "$1" "$2")" = $(($5 - ($(dropped) - $3) + ($(lost) - $4))) ]
}

# made: whatever a packet could have made: identities, settings, rules, verdicts, what is in a slot that is nobody's
made() {
	local pins=("$KPHI_PIN"/abi-*) map

	kphi -j store show | jq -c '[.used, .peers]'
	for map in ids peers rules; do
		bpftool map dump pinned "${pins[0]}/$map" | sed 's/"watched": [01]/"watched": ?/' | md5sum
	done
	bpftool -j map dump pinned "${pins[0]}/verdicts" | jq -c '[.[].formatted | select(.value.state != 0).key]'
	bpftool -j map dump pinned "${pins[0]}/records" | jq -c '.[].formatted | select(.value.state == 0)' | md5sum
}

# flood NAME COUNTERS CLASS [WORD...]: for two seconds, of this class; what arrives moves these counters, and each packet one
flood() {
	local before was state sent

	python3 "$ROOT/tests/net/floods.py" "$3" 10.9.0.2 "${@:4}" > "$WORK/frames"
	state=$(made)
	before=$(counters)
	was=("$(dropped)" "$(lost)")
	in_ns a "$TOOLS/rawsend" eth0 for 2s < "$WORK/frames" > "$WORK/sent"
	sent=$(grep -o '[0-9]*' "$WORK/sent")
	counted "$1" "$before" "$2" "${was[0]}" "${was[1]}" "$sent"
	is "$1: nothing is made of it" "$(made)" "$state"
}

# counted NAME BEFORE COUNTERS DROPPED LOST SENT
counted() {
	between "$1: so many were sent" "$6" 10000 100000000
	if [ -n "$3" ]; then
		ok "$1: each one that arrived moved its counter" eventually 20 all_counted "$2" "$3" "$4" "$5" "$6"
		note "$(moved "$2" "$3") of $6 arrived"
	fi
	is "$1: and no other moved" "$(others "$2" "$3")" "[]"
}

# --- floods -----------------------------------------------------------------------------------------------------------

epoch() {
	peer_field "$1" epoch
}

classes() {
	local before

	before=$(packets b eth0)
	flood "foreign" "" foreign $PORT
	between "foreign: witness: they arrived" "$(($(packets b eth0) - before))" 10000 100000000
	flood "malformed" $MALFORMED malformed $PORT
	flood "unknown ids" unknown_peer unknown $PORT
	flood "wrong tags in a peer's name" bad_tag tag $PORT "$(uuid 2)" "$(epoch keyed)" 1
	is "the peer's own book has them" "$(peer_field keyed refused)" "$(counters | jq .bad_tag)"
	flood "a peer's id from elsewhere" peer_source source $PORT "$(uuid 3)" "$(epoch bound)" 0
	is "the peer's own book has them, too" "$(peer_field bound refused)" "$(counters | jq .peer_source)"
	flood "a rule's port" no_rule rule $RULE_PORT
}

discovered() {
	start discover in_ns b kphi -j peer discover for 5m
	flood "unknown ids, while somebody asks" unknown_peer unknown $PORT
	stop discover INT
	is "he is told of no more than he can bear" "$(jq -c '[(.callers | length) <= 1024, .messages > 10000]' "$(log_of discover)")" \
		'[true,true]'
}

# suspected NAME: how often the daemon has said so
suspected() {
	jq -cR "fromjson? | select(.type == \"suspect\" and .peer == \"$1\")" < "$(log_of run)" | wc -l
}

is_suspected() {
	[ "$(suspected "$1")" -gt 0 ]
}

stale_reaches() { # N
	[ "$(moved "$STALE_BEFORE" duplicate,stale_sequence)" -ge "$1" ]
}

# Beats that were heard, of one who goes on and of one who is killed meanwhile.
replays() {
	local last state was sent

	stop tape-victim INT
	python3 "$ROOT/tests/net/floods.py" tape "$WORK/victim.pcap" "$WORK/c.pcap" > "$WORK/frames"
	state=$(made)
	STALE_BEFORE=$(counters)
	was=("$(dropped)" "$(lost)")
	start replay in_ns a bash -c "exec '$TOOLS/rawsend' eth0 for 100s < '$WORK/frames'"
	eventually 20 stale_reaches 10000 || fail "the replay begins" "$(cat "$(log_of replay)")"
	stop victim KILL
	last=$(peer_field victim last_ns)
	ok "who is killed is found out, while his beats are replayed" eventually 40 is_suspected victim
	stop replay
	sent=$(grep -o '[0-9]*' "$(log_of replay)")
	counted replays "$STALE_BEFORE" duplicate,stale_sequence "${was[0]}" "${was[1]}" "$sent"
	is "his last beat is as old as it was" "$(peer_field victim last_ns)" "$last"
	is "replays: nothing is made of it" "$(made)" "$state"
}

# --- those who lived --------------------------------------------------------------------------------------------------

# wire NAME CAPTURE: what is kept of a peer is what was on the wire. A standard deviation below a tenth of the interval is
# taken for that much, so what bends it by less bends no phi. And a verdict is false only of who was sending.
wire() {
	local told

	kphi -j peer window "$1" > "$WORK/window"
	told=$(python3 "$ROOT/tests/net/floods.py" wire "$2" "$WORK/window")
	note "$1: $told"
	between "$1: a full window" "$(jq .samples <<< "$told")" 50 100
	between "$1: the mean is the wire's (us apart)" "$(jq .mean_us <<< "$told")" 0 $((INTERVAL_US / 50))
	between "$1: so is the standard deviation (us apart)" "$(jq .stddev_us <<< "$told")" 0 $((INTERVAL_US / 10))
	if [ "$(jq .largest_us <<< "$told")" -lt $((4 * INTERVAL_US)) ]; then
		is "$1: nobody suspected it" "$(suspected "$1")" 0
	else
		note "$1: it was silent by itself: $(suspected "$1") suspicions"
	fi
}

# of N: the beats of sender N out of the capture of c, which has three
of() {
	tcpdump -r "$WORK/c.pcap" --time-stamp-precision nano -w "$WORK/$1.pcap" \
		"udp[24:4] = 0 and udp[36:4] = $1" 2> /dev/null
	echo "$WORK/$1.pcap"
}

lived() {
	local name

	stop run
	is "the daemon's word on a rule's peer: none" "$(suspected ruled)" 0
	for name in "${PEERS[@]}"; do
		stop "$name" KILL
	done
	stop tape-c INT
	stop tape-same INT
	wire open "$(of 1)"
	wire keyed "$(of 2)"
	wire bound "$(of 3)"
	wire same "$WORK/same.pcap"
	for name in "${PEERS[@]}" ruled; do
		is "$name: one life" "$(kphi -j peer show "$name" | jq -c '[.restarts, .retuned]')" "[0,0]"
	done
}

setup
classes
discovered
replays
lived
