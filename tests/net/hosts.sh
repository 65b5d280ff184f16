#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A host that is heard through several streams: which of them are audible, and what that says of the host.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

PORT=5000

# gossip: datagrams of a's, until it is stopped
gossip() {
	start gossip in_ns a python3 -c 'if True:
		import socket, time
		out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		while True:
			out.sendto(b"gossip", ("10.0.0.2", '$PORT'))
			time.sleep(0.02)'
}

# names: of all peers, in the order in which they are listed
names() {
	kphi -j peer show | jq -r '[.[].name] | join(" ")'
}

# host FILTER: of what is said of the host
host() {
	kphi -j peer show host "rack 7" | jq -r "$1"
}

exit_of() {
	local exit=0

	"$@" > "$WORK/said" 2>&1 || exit=$?
	echo $exit
}

listed() {
	kphi peer add alone id "$(uuid 9)" > /dev/null
	is "without a label there is no column for it" "$(kphi peer show | head -n 1 | grep -c HOST)" 0
	kphi peer add seven-beat id "$(uuid 1)" interval 20ms host "rack 7" > /dev/null
	kphi peer add eight id "$(uuid 2)" interval 20ms host "rack 8" > /dev/null
	kphi peer add seven-gossip from 10.0.0.1 port $PORT interval 20ms host "rack 7" > /dev/null
	is "the streams of one host stand together" "$(names)" "alone seven-beat seven-gossip eight"
	like "the table has a column for hosts" "$(kphi peer show)" "PEER +HOST +STATE.*seven-gossip +rack 7 +waiting"
	is "nobody was heard yet" "$(host .summary)" "not heard yet by seven-beat and seven-gossip"
}

audible() {
	beat first 1 10.0.0.2 interval 20ms
	gossip
	eventually 20 beats_reach seven-beat 10
	eventually 20 beats_reach seven-gossip 10
	is "both streams are audible" "$(host .summary)" "audible by seven-beat and seven-gossip"
	is "nobody is suspect" "$(exit_of kphi --exit-status peer show host 'rack 7')" 0
	is "JSON has the streams as peer show has them" "$(host '[.streams[] | .name, .host, .proto != null] | join(" ")')" \
		"seven-beat rack 7 false seven-gossip rack 7 true"
}

silent() {
	stop gossip
	eventually 20 state_is seven-gossip suspect
	is "one is silent, the other is not" "$(host .summary)" "audible by seven-beat, silent by seven-gossip"
	is "so many of each" "$(host '[.audible, .silent, .left, .down, .unheard] | join(" ")')" "1 1 0 0 0"
	is "somebody is suspect" "$(exit_of kphi --exit-status peer show host 'rack 7')" 3
	like "people read the same" "$(cat "$WORK/said")" \
		"host: rack 7.*seven-beat +up.*seven-gossip +suspect.*summary: audible by seven-beat, silent by seven-gossip"
	like "a stream names its siblings" "$(kphi peer show seven-beat)" "SAME HOST +STATE.*seven-gossip +suspect"
	is "and so in JSON" "$(kphi -j peer show seven-gossip | jq -c '[.siblings[] | .name, .state]')" '["seven-beat","up"]'
	is "who is alone has none" "$(kphi -j peer show alone | jq -c .siblings)" "[]"
}

# What a rule's packets do not have is not made up.
rules_say_what_they_know() {
	is "a rule has no node id and no load" \
		"$(kphi -j peer show seven-gossip | jq -c '[.id, .load_average, .available_capacity, .cluster_version, .lost, .bfd, .speaker]')" \
		'[null,null,null,null,null,null,null]'
	is "a native sender is none" "$(kphi -j peer show seven-beat | jq -c '[.proto, .rule, .from, .lost]')" '[null,null,null,0]'
	like "people read the rule and no epoch" "$(kphi peer show seven-gossip | grep -E '^(rule|epoch|sequence)')" "^rule: [^
]*$"
}

named() {
	is "there is no such host" "$(exit_of kphi peer show host nowhere)" 1
	like "and it is said" "$(cat "$WORK/said")" "nowhere: no peer has that host label"
	is "a label that cannot be is refused" "$(exit_of kphi peer show host '')" 2
	is "nothing may follow" "$(exit_of kphi peer show host 'rack 7' now)" 2
	kphi peer add host id "$(uuid 3)" > /dev/null
	is "a peer may be called host" "$(kphi -j peer show host | jq -r .name)" host
}

pair
listed
audible
silent
rules_say_what_they_know
named
