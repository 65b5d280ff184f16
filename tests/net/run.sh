#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi run on a real cable with real senders: deaths, returns, restarts of the daemon, a daemon that was stopped, changed
# files, commands, clients. The daemon listens in a, the senders are in b. There are always more live peers than dead
# ones, because otherwise the guard would hold the verdicts, and rightly.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.bash"

PEERS=(db1 db2 db3 db4 db5)
CONSUMERS="  - {name: page, suspect: 8, clear: 4, exec: 'cat >> $WORK/executed', exec_burst: 100}
  - {name: low, suspect: 3, clear: 1, peers: ['db*']}
  - {name: shade, suspect: 5, shadow: yes}"

# --- helpers ----------------------------------------------------------------------------------------------------------

id_of() {
	echo "00000000-0000-0000-0000-0000000000a${1#db}"
}

# beat NAME: a sender for this peer
beat() {
	start "$1" in_ns b kphi beat to 10.98.0.1 id "$(id_of "$1")" interval 100ms state "$WORK/epoch-$1"
}

# run [NAME]: the daemon, and until it says that it is there
run() {
	start "${1:-run}" in_ns a kphi run config "$FILE"
	eventually 10 test -S "$SOCKET" || true
	eventually 10 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of "${1:-run}")")"
}

# events NAME JQ-FILTER: of those events of a daemon or client, the ones that the filter selects, one a line
events() {
	jq -cR "fromjson? | select(.type) | select($2)" < "$(log_of "$1")"
}

# counts NAME JQ-FILTER
counts() {
	events "$@" | wc -l
}

# has NAME N JQ-FILTER: at least N
has() {
	[ "$(counts "$1" "$3")" -ge "$2" ]
}

# value NAME JQ-FILTER KEY: of the last such event
value() {
	events "$1" "$2" | tail -n 1 | jq -r ".$3"
}

monotonic_ns() {
	python3 -c 'import time; print(time.monotonic_ns())'
}

# verdict NAME KEY: what stands in the pinned map
verdict() {
	local slot

	slot=$(kphi -j peer show | jq --arg name "$1" '[.. | objects | select(.name? == $name)][0].slot')
	bpftool -j map lookup pinned "$KPHI_PIN"/abi-*/verdicts key "$slot" 0 0 0 | jq -r ".formatted.value.$2"
}

# told FILTER: of what the daemon tells of itself in its map
told() {
	bpftool -j map lookup pinned "$KPHI_PIN"/abi-*/daemon key 0 0 0 0 | jq -c ".formatted.value | $1"
}

# opinion NAME: the daemon's verdict as anybody reads it
opinion() {
	kphi -j peer show "$1" | jq -c '[.verdict, .verdict_cause, .suspected_by, .held_for, .shadow_suspected_by]'
}

all_up() {
	local name

	for name in "$@"; do
		[ "$(peer_field "$name" beats)" -ge 20 ] || return 1
	done
}

ns_add a
ns_add b
veth_pair a eth0 10.98.0.1/24 b eth0 10.98.0.2/24
write_file

# --- the file ---------------------------------------------------------------------------------------------------------

ok "a right file is checked" kphi run config "$FILE" check
is "a checked file is summed up" \
	"$(kphi -j run config "$FILE" check | jq -c '[.devices, .peers, .consumers]')" "[1,5,3]"
ok "a check makes nothing" ! test -e "$WORK/state"
sed 's/clear: 1/clear: 3.5/' "$FILE" > "$WORK/wrong.yaml"
wrong=0
said=$(kphi run config "$WORK/wrong.yaml" check 2>&1) || wrong=$?
is "a wrong file: exit status" "$wrong" 1
like "a wrong file: file, line and reason" "$said" "wrong.yaml:12: clear: 3.500 is above the .suspect. threshold of 3.000"
like "no daemon: said so" "$(kphi event socket "$SOCKET" 2>&1 || true)" "no .kphi run. listens there"
like "no daemon to reload: said so" "$(kphi run reload socket "$SOCKET" 2>&1 || true)" "no .kphi run. listens there"

# --- quiet beginnings -------------------------------------------------------------------------------------------------

# They beat before they are known, so that their first-beat deadlines are met.
for name in "${PEERS[@]}"; do beat "$name"; done
run
ok "all peers are heard" eventually 10 all_up "${PEERS[@]}"
is "nothing is said about healthy peers" "$(counts run '.peer')" 0
is "the file is announced" "$(value run '.type == "config"' cause)" begun
is "there is no current state" "$(kphi event socket "$SOCKET")" ""
is "verdicts are trust" "$(verdict db1 state)" 1
between "verdicts are fresh (ms left)" $((($(verdict db1 valid_until_ns) - $(monotonic_ns)) / 1000000)) 1000 3100
is "... and say so to everybody" "$(opinion db1)" '["trust",null,[],[],[]]'
ok "the daemon is alive" test "$(told .alive_until_ns)" -gt "$(monotonic_ns)"
is "... says who it is, and how often it began" "$(told '[.pid, .starts, .configs, .configs_refused]')" "[$(pid_of run),1,1,0]"
is "... and who its consumers are" \
	"$(told '[.consumer[:.consumers][] | [.name, .suspect / 4294967296, .clear / 4294967296, .shadow]]')" \
	'[["page",8,4,0],["low",3,1,0],["shade",5,2.5,1]]'
second=0
said=$(in_ns a "$KPHI" --pin "$KPHI_PIN" run config "$FILE" 2>&1) || second=$?
is "a second daemon is refused" "$second" 1
like "a second daemon is told why" "$said" "another .kphi run. watches this store"
start follow kphi event follow socket "$SOCKET"
start sleepy kphi event follow socket "$SOCKET"
sleep 0.3
kill -STOP "$(pid_of sleepy)"

# --- a death ----------------------------------------------------------------------------------------------------------

stop db1 KILL
deadline_ns=$(kphi -j peer show | jq '[.. | objects | select(.name? == "db1")][0] | .silence_ns + .suspect_in_ns')
ok "a killed peer is suspected" eventually 5 has run 1 '.type == "suspect" and .consumer == "page"'
late_ns=$(($(value run '.type == "suspect" and .consumer == "page"' silence_ns) - deadline_ns))
between "... at its computed deadline (lateness in ms)" "$(awk "BEGIN { print $late_ns / 1e6 }")" 0 50
is "... with its cause" "$(value run '.type == "suspect"' cause)" silence
is "... with its model" "$(value run '.type == "suspect"' model)" normal
ok "... by every consumer once" has run 3 '.type == "suspect"'
is "... the lower threshold first, the shadow between" \
	"$(events run '.type == "suspect"' | jq -r .consumer | xargs)" "low shade page"
is "... and nobody else is" "$(counts run '.type == "suspect" and .peer != "db1"')" 0
is "a shadow's suspicion has no token" "$(value run '.consumer == "shade"' token)" null
is "the verdict is suspect" "$(verdict db1 state)" 2
is "... by the two consumers that count" "$(verdict db1 consumers)" 3
is "... with the event's token" "$(verdict db1 token)" "$(value run '.consumer == "page"' token)"
is "... says why and to whom" "$(opinion db1)" '["suspect","silence",["page","low"],[],["shade"]]'
like "... to people, too" "$(kphi peer show db1)" "verdict of kphi run: suspect.because of: silence.suspected by: page.suspected by: low.suspected by the shadow: shade"
is "who suspected how often is counted" "$(told '[.consumer[:3][].suspicions]')" \
	"[$(for name in page low shade; do counts run ".type == \"suspect\" and .consumer == \"$name\""; done | paste -s -d ,)]"
ok "how late its verdicts were is known" test "$(told '.latency.bucket | add')" -ge 2
ok "... to the nanosecond" test "$(told .latency.worst_ns)" -gt 0
ok "the client hears the same" eventually 2 has follow 3 '.type == "suspect"'
ok "the command got the event" eventually 5 grep -q '"type":"suspect".*"consumer":"page"' "$WORK/executed"
is "a late client asks for the state" \
	"$(kphi event state socket "$SOCKET" | jq -r 'select(.current) | "\(.type) \(.peer) \(.consumer)"' | sort | xargs)" \
	"suspect db1 low suspect db1 page suspect db1 shade"
kill -CONT "$(pid_of sleepy)"
ok "a client that slept hears it, too" eventually 2 has sleepy 3 '.type == "suspect"'

beat db1
ok "a new life is announced" eventually 5 has run 1 '.type == "restart" and .peer == "db1"'
ok "... and trusted" eventually 5 has run 3 '.type == "trust" and .peer == "db1"'
is "... because it is a new life" "$(value run '.type == "trust"' cause)" restart
is "... the first suspicion is still known" "$(value run '.type == "trust" and .consumer == "page"' since_ns)" \
	"$(value run '.type == "suspect" and .consumer == "page"' since_ns)"
ok "tokens rise" test "$(value run '.type == "trust" and .consumer == "page"' token)" -gt \
	"$(value run '.type == "suspect" and .consumer == "page"' token)"
ok "the command got that as well" eventually 5 grep -q '"type":"trust"' "$WORK/executed"
is "... and what the consumer has no part in, it did not get" "$(sed '/"consumer":"page"/d' "$WORK/executed")" ""
is "numbers rise by one" "$(events run true | jq .seq | awk '$1 != NR' | wc -l)" 0
stop db2
ok "a goodbye is no death" eventually 5 has run 1 '.type == "leave" and .peer == "db2"'
beat db2
ok "all are up again" eventually 10 all_up db1 db2

# --- the daemon dies --------------------------------------------------------------------------------------------------

stop db1 KILL
ok "suspect before the daemon dies" eventually 5 has run 2 '.type == "suspect" and .consumer == "page"'
token=$(value run '.type == "suspect"' token)
sleep 1.1 # a round
stop run KILL
stop db2 KILL
sleep 3.5
between "a dead daemon's verdicts have expired (ms left)" \
	$((($(verdict db1 valid_until_ns) - $(monotonic_ns)) / 1000000)) -60000 0
is "... and are nobody's" "$(opinion db1)" '[null,null,[],[],[]]'
ok "... and so has its word that it is alive" test "$(told .alive_until_ns)" -lt "$(monotonic_ns)"
run again
ok "who died meanwhile is found" eventually 5 has again 1 '.type == "suspect" and .peer == "db2" and .consumer == "page"'
is "who was suspect is not announced again" "$(counts again '.peer == "db1"')" 0
is "... but is in the state" \
	"$(kphi event socket "$SOCKET" | jq -r 'select(.peer == "db1" and .consumer == "page") | .type')" suspect
is "... and in the map" "$(verdict db1 state) $(verdict db1 consumers)" "2 3"
is "... and for everybody to see" "$(opinion db1)" '["suspect","silence",["page","low"],[],["shade"]]'
is "what was counted goes on" "$(told '[.starts, .configs, (.events[0] | add)]')" \
	"[2,2,$(($(counts run '.type == "suspect"') + $(counts again '.type == "suspect"')))]"
ok "tokens have risen" test "$(value again '.peer == "db2" and .consumer == "page"' token)" -gt "$token"
beat db1
ok "its return is announced" eventually 5 has again 1 '.type == "trust" and .peer == "db1" and .consumer == "page"'
beat db2
ok "all are well again" eventually 10 has again 1 '.type == "trust" and .peer == "db2" and .consumer == "page"'
is "healthy peers were never mentioned" "$(counts again '.peer == "db3" or .peer == "db4" or .peer == "db5"')" 0
ok "windows outlived the daemons" test "$(peer_field db5 beats)" -gt 80
ok "the client was told" eventually 2 grep -q "has ended" "$(log_of follow)"

# --- the daemon sleeps ------------------------------------------------------------------------------------------------

ok "beats enough for a verdict" eventually 10 all_up db1 db2
before=$(events again true | wc -l)
kill -STOP "$(pid_of again)"
stop db2 KILL
sleep 3.5
kill -CONT "$(pid_of again)"
ok "a late loop is reported" eventually 5 has again 1 '.type == "loop_late"'
between "... with its length (ms)" "$(($(value again '.type == "loop_late"' length_ns) / 1000000))" 1500 60000
ok "what fell due meanwhile is said on return" \
	eventually 5 has again 2 '.type == "suspect" and .peer == "db2" and .consumer == "page"'
is "... and nothing that is false" \
	"$(events again true | tail -n +$((before + 1)) | jq -r 'select(.type == "suspect" and .peer != "db2") | .peer')" ""
beat db2
ok "back to normal" eventually 10 has again 2 '.type == "trust" and .peer == "db2" and .consumer == "page"'

# --- reload -----------------------------------------------------------------------------------------------------------

ok "up" eventually 10 all_up db1 db2
stop db1 KILL
ok "one is suspect" eventually 5 has again 1 '.type == "suspect" and .peer == "db1" and .consumer == "page"'
sleep 0.3
before=$(events again true | wc -l)
beats=$(peer_field db3 beats)
sed -i 's/suspect: 8, clear: 4/suspect: 8, claer: 4/' "$FILE"
refused=0
said=$(kphi run reload socket "$SOCKET" 2>&1) || refused=$?
is "a bad file is refused on reload" "$refused" 1
like "... with its line" "$said" "the former configuration stays in force: .*kphi.yaml:11: unknown key: .claer. is unknown: did you mean clear"
is "... and is an event" "$(value again '.type == "config"' cause)" null

# A file that is right, but nothing can be kept: that is refused before anything has changed.
sed -i 's/claer/clear/' "$FILE"
sed -i "s/^consumers:/  - {name: db7, id: $(id_of db7), interval: 100ms}\n&/" "$FILE"
mv "$WORK/state" "$WORK/kept" && touch "$WORK/state"
said=$(kphi run reload socket "$SOCKET" 2>&1) || refused=$((refused + 1))
is "a file that cannot be applied is refused" "$refused" 2
like "... with the reason" "$said" "state/consumers: cannot keep the consumers' names: Not a directory"
is "... and adds no peer" "$(peer_field db7 state)" null
rm "$WORK/state" && mv "$WORK/kept" "$WORK/state"

# Other numbers for the consumers, a new one, one less, and a peer more.
PEERS+=(db6)
write_file "  - {name: new, suspect: 20, clear: 4, peers: [db2]}
  - {name: low, suspect: 3, clear: 1, peers: ['db*']}
  - {name: page, suspect: 8, clear: 4, exec: 'cat >> $WORK/executed; exit 3', exec_burst: 100}"
beat db6
ok "a good file is applied" kphi run reload socket "$SOCKET"
like "... and described" "$(value again '.type == "config"' detail)" "3 consumers; 6 peers: 1 added, 0 changed, 5 as they were"
is "what has not changed is not said again" \
	"$(events again true | tail -n +$((before + 1)) | jq -r 'select(.type != "config" and .consumer != "shade") | .type')" ""
ok "no window was lost" test "$(peer_field db3 beats)" -ge "$beats"
is "... nor of how often a file was applied or refused" "$(told '[.configs, .configs_refused]')" "[3,2]"
is "a consumer's count is of who is at its place" "$(told '[.consumer[:3][] | [.name, .suspicions > 0]]')" \
	'[["new",false],["low",true],["page",false]]'
is "the verdict has the consumers' new numbers" "$(verdict db1 state) $(verdict db1 consumers)" "2 6"
ok "the new peer is heard" eventually 10 all_up db6
kill -HUP "$(pid_of again)"
ok "SIGHUP does the same" eventually 5 has again 5 '.type == "config"'

# Verdicts do not wait while a reload has to.
start busy flock "$KPHI_PIN/lock" sleep 4
sleep 0.3
configs=$(counts again '.type == "config"')
kill -HUP "$(pid_of again)"
stop db6 KILL
ok "a death is found while another command holds the store" \
	eventually 3 has again 1 '.type == "suspect" and .peer == "db6" and .consumer == "page"'
is "... and the reload waits for that one" "$(counts again '.type == "config"')" "$configs"
ok "... and is done then" eventually 10 has again $((configs + 1)) '.type == "config"'
beat db6
ok "back" eventually 10 has again 1 '.type == "trust" and .peer == "db6" and .consumer == "page"'

# A setting that changes costs the window of that one peer.
sed -i '/name: db4/s/interval: 100ms/interval: 150ms/' "$FILE"
beats=$(peer_field db5 beats)
ok "a changed setting" kphi run reload socket "$SOCKET"
like "... is told" "$(value again '.type == "config"' detail)" "0 added, 1 changed, 5 as they were"
ok "... begins that window anew" test "$(peer_field db4 beats)" -lt "$beats"
is "... and has its effect" "$(peer_field db4 interval_ns)" 150000000
ok "... and leaves the others" test "$(peer_field db5 beats)" -ge "$beats"

# Who has left the file stays, and is named; who was deleted is gone.
cp "$FILE" "$WORK/before.yaml"
for n in 1 2 3; do
	sed -i "s/^consumers:/  - {name: leaver$n, id: 00000000-0000-0000-0000-00000000000$n, interval: 1h}\n&/" "$FILE"
done
ok "three more, who beat once an hour" kphi run reload socket "$SOCKET"
ok "one of them is deleted" kphi peer del leaver1
cp "$WORK/before.yaml" "$FILE"
ok "and all leave the file" kphi run reload socket "$SOCKET"
like "... which names those that stay" "$(value again '.type == "config"' detail)" \
	"; 2 peers have left the file and are still watched: leaver2 and others"
ok "... and go when they are told to" eval "kphi peer del leaver2 && kphi peer del leaver3"

# --- commands that fail -----------------------------------------------------------------------------------------------

beat db1
ok "a command that fails is an event" eventually 5 has again 1 '.type == "exec" and .consumer == "page" and .peer == "db1"'
is "... that says how" "$(value again '.type == "exec"' detail)" "failed with exit status 3"
ok "... and is counted" test "$(told .commands_failed)" -ge 1
ok "... as are all that were run" test "$(told .commands)" -ge "$(wc -l < "$WORK/executed")"

# --- what other commands do -------------------------------------------------------------------------------------------

ok "mute" kphi peer mute db5 for 60s reason "new disks"
ok "a mute is announced" eventually 3 has again 1 '.type == "mute" and .peer == "db5" and .cause == "begun"'
is "... with its reason" "$(value again '.type == "mute"' detail)" "new disks"
stop db5 KILL
sleep 1.5
is "a muted peer is not suspected" "$(counts again '.type == "suspect" and .peer == "db5"')" 0
ok "unmute" kphi peer unmute db5
ok "... then it is" eventually 3 has again 1 '.type == "suspect" and .peer == "db5" and .consumer == "page"'
ok "a peer is added by hand" kphi peer add hand id 00000000-0000-0000-0000-0000000000ff interval 100ms
ok "... and judged: its first beat is due" eventually 4 has again 1 '.type == "never_heard" and .peer == "hand"'
is "... by those whose pattern it fits" \
	"$(events again '.type == "suspect" and .peer == "hand"' | jq -r .consumer | xargs)" page
ok "it is deleted" kphi peer del hand
sleep 1.5
is "... and forgotten" "$(kphi event socket "$SOCKET" | jq -r 'select(.peer == "hand") | .type')" ""
beat db5
ok "back" eventually 5 has again 1 '.type == "trust" and .peer == "db5"'

# --- our own cable ----------------------------------------------------------------------------------------------------

before=$(counts again '.type == "suspect"')
in_ns a ip link set eth0 down
ok "our device is down: every peer is blind" eventually 5 has again 6 '.type == "blind"'
ok "... and so is the device" has again 1 '.type == "carrier" and .cause == "begun" and .subject == "eth0"'
is "... why, is in the verdicts" "$(opinion db3)" '["blind","carrier",[],[],[]]'
sleep 1.5
in_ns a ip link set eth0 up
ok "up again: all are sighted" eventually 5 has again 6 '.type == "sighted"'
sleep 1
is "... and nobody was suspected" "$(counts again '.type == "suspect"')" "$before"

# --- the end ----------------------------------------------------------------------------------------------------------

beats=$(peer_field db3 beats)
stop again
is "SIGTERM: exit status 0" "$stopped" 0
is "it has said that it ended" "$(told .alive_until_ns)" 0
is "... so its verdicts are nobody's at once" "$(opinion db3)" '[null,null,[],[],[]]'
ok "the socket is gone" ! test -e "$SOCKET"
sleep 0.5
ok "beats are recorded on" test "$(peer_field db3 beats)" -gt "$beats"

# --- started by systemd, as far as one can tell -----------------------------------------------------------------------

cat > "$WORK/notify.py" << 'PYTHON'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("ready", flush=True)
while True:
    for line in s.recv(4096).decode().splitlines():
        print(line, flush=True)
PYTHON
start notify python3 "$WORK/notify.py" "$WORK/notify"
eventually 5 grep -q ready "$(log_of notify)" || true
sed -i 's/name: eth0/name: eth0}, {name: late0/' "$FILE"
mkfifo "$WORK/pipe"
start holder sleep 1000
# Nobody reads the pipe, and nobody waits for that. The second device does not exist yet.
sh -c 'exec sleep 1000' < "$WORK/pipe" &
daemons[reader]=$!
start unit in_ns a env NOTIFY_SOCKET="$WORK/notify" WATCHDOG_USEC=2000000 \
	sh -c 'exec "$0" --pin "$1" run config "$2" > "$3"' "$KPHI" "$KPHI_PIN" "$FILE" "$WORK/pipe"
ok "READY" eventually 10 grep -q '^READY=1' "$(log_of notify)"
ok "STATUS" eventually 5 grep -q '^STATUS=6 peers, 3 consumers: 0 suspect' "$(log_of notify)"
ok "WATCHDOG" eventually 5 grep -q '^WATCHDOG=1' "$(log_of notify)"
start late kphi event follow socket "$SOCKET"
sleep 0.3
ip link add late0 netns "${namespaces[a]}" type veth peer name late1 netns "${namespaces[b]}"
ok "a device that appears is attached" eventually 5 has late 1 '.type == "config" and .cause == "begun"'
like "... and listed" "$(in_ns a "$KPHI" --pin "$KPHI_PIN" -j net show | jq -r '.devices[].device' | sort | xargs)" "eth0 late0"
ip -n "${namespaces[a]}" link del late0
ok "a device that vanishes is noticed" eventually 5 has late 1 '.type == "hook" and .cause == "begun" and .subject == "late0"'
ip link add late0 netns "${namespaces[a]}" type veth peer name late1 netns "${namespaces[b]}"
ok "... and attached again when it returns" \
	eventually 8 has late 2 '.type == "config" and .cause == "begun" and (.detail | startswith("late0: attached now"))'
is "... which never held up the loop" "$(counts late '.type == "loop_late"')" 0
ok "reload under systemd" kphi run reload socket "$SOCKET"
ok "RELOADING" grep -q '^RELOADING=1' "$(log_of notify)"
stop unit
ok "STOPPING" eventually 5 grep -q '^STOPPING=1' "$(log_of notify)"

# --- the store goes -----------------------------------------------------------------------------------------------------

run last
ok "the store is purged" kphi store purge
ok "the daemon ends with it" eventually 5 gone "$(pid_of last)"
like "... and says why" "$(grep -v '^{' "$(log_of last)")" "the store was purged"
stop last
is "... with exit status 1" "$stopped" 1
