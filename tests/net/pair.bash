# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A sender in namespace a, an observer in namespace b: what most tests of the packet path begin with. Source it
# instead of lib.sh.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# a (10.0.0.1) and b (10.0.0.2) joined by a cable, kphi listening on b's end
pair() {
	ns_add a
	ns_add b
	veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
	meet eth0 10.0.0.2
	attach b eth0
}

# bad_cable N WORD...: eth$N of a (10.0.N.1) and of b (10.0.N.2) joined by what build/tools/impair makes of the words,
# kphi listening. The relay goes ahead of other processes: on a busy machine its wait for a turn would be a delay that
# nobody asked for.
bad_cable() {
	[ -n "${namespaces[relay]-}" ] || ns_add relay
	veth_pair a "eth$1" "10.0.$1.1/24" relay "left$1" -
	veth_pair relay "right$1" - b "eth$1" "10.0.$1.2/24"
	start "cable$1" in_ns relay chrt -f 20 "$TOOLS/impair" left "left$1" right "right$1" only-port 7441 "${@:2}"
	eventually 5 grep -q relaying "$(log_of "cable$1")"
	meet "eth$1" "10.0.$1.2"
	attach b "eth$1"
}

# cable_count N FILTER: of the frames to the observer, from the summary of a cable that was stopped
cable_count() {
	tail -n 1 "$(log_of "cable$1")" | jq ".rightward | $2"
}

# meet DEV ADDR: a learns where the other end is. Until then its kernel keeps datagrams back, to send them in one burst.
meet() {
	eventually 10 in_ns a ping -c 1 -W 1 -I "$1" "$2"
	eventually 10 in_ns a ping -c 1 -W 1 -I "$1" "$(v6 "$2")"
}

# attach NS DEV [WORD...]: what it says, warnings included, is in $WORK/attach
attach() {
	in_ns "$1" kphi net attach dev "${@:2}" > "$WORK/attach" 2>&1
}

# refused NAME REGEX NS DEV [WORD...]: attaching is, with this sentence
refused() {
	if attach "${@:3}"; then
		fail "$1: refused" "$(cat "$WORK/attach")"
	else
		like "$1: refused" "$(cat "$WORK/attach")" "$2"
	fi
}

# uuid N: the node id of sender N
uuid() {
	printf '00000000-0000-4000-8000-%012d' "$1"
}

# beat NAME N ADDR... WORD...: sender N begins, in namespace a; its epochs are remembered under its number
beat() {
	start "$1" in_ns a kphi beat to "${@:3}" id "$(uuid "$2")" state "$WORK/state-$2"
}

# ended NAME: waits for a sender that has a `count` of its own
ended() {
	eventually 30 gone "$(pid_of "$1")"
	stop "$1"
}

# sent: UDP datagrams that left a, IPv4 and IPv6, as its kernel counts them: kphi is not asked
sent() {
	# shellcheck disable=SC2016 # awk's own dollars
	in_ns a awk '
		$1 == "Udp:" && !column { for (i = 2; i <= NF; i++) if ($i == "OutDatagrams") column = i; next }
		$1 == "Udp:" || $1 == "Udp6OutDatagrams" { n += $1 == "Udp:" ? $column : $2 }
		END { print n + 0 }' /proc/net/snmp /proc/net/snmp6
}

# counter NAME: of the packet path
counter() {
	kphi -j net show | jq ".counters.$1"
}

# outcomes: how many packets were looked at, whatever became of them
outcomes() {
	kphi -j net show | jq '[.counters | del(.restart, .capped, .retuned, .stamp_inverted, .unlearned)[]] | add'
}

# device NS DEV KEY: of `net show`, as seen from a namespace; `gone` if there is no such line
device() {
	in_ns "$1" kphi -j net show |
		jq -r --arg dev "$2" --arg key "$3" '[.devices[] | select(.same_netns and .device == $dev)][0][$key] // "gone"'
}

# packets NS DEV: that a device received, XDP's included
packets() {
	in_ns "$1" ip -j -s link show dev "$2" | jq '.[0].stats64.rx.packets'
}

# victim MS COMMAND...: is killed so many milliseconds after its start, at most, which are fewer than most commands take. Counts in
# `killed` those that had not ended before.
victim() {
	start victim "${@:2}"
	sleep "0.0$(printf %02d $((RANDOM % $1)))"
	stop victim KILL 2> /dev/null
	[ "$stopped" != 137 ] || killed=$((killed + 1))
}

# Conditions for `eventually` and `ok`.
state_is() { # NAME STATE
	[ "$(peer_field "$1" state)" = "$2" ]
}

beats_reach() { # NAME N
	[ "$(peer_field "$1" beats)" -ge "$2" ]
}

# look: reads all peers all the time in the background; $WORK/readings gets a line of JSON for each reading
look() {
	# The trap lets a reading be finished.
	# shellcheck disable=SC2016 # expanded inside
	start look bash -c 'trap exit TERM; while "$KPHI" --pin "$KPHI_PIN" -j peer show; do sleep 0.02; done > "$1"' look \
		"$WORK/readings"
}

# readings NAME FILTER: jq over the array of what was read of a peer
readings() {
	jq -s --arg name "$1" "flatten | map(select(.name == \$name)) | $2" "$WORK/readings"
}

# never_suspect NAME: no reading of it was `suspect`, and there were readings while it was up
never_suspect() {
	is "$1: nothing is suspected" "$(readings "$1" 'map(select(.state == "suspect")) | length')" 0
	between "$1: as many readings tell" "$(readings "$1" 'map(select(.state == "up")) | length')" 10 100000
}
