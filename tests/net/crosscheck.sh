#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kphi check against a real store: what another detector says, and what the wire says, agree or do not.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

# serf NAME STATUS...: what `serf members -format json` prints
serf() {
	local separator=

	echo '{ "members": ['
	while [ $# -gt 1 ]; do
		echo "$separator{ \"name\": \"$1\", \"addr\": \"10.0.0.1:7946\", \"port\": 7946, \"tags\": {}, \"status\": \"$2\" }"
		separator=,
		shift 2
	done
	echo '] }'
}

# jsonl STATE [TIME]: about db1
jsonl() {
	echo "{\"peer\": \"db1\", \"state\": \"$1\"${2:+, \"time\": $2}, \"phi\": 0.5, \"scale\": \"t/mean\"}"
}

# check EXIT WORD...: of standard input, once as JSON into $WORK/check and once as text into $WORK/text
check() {
	local input exit=$1 got=0 again=0

	input=$(cat)
	kphi -j check "${@:2}" <<< "$input" > "$WORK/check" 2> "$WORK/err" || got=$?
	kphi check "${@:2}" <<< "$input" > "$WORK/text" 2>> "$WORK/err" || again=$?
	is "exit status of check ${*:2}" "$got,$again" "$exit,$exit"
	is "and one document of JSON" "$(jq -s length "$WORK/check")" 1
}

# verdict PEER: by the last check
verdict() {
	jq -r --arg peer "$1" '[.peers[] | select(.peer == $peer) | .verdict] | join(" ")' "$WORK/check"
}

# why PEER
why() {
	jq -r --arg peer "$1" '[.peers[] | select(.peer == $peer) | .why] | join("\n")' "$WORK/check"
}

agreement() {
	check 0 serf < <(serf db1 alive)
	is "both say up" "$(verdict db1)" agree_up
	like "and why" "$(why db1)" '^last beat .* ago, phi 0.*\(normal\).*; Serf says alive$'
	is "the counts tell, too" "$(jq -c '[.compared, .agree_up, .they_suspect]' "$WORK/check")" '[1,1,0]'
	like "in text as well" "$(cat "$WORK/text")" 'db1 .*agree_up.*1 compared: 1 agree, 0 disagree, 0 undecided'
	check 0 jsonl < <(jsonl up)
	is "the same by lines" "$(verdict db1)" agree_up
	is "their phi is told, not compared" "$(jq -r '.peers[] | select(.peer == "db1") | .their_phi, .their_scale' "$WORK/check")" \
		$'0.5\nt/mean'
}

they_suspect() {
	check 3 serf < <(serf db1 failed stranger alive)
	is "they say failed, the wire is on time" "$(verdict db1)" they_suspect
	like "and why" "$(why db1)" '^Serf says failed, but the wire is on time: last beat .*their observer stalls'
	is "whom we do not know is told" "$(jq -c '[.unknown_to_us, ([.peers[] | select(.peer == null)][0].their_name)]' "$WORK/check")" '[1,"stranger"]'
	is "and whom they do not" "$(verdict other)" unknown_to_them
	check 3 jsonl < <(jsonl suspect)
	is "the same by lines" "$(verdict db1)" they_suspect
	check 0 jsonl < <(jsonl suspect && jsonl up)
	is "the last line about a peer counts" "$(verdict db1)" agree_up
}

# The label groups: the gossip of a host falls silent while its native beats go on.
streams() {
	kphi peer add db3-beat id "$(uuid 3)" interval 50ms host db3 > /dev/null
	kphi peer add db3-gossip from 10.0.0.1 port 7946 interval 50ms host db3 > /dev/null
	beat db3 3 10.0.0.2 interval 50ms
	start gossip in_ns a python3 "$ROOT/tests/net/udp.py" send 10.0.0.2 7946 20 50
	ok "its gossip is heard" eventually 10 beats_reach db3-gossip 10
	ended gossip
	ok "and falls silent" eventually 10 state_is db3-gossip suspect
	check 3 serf < <(serf db3 alive)
	is "one stream of the host is audible, one is not" "$(verdict db3-beat),$(verdict db3-gossip)" agree_up,they_trust
	like "and that is said" "$(why db3-gossip)" 'but db3-beat, of the same host, is on time, so it is this stream that is dead'
	stop db3
	kphi peer del db3-beat > /dev/null
	kphi peer del db3-gossip > /dev/null
}

muted() {
	kphi peer mute db1 for 1h > /dev/null
	check 0 serf < <(serf db1 failed)
	is "muted: nothing is concluded" "$(verdict db1)" undecided
	kphi peer unmute db1 > /dev/null
	check 3 serf < <(serf db1 failed)
	is "and then again" "$(verdict db1)" they_suspect
}

# The fault is in the text: one sentence with the line, and the store is as it was.
refused() {
	local before

	before=$(kphi -j peer show | jq -c '[.[] | .name]')
	check 1 serf < <(serf db1 alive | head -n 2)
	like "cut off: the line is named" "$(jq -r .error "$WORK/check")" 'standard input: line 3: the JSON is cut off here. It reads `serf members -format json`'
	check 1 serf < <(serf db1 alive && serf db1 alive)
	like "two documents are for follow" "$(jq -r .error "$WORK/check")" 'line 4: a second document: `kphi check follow serf`'
	check 1 bird < <(serf db1 alive)
	check 1 serf < /dev/null
	like "nothing at all" "$(jq -r .error "$WORK/check")" 'there is nothing in it'
	check 1 serf < <(head -c 17000000 /dev/zero | tr '\0' '[')
	like "without end: the bound is named" "$(jq -r .error "$WORK/check")" 'more than 16 MiB in one document'
	check 1 serf < <(serf stranger alive)
	like "none of them is a peer here: that is no agreement" "$(cat "$WORK/err")" 'nothing was compared'
	is "the store is as it was" "$(kphi -j peer show | jq -c '[.[] | .name]')" "$before"
}

files() {
	serf db1 alive > "$WORK/members"
	ok "a file" kphi check serf "$WORK/members"
	ok "a dash" bash -c '"$KPHI" --pin "$KPHI_PIN" check serf - < "$1"' - "$WORK/members"
	like "no such file" "$(kphi check serf "$WORK/none" 2>&1 || echo "$?")" 'cannot open: No such file.*1$'
	like "an unknown source" "$(kphi check nagios 2>&1 || echo "$?")" "'nagios' is unknown.*2\$"
	like "a word too many" "$(kphi check serf "$WORK/members" more 2>&1 || echo "$?")" "unexpected 'more'.*2\$"
	like "help names every source" "$(kphi check help)" 'cassandra.*akka.*serf.*consul.*frr.*bird.*sentinel.*jsonl'
}

# feed LINE...: to the one that follows
feed() {
	printf '%s\n' "$@" >&8
}

# told FILTER: does a line say so?
told() {
	jq -e -s "map(select($1)) | length > 0" "$WORK/told"
}

# Both sides over time: a false suspicion of theirs, a death that we see first, the return.
follow() {
	mkfifo "$WORK/fifo"
	start follow bash -c 'exec "$KPHI" --pin "$KPHI_PIN" -j check follow serf "$1" > "$2"' follow "$WORK/fifo" "$WORK/told"
	exec 8> "$WORK/fifo"
	feed "$(serf db1 alive)"
	sleep 0.5
	is "that all is well is no news" "$(cat "$WORK/told")" ""
	feed "$(serf db1 failed)"
	ok "they suspect a peer that is on time" eventually 10 told '.peer == "db1" and .verdict == "they_suspect" and .before == "agree_up"'
	feed "$(serf db1 alive)"
	ok "and take it back" eventually 10 told '.verdict == "agree_up" and .they_took_it_back_after_ns > 0 and .worst_phi < 8'
	stop db1 KILL
	ok "the wire falls silent" eventually 10 told '.verdict == "they_trust" and .gone != null'
	sleep 1
	feed "$(serf db1 failed)"
	ok "they learn of it later" eventually 10 told '.verdict == "agree_down" and .we_knew_earlier_by_ns > 900000000 and .they_knew_earlier_by_ns == null'
	like "and it is said" "$(jq -rs '.[-1].outcome' "$WORK/told")" '^kphi knew that it was gone .* earlier than Serf$'
	feed '{ "members": [{}] }'
	beat db1 1 10.0.0.2 interval 50ms 8>&- # or it holds the other end of the pipe
	ok "it returns: we hear it first" eventually 10 told '.verdict == "they_suspect" and .before == "agree_down"'
	feed "$(serf)"
	ok "a member that is gone from the list" eventually 10 told '.verdict == "unknown_to_them"'
	feed "$(serf db1 alive)"
	ok "both say up again" eventually 10 told '.verdict == "agree_up" and .we_knew_earlier_by_ns != null'
	exec 8>&-
	ok "the stream ends, and so does it" eventually 10 gone "$(pid_of follow)"
	stop follow
	is "a document that was not understood is a failure in the end" "$stopped" 1
	like "and was named" "$(cat "$(log_of follow)")" 'line [0-9]*: object 1: "name" is missing'
}

# Text ends by an empty line, by its heading, or because nothing more comes.
follow_loop() {
	kphi peer add rule from 10.0.0.1 port 5000 interval 50ms > /dev/null
	start rule in_ns a python3 "$ROOT/tests/net/udp.py" send 10.0.0.2 5000 10000 50
	ok "the rule's stream is heard" eventually 10 beats_reach rule 10
	start follow bash -c '
		n=0
		while [ $((n += 1)) -le 4 ]; do
			printf "  Endpoint,             Phi\n  10.0.0.1,      %s\n" $((n == 3 ? 9 : 0)).25000000
			sleep 1
		done | "$KPHI" --pin "$KPHI_PIN" check follow cassandra' follow
	ok "each reply is read before the next" eventually 20 grep -q 'rule: they_suspect' "$(log_of follow)"
	ok "it ends with its input" eventually 20 gone "$(pid_of follow)"
	stop follow
	is "they agree at the end" "$stopped" 0
	like "a line for each change" "$(cat "$(log_of follow)")" 'rule: they_suspect \(was agree_up\): Cassandra says phi above 8, but the wire is on time.*rule: agree_up \(was they_suspect\)'
	stop rule
	kphi peer del rule > /dev/null
}

# Times of a recorded incident are compared with the record.
follow_record() {
	local now

	now=$(date +%s)
	stop db1 KILL
	ok "the peer is dead" eventually 10 state_is db1 suspect
	{ jsonl up $((now - 10)) && jsonl down $((now + 100)); } > "$WORK/incident"
	kphi -j check follow jsonl "$WORK/incident" > "$WORK/told"
	between "their time counts, and not when it was read" \
		"$(jq -s '.[-1].we_knew_earlier_by_ns / 1e9' "$WORK/told")" 80 105
}

they_trust() {
	check 3 serf < <(serf db1 alive)
	is "they say alive, the wire is silent" "$(verdict db1)" they_trust
	like "and why" "$(why db1)" '^Serf says alive, but the wire is silent: last beat .*the threshold is 8.*relayed or cached'
	check 3 jsonl < <(jsonl up)
	is "the same by lines" "$(verdict db1)" they_trust
	check 0 serf < <(serf db1 failed)
	is "both say down" "$(verdict db1)" agree_down
}

# A host that cannot hear anybody has no opinion.
blind() {
	in_ns b ip link set eth0 down
	ok "the cable is out" in_ns b sh -c '"$KPHI" --pin "$KPHI_PIN" -j check jsonl > "$0/blind" < "$1"' "$WORK" <(jsonl up)
	is "blind: nothing is concluded" "$(jq -r '.peers[] | select(.peer == "db1") | .verdict, .state' "$WORK/blind")" $'undecided\nblind'
	in_ns b ip link set eth0 up
}

pair
kphi peer add db1 id "$(uuid 1)" interval 50ms > /dev/null
kphi peer add other id "$(uuid 2)" interval 50ms > /dev/null
beat db1 1 10.0.0.2 interval 50ms
ok "the peer is heard" eventually 10 state_is db1 up
agreement
they_suspect
streams
muted
refused
files
follow
follow_loop
follow_record
they_trust
blind
