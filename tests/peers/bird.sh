#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Real input that nobody here wrote: BIRD 2 runs BFD between two namespaces, and kphi watches one side by rule.
# tcpdump's timestamps of the same packets are the second opinion; the death of the peer's BIRD is what phi is for.

. "$(dirname "$0")/../net/pair.bash"

BFD_PORT=3784
INTERVAL_MS=50

# bird NS LOCAL PEER
bird() {
	cat > "$WORK/bird-$1.conf" <<- CONF
		log stderr all;
		router id $2;
		protocol device { scan time 10; }
		protocol bfd {
			interface "eth0" { interval $INTERVAL_MS ms; idle tx interval 1 s; multiplier 3; };
			neighbor $3 dev "eth0" local $2;
		}
	CONF
	# Ahead of other processes: a peer that is late because this machine is busy would be suspected rightly.
	start "bird-$1" in_ns "$1" env LD_LIBRARY_PATH="$PEER_LIB" chrt -f 15 "$PEER/usr/sbin/bird" -f \
		-c "$WORK/bird-$1.conf" -s "$WORK/bird-$1.ctl"
}

session_up() {
	LD_LIBRARY_PATH=$PEER_LIB "$PEER/usr/sbin/birdc" -s "$WORK/bird-$1.ctl" show bfd sessions | grep -q ' Up '
}

# Four seconds of a healthy session: kphi's window against the capture of the same packets, and nothing to suspect.
healthy() {
	start capture in_ns b tcpdump -i eth0 -w "$WORK/bfd.pcap" -U --immediate-mode --time-stamp-precision nano -n \
		"udp dst port $BFD_PORT and src 10.0.0.1"
	eventually 10 grep -q listening "$(log_of capture)"
	sleep 0.5 # the slow start of one packet a second has ended
	kphi peer add bird from 10.0.0.1 port $BFD_PORT model normal > /dev/null
	ok "its interval is learned" eventually 10 state_is bird up
	look
	sleep 4
	stop look
	kphi -j peer window bird > "$WORK/window"
	sleep 0.5 # the last packet of the window is in the capture by now
	stop capture
	never_suspect bird
	between "and phi stayed low" "$(readings bird 'map(.phi // 0) | max')" 0 7.9

	python3 "$ROOT/tests/net/capture.py" "$WORK/bfd.pcap" "$WORK/window" > "$WORK/means"
	between "intervals to compare" "$(jq .intervals "$WORK/means")" 50 1000
	between "kphi's mean is within 2 % of tcpdump's (difference in ppm)" \
		"$(jq '(.kphi_mean_ns / .capture_mean_ns - 1) * 1e6 | fabs | round' "$WORK/means")" 0 20000
	between "so does one interval, as a rule (median difference in us)" \
		"$(jq '.median_difference_ns / 1e3 | round' "$WORK/means")" 0 100
	note "$(jq -r '"mean of \(.intervals) intervals: kphi \(.kphi_mean_ns / 1e6) ms, tcpdump " +
		"\(.capture_mean_ns / 1e6) ms; largest difference of one \(.largest_difference_ns / 1e3) us"' "$WORK/means")"
	is "the pause is three learned intervals" "$(kphi -j peer show bird | jq '.pause_ns / .interval_ns * 100 | round')" 300
}

# From the kill to the end of the reading that tells, in wall-clock us.
killed() {
	local killed

	ok "the session is still up" session_up b
	killed=${EPOCHREALTIME/./}
	kill -KILL "$(pid_of bird-a)"
	until surprising || [ $((found - killed)) -gt 10000000 ]; do
		sleep 0.02
	done
	stop bird-a KILL
	is "a killed BIRD is suspected" "$(jq -r .state "$WORK/peer")" suspect
	between "phi is at least 8" "$(jq .phi "$WORK/peer")" 8 2147483648
	between "within half a second of kill -9 (ms)" $(((found - killed) / 1000)) 0 500
	note "silence by then: $(jq '.silence_ns / 1e6' "$WORK/peer") ms"
}

surprising() {
	kphi -j peer show bird > "$WORK/peer"
	found=${EPOCHREALTIME/./}
	[ "$(jq '.phi >= 8' "$WORK/peer")" = true ]
}

peer bird2 || skip_all "bird2 could not be fetched"
pair
bird a 10.0.0.1 10.0.0.2
bird b 10.0.0.2 10.0.0.1
ok "the session comes up at a" eventually 20 session_up a
ok "the session comes up at b" eventually 20 session_up b
healthy
killed
