#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Twelve peers beat while there is no `kphi run`, so that a hint of each waits in the ring, and fall silent together. Whoever
# starts then holds them all: a first look at one peer, because of its old hint, must not be judged alone.

. "$(dirname "$0")/lib.sh"

FILE=$WORK/kphi.yaml
NUMBERS=$(seq 12)

id_of() {
	printf '00000000-0000-0000-0000-0000000000%02x' "$1"
}

# events TYPE
events() {
	grep -c "\"type\":\"$1\"" "$(log_of run)" || true
}

all_held() {
	[ "$(events hold)" -ge 12 ]
}

all_heard() {
	[ "$(kphi -j peer show | jq '[.[] | select(.beats >= 12)] | length')" = 12 ]
}

ns_add a
ns_add b
veth_pair a eth0 10.98.0.1/24 b eth0 10.98.0.2/24
{
	echo "devices: [{name: eth0}]"
	echo "outputs: {socket: $WORK/event.sock}"
	echo "state: $WORK/state"
	echo "peers:"
} > "$FILE"
for n in $NUMBERS; do
	kphi peer add "db$n" id "$(id_of "$n")" interval 100ms > /dev/null
	echo "  - {name: db$n, id: $(id_of "$n"), interval: 100ms}" >> "$FILE"
done
echo "consumers: [{name: page, suspect: 8, clear: 4}]" >> "$FILE"

in_ns a "$KPHI" --pin "$KPHI_PIN" net attach dev eth0 > /dev/null
for n in $NUMBERS; do
	start "db$n" in_ns b kphi beat to 10.98.0.1 id "$(id_of "$n")" interval 100ms priority 0 state "$WORK/epoch-$n"
done
ok "all twelve are heard" eventually 10 all_heard
for n in $NUMBERS; do stop "db$n" KILL; done
sleep 1
start run in_ns a kphi run config "$FILE"
ok "all twelve are held" eventually 10 all_held
is "nobody is suspected" "$(events suspect)" 0
