#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Keys in the configuration of `kphi run`: a rotation by reloads under traffic loses no beat, a reload that cannot be applied
# changes nothing, and what was heard stays heard over restarts of the daemon and changed settings.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

FILE=$WORK/kphi.yaml
SOCKET=$WORK/event.sock

# key N: makes a key file
key() {
	(umask 077 && echo "$1:$(printf '%032x' $((1000 + $1)))" > "$WORK/key$1")
}

# write KEYS PEER-WORDS: the configuration, with these key files under one name
write() {
	local n

	{
		echo "devices: [{name: eth0}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		echo "keys:"
		for n in $1; do
			echo "  - {name: cluster, file: $WORK/key$n}"
		done
		echo "peers:"
		echo "  - {name: db1, id: $(uuid 1), interval: 50ms$2}"
	} > "$FILE"
}

run() {
	start run in_ns b kphi run config "$FILE"
	eventually 10 test -S "$SOCKET" || true
	eventually 10 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of run)")"
}

# reload: what `kphi run reload` says, and its status
reload() {
	local status=0

	in_ns b kphi run reload socket "$SOCKET" 2>&1 || status=$?
	echo "status $status"
}

# ids: numbers of the keys that are accepted
ids() {
	kphi -j key show | jq -c '.[0].keys | map(.id) | sort'
}

key_in_use() {
	[ "$(peer_field db1 key_id)" = "$1" ]
}

frames() {
	python3 - "$WORK/tape.pcap" << 'PYTHON'
import sys
from packets import captured

for _, frame in captured(sys.argv[1]):
    print(frame.hex())
PYTHON
}

old() {
	[ $(($(counter duplicate) + $(counter stale_epoch) + $(counter stale_sequence))) -ge "$1" ]
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
key 1
key 2
key 3
write 1 ", key: cluster"
ok "the file is sound" kphi run config "$FILE" check
chmod 640 "$WORK/key1"
like "not with a key that others may read" "$(kphi run config "$FILE" check 2>&1)" "kphi.yaml:5: .*key1: others than its owner have access"
chmod 600 "$WORK/key1"
run

# --- rotation ---------------------------------------------------------------------------------------------------------

start capture in_ns a tcpdump -i eth0 --immediate-mode -U -s 0 --time-stamp-precision nano -w "$WORK/tape.pcap" udp port 7441
eventually 10 test -s "$WORK/tape.pcap"
cp -p "$WORK/key1" "$WORK/mine"
beat db1 1 10.0.0.2 interval 50ms key "$WORK/mine"
ok "signed beats are taken" eventually 20 beats_reach db1 20
write "1 2" ", key: cluster"
like "a reload brings the second key" "$(reload)" "in force.*status 0"
is "both are accepted" "$(ids)" "[1,2]"
cat "$WORK/key2" > "$WORK/mine"
kill -HUP "$(pid_of db1)"
ok "the sender changes to it" eventually 20 key_in_use 2
write 2 ", key: cluster"
like "a reload takes the first one away" "$(reload)" "in force.*status 0"
is "one is accepted" "$(ids)" "[2]"
eventually 20 beats_reach db1 $(($(peer_field db1 beats) + 20))
is "no beat was lost or refused, and it is the same life" \
	"$(kphi -j peer show db1 | jq -c '[.lost, .refused, .restarts, .generation]')" "[0,0,0,0]"

# --- what cannot be applied -------------------------------------------------------------------------------------------

write 3 ", key: cluster"
chmod 644 "$WORK/key3"
like "a reload with a key that others may read is refused" "$(reload)" "refused.*key3: others than its owner.*status 1"
is "and changes nothing" "$(ids)" "[2]"
write 3 ", key: clustre"
chmod 600 "$WORK/key3"
like "nor one with a name that is none" "$(reload)" "refused.*no such name.*status 1"
is "again nothing" "$(ids)" "[2]"
write 2 ", key: cluster"
like "the former file is good" "$(reload)" "in force.*status 0"

# --- what was heard stays heard ---------------------------------------------------------------------------------------

ok "enough of it is signed with the key that is left" eventually 20 beats_reach db1 $(($(peer_field db1 beats) + 30))
stop db1 KILL
ok "killed: suspected" eventually 20 state_is db1 suspect
stop capture INT
frames > "$WORK/tape"
before=$(kphi -j peer show db1 | jq -c '[.epoch, .beats, .state, .last_ns]')
stop run
run
in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
ok "after a restart of the daemon the tape arrives" eventually 10 old 20
is "and moves nothing" "$(kphi -j peer show db1 | jq -c '[.epoch, .beats, .state, .last_ns]')" "$before"
epoch=$(peer_field db1 epoch)
write 2 ", key: cluster, pause: 1s"
like "changed settings make it another peer" "$(reload)" "in force.*1 changed.*status 0"
is "that has heard nothing yet, but knows what is old" "$(kphi -j peer show db1 | jq -c '[.state, .beats, .epoch]')" "[\"waiting\",0,$epoch]"
seen=$(counter stale_sequence)
in_ns a "$TOOLS/rawsend" eth0 < "$WORK/tape" > /dev/null
ok "the tape arrives" eventually 10 old $((seen + 20))
is "and is old" "$(kphi -j peer show db1 | jq -c '[.state, .beats]')" '["waiting",0]'
beat db1 1 10.0.0.2 interval 50ms key "$WORK/mine"
ok "the peer itself is up" eventually 20 state_is db1 up
stop run
