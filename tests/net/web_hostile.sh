#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A thousand hostile clients at the HTTP server: a byte a second, half-open, a megabyte of headers, junk, pipelines, and readers
# who do not read. A well-behaved one is answered meanwhile, the server's memory and descriptors stay within bounds, and the
# daemon, whose child it is, is as punctual as it was before.

. "$(dirname "$0")/lib.sh"

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml
AT=127.0.0.1:7480
PEERS=1000 # most of them never heard: what counts is that the answer is long

# --- helpers ----------------------------------------------------------------------------------------------------------

id_of() {
	printf '00000000-0000-0000-0000-%012x' "$1"
}

beat() {
	start "beat$1" in_ns b kphi beat to 10.96.0.1 id "$(id_of "$1")" interval 50ms state "$WORK/epoch-$1"
}

get() {
	in_ns a curl -sS -m 20 "http://$AT$1"
}

# The server is the daemon's child, and there is no other.
server() {
	pgrep -P "$(pid_of daemon)"
}

memory_kib() {
	awk '/^VmRSS:/ { print $2 }' "/proc/$(server)/status"
}

descriptors() {
	set -- "/proc/$(server)/fd/"*
	echo $#
}

# buckets: how late the daemon's loop was: a count for each upper limit in seconds, so far
buckets() {
	kphi peer show metrics per_peer none | sed -n 's/^kphi_daemon_lateness_seconds_bucket{le="\([^"]*\)"} /\1 /p'
}

# p99_us FROM TO: the upper limit of the bucket that holds the 99th percentile of what came between
p99_us() {
	join <(sort "$1") <(sort "$2") | awk '$1 != "+Inf" { print $1, $3 - $2 }; $1 == "+Inf" { print 1e9, $3 - $2 }' | sort -g |
		awk '{ at[NR] = $1; n[NR] = $2 } END { for (i = 1; i <= NR; i++) if (n[i] >= 0.99 * n[NR]) { printf "%.0f\n", at[i] * 1e6; exit } }'
}

# watch_scrapes SECONDS: a scrape a second, each in turn of another path; says "STATUS SECONDS PATH", and what the server takes
watch_scrapes() {
	local end=$((SECONDS + $1)) paths=(/metrics /healthz /api/v1/peers) i=0 path

	while [ $SECONDS -lt "$end" ]; do
		path=${paths[i++ % 3]}
		in_ns a curl -sS -m 20 -o /dev/null -w "%{http_code} %{time_total} $path\n" "http://$AT$path" || true
		echo "$(memory_kib) $(descriptors)" >> "$WORK/taken"
		sleep 0.5
	done
}

# count REGEX FILE: lines that match
count() {
	grep -c "$1" "$2" || true
}

ns_add a
ns_add b
veth_pair a eth0 10.96.0.1/24 b eth0 10.96.0.2/24
{
	echo "devices: [{name: eth0}]"
	echo "outputs: {socket: $SOCKET}"
	echo "state: $WORK/state"
	echo "web: {listen: '$AT'}"
	echo "consumers: [{name: page, suspect: 8}]"
	echo "peers:"
	for i in $(seq $PEERS); do
		echo "  - {name: db$i, id: $(id_of "$i"), interval: $([ "$i" -le 8 ] && echo 50ms || echo 1h)}"
	done
} > "$FILE"
kphi store create > /dev/null
start daemon in_ns a kphi run config "$FILE"
for i in 1 2 3 4 5 6 7 8; do
	beat "$i"
done
ok "the server is there" eventually 20 in_ns a curl -sSf "http://$AT/healthz"
ok "... and has many peers" eventually 20 eval '[ "$(get /api/v1/peers | jq length)" = $PEERS ]'
start events kphi event follow socket "$SOCKET"
ok "those that beat are up" eventually 20 eval '[ "$(get /api/v1/peers | jq "map(select(.state == \"up\")) | length")" = 8 ]'

# --- before -----------------------------------------------------------------------------------------------------------

buckets > "$WORK/0"
watch_scrapes 10 > "$WORK/before"
buckets > "$WORK/1"
is "in peace every scrape is answered" "$(count '^[^2]' "$WORK/before")" 0
peace_kib=$(memory_kib)
server=$(server)

# --- the attack -------------------------------------------------------------------------------------------------------

start hostile in_ns a python3 "$ROOT/tests/net/hostile.py" "${AT%:*}" "${AT#*:}" 40
sleep 3
buckets > "$WORK/2"
: > "$WORK/taken"
watch_scrapes 25 > "$WORK/during"
stop beat3 KILL
ok "a death during the attack is told" eventually 20 grep -q '"type":"suspect".*"peer":"db3"' "$(log_of events)"
ok "... also by the server, to who asks" eventually 20 eval 'get /api/v1/events | jq -e "any(.type == \"suspect\" and .peer == \"db3\")"'
buckets > "$WORK/3"
ok "the attack was going on all the while" running hostile
is "every scrape was answered" "$(count '^[^2]' "$WORK/during")" 0
between "... so many of them" "$(wc -l < "$WORK/during")" 8 100
slowest=$(sort -k2 -g "$WORK/during" | tail -n 1 | cut -d' ' -f2)
between "... the slowest within seconds" "$slowest" 0 10
between "memory stays bounded: KiB more than in peace" "$(($(sort -g "$WORK/taken" | tail -n 1 | cut -d' ' -f1) - peace_kib))" -100000 120000
between "descriptors stay bounded" "$(cut -d' ' -f2 "$WORK/taken" | sort -g | tail -n 1)" 100 576
ok "the attackers end" eventually 60 gone "$(pid_of hostile)"

# What was seen from the other side: without that, nothing above says much.
report=$(log_of hostile)
note "$(cat "$report")"
ok "a thousand were there" jq -e '[.[].made] | add > 1000' "$report"
ok "those who drip or say nothing are sent away" \
	jq -e '.dripping.ended > 100 and .half_open.ended > 100 and .silent.ended > 100 and .dripping_body.ended > 10' "$report"
ok "... and are never answered" jq -e '.dripping.statuses == {} and .half_open.statuses == {}' "$report"
ok "megabytes of headers are refused with 431" jq -e '.huge_headers.statuses["431"] > 50 and (.huge_headers.statuses | keys) == ["431"]' "$report"
ok "pipelined requests are answered in order, until junk comes" jq -e '.pipelined.statuses["200"] > 50' "$report"

# --- the daemon, and afterwards ---------------------------------------------------------------------------------------

before=$(p99_us "$WORK/0" "$WORK/1")
during=$(p99_us "$WORK/2" "$WORK/3")
note "the daemon's loop was late by at most (99 %): $before us in peace, $during us under attack"
ok "the daemon is as punctual as before, within the doubling buckets and the noise of a shared machine" \
	awk "BEGIN { exit !($during <= 16 * $before) }"
is "its other peers are trusted" "$(count '"type":"suspect".*"peer":"db[1245678]"' "$(log_of events)")" 0
ok "afterwards the server has closed what it had opened" eventually 20 eval '[ "$(descriptors)" -lt 30 ]'
ok "... and serves as before" eval 'get /api/v1/peers | jq -e length'
is "... and is the one that was there before" "$(server)" "$server"
stop daemon
is "the daemon ends in order" "$stopped" 0
ok "... and the server with it" eventually 5 gone "$server"
