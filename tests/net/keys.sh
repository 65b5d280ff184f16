#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Only the peer can keep itself alive: real senders that sign, keys that change under traffic, packets that were recorded and come
# again, goodbyes that somebody else says, and messages that come another way than the peer's own. What is refused
# here has a witness: the same packet, where nothing keeps it from counting.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# refusals NAME: as peer show has them
refusals() {
	peer_field "$1" refused
}

refusals_reach() {
	[ "$(refusals "$1")" -ge "$2" ]
}

key_in_use() { # PEER NUMBER
	[ "$(peer_field "$1" key_id)" = "$2" ]
}

# last_ns NAME: its last arrival
last_ns() {
	peer_field "$1" last_ns
}

setup() {
	pair
	in_ns b kphi key add cluster generate "$WORK/key1" > /dev/null
	in_ns b kphi peer add keyed id "$(uuid 1)" interval 20ms key cluster > /dev/null
	in_ns b kphi peer add open id "$(uuid 2)" interval 20ms > /dev/null
}

secrets() {
	local hex

	hex=$(cut -d: -f2 "$WORK/key1")
	is "the file is its owner's alone" "$(stat -c %a "$WORK/key1")" 600
	like "and holds a number and a key" "$(cat "$WORK/key1")" '^1:[0-9a-f]{32}$'
	is "key show prints no key" "$( (kphi key show && kphi -j key show && kphi peer show keyed) | grep -ci "$hex")" 0
	like "but a fingerprint" "$(kphi -j key show | jq -r '.[0].keys[0].fingerprint')" '^[0-9a-f]{16}$'
	is "and how many peers have it" "$(kphi -j key show | jq -c '.[0] | [.name, .peers, .keys[0].id]')" '["cluster",1,1]'
	is "the map is root's alone" "$(stat -c '%a %u' "$KPHI_PIN"/abi-*/keys)" "600 0"
	cp "$WORK/key1" "$WORK/open" && chmod 644 "$WORK/open"
	like "a file that others may read is refused" "$(kphi key add other file "$WORK/open" 2>&1)" "others than its owner.*chmod 600"
	like "by the sender, too" "$(in_ns a kphi beat to 10.0.0.2 key "$WORK/open" 2>&1)" "others than its owner.*chmod 600"
	ok "an existing file is not overwritten" ! kphi key add other generate "$WORK/key1"
	is "nothing is left of a key that was not taken" "$(kphi -j key show | jq length)" 1
	ok "a key that peers have is not dropped by its name" ! kphi key drop cluster
	ok "a name without a key is no key of a peer" ! kphi peer add x id "$(uuid 9)" key nobody
	ok "a rule has none" ! kphi peer add x from 10.0.0.9 port 9 key cluster
	kphi -j net show | jq -e '.counters | has("bad_tag") and has("not_signed") and has("unknown_key")' > /dev/null
}

# Beats of both kinds arrive; anybody could have sent the ones of `open`.
traffic() {
	start capture in_ns a tcpdump -i eth0 --immediate-mode -U -s 0 --time-stamp-precision nano -w "$WORK/tape.pcap" udp port 7441
	eventually 10 test -s "$WORK/tape.pcap"
	beat keyed 1 10.0.0.2 interval 20ms key "$WORK/key1"
	beat open 2 10.0.0.2 interval 20ms
	ok "signed beats are taken" eventually 20 beats_reach keyed 50
	ok "and unsigned ones, where no key is asked for" eventually 20 beats_reach open 50
	is "peer show tells: signed, by which key" "$(kphi -j peer show keyed | jq -c '[.key, .signed, .key_id]')" '["cluster",true,1]'
	is "and not" "$(kphi -j peer show open | jq -c '[.key, .signed, .key_id]')" '[null,false,null]'
	like "the sender says so, too" "$(cat "$(log_of keyed)")" "signed with key 1"
}

# The other key comes in, the sender changes, the first goes: each beat that is sent is counted.
rotation() {
	local second lost

	is "a second key is accepted beside the first" "$(kphi -j key add cluster generate "$WORK/key2" | jq -c '[.added, .id]')" '["cluster",2]'
	ok "a third is not" ! kphi key add cluster generate "$WORK/key3"
	ok "and leaves no file" ! test -e "$WORK/key3"
	cat "$WORK/key2" > "$WORK/key1.new"
	chmod 600 "$WORK/key1.new"
	cp -p "$WORK/key1" "$WORK/first"
	mv "$WORK/key1.new" "$WORK/key1"
	kill -HUP "$(pid_of keyed)"
	ok "SIGHUP: the sender has the second" eventually 20 key_in_use keyed 2
	second=$(peer_field keyed beats)
	eventually 10 beats_reach keyed $((second + 20))
	is "the first one goes" "$(kphi -j key drop cluster id 1)" '{"dropped":"cluster","id":1}'
	eventually 10 beats_reach keyed $((second + 50))
	chmod 644 "$WORK/key1"
	kill -HUP "$(pid_of keyed)"
	ok "SIGHUP: a file that others may read changes nothing" eventually 10 grep -q "signed with key 2 as before" "$(log_of keyed)"
	chmod 600 "$WORK/key1"
	eventually 10 beats_reach keyed $((second + 70))
	lost=$(kphi -j peer show keyed | jq -c '[.lost, .duplicates, .reordered, .refused]')
	is "no beat was lost, late or refused by all that" "$lost" '[0,0,0,0]'
	stop keyed
	ok "its goodbye is signed" eventually 10 state_is keyed left
	is "each one that left was counted: beats and one goodbye" \
		"$(peer_field keyed sequence)" "$(($(peer_field keyed beats) + 1))"
	like "the sender's own count" "$(cat "$(log_of keyed)")" "beats sent: $(peer_field keyed beats)"
}

# Everything that was on the cable, goodbyes included, is sent once more.
replay() {
	local keyed open frames sent

	stop open
	eventually 10 state_is open left
	stop capture INT
	python3 - "$WORK/tape.pcap" > "$WORK/tape" << 'PYTHON'
import sys
from packets import captured

for _, frame in captured(sys.argv[1]):
    print(frame.hex())
PYTHON
	frames=$(wc -l < "$WORK/tape")
	sent=$(($(peer_field keyed beats) + $(peer_field open beats) + 2 * 3))
	is "the tape has all of it: the beats that were counted and two goodbyes, each said three times" "$frames" "$sent"
	keyed=$(kphi -j peer show keyed | jq -c '[.last_ns, .beats, .state, .samples]')
	in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
	ok "the tape arrives" eventually 10 stale_or_seen "$frames"
	is "and moves nothing" "$(kphi -j peer show keyed | jq -c '[.last_ns, .beats, .state, .samples]')" "$keyed"
	beat keyed 1 10.0.0.2 interval 20ms key "$WORK/key1"
	ok "its next life is news" eventually 20 state_is keyed up
	stop keyed KILL
	in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
	ok "silence is silence, whatever is replayed" eventually 20 state_is keyed suspect
	open=$(peer_field open beats)
	kphi peer reset open > /dev/null
	in_ns a "$TOOLS/rawsend" eth0 every 5ms < "$WORK/tape" > /dev/null
	ok "witness: whoever forgot what was heard believes the tape" eventually 10 beats_reach open 50
	between "all of it" "$(peer_field open beats)" 50 "$open"
}

# stale_or_seen N: so many messages were refused as old
stale_or_seen() {
	[ $(($(counter duplicate) + $(counter stale_epoch) + $(counter stale_sequence) + $(counter unknown_key))) -ge "$1" ]
}

# The store goes, and comes back from its file: the tape is as old as before. Only the key has to be told again.
restored() {
	local last

	last=$(kphi -j peer show keyed | jq -c '[.epoch, .sequence]')
	kphi store save "$WORK/store" > /dev/null
	is "no key is saved" "$(grep -c "$(cut -d: -f2 "$WORK/key1")" "$WORK/store")" 0
	kphi store purge > /dev/null
	like "who needs a key is told" "$(kphi store restore "$WORK/store" 2>&1 > /dev/null)" "cluster: 1 peers need this key again.*kphi key add cluster"
	attach b eth0
	is "what was heard is not forgotten" "$(kphi -j peer show keyed | jq -c '[.epoch, .sequence]')" "$last"
	in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
	ok "without the key nothing is taken on trust" eventually 10 refusals_reach keyed 100
	kphi key add cluster file "$WORK/key1" > /dev/null
	in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
	ok "with the key the tape is heard" eventually 10 stale_or_seen 50
	is "but as old as it is" "$(peer_field keyed state)" waiting
	beat keyed 1 10.0.0.2 interval 20ms key "$WORK/key1"
	ok "the peer itself is up" eventually 20 state_is keyed up
}

# forge UUID EPOCH SEQUENCE TYPE TTL: an unsigned message from a
forge() {
	python3 - "$@" << 'PYTHON' | in_ns a python3 "$ROOT/tests/net/frame.py" packet 10.0.0.1 10.0.0.2 udp:7441 "$5" | in_ns a "$TOOLS/rawsend" eth0 > /dev/null
import struct, sys, uuid

node, epoch, sequence, kind = uuid.UUID(sys.argv[1]).bytes, int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
print((struct.pack("!4sBBHHHI", b"KPHI", 1, kind, 0, 88, 0, 0) + node + struct.pack("!QQ", epoch, sequence) + bytes(40)).hex())
PYTHON
}

# Anybody on the cable can say goodbye for a peer without a key, and for one with a key nobody can.
forgeries() {
	local epoch refused

	beat open 2 10.0.0.2 interval 200ms
	ok "the open one beats again" eventually 20 state_is open up
	forge "$(uuid 2)" "$(peer_field open epoch)" $(($(peer_field open sequence) + 1000000)) 2 64
	ok "witness: a forged leave is believed of it" eventually 10 state_is open left
	epoch=$(peer_field keyed epoch)
	refused=$(refusals keyed)
	forge "$(uuid 1)" "$epoch" 1000000 2 64
	forge "$(uuid 1)" "$epoch" 1000001 3 64
	forge "$(uuid 1)" $((epoch + 1)) 1 1 64
	ok "the same of the keyed one is refused" eventually 10 refusals_reach keyed $((refused + 3))
	is "as unsigned" "$(kphi -j peer show keyed | jq -r .refused_as)" "without a tag"
	is "and changes nothing" "$(kphi -j peer show keyed | jq -c '[.state, .epoch, .restarts]')" "[\"up\",$epoch,0]"
	stop open
}

# A key for a peer that had none: it goes on.
use() {
	local beats restarts

	beat open 2 10.0.0.2 interval 20ms key "$WORK/key1"
	ok "a signing sender is no news to who has no key" eventually 20 state_is open up
	beats=$(peer_field open beats)
	restarts=$(peer_field open restarts)
	is "it is given one" "$(kphi -j key use cluster peer open)" '{"peer":"open","uses":"cluster"}'
	ok "it goes on" eventually 20 beats_reach open $((beats + 30))
	is "from now on signed" "$(kphi -j peer show open | jq -c '[.key, .signed, .restarts]')" "[\"cluster\",true,$restarts]"
	ok "a rule cannot have one" ! kphi key use cluster peer nobody
	stop open
}

# bound WORD...: a peer bound by these, and a message of TTL 255 or 64
bound() {
	kphi peer del bound > /dev/null 2>&1 || true
	in_ns b kphi peer add bound id "$(uuid 3)" "$@" > /dev/null
}

paths() {
	bound from 10.0.0.9,fd00::1
	forge "$(uuid 3)" 1 1 1 255
	ok "another address: refused" eventually 10 refusals_reach bound 1
	is "for that" "$(peer_field bound refused_as)/$(peer_field bound state)" "from an address that is not its own/waiting"
	bound from 10.0.0.9,10.0.0.1
	forge "$(uuid 3)" 1 1 1 64
	ok "its own address: taken" eventually 10 beats_reach bound 1
	bound dev lo
	forge "$(uuid 3)" 1 1 1 255
	ok "another device: refused" eventually 10 refusals_reach bound 1
	is "for that" "$(peer_field bound refused_as)/$(peer_field bound state)" "by another device than its own/waiting"
	bound dev eth0
	forge "$(uuid 3)" 1 1 1 64
	ok "its own device: taken" eventually 10 beats_reach bound 1
	bound ttl 255
	forge "$(uuid 3)" 1 1 1 254
	ok "beyond a router: refused" eventually 10 refusals_reach bound 1
	is "for that" "$(peer_field bound refused_as)/$(peer_field bound state)" "from beyond a router/waiting"
	forge "$(uuid 3)" 1 2 1 255
	ok "from this link: taken" eventually 10 beats_reach bound 1
	bound ttl 255 dev eth0 from "10.0.0.1,$(v6 10.0.0.1)" min-epoch 1000 key cluster
	is "peer show says what it is bound to" "$(peer_field bound bound)" "from 10.0.0.1,fd00:10::1 dev eth0 ttl 255"
	beat bound 3 10.0.0.2 "[$(v6 10.0.0.2)]:7441" interval 50ms key "$WORK/key1"
	ok "kphi beat's own messages are so, over IPv4 and IPv6" eventually 20 beats_reach bound 10
	is "none of them was refused" "$(refusals bound)" 0
	stop bound
	bound min-epoch 1000
	forge "$(uuid 3)" 999 1 1 64
	forge "$(uuid 3)" 1000 1 1 64
	ok "an epoch below the minimum is stale, and the minimum is not" eventually 10 beats_reach bound 1
	is "only that" "$(kphi -j peer show bound | jq -c '[.epoch, .stale, .beats]')" "[1000,1,1]"
}

whole_store() {
	kphi store purge > /dev/null
	is "a store may require keys" "$(kphi -j store create require-key | jq .require_key)" true
	like "no native peer without one" "$(kphi peer add x id "$(uuid 1)" 2>&1)" "every native peer of this store must have a key"
	kphi key add cluster file "$WORK/key1" > /dev/null
	ok "with one" kphi peer add x id "$(uuid 1)" key cluster
	kphi store save "$WORK/store" > /dev/null
	kphi store purge > /dev/null
	kphi store restore "$WORK/store" > /dev/null 2>&1
	is "a restored one requires them, too" "$(kphi -j store show | jq .require_key)" true
	is "dropping the last key of a peer is said" "$(kphi key add cluster file "$WORK/key1" > /dev/null
		kphi key drop cluster id 2 2>&1 | grep -c "that was its last key: nothing is accepted of 1 peers")" 1
}

setup
secrets
traffic
rotation
replay
restored
forgeries
use
paths
whole_store
