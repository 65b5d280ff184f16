#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The HTTP server as the daemon's child: it serves, it is started again when it dies, fails without noise where it cannot
# listen, follows the file, and ends with the daemon, however that ends. None of it is to the daemon more than an event.

. "$(dirname "$0")/lib.sh"

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml

# --- helpers ----------------------------------------------------------------------------------------------------------

# write_file WEB
write_file() {
	{
		echo "peers: [{name: db1, id: 00000000-0000-0000-0000-0000000000a1, interval: 100ms}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		[ -z "$1" ] || echo "web: {$1}"
	} > "$FILE"
}

# run NAME NAMESPACE
run() {
	start "$1" in_ns "$2" kphi run config "$FILE"
	eventually 10 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of "$1")")"
}

# told NAME: the events of type web of that daemon
told() {
	jq -cR 'fromjson? | select(.type == "web") | [.cause, .subject, .detail]' < "$(log_of "$1")"
}

# tells NAME N: at least N
tells() {
	[ "$(told "$1" | wc -l)" -ge "$2" ]
}

# child_of NAME: the server's pid; empty if there is none
child_of() {
	pgrep -P "$(pid_of "$1")" -f 'web serve' || true
}

has_child_but() {
	local child

	child=$(child_of "$1")
	[ -n "$child" ] && [ "$child" != "$2" ]
}

has_none() {
	[ -z "$(child_of "$1")" ]
}

# status_of PID KEY
status_of() {
	awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"
}

healthy() {
	in_ns a curl -fsS --max-time 5 "$@" http://127.0.0.1:7441/healthz
}

verdict_is_fresh() {
	local left

	left=$(bpftool -j map lookup pinned "$KPHI_PIN"/abi-*/verdicts key 0 0 0 0 | jq .formatted.value.valid_until_ns)
	[ "$left" -gt "$(python3 -c 'import time; print(time.monotonic_ns())')" ]
}

"$KPHI" web help > "$WORK/help" 2>&1 || skip_all "this kphi has no web server"
ns_add a
ns_add b
write_file ""

# --- it serves --------------------------------------------------------------------------------------------------------

run run a
ok "the server has begun" eventually 10 tells run 1
is "and where is told" "$(told run)" '["begun","127.0.0.1:7441",null]'
ok "it answers" eventually 5 healthy
server=$(child_of run)
is "it has an ordinary priority" "$(cut -d ' ' -f 19,41 "/proc/$server/stat")" "0 0"
is "it can gain no privileges" "$(status_of "$server" NoNewPrivs)" 1
is "and has two capabilities at most" "$((0x$(status_of "$server" CapPrm) & ~0x401))" 0
is "witness: the daemon has more" "$(((0x$(status_of "$(pid_of run)" CapPrm) & ~0x401) != 0))" 1
# No device is attached: the verdict is that it could not be heard.
is "it reads what the daemon thinks" \
	"$(in_ns a curl -fsS http://127.0.0.1:7441/api/v1/peers | jq -c '.[0] | [.name, .verdict]')" '["db1","blind"]'

# --- it dies ----------------------------------------------------------------------------------------------------------

kill -KILL "$server"
ok "another one is started" eventually 10 has_child_but run "$server"
ok "it answers, too" eventually 10 healthy
is "why is told" "$(told run | sed -n 2p)" '[null,"127.0.0.1:7441","ended by signal 9 (Killed)"]'
ok "the daemon's verdicts are fresh" verdict_is_fresh

# --- the file changes -------------------------------------------------------------------------------------------------

server=$(child_of run)
write_file "listen: 'unix:$WORK/web.sock', hosts: [mon.example]"
ok "reload" kphi run reload socket "$SOCKET"
ok "it listens elsewhere" eventually 10 curl -fsS --max-time 5 --unix-socket "$WORK/web.sock" http://mon.example/healthz
ok "and nowhere else" ! healthy
ok "the former one has ended" gone "$server"
write_file "listen: no"
ok "reload" kphi run reload socket "$SOCKET"
ok "there is none any more" eventually 5 has_none run
is "that is told" "$(told run | tail -n 1)" "[\"ended\",\"unix:$WORK/web.sock\",null]"
ok "its socket is gone" eventually 5 test ! -e "$WORK/web.sock"

# --- it ends with the daemon ------------------------------------------------------------------------------------------

write_file ""
ok "reload" kphi run reload socket "$SOCKET"
ok "it serves again" eventually 10 healthy
server=$(child_of run)
stop run
is "the daemon ends in order" "$stopped" 0
ok "and its server with it" gone "$server"
run killed a
ok "it serves again" eventually 10 healthy
server=$(child_of killed)
kill -STOP "$server" # it could not end by itself
stop killed KILL
ok "the server of a daemon that was killed is gone" eventually 5 gone "$server"

# --- where it cannot listen -------------------------------------------------------------------------------------------

in_ns b ip addr flush dev lo # as in a namespace in which it was never up
run mute b
ok "no such address: said" eventually 10 tells mute 1
like "and what to do" "$(told mute)" '^\[null,"127.0.0.1:7441","127.0.0.1:7441: .*'
sleep 4 # in which it was tried twice more
is "once" "$(told mute | wc -l)" 1
in_ns b ip addr add 127.0.0.1/8 dev lo
ok "when it can, it does" eventually 30 tells mute 2
is "and that is told" "$(told mute | tail -n 1)" '["begun","127.0.0.1:7441",null]'
