#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A store that is full, by hand and by a reload: what does not fit is refused as a whole, and what is in force stays. And
# commands killed at any moment in the middle of writing a file: it is there whole, or the old one is, or none.

. "$(dirname "$0")/faults.bash"

RANDOM=11 # the seed
SLOTS=6

# the_peers: what is in the store, but for what moves
the_peers() {
	kphi -j peer show | jq -c 'map([.name, .id, .interval_ns, .generation]) | sort'
}

# reload_refused NAME REGEX: as a whole
reload_refused() {
	local before

	before=$(the_peers)
	fails "$1: refused" "refused, the former configuration stays in force: .*$2" kphi run reload socket "$SOCKET"
	is "$1: nobody was added" "$(the_peers)" "$before"
}

slots() {
	local n

	cp "$FILE" "$WORK/good"
	for ((n = 4; n <= SLOTS + 1; n++)); do
		echo "  - {name: more$n, id: $(uuid $n)}" >> "$FILE"
	done
	reload_refused "a peer too many" "the store"
	like "... says how many, and what to do" "$(cat "$WORK/err")" "6"
	judges db1 "a peer too many"
	sed -i '$d' "$FILE"
	ok "one less fits" kphi run reload socket "$SOCKET"
	is "... and the store is full" "$(kphi -j peer show | jq length)" $SLOTS
	fails "one more by hand" "the store is full: all $SLOTS slots are taken" kphi peer add late id "$(uuid 99)"
	kphi peer del more$SLOTS > /dev/null
	ok "... has room when one has gone" kphi peer add late id "$(uuid 99)"
	is "who was there before lives its old life" "$(peer_field db2 restarts)" 0
	cp "$WORK/good" "$FILE"
	ok "the former file" kphi run reload socket "$SOCKET"
	for ((n = 4; n < SLOTS; n++)); do kphi peer del more$n > /dev/null; done
	kphi peer del late > /dev/null
}

identities() {
	echo "  - {name: twin, id: $(uuid 1)}" >> "$FILE"
	reload_refused "an identity that is there twice in the file" "twin"
	cp "$WORK/good" "$FILE"
	kphi peer add other id "$(uuid 50)" > /dev/null
	echo "  - {name: mine, id: $(uuid 50)}" >> "$FILE"
	echo "  - {name: also, id: $(uuid 51)}" >> "$FILE"
	reload_refused "an identity of another peer in the store" "other"
	fails "... by hand, too" "mine: other is that identity already" kphi peer add mine id "$(uuid 50)"
	kphi peer del other > /dev/null
	ok "... when that has gone, both are taken" kphi run reload socket "$SOCKET"
	kphi peer del mine > /dev/null
	kphi peer del also > /dev/null
	cp "$WORK/good" "$FILE"
}

# Rules that look at different places: a store has 15 such shapes.
shapes() {
	local n

	kphi store purge > /dev/null
	kphi store create peers 64 window 16 > /dev/null
	run
	for ((n = 1; n <= 16; n++)); do
		echo "  - {name: r$n, port: 4000, match: ['$n:0102030405060708'], interval: 1h}" >> "$FILE"
	done
	reload_refused "a shape too many" "15"
	is "... no port listens to any" "$(kphi -j net show | jq -c .rule_ports)" "[]"
	sed -i '$d' "$FILE"
	ok "15 fit" kphi run reload socket "$SOCKET"
	is "... and their port listens" "$(kphi -j net show | jq -c .rule_ports)" "[4000]"
	fails "a 16th by hand" "15" kphi peer add r16 proto udp port 4000 match 20:0102030405060708
	kphi peer del r7 > /dev/null
	ok "... has room when one has gone" kphi peer add r16 proto udp port 4000 match 20:0102030405060708
	cp "$WORK/good" "$FILE"
	stop run
}

# half NAME CHECK...: the file $WORK/NAME is no half of one
killed_saves() {
	local bad=0 n

	killed=0
	kphi store save "$WORK/saved" > /dev/null
	for ((n = 0; n < 15; n++)); do
		victim 30 kphi store save "$WORK/saved"
		kphi -j store restore "$WORK/saved" > "$WORK/out" 2>&1 || { bad=$((bad + 1)) && note "$(cat "$WORK/out")"; }
	done
	note "$killed of 15 were killed"
	is "store save, killed: what is in the file can be restored" $bad 0
}

killed_keys() {
	local bad=0 whole=0 n

	killed=0
	for ((n = 0; n < 15; n++)); do
		victim 30 kphi key add "k$n" generate "$WORK/key$n"
		[ -e "$WORK/key$n" ] || continue
		whole=$((whole + 1))
		[ "$(stat -c '%a %s' "$WORK/key$n")" = "600 35" ] && grep -qxE '[0-9]+:[0-9a-f]{32}' "$WORK/key$n" || bad=$((bad + 1))
	done
	note "$killed of 15 were killed, $whole keys are there"
	is "key add generate, killed: a key that is there is whole" $bad 0
	is "... and no other file" "$(find "$WORK" -name 'key*' | wc -l)" $whole
	# A key that is in the store is in its file as well: whoever is to sign with it has it.
	for ((n = 0; n < 15; n++)); do
		if kphi -j key show | jq -e --arg n "k$n" 'any(.[]; .name == $n and (.keys | length) > 0)' > /dev/null; then
			[ -s "$WORK/key$n" ] || bad=$((bad + 1))
		fi
	done
	is "... and no key is in the store only" $bad 0
}

killed_recordings() {
	local bad=0 n

	killed=0
	for ((n = 0; n < 10; n++)); do
		victim 30 in_ns b kphi trace record "$WORK/t$n.trace" for 10s
		[ -s "$WORK/t$n.trace" ] || continue
		kphi -j trace show "$WORK/t$n.trace" > "$WORK/out" 2>&1 || { bad=$((bad + 1)) && note "$(cat "$WORK/out")"; }
	done
	note "$killed of 10 were killed"
	is "trace record, killed: what is in the file can be shown" $bad 0
	ok "... and the next one records" in_ns b kphi trace record "$WORK/last.trace" for 500ms
	is "... every beat that came" "$(kphi -j trace show "$WORK/last.trace" | jq -c '[.ended, .lost, .arrivals > 0]')" '[true,0,true]'
}

killed_adds() {
	local bad=0 n

	killed=0
	for ((n = 0; n < 15; n++)); do
		victim 30 kphi peer add "v$n" id "$(uuid $((200 + n)))" interval 70ms host rack
	done
	note "$killed of 15 were killed"
	is "peer add, killed: who is there has all its settings" \
		"$(kphi -j peer show | jq -c 'map(select(.name | startswith("v"))) | map(select(.interval_ns != 70000000 or .host != "rack"))')" "[]"
	for ((n = 0; n < 15; n++)); do
		[ "$(peer_field "v$n" state)" = null ] || kphi peer del "v$n" > /dev/null || bad=$((bad + 1))
		kphi peer add "v$n" id "$(uuid $((200 + n)))" > /dev/null || bad=$((bad + 1))
	done
	is "... and all can be added after that" $bad 0
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
kphi store create peers $SLOTS window 16 > /dev/null
write_file
for name in "${PEERS[@]}"; do sender "$name"; done
run
ok "all are heard" eventually 20 heard "${PEERS[@]}"
slots
identities
stop run
shapes
killed_saves
killed_keys
killed_recordings
killed_adds
