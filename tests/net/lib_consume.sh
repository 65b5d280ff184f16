#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Programs that consume suspicion through libkphi, as members of the store's group and nothing more: a real store, real
# beats from the example that emits them, a real daemon. Deaths, returns, a daemon that is killed, peers that are deleted
# and come back, a store that is purged and made anew; no system call, no allocation; many threads.

. "$(dirname "$0")/lib_examples.bash"
. "$(dirname "$0")/daemon.bash"

PEERS=(app db1 db2 db3)
CONSUMERS="  - {name: page, suspect: 8, clear: 4}
  - {name: low, suspect: 3, clear: 1, peers: ['db*']}"

getent group $GROUP > /dev/null || skip_all "there is no group $GROUP here"

# --- helpers ----------------------------------------------------------------------------------------------------------

id_of() {
	case $1 in
	app) echo 00000000-0000-0000-0000-0000000000e1 ;; # examples/emitter.c
	*) echo "00000000-0000-0000-0000-0000000000a${1#db}" ;;
	esac
}

beat() {
	start "$1" in_ns b kphi beat to 10.98.0.1 id "$(id_of "$1")" interval 100ms state "$WORK/epoch-$1"
} 8>&- 9>&- # whoever is started must not keep others' input open

# The example that emits, with its standard input at descriptor 8.
emitter() {
	rm -f "$WORK/work"
	mkfifo "$WORK/work"
	resolve in_ns b "$EXAMPLES/emitter" "$WORK/epoch-app" 10.98.0.1
	"${ARGV[@]}" < "$WORK/work" > "$(log_of app)" 2>&1 9>&- &
	daemons[app]=$!
	exec 8> "$WORK/work"
}

run() {
	start run in_ns a kphi run config "$FILE"
	eventually 20 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of run)")"
} 8>&- 9>&-

state_is() {
	[ "$(peer_field "$1" "$2")" = "$3" ]
}

beats_reach() {
	[ "$(peer_field "$1" beats)" -ge "$2" ]
}

# pick PEER...: which one the example's next request goes to
pick() {
	echo request | "${MEMBER[@]}" "$EXAMPLES/consumer" "$KPHI_PIN" "$@" 2>> "$WORK/consumer.log"
}

picks() {
	[ "$(pick "${@:2}")" = "$1" ]
}

python() {
	"${MEMBER[@]}" "$PYTHON" "$WORK/consumer.py" "$KPHI_PIN"
}

python_says() {
	grep -qxE "$1" <<< "$(python)"
}

quiet() {
	"${MEMBER[@]}" "$WORK/lib_quiet" "$KPHI_PIN" "$@"
}

ns_add a
ns_add b
veth_pair a eth0 10.98.0.1/24 b eth0 10.98.0.2/24
ok "installed" install_library
ok "the examples are built" examples consumer emitter
ok "and the test's own program" test_program lib_quiet
install -m 755 "$ROOT/examples/consumer.py" "$ROOT/build/tests/lib_threads" "$WORK"

like "no store: said so" "$("${MEMBER[@]}" "$PYTHON" "$WORK/consumer.py" "$KPHI_PIN" 2>&1 || true)" "there is no store yet"
is "no store: a client goes to the first, rather than to nobody" "$(pick db1 db2)" db1

kphi store create group $GROUP peers 64 window 64 > "$WORK/out"
write_file

# --- no daemon yet ------------------------------------------------------------------------------------------------------

in_ns a kphi net attach dev eth0 > "$WORK/out" 2>&1
in_ns a kphi peer add app id "$(id_of app)" interval 100ms > "$WORK/out"
emitter
ok "the example's beats are heard" eventually 20 beats_reach app 20
ok "without a daemon there is phi, but no suspicion" eventually 20 python_says "app 0\.[0-9]+ normal unknown"
is "unknown keeps nobody from being tried" "$(pick app db1)" app

# --- verdicts -----------------------------------------------------------------------------------------------------------

for name in db1 db2 db3; do beat $name; done
run
for name in "${PEERS[@]}"; do
	ok "$name is trusted" eventually 20 python_says "$name [0-9.]+ normal trusted"
done
is "each peer is told once" "$(python | cut -d ' ' -f 1 | sort | xargs)" "app db1 db2 db3"
is "a request goes to the first" "$(pick app db1)" app

echo ill >&8
ok "a sender that is ill says so" eventually 20 state_is app degraded true
echo well >&8
ok "... until it is well" eventually 20 state_is app degraded false
echo hang >&8
ok "a main loop that hangs is suspected, though its process lives" eventually 20 python_says "app [0-9.]+ normal suspected"
ok "... its process does live" running app
is "requests go to the next one" "$(pick app db1)" db1
stop app KILL
exec 8>&-
emitter
ok "the next life of it is trusted" eventually 20 python_says "app [0-9.]+ normal trusted"
ok "... and has the requests again" eventually 20 picks app app db1
is "its epoch is a higher one" "$(($(peer_field app restarts) >= 1))" 1
exec 8>&-
ok "input that ends is a goodbye" eventually 20 state_is app state left
ok "... which nobody is suspected for" eventually 20 python_says "app - normal unknown"
stop app

# A client that lives on, with requests one after the other.
mkfifo "$WORK/requests"
"${MEMBER[@]}" "$EXAMPLES/consumer" "$KPHI_PIN" db1 db2 < "$WORK/requests" > "$WORK/answers" 2>> "$WORK/consumer.log" 8>&- &
daemons[client]=$!
exec 9> "$WORK/requests"
answers() {
	wc -l < "$WORK/answers"
}
answered() {
	[ "$(answers)" -gt "$1" ]
}
# goes_to PEER: the client's next request does
goes_to() {
	local before

	before=$(answers)
	echo request >&9
	eventually 20 answered "$before" && [ "$(tail -n 1 "$WORK/answers")" = "$1" ]
}

ok "a client that lives on begins with db1" goes_to db1
stop db1 KILL
ok "a killed peer is suspected" eventually 20 python_says "db1 [0-9.]+ normal suspected"
ok "... and avoided" goes_to db2
stop run KILL
ok "a daemon that is killed leaves nothing known" eventually 20 python_says "db1 [0-9.]+ normal unknown"
ok "... so db1 is tried again" goes_to db1
run
ok "the next daemon knows" eventually 20 python_says "db1 [0-9.]+ normal suspected"
ok "... and so does the client" goes_to db2

# Deleted and added again: another peer, on whom there is no verdict of the first one. It waits to be heard for longer than this takes.
stop run
in_ns a kphi peer del db1 > "$WORK/out"
in_ns a kphi peer add db1 id "$(id_of db1)" interval 100ms > "$WORK/out"
ok "who was added again is not suspected for his predecessor" goes_to db1
ok "... whom a program tells from him" python_says "db1 - normal unknown"
run

# --- no system call, no allocation --------------------------------------------------------------------------------------

is "queries make no system call and allocate nothing" "$(quiet db2 queries)" \
	"1 allocations to open, 0 to ask, 10000 of 10000 rounds"
case $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) in
tsc | kvm-clock | hyperv_clocksource_tsc_page | arch_sys_counter)
	is "nor does asking for the time" "$(quiet db2 clock)" "1 allocations to open, 0 to ask, 10000 of 10000 rounds" ;;
*) skip "nor does asking for the time" "this host's clock is not read without one" ;;
esac
killed=0
quiet db2 stale > "$WORK/out" 2>&1 || killed=$?
is "witness: what makes a system call is killed" "$killed" $((128 + 31))
kphi key add cluster generate "$WORK/key" > "$WORK/out"
in_ns a kphi peer add signed id 00000000-0000-0000-0000-0000000000e2 key cluster > "$WORK/out" # tests/net/lib_quiet.c
is "beats allocate nothing, signed ones neither" "$(in_ns b "$WORK/lib_quiet" - - sends "$WORK/epoch-quiet" 10.98.0.1 "$WORK/key")" \
	"0 allocations in 100 beats, 0 failed"
ok "they are believed, and so is their goodbye" eventually 20 state_is signed state left
is "... each of them" "$(peer_field signed beats) $(peer_field signed signed) $(peer_field signed refused)" "100 true 0"

# --- who may, and until when --------------------------------------------------------------------------------------------

like "a stranger is refused" "$(setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups \
	"$PYTHON" "$WORK/consumer.py" "$KPHI_PIN" 2>&1 || true)" "permission denied. Run it as root, or join the group"
stop run
kphi store purge > "$WORK/out"
ok "the client of a store that was purged goes on" goes_to db1
kphi store create group $GROUP peers 64 window 64 > "$WORK/out"
run
beat db1
ok "in the next store db1 is trusted" eventually 20 python_says "db1 [0-9.]+ normal trusted"
stop db1 KILL
ok "... and suspected when it dies" eventually 20 python_says "db1 [0-9.]+ normal suspected"
ok "... which the client, who had the first one open, knows" goes_to db2
exec 9>&-
eventually 20 gone "$(pid_of client)" || true
stop client
is "that was its end, and no crash" "$stopped" 0

# --- many threads -------------------------------------------------------------------------------------------------------

stop run
for name in "${PEERS[@]}"; do kphi peer del "$name" > "$WORK/out"; done
stop db2
stop db3
add() {
	in_ns a kphi peer add "p$1" id "$(printf '00000000-0000-0000-0000-%012x' "$1")" interval $((100 + $1))ms > "$WORK/out"
}
for i in 1 2 3 4 5 6; do
	add $i
	start "p$i" in_ns b kphi beat to 10.98.0.1 id "$(printf '00000000-0000-0000-0000-%012x' $i)" interval $((100 + i))ms \
		state "$WORK/epoch-p$i"
done
mkfifo "$WORK/threads"
# The sanitizer's memory has fixed places, which randomised ones of others may meet.
"${MEMBER[@]}" setarch -R "$WORK/lib_threads" "$KPHI_PIN" 4 < "$WORK/threads" > "$WORK/told" 2> "$(log_of threads)" &
daemons[threads]=$!
exec 7> "$WORK/threads"
ok "four threads ask" eventually 20 grep -q asking "$WORK/told"
for round in 1 2 3 4 5; do
	for i in 4 5 6; do in_ns a kphi peer del "p$i" > "$WORK/out"; done
	for i in 0 1 2; do add $(((i + round) % 3 + 4)); done
done
ok "and are asked to end" eventually 20 beats_reach p1 20
exec 7>&-
threads=0
wait "${daemons[threads]}" || threads=$?
unset "daemons[threads]"
is "the sanitizer has found no race, and nothing was torn" "$threads $(cat "$(log_of threads)")" "0 "
told=$(tail -n 1 "$WORK/told")
note "$told"
is "all was asked" "$(jq -c '[.rounds > 10, .peers > 50, .read > 50, .judged > 0, .unknown > 0, .wrong]' <<< "$told")" \
	"[true,true,true,true,true,0]"
