#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi peer discover as people use it: real senders that nobody has added, one that somebody has, whom its lines add,
# made-up ids by the thousand, and that nothing is made of any of them.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# asks: does the kernel tell of strangers? The clock is read first: what is asked for then is asked for by who lives.
asks() {
	local now_ns until_ns

	now_ns=$(python3 -c 'import time; print(time.monotonic_ns())')
	until_ns=$(bpftool map lookup pinned "$KPHI_PIN"/abi-*/ports key 0 0 0 0 | sed -n 's/.*"discover_until_ns": \([0-9]*\).*/\1/p')
	[ "${until_ns:-0}" -gt "$now_ns" ]
}

asks_no_more() {
	! asks
}

# discover NAME: begins, until it is interrupted
discover() {
	start "$1" in_ns b kphi -j peer discover for 5m
	eventually 20 asks || fail "$1: the kernel is asked" "$(cat "$(log_of "$1")")"
}

# said NAME FILTER: by one that has ended
said() {
	jq -s -c "if length == 1 then .[0] | $2 else error(\"not one document\") end" "$(log_of "$1")"
}

# caller NAME N FILTER: of what it said of sender N
caller() {
	said "$1" ".callers[] | select(.id == \"$(uuid "$2")\") | $3"
}

# told NAME N: he was told of N messages; of fewer only if he says that he slept
told() {
	jq -s -e ".[0] | .messages == $2 or (.pauses > 0 and .messages < $2)" "$(log_of "$1")" > /dev/null
}

# unknown_reaches N
unknown_reaches() {
	[ "$(counter unknown_peer)" -ge "$1" ]
}

# made: all that a packet could have created or moved of a peer
made() {
	kphi -j store show | jq -c '[.used, .peers]'
	kphi -j peer show | jq -S -c '[.. | objects | select(.name?) | [.name, .id, .restarts]]'
}

# not_discovered NAME FRAGMENT: exit code 1 and one sentence with that in it, and nothing else; text and JSON
not_discovered() {
	local got=0 wrong=

	"${as[@]}" "$KPHI" --pin "$KPHI_PIN" peer discover for 1s > "$WORK/out" 2> "$WORK/err" || got=$?
	[ "$got $(wc -l < "$WORK/err") $(wc -c < "$WORK/out")" = "1 1 0" ] || wrong+="text: $got, $(cat "$WORK/err" "$WORK/out"); "
	grep -qF -- "$2" "$WORK/err" || wrong+="text: not said, but: $(cat "$WORK/err"); "
	"${as[@]}" "$KPHI" --pin "$KPHI_PIN" -j peer discover for 1s > "$WORK/out" 2> /dev/null || true
	[[ $(jq -ers 'if length == 1 then .[0].error else empty end' "$WORK/out") == *"$2"* ]] || wrong+="json: $(cat "$WORK/out")"
	is "$1" "$wrong" ""
}
as=()

refusals() {
	not_discovered "no store" "there is no store yet"
	kphi store create > /dev/null
	not_discovered "no device" "kphi listens on no device: \`kphi net attach dev NAME\` first"
	attach b eth0
	chmod 755 "$WORK"
	install -m 755 "$KPHI" "$WORK/kphi"
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	KPHI=$WORK/kphi not_discovered "without privilege" "Run it as root"
	as=()
	is "bad usage is 2" "$(kphi peer discover for ever > /dev/null 2>&1 || echo $?)" 2
}

# Two that are not known, one of which comes two ways and signs, and one that is.
knocking() {
	local before unknown

	in_ns b kphi key add cluster generate "$WORK/key" > /dev/null
	kphi peer add friend id "$(uuid 1)" interval 50ms > /dev/null
	before=$(made)
	unknown=$(counter unknown_peer)
	discover first
	beat friend 1 10.0.0.2 interval 50ms
	beat plain 2 10.0.0.2 interval 40ms count 40
	beat double 3 10.0.0.2 "[$(v6 10.0.0.2)]:7441" interval 50ms count 30 key "$WORK/key"
	ended plain
	ended double
	ok "the friend is heard meanwhile" eventually 20 beats_reach friend 20
	not_discovered "one at a time" "there is one \`kphi peer discover\` at a time"
	stop first INT
	is "an interrupt ends it in order" "$stopped $(said first .end)" '0 "interrupted"'
	is "who knocks: two, the friend is none" "$(said first '[.callers[].id] | sort')" "[\"$(uuid 2)\",\"$(uuid 3)\"]"
	ok "each message that was refused is in it" told first $(($(counter unknown_peer) - unknown))
	is "none was too fast, none too many" "$(said first '[.lost, .not_kept]')" "[0,0]"
	is "and is somebody's" "$(said first '[.callers[].messages] | add')" "$(said first .messages)"
	is "from where, to which port, with what TTL" "$(caller first 2 '[.addresses, .device, .port, .ttl, .key_id]')" \
		'[["10.0.0.1"],"eth0",7441,255,null]'
	is "and both addresses, and the key, of who has them" "$(caller first 3 '[(.addresses | sort), .key_id]')" \
		'[["10.0.0.1","fd00:10::1"],1]'
	is "with its epoch, which its state file has" "$(caller first 2 .epoch)" "$(awk '{ print $3 + 0; exit }' "$WORK/state-2")"
	between "its rhythm (ns)" "$(caller first 2 .interval_ns)" 35000000 80000000
	between "and that of what comes twice" "$(caller first 3 .interval_ns)" 45000000 100000000
	is "nobody is said to be proved" "$(said first .authenticated)" false
	is "nothing was made of them" "$(made)" "$before"
	ok "and nobody asks any more" eventually 20 asks_no_more
	like "net show points there" "$(kphi net show)" 'kphi peer discover. lists who sends'
}

# The lines that it prints are taken as they are, but for the name and the key's.
added() {
	local line

	for line in "$(caller first 2 .add)" "$(caller first 3 .add)"; do
		like "a line to add it" "$line" '^"kphi peer add NAME id [-0-9a-f]{36} from [0-9a-f.:,]+ interval [0-9]+(us|ms|s)'
	done
	line=$(caller first 2 '.add' | jq -r .)
	eval "${line/NAME/two}" > /dev/null
	line=$(caller first 3 '.add' | jq -r .)
	line=${line/NAME/three}
	eval "${line/ KEY/ cluster}" > /dev/null
	is "who was added so is bound to where it came from" "$(peer_field two bound)" "from 10.0.0.1"
	is "and to its key" "$(peer_field three key)" cluster
	beat plain 2 10.0.0.2 interval 40ms
	beat double 3 10.0.0.2 "[$(v6 10.0.0.2)]:7441" interval 50ms key "$WORK/key"
	ok "and is heard" eventually 20 beats_reach two 10
	ok "signed, too" eventually 20 beats_reach three 10
	kphi -j peer discover for 300ms > "$(log_of none)"
	is "then nobody knocks" "$(said none '[.callers, .messages, .end]')" '[[],0,"time is over"]'
	is "in words" "$(kphi peer discover for 100ms | head -n 1)" "messages of unknown ids: 0"
	stop plain
	stop double
}

text() {
	beat plain 4 10.0.0.2 interval 40ms
	eventually 20 unknown_reaches $(($(counter unknown_peer) + 1))
	TERM=xterm script -qec "'$KPHI' --pin '$KPHI_PIN' peer discover for 1500ms" "$WORK/terminal" > /dev/null < /dev/null
	like "a terminal sees how it goes on" "$(cat "$WORK/terminal")" "listening: [0-9]+ messages of 1 unknown ids"
	like "a table" "$(cat "$WORK/terminal")" "ID +ADDRESS +DEVICE +PORT +TTL +MESSAGES +INTERVAL +KEY +EPOCH +SINCE.*$(uuid 4)"
	like "that nothing of it is proved" "$(cat "$WORK/terminal")" "None of this is proved: anybody can send any id from any address"
	like "and what to type" "$(cat "$WORK/terminal")" "kphi peer add NAME id $(uuid 4) from 10.0.0.1 interval"
}

# Killed, it leaves nothing to be told that somebody later has not asked for.
killed() {
	discover killed
	stop killed KILL
	stop plain
	ok "what a killed one has asked for ends by itself" eventually 20 asks_no_more
	kphi -j peer discover for 300ms > "$(log_of next)"
	is "the next one hears only what comes now" "$(said next .messages)" 0
}

# made_up COUNT: so many messages, each of another id, from another address
made_up() {
	python3 - "$1" << 'PYTHON'
import ipaddress
import random
import sys

from packets import UDP, datagram, packet

random.seed(7441)
target = ipaddress.ip_address("10.0.0.2")
for number in range(int(sys.argv[1])):
    source = ipaddress.ip_address(0x0A000000 + random.getrandbits(16))
    beat = (b"KPHI\1\1\0\0\0\x58" + bytes(6) + random.randbytes(16) + (7).to_bytes(8, "big") + number.to_bytes(8, "big")).ljust(88, b"\0")
    frame = bytes.fromhex("ffffffffffff0200000000010800") + packet(source, target, UDP, 255, datagram(source, target, 7441, beat))
    print(frame.hex())
PYTHON
}

# Ids by the thousand, as fast as they can be sent, while somebody records: of no more than 1,024 anything is kept.
flood() {
	local before unknown

	made_up 5000 > "$WORK/frames"
	start recorder kphi -j trace record "$WORK/beside.trace"
	eventually 20 test -s "$WORK/beside.trace"
	before=$(made)
	unknown=$(counter unknown_peer)
	discover flooded
	in_ns a "$TOOLS/rawsend" eth0 count 4 < "$WORK/frames" > /dev/null
	ok "all of it arrives" eventually 20 unknown_reaches $((unknown + 20000))
	ok "the friend is heard through it" eventually 20 beats_reach friend $(($(peer_field friend beats) + 10))
	stop flooded INT
	is "a bounded list" "$(said flooded '.callers | length')" 1024
	ok "he is told of each message" told flooded $(($(counter unknown_peer) - unknown))
	is "each is listed, not kept or lost" "$(said flooded '([.callers[].messages] | add) + .not_kept + .lost')" \
		"$(said flooded .messages)"
	between "there were some that had no room" "$(said flooded '.not_kept + .lost')" 1000 20000
	is "what is lost is what the packet path says" "$(said flooded .lost)" "$(counter undiscovered)"
	is "nothing was made of them" "$(made)" "$before"
	stop recorder
	is "who records is not touched by it" "$(jq -c '[.peers, .lost, .arrivals > 0]' "$(log_of recorder)")" '[3,0,true]'
	stop friend
}

purged() {
	discover purged
	kphi store purge > /dev/null
	eventually 20 gone "$(pid_of purged)" || true
	stop purged
	like "a purge ends it, and is told" "$stopped $(said purged .error)" "^1 .*the store was purged meanwhile"
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
refusals
knocking
added
text
killed
flood
purged
