#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kphi trace on the command line: what is shown and converted, as text and as JSON, and what is refused. No store and no
# privilege is needed for any of it.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"
cd "$WORK"

# refused NAME EXIT FRAGMENT WORD...: an exit code, one sentence with that in it, and nothing else; text and JSON
refused() {
	local name=$1 exit=$2 fragment=$3 got=0 wrong=

	"$KPHI" trace "${@:4}" > out 2> err || got=$?
	[ $got = "$exit" ] || wrong+="text: exit code $got; "
	grep -qF -- "$fragment" err || wrong+="text: not said, but: $(cat err); "
	[ "$(wc -l < err)" = 1 ] && [ ! -s out ] || wrong+="text: more than one sentence; "
	got=0
	"$KPHI" -j trace "${@:4}" > out 2> err || got=$?
	[ $got = "$exit" ] || wrong+="json: exit code $got; "
	[[ $(jq -ers 'if length == 1 then .[0].error else empty end' out) == *"$fragment"* ]] || wrong+="json: $(cat out)"
	is "$name" "$wrong" ""
}

# json FILTER WORD...: what jq finds in the one document
json() {
	"$KPHI" -j trace "${@:2}" | jq -s -c "if length == 1 then .[0] | $1 else error(\"not one document\") end"
}

printf '%s\n' peer,arrival_ns,sequence db1,1000000000,1 'rack 7,1500000000,' db1,2000000001,2 db1,3000000002,4 > small.csv

# --- convert and show ---

"$KPHI" trace convert small.csv small.trace interval 1s > text
like "convert says what it did" "$(cat text)" "converted: small.csv.*peers: 2.*arrivals: 4"
"$KPHI" trace show small.trace > text
like "a trace shows its peers" "$(cat text)" "peers: 2.*arrivals: 4.*span: 2s.*lost by the recorder: 0.*end: whole"
like "each with its figures" "$(grep '^db1' text)" "db1 +- +3 +1s +2s +1s +1s"
is "and the same as JSON" "$(json '[.peers_count, .arrivals, .span_ns, .torn_bytes, .ended, .lost]' show small.trace)" \
	"[2,4,2000000002,0,true,0]"
is "peers as JSON" "$(json '[.peers[] | [.peer, .arrivals, .interval_ns, .mean_interval_ns]]' show small.trace)" \
	'[["db1",3,1000000000,1000000001],["rack 7",1,1000000000,null]]'
is "size as JSON" "$(json '.bytes == '"$(stat -c %s small.trace)"' and .bytes_per_arrival == .bytes / 4' show small.trace)" true
"$KPHI" trace show small.trace peer db1 > text
like "the arrivals of a peer" "$(cat text)" "AT \(s\).*1.000000000 .*2.000000001 +1s .*3.000000002 +1s "
is "and the same as JSON" "$(json '[.arrivals[] | [.now_ns, .interval_ns, .sequence, .type]]' show small.trace peer db1)" \
	'[[1000000000,null,1,"beat"],[2000000001,1000000001,2,"beat"],[3000000002,1000000001,4,"beat"]]'
is "JSON of a conversion" "$(json '[.from, .to, .peers, .arrivals, .left_out, .cut_off]' convert small.csv json.trace)" \
	'["csv","trace",2,4,0,false]'
is "back to CSV on standard output" "$("$KPHI" trace convert small.trace - to csv)" "$(cat small.csv)"
is "from standard input" "$("$KPHI" trace convert - - from csv to csv < small.csv)" "$(cat small.csv)"
is "a trace through a pipe" "$("$KPHI" trace convert small.csv - to trace | "$KPHI" trace convert - - from trace to csv)" \
	"$(cat small.csv)"
is "a trace is shown from a pipe" "$(json .arrivals show - < small.trace)" 4
is "one peer of several" "$("$KPHI" trace convert small.trace - to gaps-ms peer db1)" $'1000.000001\n1000.000001'
"$KPHI" trace convert small.trace small.dat peer db1 > /dev/null
like "as Cassandra's dump" "$(head -c 120 small.dat)" "^-{71}db1 : \[1000000001, 1000000001, 0, 0"
"$KPHI" trace convert small.dat back.trace > /dev/null
is "and from it" "$(json '.peers[0] | [.peer, .arrivals, .span_ns]' show back.trace)" '["db1",3,2000000002]'
printf '%s\n' 100124 100222.5 > a-us.txt
gzip -k a-us.txt
"$KPHI" trace convert a-us.txt.gz gaps.trace > /dev/null
is "packed gaps, their unit by the name" "$("$KPHI" trace convert gaps.trace - to gaps-us)" "$(cat a-us.txt)"
is "called as the file is" "$(json '.peers[0].peer' show gaps.trace)" '"a-us"'
"$KPHI" trace convert a-us.txt named.trace peer 'db 1' > /dev/null
is "or as somebody says" "$(json '.peers[0].peer' show named.trace)" '"db 1"'

# --- beats through a capture ---

{
	echo peer,arrival_ns
	for i in {1..5}; do echo "x,$((i * 1000000000))"; done
} > plain.csv
"$KPHI" trace convert plain.csv plain.trace > /dev/null
refused "no native beats, no capture" 1 "plain.trace: none of its 5 arrivals is a native beat" convert plain.trace plain.pcap
ok "and no half of one" ! test -e plain.pcap

# --- what is wrong ---

cp small.trace torn.trace
printf 'KBLK and then the light went out' >> torn.trace
is "a torn tail is dropped and said" "$(json '[.arrivals, .torn_bytes]' show torn.trace)" '[4,32]'
like "in words" "$("$KPHI" trace show torn.trace)" "end: torn: the last 32 bytes are no whole block"
is "a conversion says it, too" "$(json '[.arrivals, .torn_bytes, .cut_off]' convert torn.trace mended.trace)" '[4,32,false]'
is "and what it wrote is whole" "$(json '[.arrivals, .torn_bytes, .ended]' show mended.trace)" '[4,0,true]'
head -c $(($(stat -c %s small.trace) - 1)) small.trace > short.trace
is "a recording that was cut off" "$(json '[.ended, .torn_bytes > 0]' show short.trace)" '[false,true]'

refused "no command" 2 "trace: a command is missing"
refused "no such command" 2 "trace: 'shwo' is unknown" shwo
refused "no file" 2 "trace show: a FILE is missing" show
refused "no such file" 1 "none.trace: cannot be read: No such file or directory" show none.trace
refused "no trace" 1 "small.csv: it is no trace" show small.csv
refused "a directory" 1 ".: cannot be read: Is a directory" show .
refused "no such peer" 1 'there is no arrival of a peer "db9"' show small.trace peer db9
refused "no name" 2 "peer: " show small.trace peer ''
refused "no IN" 2 "trace convert: what to convert (IN) is missing" convert
refused "no OUT" 2 "trace convert: where to (OUT) is missing" convert small.csv
refused "OUT is there" 1 "small.trace: cannot be written: File exists. Remove it, or choose another name" convert small.csv small.trace
refused "OUT cannot be" 1 "no/such/place.trace: cannot be written: No such file or directory" convert small.csv no/such/place.trace
refused "OUT is full" 1 "/dev/full: cannot be written: No space left on device" convert small.csv /dev/full to trace
refused "OUT is full, in the end" 1 "/dev/full: cannot be written: No space left on device" convert small.csv /dev/full to csv
refused "no IN there" 1 "none.csv: cannot be read: No such file or directory" convert none.csv a.trace
refused "no format for OUT" 2 "a.xyz: its name does not tell" convert small.csv a.xyz
refused "no format for IN" 2 "standard input may be anything" convert - a.trace
refused "no such format" 2 "from: 'xml' is unknown: choose trace, pcap" convert small.csv a.trace from xml
refused "pcapng is not written" 2 "choose \`to pcap\`" convert small.trace a.pcapng
refused "no text" 2 "it is neither a trace nor any other format" convert "$KPHI" a.trace
cp a-us.txt gaps
refused "gaps of what" 2 "in which unit? Say \`from gaps-us\` or \`from gaps-ms\`" convert gaps a.trace
refused "several peers are no list of gaps" 1 "choose one with \`peer NAME\`" convert small.trace a-us.txt.new to gaps-us
ok "and no half of one" ! test -e a-us.txt.new
refused "not that peer" 1 "there is no arrival of a peer 'db9'" convert small.trace a.csv peer db9
refused "words of another format" 2 "choose packets of a capture, and this is csv" convert small.csv a.trace proto bfd
printf '%s\n' db1,1 db1,soon > bad.csv
refused "a bad line" 1 "bad.csv: line 2: arrival_ns: 'soon' is not a whole number" convert bad.csv a.trace
ok "and no half of it" ! test -e a.trace
: > empty.csv
refused "nothing at all" 1 "empty.csv: there is no arrival in it" convert empty.csv a.trace
head -c 4000 "$KPHI" > noise.pcap
refused "a capture of noise" 1 "noise.pcap: unknown file format" convert noise.pcap a.trace from pcap

# --- captures of real daemons ---

OWN=$ROOT/../shared/pcap/own
if [ -r "$OWN/bfd-frr-50ms.pcap" ]; then
	"$KPHI" trace convert "$OWN/bfd-frr-50ms.pcap" frr.trace > text
	like "a capture" "$(cat text)" "peers: 2.*arrivals: 800.*packets refused: 0.*other packets: 0"
	is "its peers" "$(json '[.peers[] | [.peer, .identity, .arrivals]]' show frr.trace)" \
		'[["bfd 10.78.0.1","proto bfd from 10.78.0.1 port 3784",400],["bfd 10.78.0.2","proto bfd from 10.78.0.2 port 3784",400]]'
	is "what BFD says" "$(json '.arrivals[9] | [.type, .bfd_state, .bfd_desired_tx_us]' show frr.trace peer 'bfd 10.78.0.1')" \
		'["beat",3,50000]'
	is "only of one sender" "$(json '[.peers, .arrivals, .foreign]' convert "$OWN/bfd-frr-50ms.pcap" one.trace proto bfd source 10.78.0.1)" \
		'[1,400,400]'
	head -c 1000 "$OWN/bfd-frr-50ms.pcap" > cut.pcap
	is "one that was cut off" "$(json '[.cut_off, .arrivals > 5, (.cut_off_because | test("truncated"))]' convert cut.pcap cut.trace)" \
		'[true,true,true]'
	refused "none of a port" 1 "none of its 800 packets is a beat of a kind that was asked for" \
		convert "$OWN/bfd-frr-50ms.pcap" none.trace port 7
	refused "no such source" 2 "source: " convert "$OWN/bfd-frr-50ms.pcap" none.trace proto bfd source nobody
else
	skip "captures" "there is no ../shared/pcap/own"
fi

# --- how far it is ---

# on_terminal COMMAND: what is written to a terminal by it
on_terminal() {
	TERM=xterm script -qec "$1" /dev/null < /dev/null
}

awk 'BEGIN { for (i = 0; i < 6000000; i++) print "100000.25" }' > many-us.txt
shown=$(on_terminal "'$KPHI' trace convert many-us.txt many.trace > /dev/null")
like "a terminal sees how far it is" "$shown" "converting \[#*\.*\] +[0-9]+%, .* left"
"$KPHI" trace convert many-us.txt again.trace > text 2>&1
is "nobody else does" "$(grep -c '%' text)" 0
is "all of it is there" "$(json .arrivals show many.trace)" 6000001
is "and small" "$(json '.bytes_per_arrival < 3.1' show many.trace)" true
