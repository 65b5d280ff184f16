#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the whole thing is for: a user space that stands still for three seconds misses no beat and bends no interval.
# Beside kphi a plain UDP socket is read by a process that is frozen in the same way; what that one sees is the witness.

. "$(dirname "$0")/pair.bash"

INTERVAL_MS=50
FROZEN_MS=3000

# The arrival of each datagram as a process sees it, in ns.
cat > "$WORK/plain.py" << 'PYTHON'
import socket, time

inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
inlet.bind(("10.0.0.2", 7441))
print("ready", flush=True)
while True:
    inlet.recv(2048)
    print(time.monotonic_ns(), flush=True)
PYTHON

# Largest interval that each of the two saw, in ms.
largest_of_plain() {
	awk 'NR > 2 && $1 - last > most { most = $1 - last } { last = $1 } END { print int(most / 1e6) }' "$(log_of plain)"
}

largest_of_kphi() {
	kphi -j peer window x | jq '.intervals_ns | max / 1e6 | floor'
}

# Between two readings of the frozen reader: their clock is last_ns + silence_ns.
largest_of_reader() {
	readings x '[.[] | .last_ns + .silence_ns] | [.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max / 1e6 | floor'
}

pair
kphi peer add x id "$(uuid 1)" interval ${INTERVAL_MS}ms > /dev/null
start plain in_ns b python3 "$WORK/plain.py"
eventually 10 grep -q ready "$(log_of plain)"
start x in_ns a kphi -j beat to 10.0.0.2 interval ${INTERVAL_MS}ms id "$(uuid 1)" state "$WORK/state-1"
eventually 20 beats_reach x 20
look
eventually 10 test -s "$WORK/readings"

kill -STOP "$(pid_of plain)" "$(pid_of look)"
before=$(sent)
sleep $((FROZEN_MS / 1000))
during=$(($(sent) - before))
kill -CONT "$(pid_of plain)" "$(pid_of look)"
eventually 20 beats_reach x $(($(peer_field x beats) + 15))
stop look
stop x
sleep 0.2 # for the plain reader to catch up
stop plain

between "beats were sent to frozen readers" $during $((FROZEN_MS / INTERVAL_MS / 2)) 100000
between "the plain reader stood still (ms)" "$(largest_of_plain)" $((FROZEN_MS * 9 / 10)) 100000
between "kphi's reader stood still (ms)" "$(largest_of_reader)" $((FROZEN_MS * 9 / 10)) 100000
is "kphi counted each beat" "$(peer_field x beats)" "$(tail -n 1 "$(log_of x)" | jq .sent)"
is "and lost none" "$(peer_field x lost)" 0
between "no interval is bent (ms)" "$(largest_of_kphi)" $((INTERVAL_MS / 2)) $((FROZEN_MS / 10))
between "nor is the mean" "$(peer_field x mean_ns)" $((INTERVAL_MS * 950000)) $((INTERVAL_MS * 1500000))
is "no reading suspects" "$(readings x 'map(select(.state == "suspect")) | length')" 0
