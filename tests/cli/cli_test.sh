#!/bin/bash
# shellcheck disable=SC2016 # backquotes belong to the sentences
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Command lines, right and wrong: the exit code and a piece of what is said. Each is run as text and with -j, on a store of
# its own each, so that the two tell the same story; with -j standard output is exactly one valid JSON document, always.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

# one_document FILE
one_document() {
	jq -es 'length == 1' "$1" > /dev/null 2>&1
}

# run_text EXIT FRAGMENT WORD...: says what is wrong with the result. Errors go to standard error alone, one line each.
run_text() {
	local exit=$1 fragment=$2 got=0

	"$KPHI" --pin "$KPHI_PIN/text" "${@:3}" > "$WORK/out" 2> "$WORK/err" || got=$?
	[ $got = "$exit" ] || echo "text: exit code $got, expected $exit"
	[ -z "$fragment" ] || grep -qF -- "$fragment" "$WORK/out" "$WORK/err" || echo "text: not said: $fragment; but: $(cat "$WORK/out" "$WORK/err")"
	[ "$exit" = 0 ] || [ ! -s "$WORK/out" ] || echo "text: an error, but something on standard output"
	[ "$exit" = 0 ] || [ "$(grep -c '^Error: ' "$WORK/err")" = 1 ] || echo "text: not one error line"
}

# run_json: the same with -j, where an error is the document. What is right is said in other words there.
run_json() {
	local exit=$1 fragment=$2 error got=0

	"$KPHI" -j --pin "$KPHI_PIN/json" "${@:3}" > "$WORK/out" 2> "$WORK/err" || got=$?
	[ $got = "$exit" ] || echo "json: exit code $got, expected $exit"
	error=$(jq -ers 'if length == 1 then .[0].error? // "" else null end' "$WORK/out") || echo "json: not one document"
	[ "$exit" != 0 ] || return 0
	[[ $error == *"$fragment"* ]] || echo "json: not the error: $fragment; but: $(cat "$WORK/out")"
	[ ! -s "$WORK/err" ] || echo "json: an error, but something on standard error"
}

# A table on standard input: EXIT|WORDS|FRAGMENT. Words are read as a shell reads them; other lines are headings.
# shellcheck disable=SC2120 # the arguments are set here
table() {
	local exit words fragment wrong

	while IFS='|' read -r exit words fragment; do
		[[ $exit =~ ^[0-3]$ ]] || continue
		eval "set -- $words"
		wrong=$(run_text "$exit" "$fragment" "$@")$(run_json "$exit" "$fragment" "$@")
		is "$exit: kphi $words" "$wrong" ""
	done
}

U1=6ba7b810-9dad-11d1-80b4-00c04fd430c8
U2=6ba7b811-9dad-11d1-80b4-00c04fd430c8
export U3=6ba7b812-9dad-11d1-80b4-00c04fd430c8 # in the table
LONGEST=$(printf 'n%.0s' {1..63})
export LONGEST

# shellcheck disable=SC2119
table << 'END'
no object, no command, no such word
2||an OBJECT is missing. `kphi help` lists them
2|''|is unknown
2|xyzzy show|'xyzzy' is unknown: choose peer, top, net, store, guard, doctor, beat, run, event, web, check, trace or help
2|pear show|did you mean peer?
2|peer|peer: a command is missing. `kphi peer help` lists them
2|peer list|peer: 'list' is unknown
2|store crate|did you mean create?
2|net attahc dev lo|did you mean attach?
2|net|a command is missing
2|store|a command is missing
2|Peer show|is unknown
options
2|--frobnicate peer show|--frobnicate is not an option
2|-x peer show|-x is not an option
2|-xd peer show|-x is not an option
2|-dx peer show|-x is not an option
2|--json=yes peer show|--json=yes is not an option
2|--pin|--pin needs a value
0|-V|0.1
0|--version|0.1
help
0|help|OBJECT
0|he|OBJECT
0|-h|--exit-status
0|--help|--exit-status
0|peer help|kphi peer add NAME
0|p h|kphi peer add NAME
0|store help|store create
0|net help|net attach
0|beat help|kphi beat
nothing is there yet, and asking makes nothing
1|peer show|there is no store yet
1|peer show db1|there is no store yet
1|peer show metrics|there is no store yet
1|p s|there is no store yet
1|peer window db1|there is no store yet
1|peer del db1|there is no store yet
1|peer reset db1|there is no store yet
1|net show|there is no store yet
1|net detach dev lo|there is no store yet
1|store show|there is no store yet
1|store purge|there is no store yet
1|top|there is no store yet
1|top once|there is no store yet
2|peer show db1 db2|unexpected 'db2': nothing may follow here
2|peer show db1 -j|unexpected '-j': nothing may follow here
2|store show all|unexpected 'all'
a live table, whose words are looked at first
0|top help|h tells the keys
2|top every|'every' needs a duration
2|top every 10ms|every:
2|top every 2h|every:
2|top sort|'sort' needs one of its choices
2|top sort size|'size' is unknown: choose phi, name, host, silence, mean or loss
2|top filter|'filter' needs a word
2|top filter $LONGEST$LONGEST|top: filter: it is longer than 63 bytes
2|top once once|'once' is given twice
2|top db1|'db1' is unknown
stores that cannot be
2|store create peers|'peers' needs a number
2|store create peers 0|peers:
2|store create peers 1048577|peers:
2|store create peers 18446744073709551616|peers:
2|store create peers ten|peers:
2|store create peers -1|peers:
2|store create peers 4 peers 5|'peers' is given twice
2|store create window 7|window:
2|store create window 4097|window:
2|store create size 4|'size' is unknown
2|store create group ''|group: it must not be empty
1|store create group no-such-group|group "no-such-group" does not exist. Create it with `groupadd --system no-such-group`
2|store purge abi 1234567|is no ABI
2|store purge abi 1234567g|is no ABI
2|store purge abi|'abi' needs a word
1|store show|there is no store yet
a store
0|store create peers 2 window 8|8
1|store create|there is a store already
0|store show|unswappable kernel memory
1|store purge abi 00000000|abi-00000000
0|peer show|
0|net show|
0|top|0 of 2 peers
0|top once sort name filter x|0 of 2 peers
who it is
2|peer add|peer add: a name is missing
2|peer add db1|say who it is
2|peer add db1 id|'id' needs a UUID
2|peer add db1 id 1234|id:
2|peer add db1 id 00000000-0000-0000-0000-000000000000|id: the nil UUID
2|peer add db1 id $U1 id $U2|'id' is given twice
2|peer add db1 id $U1 from 10.0.0.1 port 7|say who it is
2|peer add db1 from 10.0.0.1|from: `from` and `port` go together
2|peer add db1 port 7|a rule without `from` needs a `match`
2|peer add db1 id $U1 port 7|say who it is
2|peer add db1 id $U1 vlan 7|say who it is
2|peer add db1 interval 1s|say who it is
2|peer add db1 from 10.0.0.256 port 7|from:
2|peer add db1 from localhost port 7|from:
2|peer add db1 from fe80::1%eth0 port 7|from:
2|peer add db1 from 10.0.0.1 port 0|port:
2|peer add db1 from 10.0.0.1 port 65536|port:
2|peer add db1 from 10.0.0.1 port http|port:
2|peer add '' id $U1|peer add:
2|peer add ' db1' id $U1|peer add:
2|peer add $'d\nb' id $U1|peer add:
2|peer add ${LONGEST}n id $U1|peer add:
rules
2|peer add r proto|'proto' needs a word
2|peer add r proto ospf from 10.0.0.1|proto: 'ospf' is unknown: choose udp, ip, bfd, vrrp, corosync or memberlist
2|peer add r proto udp from 10.0.0.1|proto: `proto udp` needs `port`: the UDP port that it sends to
2|peer add r proto udp port 7|a rule without `from` needs a `match`
2|peer add r proto udp port 7 match 0:|match: '0:' is no match
2|peer add r proto udp port 7 match 0:01 match 1:02 match 2:03|'match' is given too often: 2 times are the most
2|peer add r proto udp port 7 match 0:01 match 0:02|match: no packet can have both 0:01 and 0:02
2|peer add r proto udp port 7 match 0:01 ttl 1 ttl 2|'ttl' is given twice
2|peer add r proto ip protocol 17 from 10.0.0.1|protocol: 17 is UDP
2|peer add r proto bfd|proto: `proto bfd` needs `from`
2|peer add r proto bfd from 10.0.0.1 interval 50ms|BFD says its `interval` itself
2|peer add r proto bfd from 10.0.0.1 port 3785|port: `proto bfd` has the ports 3784, 4784 and 6784, and not 3785
2|peer add r proto bfd from 10.0.0.1 match 0:01|but no `match`
2|peer add r proto vrrp|proto: `proto vrrp` needs `vrid`
2|peer add r proto vrrp vrid 256|vrid: '256' is out of range
2|peer add r proto memberlist from 10.0.0.1 pause 1s|judged by the exponential model
2|peer add r from 10.0.0.1 port 7 sequence 0:24|sequence: '0:24' is no place of a sequence number
2|peer add r from 10.0.0.1 port 7 dev a/b|dev: 'a/b' is no device
2|peer presets all|unexpected 'all'
0|peer presets|corosync
how it is judged
2|peer add db1 id $U1 interval|'interval' needs a duration
2|peer add db1 id $U1 interval 100|interval:
2|peer add db1 id $U1 interval 0|interval:
2|peer add db1 id $U1 interval 999ns|interval:
2|peer add db1 id $U1 interval 5h|interval:
2|peer add db1 id $U1 interval -1s|interval:
2|peer add db1 id $U1 interval 1fortnight|interval:
2|peer add db1 id $U1 interval 1000.5ns|interval:
2|peer add db1 id $U1 interval 1s interval 1s|'interval' is given twice
2|peer add db1 id $U1 m normal|'m' is ambiguous: it could be match, model, min-std or max-interval
2|peer add db1 id $U1 model cauchy|model: 'cauchy' is unknown: choose normal, akka, exponential, loss or empirical
2|peer add db1 id $U1 model exponential pause 1s|it has no `min-std` and no `pause`
2|peer add db1 id $U1 model exponential min-std 1s|it has no `min-std` and no `pause`
2|peer add db1 id $U1 model loss pause 1s|the loss model has no `pause`: it learns from what it hears how long to wait
2|peer add db1 id $U1 model empirical pause 0|the empirical model has no `pause`
2|peer add db1 id $U1 interval 1s max-interval 999ms|`max-interval` is below `interval`
2|peer add db1 id $U1 max-interval 2d|max-interval:
2|peer add db1 id $U1 pause 2d|pause:
2|peer add db1 id $U1 host|'host' needs a name
2|peer add db1 id $U1 host ''|host:
2|peer add db1 id $U1 intervall 1s|did you mean interval?
peers
1|peer show db1|there is no peer of that name
0|peer add db1 id $U1 interval 100ms model akka pause 0 min-std 1ms max-interval 2s host rack1|added: db1
1|peer add db1 id $U2|there is a peer of that name already
1|peer add db2 id $U1|db2: db1 is that identity already
1|peer add db2 id 6BA7B8109DAD11D180B400C04FD430C8|db1 is that identity already
0|peer add name $LONGEST from ::ffff:10.0.0.1 port 3784|added: n
1|peer add db3 id $U3|the store is full: all 2 slots are taken
0|peer show|db1
0|peer show db1|rack1
0|peer show name db1|waiting
0|--exit-status peer show|waiting
0|peer window db1|samples: 0
1|peer window db2|there is no peer of that name
2|peer window|a name is missing
0|peer reset db1|reset: db1
1|peer reset db2|there is no peer of that name
2|peer reset|a name is missing
2|peer reset db1 now|unexpected 'now'
0|net show|3784
0|peer del name db1|deleted: db1
1|peer del db1|there is no peer of that name
1|peer add db2 from 10.0.0.1 port 3784|is that identity already
2|peer del|a name is missing
0|peer add db3 id $U3|added: db3
0|peer del $LONGEST|deleted: n
0|peer add name name id $U1|added: name
0|peer show name|waiting
rules are peers
0|peer del name|deleted: name
0|peer del db3|deleted: db3
metrics, and a peer that is called so
0|peer add metrics id $U1|added: metrics
0|peer show metrics|kphi_peer_state{peer="metrics",state="waiting"} 1
0|peer show name metrics|state: waiting
0|peer show metrics per_peer none|kphi_peers_omitted{reason="per_peer"} 1
0|peer show metrics per_peer suspect peers_max 0|kphi_peers_omitted{reason="peers_max"} 1
0|peer show metrics format prometheus|# TYPE kphi_peer_beats_total counter
2|peer show metrics per_peer some|per_peer: 'some' is unknown: choose all, suspect or none
2|peer show metrics peers_max -1|peers_max:
2|peer show metrics format json|format: 'json' is unknown: choose openmetrics or prometheus
2|peer show metrics now|'now' is unknown
0|peer del metrics|deleted: metrics
0|peer add v51 proto vrrp vrid 51|added: v51
1|peer add again proto vr vrid 51|again: v51 is that identity already
0|peer add v52 proto vrrp vrid 52 dev no-such-dev|there is no device no-such-dev yet
devices
2|net attach|'dev' is missing
2|net attach dev|'dev' needs a word
2|net attach dev ''|dev: it must not be empty
2|net attach dev lo mode fast|mode: 'fast' is unknown: choose auto, native, tc or generic
2|net attach dev lo port 0|port:
2|net attach dev lo dev lo|'dev' is given twice
1|net attach dev no-such-dev|no-such-dev: there is no such device
2|net detach|'dev' is missing
1|net detach dev lo|kphi is not attached there
2|net show lo|unexpected 'lo'
the end
0|store purge|purged
1|store purge|abi-
1|peer show|there is no store yet
END

is "the table left no store behind" "$(ls "$KPHI_PIN/text" "$KPHI_PIN/json")" "$KPHI_PIN/json:"$'\n\n'"$KPHI_PIN/text:"

# --- output that is valid whatever it is asked to be ------------------------------------------------------------------

kphi store create peers 4 window 8 > "$WORK/out"
kphi peer add db1 id $U1 interval 100ms > "$WORK/out"
for options in -j -p --json --pretty --js --pre -jp -pj "-j -p" "-d -j"; do
	# shellcheck disable=SC2086 # words
	kphi $options peer show > "$WORK/out" 2> "$WORK/err"
	ok "kphi $options: one document" one_document "$WORK/out"
done
is "-j is one line, -p is more" "$(kphi -j peer show | wc -l) $(($(kphi -p peer show | wc -l) > 9))" "1 1"
is "-j and -p say the same" "$(kphi -p peer show db1 | jq -c '[paths]')" "$(kphi -j peer show db1 | jq -c '[paths]')"
is "a list and its element are alike" "$(kphi -j peer show | jq -c '.[0] | keys')" "$(kphi -j peer show db1 | jq -c keys)"
is "every key that was promised" "$(kphi -j peer show db1 | jq -c '["name", "id", "from", "model", "beats", "lost", "duplicates",
	"reordered", "stale", "restarts", "epoch", "sequence", "samples", "mean_ns", "stddev_ns", "last_ns", "silence_ns", "phi",
	"suspect_in_ns", "state", "reason"] - keys')" "[]"

kphi peer add r2 proto bfd from 192.0.2.2 model loss min-std 1ms > "$WORK/out"
kphi peer add java id $U2 model empirical > "$WORK/out"
is "models that learn are said" "$(kphi -j peer show | jq -c '[.[] | [.name, .model, .pause_ns, .clean_samples, .loss_p_ppm, .loss_q_ppm]]')" \
	'[["db1","normal",300000000,0,null,null],["r2","loss",0,0,500000,500000],["java","empirical",0,0,null,null]]'
is "what a path loses is text of the loss model alone" \
	"$(kphi peer show r2 | grep -c "of a million") $(kphi peer show java | grep -c "of a million")" "1 0"
kphi peer del r2 > "$WORK/out"
kphi peer del java > "$WORK/out"

is "under -j metrics are a text in a document" "$(kphi -j peer show metrics | jq -rj .metrics | sed -n '1p;$p')" \
	"$(kphi peer show metrics | sed -n '1p;$p')"
like "and end as they should" "$(kphi peer show metrics | tail -n 1)" '^# EOF$'

# --- standard output that takes nothing ---------------------------------------------------------------------------------

for words in "-j peer show" "peer show" "store show" "-j net show" "peer window db1" "-V" "help" "-j help" "peer help" \
	"peer show metrics" "-j peer show metrics" "guard show" "peer mute db1 for 1s" "run config $ROOT/dist/kphi.yaml check"; do
	for where in /dev/full closed; do
		status=0
		# shellcheck disable=SC2086 # words
		if [ $where = closed ]; then
			kphi $words >&- 2> "$WORK/err" || status=$?
		else
			kphi $words > $where 2> "$WORK/err" || status=$?
		fi
		is "kphi $words: $where is a failure, and said" \
			"$status $(grep -c 'cannot write to standard output' "$WORK/err")" "1 1"
	done
done
status=0
kphi peer add db2 id $U2 > /dev/full 2> "$WORK/err" || status=$?
is "a peer that could not be confirmed is there all the same" "$status $(peer_field db2 state)" "1 waiting"

# --- pins elsewhere -----------------------------------------------------------------------------------------------------

# elsewhere NAME EXIT FRAGMENT PIN WORD...
elsewhere() {
	local status=0

	"$KPHI" --pin "$4" "${@:5}" > "$WORK/out" 2> "$WORK/err" || status=$?
	is "$1" "$status $(grep -cF -- "$3" "$WORK/err")" "$2 1"
}

elsewhere "not a bpffs: reading" 1 "is not on a bpffs. Mount one there with" "$WORK" peer show
elsewhere "not a bpffs: making" 1 "is not on a bpffs. Mount one there with" "$WORK" store create
elsewhere "no such directory: reading" 1 "there is no store yet" "$WORK/none" peer show
elsewhere "no such directory: making" 1 "is not on a bpffs. Mount one there with" "$WORK/none" peer add a id $U1
elsewhere "a path beyond all measure" 1 "the path is longer than" "/$(printf 'x%.0s' {1..500})" peer show
ok "nothing was made there" ! test -e "$WORK/none"

# --- a store of another ABI ---------------------------------------------------------------------------------------------

OLD=$KPHI_PIN/old
mkdir "$OLD" "$OLD/abi-00000000"
elsewhere "another ABI: reading" 1 "the store here has ABI 00000000, this kphi" "$OLD" peer show
elsewhere "another ABI: adding" 1 'then with this one `kphi store purge abi 00000000`' "$OLD" peer add a id $U1
elsewhere "another ABI: attaching" 1 "does not touch maps of another layout" "$OLD" net attach dev lo
is "and nothing was made beside it" "$(cd "$OLD" && echo abi-*)" abi-00000000
ok "both live side by side if that is asked for" "$KPHI" --pin "$OLD" store create peers 2
ok "purging the other one" "$KPHI" --pin "$OLD" store purge abi 00000000
ok "leaves this one" "$KPHI" --pin "$OLD" store show
ok "which is purged by itself" "$KPHI" --pin "$OLD" store purge
is "and nothing is left" "$(ls "$OLD")" ""

# --- --exit-status ------------------------------------------------------------------------------------------------------

# exit_of WORD...
exit_of() {
	local status=0

	in_ns a kphi "$@" > "$WORK/out" 2> "$WORK/err" || status=$?
	echo $status
}

suspect() {
	[ "$(peer_field "$1" state)" = suspect ]
}

ns_add a
kphi peer add quick from 127.0.0.1 port 9000 interval 1ms > "$WORK/out"
in_ns a kphi net attach dev lo mode generic > "$WORK/out" 2> "$WORK/err"
is "before a beat nobody is suspect" "$(exit_of --exit-status peer show)" 0
in_ns a bash -c 'echo > /dev/udp/127.0.0.1/9000'
is "one beat" "$(peer_field quick beats)" 1
ok "and then silence" eventually 5 suspect quick
is "3 for a list with a suspect in it" "$(exit_of --exit-status peer show)" 3
is "3 for the suspect" "$(exit_of --exit-status peer show quick)" 3
is "3 with a document" "$(exit_of -j --exit-status peer show quick) $(jq -rs '.[0].state' "$WORK/out")" "3 suspect"
is "0 for another one" "$(exit_of --exit-status peer show db1)" 0
is "0 if not asked" "$(exit_of peer show) $(exit_of -j peer show quick)" "0 0"
is "1 and 2 stay what they are" "$(exit_of --exit-status peer show none) $(exit_of --exit-status peer show a b)" "1 2"
