#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi beat on a real cable: what arrives, when, and what is said at the end. The arrival times are the receiving
# kernel's. On a loaded machine any single beat may be late, so medians and lower limits are judged, never one beat.

. "$(dirname "$0")/lib.sh"

# --- the receiver -----------------------------------------------------------------------------------------------------

# A line for each datagram: arrival_us type epoch sequence tos load capacity node_id
cat > "$WORK/receive.py" << 'PYTHON'
import ipaddress, socket, struct, sys

WIRE = struct.Struct("!IBBHHHI16sQQQffQQQ")
SO_TIMESTAMPNS = 35
address, port, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
v6 = ":" in address
inlet = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
inlet.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
if v6:
    inlet.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
else:
    inlet.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
if ipaddress.ip_address(address).is_multicast:
    group = socket.inet_pton(inlet.family, address) + struct.pack("@I", socket.if_nametoindex(device))
    inlet.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
    address = "::"
inlet.bind((address, port))
print("ready", flush=True)
while True:
    datagram, notes, _, _ = inlet.recvmsg(2048, 256)
    tos = arrival_us = 0
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("@qq", data)
            arrival_us = seconds * 1000000 + nanoseconds // 1000
        else:
            tos = data[0]
    magic, version, kind, _, length, _, _, node, epoch, sequence, _, load, capacity, *_ = WIRE.unpack(datagram)
    assert (magic, version, length) == (0x4B504849, 1, 88), datagram
    print(arrival_us, kind, epoch, sequence, tos, f"{load:.2f} {capacity:.2f}", node.hex(), flush=True)
PYTHON

# listen NAME ADDRESS PORT
listen() {
	start "$1" in_ns b python3 "$WORK/receive.py" "$2" "$3" eth0
	eventually 10 grep -q ready "$(log_of "$1")" || fail "receiver $1 starts" "$(cat "$(log_of "$1")")"
}

# send NAME ARGUMENT...: a sender in a; its document goes to its log, what it says to $(said NAME)
send() {
	# shellcheck disable=SC2016 # expanded inside
	start "$1" in_ns a sh -c 'exec 2> "$0"; exec "$@"' "$(said "$1")" "$KPHI" -j beat to "${@:2}"
}

said() {
	echo "$WORK/$1.said"
}

# beats NAME [TYPE]: the lines of one receiver with messages of this type (1 beat, 2 leave, 3 down)
beats() {
	awk -v type="${2:-1}" '$2 == type' "$(log_of "$1")"
}

# heard NAME N [TYPE]: at least N of them
heard() {
	[ "$(beats "$1" "${3:-1}" | wc -l)" -ge "$2" ]
}

# ended NAME KEY: one value of the sender's document, which must be the only one. Waits for the sender.
ended() {
	eventually 30 gone "$(pid_of "$1")" || true
	jq -s -r "if length == 1 then .[0].$2 else \"\\(length) documents\" end" "$(log_of "$1")"
}

# Sequences from 1 without a gap or a repetition.
consecutive() {
	awk '$4 != NR { exit 1 }' <<< "$1"
}

# gaps: the intervals of arrival in ms, one a line
gaps() {
	awk 'NR > 1 { printf "%.3f\n", ($1 - last) / 1000 } { last = $1 }'
}

# off_grid INTERVAL_MS: how far each arrival is from a grid through the first one, in ms, -interval/2 to interval/2
off_grid() {
	awk -v i="$1" 'NR == 1 { first = $1 } { ms = ($1 - first) / 1000; printf "%.3f\n", ms - i * int(ms / i + 0.5) }'
}

median() {
	sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

least() {
	sort -g | head -n 1
}

most() {
	sort -g | tail -n 1
}

ns_add a
ns_add b
veth_pair a eth0 10.99.0.1/24 b eth0 10.99.0.2/24
listen four 10.99.0.2 7441
listen six "$(v6 10.99.0.2)" 7441

# --- the schedule -----------------------------------------------------------------------------------------------------

send steady 10.99.0.2 "[$(v6 10.99.0.2)]:7441" interval 10ms count 300 state "$WORK/steady"
is "ends by itself after count" "$(ended steady ended)" count
is "counts what it sent" "$(ended steady sent)" 300
is "has no errors" "$(ended steady errors)" 0
eventually 5 heard six 300 || true
eventually 5 heard four 3 2 || true

four=$(beats four)
is "IPv4: all beats arrive" "$(wc -l <<< "$four")" 300
is "IPv6: all beats arrive" "$(beats six | wc -l)" 300
ok "IPv4: sequences are 1, 2, 3" consecutive "$four"
ok "IPv6: sequences are 1, 2, 3" consecutive "$(beats six)"
is "IPv4: DSCP is CS6" "$(awk '{ print $5 }' <<< "$four" | sort -u)" 192
is "IPv6: traffic class is CS6" "$(beats six | awk '{ print $5 }' | sort -u)" 192
between "says the load of its host" "$(awk 'NR == 300 { print $6 }' <<< "$four")" 0 10000
between "says how idle its host is" "$(awk 'NR == 300 { print $7 }' <<< "$four")" 0 1
is "leave is said three times, with the next sequence" "$(beats four 2 | awk '{ print $4 }' | xargs)" "301 301 301"

# A sender that sleeps for the interval after each beat is 60 us late at each, 12 ms over these 200 beats.
early=$(off_grid 10 <<< "$four" | sed -n 1,100p | median)
late=$(off_grid 10 <<< "$four" | sed -n 201,300p | median)
between "does not drift over 200 beats (ms)" "$(awk "BEGIN { print $late - $early }")" -3 3

# Uniform over 10 ms: the intervals' standard deviation is 10 / sqrt(6) = 4.1 ms.
send jittery 10.99.0.2 interval 20ms jitter 50% count 100 state "$WORK/jittery"
is "jitter: all beats are sent" "$(ended jittery sent)" 100
jittery=$(beats four | tail -n 100)
between "jitter: spreads the intervals (standard deviation in ms)" \
	"$(gaps <<< "$jittery" | awk '{ s += $1; q += $1 * $1 } END { print sqrt(q / NR - (s / NR) ^ 2) }')" 2 8
early=$(off_grid 20 <<< "$jittery" | sed -n 1,50p | median)
late=$(off_grid 20 <<< "$jittery" | sed -n 51,100p | median)
between "jitter: does not move the grid (ms)" "$(awk "BEGIN { print $late - $early }")" -5 5

# --- stopped for a while ------------------------------------------------------------------------------------------------

listen frozen 10.99.0.2 7442
send freeze 10.99.0.2:7442 interval 100ms state "$WORK/freeze"
eventually 10 heard frozen 5 || true
kill -STOP "$(pid_of freeze)"
sleep 1.5
before=$(beats frozen | wc -l)
kill -CONT "$(pid_of freeze)"
eventually 10 heard frozen $((before + 10)) || true
kill -TERM "$(pid_of freeze)"
between "stopped for 1.5 s: slots are skipped" "$(ended freeze skipped)" 13 100
eventually 5 heard frozen 3 2 || true
frozen=$(beats frozen)
ok "stopped for 1.5 s: no sequence is missing" consecutive "$frozen"
between "stopped for 1.5 s: the silence was real (ms)" "$(gaps <<< "$frozen" | most)" 1400 60000
between "stopped for 1.5 s: no burst afterwards (least gap in ms)" "$(gaps <<< "$frozen" | least)" 20 1000
is "SIGTERM: ended by the signal" "$(ended freeze ended)" signal
is "SIGTERM: leave has the next sequence, three times" \
	"$(beats frozen 2 | awk '{ print $4 }' | uniq -c | xargs)" "3 $(($(wc -l <<< "$frozen") + 1))"
stop freeze
is "SIGTERM: exit status 0" "$stopped" 0

# --- lives ------------------------------------------------------------------------------------------------------------

listen lives 10.99.0.2 7443
for life in 1 2 3; do
	send "life$life" 10.99.0.2:7443 interval 10ms count 2 state "$WORK/lives"
	is "life $life: two beats" "$(ended "life$life" sent)" 2
done
eventually 5 heard lives 6 || true
epochs=$(beats lives | awk '{ print $3 }' | uniq | xargs)
is "the epoch rises with each life" "$(tr ' ' '\n' <<< "$epochs" | sort -nu | xargs)" "$epochs"
is "there were three epochs" "$(wc -w <<< "$epochs")" 3

send first 10.99.0.2:7443 state "$WORK/twice"
eventually 10 grep -q beating "$(said first)" || true
second=0
refusal=$(in_ns a "$KPHI" beat to 10.99.0.2:7443 state "$WORK/twice" 2>&1) || second=$?
is "a second sender with this id is refused" "$second" 1
like "a second sender is told why" "$refusal" "locked by another sender"
stop first

printf 'kphi epoch 12' > "$WORK/damaged"
damaged=0
refusal=$(in_ns a "$KPHI" -j beat to 10.99.0.2:7443 state "$WORK/damaged" 2> /dev/null) || damaged=$?
is "a damaged state file is refused" "$damaged" 1
like "a damaged state file: what to do is said" "$(jq -r .error <<< "$refusal")" "damaged.*Delete the file"
is "a damaged state file is left alone" "$(cat "$WORK/damaged")" "kphi epoch 12"

# --- a watched process ------------------------------------------------------------------------------------------------

# The next beat is an hour away: what arrives now is sent because of the death.
listen deaths 10.99.0.2 7444
start victim sleep 1000
send widow 10.99.0.2:7444 interval 1h watch-pid "$(pid_of victim)" state "$WORK/widow"
eventually 10 grep -q beating "$(said widow)" || true
stop victim KILL
ok "down is said at once when the watched process is killed" eventually 5 heard deaths 3 3
is "down is said three times, with the next sequence" "$(beats deaths 3 | awk '{ print $4 }' | xargs)" "1 1 1"
is "down: why it ended" "$(ended widow ended)" watch-pid
like "down: said on stderr" "$(cat "$(said widow)")" "process [0-9]+ died"
stop widow
is "down: exit status 0" "$stopped" 0
absent=0
refusal=$(in_ns a "$KPHI" beat to 10.99.0.2:7444 watch-pid 4194303 state "$WORK/absent" 2>&1) || absent=$?
is "a process that does not exist is refused" "$absent" 1
like "a process that does not exist: said" "$refusal" "process 4194303 does not exist"
ok "a refusal costs no epoch" ! test -e "$WORK/absent"

# --- destinations -----------------------------------------------------------------------------------------------------

# The first has no route, nobody listens at the second (ICMP comes back), the third hears everything.
listen patient 10.99.0.2 7446
send many 198.51.100.1 10.99.0.2:7445 10.99.0.2:7446 interval 10ms count 50 state "$WORK/many"
is "unreachable: the others get all beats" "$(ended many 'destinations[2].datagrams')" 53
eventually 5 heard patient 50 || true
ok "unreachable: no sequence is missing" consecutive "$(beats patient)"
is "unreachable: each failure is counted" "$(ended many 'destinations[0] | "\(.datagrams) \(.errors) \(.last_error)"')" \
	"0 53 Network is unreachable"
is "unreachable: said once" "$(grep -c '198.51.100.1:7441: Network is unreachable' "$(said many)")" 1
is "nobody listens: no error" "$(ended many 'destinations[1].errors')" 0

link_local=$(in_ns b ip -6 -o addr show dev eth0 scope link | awk '{ sub("/.*", "", $4); print $4 }')
listen any :: 7447
listen group ff02::6b70 7448
send local "[$link_local%eth0]:7447" "[ff02::6b70%eth0]:7448" interval 10ms count 20 state "$WORK/local"
is "link-local and multicast: no errors" "$(ended local errors)" 0
ok "link-local: all beats arrive" eventually 5 heard any 20
ok "multicast: all beats arrive" eventually 5 heard group 20

# --- privileges -------------------------------------------------------------------------------------------------------

send urgent 10.99.0.2 priority 7 state "$WORK/urgent"
ok "runs with the priority asked for" eventually 5 sh -c "chrt -p $(pid_of urgent) | grep -q 'priority: 7'"
stop urgent
send calm 10.99.0.2 priority 0 state "$WORK/calm"
eventually 10 grep -q beating "$(said calm)" || true
like "priority 0 leaves the scheduler alone" "$(chrt -p "$(pid_of calm)")" SCHED_OTHER
stop calm

start modest in_ns a setpriv --bounding-set=-sys_nice,-ipc_lock,-sys_resource \
	"$KPHI" beat to 10.99.0.2 interval 10ms count 20 state "$WORK/modest"
eventually 10 gone "$(pid_of modest)" || true
is "not allowed: said once" "$(grep -c 'real-time priority (Operation not permitted)' "$(log_of modest)")" 1
like "not allowed: beats all the same" "$(cat "$(log_of modest)")" "beats sent: 20"
