#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rules that look into packets, and the presets that are made of them: streams of one source told apart, losses counted,
# goodbyes understood, speakers that hand over.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# packets_from SOURCE PROTOCOL TTL [TAG...]: a packet for each line of hex, to b; every 10 ms by cable eth0
packets_from() {
	python3 "$ROOT/tests/net/frame.py" packet "$1" 10.0.0.2 "${@:2}" | in_ns a "$TOOLS/rawsend" "${CABLE-eth0}" every 10ms
}

# times N HEX...: the lines, N times
times() {
	local i

	for ((i = 0; i < $1; i++)); do
		printf '%s\n' "${@:2}"
	done
}

# hex FORMAT NUMBER...: a line for each number
# shellcheck disable=SC2059 # it is one
hex() {
	printf "$1\\n" "${@:2}"
}

add() {
	in_ns b kphi peer add "$@" > "$WORK/added" 2>&1
}

# moved COUNTER COMMAND...: by how much the command moves it
moved() {
	local before

	before=$(counter "$1")
	"${@:2}"
	echo $(($(counter "$1") - before))
}

# Three streams from one source to one port; the rule that asks for most has a packet.
two_streams() {
	add ping proto udp from 10.0.0.1 port 6000 match 0:0181
	add pong proto udp from 10.0.0.1 port 6000 match 0:0182
	is "streams: what fits no rule is counted" "$(moved no_rule packets_from 10.0.0.1 udp:6000 64 <<< 0183)" 1
	add rest from 10.0.0.1 port 6000
	{ times 20 0181aa 0182bb && times 10 0181 0184 && times 3 01; } > "$WORK/payloads"
	packets_from 10.0.0.1 udp:6000 64 < "$WORK/payloads"
	is "streams: each has its own" "$(peer_field ping beats) $(peer_field pong beats) $(peer_field rest beats)" "30 20 13"
	packets_from 10.0.0.9 udp:6000 64 <<< 0181
	is "streams: and only of its source" "$(peer_field ping beats)" 30

	add nibble proto udp port 6001 match 1:30/f0 match 3:ff
	{ times 5 003000ff 003f00ff && times 7 004000ff 003000fe; } > "$WORK/payloads"
	is "a mask, and two matches" "$(moved no_rule packets_from 10.0.0.9 udp:6001 64 < "$WORK/payloads")" 14
	is "whoever sends it" "$(peer_field nibble beats)" 10
}

sequences() {
	local numbers

	add lossy proto udp from 10.0.0.1 port 6002 sequence 2:16
	numbers="65530 65531 65533 65532 65534 65534 $(seq -s ' ' 2 20) 22"
	# shellcheck disable=SC2086 # numbers
	hex aaaa%04x $numbers | packets_from 10.0.0.1 udp:6002 64
	is "sequence: what is missing is lost, also where the number comes round" "$(peer_field lossy lost)" 4
	is "sequence: one that came twice" "$(peer_field lossy duplicates)" 1
	is "sequence: one that was late" "$(peer_field lossy reordered)" 1
	is "sequence: neither is a beat" "$(peer_field lossy beats)" 24
	is "sequence: too short for it" "$(moved rule_short packets_from 10.0.0.1 udp:6002 64 <<< aaaaff)" 1

	add little proto udp from 10.0.0.1 port 6003 sequence 0:32le
	printf '%s\n' fe000000 ff000000 00010000 03010000 | packets_from 10.0.0.1 udp:6003 64
	is "sequence: little endian" "$(peer_field little beats) $(peer_field little lost)" "4 2"
}

leaves() {
	add polite proto udp from 10.0.0.1 port 6004 match 0:aa leave 1:00
	times 5 aa01 | packets_from 10.0.0.1 udp:6004 64
	is "leave: first it is there" "$(peer_field polite beats)" 5
	is "leave: one goodbye" "$(moved leave packets_from 10.0.0.1 udp:6004 64 <<< aa00)" 1
	is "leave: it has left" "$(peer_field polite state)" left
	packets_from 10.0.0.1 udp:6004 64 <<< aa01
	ok "leave: and is back with the next beat" ! state_is polite left
}

by_protocol() {
	add ospf proto ip protocol 89 from 10.0.0.1 ttl 1
	add grouped proto ip protocol 89 match 1:05
	packets_from 10.0.0.1 89 1 < <(times 4 0201 0205)
	packets_from 10.0.0.7 89 1 < <(times 3 0205)
	is "a protocol by its number" "$(peer_field ospf beats) $(peer_field grouped beats)" "8 3"
}

# Two routers of one number: versions 2 and 3, a handover there and back, and what must not count.
vrrp() {
	local v2=213396010001 v3=31336401000a

	add v51 proto vrrp vrid 51
	times 5 $v2 | packets_from 10.0.0.1 112 255
	is "vrrp: a new master is a handover" "$(moved handover packets_from 10.0.0.3 112 255 < <(times 4 $v3))" 1
	is "vrrp: both are beats of the router" "$(peer_field v51 beats)" 9
	is "vrrp: and nobody died" "$(peer_field v51 restarts)" 0
	is "vrrp: another router's" "$(moved no_rule packets_from 10.0.0.3 112 255 <<< 31346401000a)" 1
	is "vrrp: not an advertisement" "$(moved no_rule packets_from 10.0.0.3 112 255 <<< 32336401000a)" 1
	is "vrrp: TTL 254 has come over a router" "$(moved rule_ttl packets_from 10.0.0.3 112 254 < <(times 3 $v3))" 3
	is "vrrp: and is no beat" "$(peer_field v51 beats)" 9
	is "vrrp: priority 0 is a goodbye" "$(moved leave packets_from 10.0.0.3 112 255 <<< 31330001000a)" 1
	is "vrrp: the master has left" "$(peer_field v51 state)" left
	is "vrrp: and another one takes over" "$(moved handover packets_from 10.0.0.1 112 255 <<< $v3)" 1
	ok "vrrp: so it is there again" ! state_is v51 left

	add one proto vrrp vrid 52 from 10.0.0.3
	packets_from 10.0.0.1 112 255 <<< 31346401000a
	packets_from 10.0.0.3 112 255 <<< 31346401000a
	is "vrrp: from one speaker only, if that is asked for" "$(peer_field one beats)" 1
}

bfd() {
	local up=20c00318%08x33eefa7c0000c3500000c3500000c350

	add left proto bfd from 10.0.0.1 discriminator 7 local-rx 50ms
	add right proto bfd from 10.0.0.1 discriminator 8
	# shellcheck disable=SC2059 # it is one
	{ times 5 "$(printf $up 7)" && times 3 "$(printf $up 8)" && times 2 "$(printf $up 9)"; } > "$WORK/payloads"
	is "bfd: sessions of one neighbour" "$(moved no_rule packets_from 10.0.0.1 udp:3784 255 < "$WORK/payloads")" 2
	is "bfd: are told apart" "$(peer_field left beats) $(peer_field right beats)" "5 3"
	is "bfd: TTL 254" "$(moved rule_ttl packets_from 10.0.0.1 udp:3784 254 < "$WORK/payloads")" 8
	add far proto bfd from 10.0.0.1 port 4784
	packets_from 10.0.0.1 udp:4784 60 < "$WORK/payloads"
	ok "bfd: over several hops any TTL will do" beats_reach far 1
}

corosync() {
	local i

	add node2 proto corosync from 10.0.0.1
	for i in 119 120 9 4000; do
		printf '018100020000%034d%04x01\n0182000200000000\n' 0 $i
	done | packets_from 10.0.0.1 udp:5405 64
	is "corosync: pings, whatever their numbers" "$(peer_field node2 beats) $(peer_field node2 lost)" "4 null"
}

# One source, heard on two devices, is two streams if the rules say so.
devices() {
	add port0 from 10.0.0.1 port 6005 dev eth0
	add port1 from 10.0.0.1 port 6005 dev eth1
	times 5 00 | packets_from 10.0.0.1 udp:6005 64
	times 3 00 | CABLE=eth1 packets_from 10.0.0.1 udp:6005 64
	is "devices: each its own" "$(peer_field port0 beats) $(peer_field port1 beats)" "5 3"
	add port7 from 10.0.0.1 port 6005 dev eth7
	like "devices: one that is not there yet is taken, and said" "$(cat "$WORK/added")" "no device eth7 yet"
	ok "devices: and another one" add port8 from 10.0.0.1 port 6005 dev eth8
	add tagged from 10.0.0.1 port 6006 vlan 5
	packets_from 10.0.0.1 udp:6006 64 8100:5 < <(times 4 00)
	is "vlan: another one" "$(moved rule_vlan packets_from 10.0.0.1 udp:6006 64 8100:6 <<< 00)" 1
	is "vlan: its own" "$(peer_field tagged beats)" 4
}

# With the last rule of a shape a port is no longer looked at for it; with the last of all it is foreign.
deletion() {
	local looked

	kphi peer del rest > /dev/null
	kphi peer del pong > /dev/null
	is "deleted: the port still has a rule" "$(moved no_rule packets_from 10.0.0.1 udp:6000 64 < <(times 5 0182))" 5
	packets_from 10.0.0.1 udp:6000 64 <<< 0181
	is "deleted: which hears" "$(peer_field ping beats)" 31
	kphi peer del ping > /dev/null
	kphi peer del ospf > /dev/null
	kphi peer del grouped > /dev/null
	looked=$(outcomes)
	packets_from 10.0.0.1 udp:6000 64 < <(times 5 0181)
	packets_from 10.0.0.1 89 1 < <(times 5 0205)
	is "deleted: with the last one port and protocol are foreign" "$(outcomes)" "$looked"
	is "witness: another port is not" "$(moved beat packets_from 10.0.0.1 udp:6002 64 <<< aaaa0017)" 1
}

# rules: names and what they ask for, whatever numbers the store has given them
rules() {
	kphi -j peer show | jq -c 'map([.name, .proto, .rule]) | sort'
}

# After a reboot the same rules are there, and hear.
saved() {
	local before

	before=$(rules)
	kphi store save "$WORK/saved" > /dev/null
	in_ns b kphi net detach dev eth0 > /dev/null
	in_ns b kphi net detach dev eth1 > /dev/null
	kphi store purge > /dev/null
	in_ns b kphi store restore "$WORK/saved" > "$WORK/restored" 2>&1
	like "restored: two devices are not there" "$(cat "$WORK/restored")" "2 peers are bound to devices"
	is "restored: the same rules" "$(rules)" "$before"
	is "restored: twice is once" "$(in_ns b kphi -j store restore "$WORK/saved" | jq .peers)" 0
	attach b eth0
	attach b eth1
	packets_from 10.0.0.1 112 255 <<< 31336401000a
	packets_from 10.0.0.1 udp:6002 64 <<< aaaa0017
	times 3 00 | CABLE=eth1 packets_from 10.0.0.1 udp:6005 64
	is "restored: they hear" "$(peer_field v51 beats) $(peer_field lossy beats) $(peer_field port1 beats)" "1 1 3"
}

# configure TTL: the daemon, with a rule of the store and one of its own
configure() {
	cat > "$WORK/kphi.yaml" << END
outputs: {socket: $WORK/socket}
state: $WORK/state
peers:
  - {name: v51, proto: vrrp, vrid: 51}
  - {name: port1, from: 10.0.0.1, port: 6005, device: eth1}
  - {name: later, from: 10.0.0.1, port: 6005, device: eth9}
  - name: own
    proto: udp
    port: 7000
    match: [0:0181, '4:30/f0']
    ttl: $1
END
	rm -f "$WORK/socket"
	start run in_ns b kphi run config "$WORK/kphi.yaml"
	ok "the daemon is there" eventually 20 test -S "$WORK/socket"
	stop run
}

# generation NAME: raised when the peer is deleted and added again
generation() {
	peer_field "$1" generation
}

configured() {
	local v51 port1

	v51=$(peer_field v51 beats)/$(generation v51)
	port1=$(peer_field port1 beats)/$(generation port1)
	configure 64
	like "configured: a device that is not there is said" "$(cat "$(log_of run)")" "later: its device eth9 is not there yet"
	is "configured: who is the same stays" "$(peer_field v51 beats)/$(generation v51)" "$v51"
	is "configured: on its device, too" "$(peer_field port1 beats)/$(generation port1)" "$port1"
	packets_from 10.0.0.1 udp:7000 64 <<< 0181000031
	is "configured: a new one hears" "$(peer_field own beats)" 1
	configure 64
	is "configured: nothing new is nothing" "$(peer_field own beats)" 1
	configure 65
	is "configured: a changed rule is another peer" "$(peer_field own beats)" 0
	is "configured: as it says" "$(moved rule_ttl packets_from 10.0.0.1 udp:7000 64 <<< 0181000031)" 1
}

pair
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
meet eth1 10.0.1.2
attach b eth1
two_streams
sequences
leaves
by_protocol
vrrp
bfd
corosync
devices
deletion
saved
configured
