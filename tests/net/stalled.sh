#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kphi run on a host that stalls, every CPU of it, for real: nobody is convicted for it, and whoever dies is found.

. "$(dirname "$0")/pair.bash"

SOCKET=$WORK/event.sock

events() { # FILTER
	jq -cR "fromjson? | select(.type) | select($1)" < "$(log_of run)"
}

has() { # COUNT FILTER
	[ "$(events "$2" | wc -l)" -ge "$1" ]
}

suspects() {
	events '.type == "suspect"' | jq -r .peer | sort -u | xargs
}

daemon() {
	{
		echo "devices: [{name: eth0}]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $WORK/state"
		echo "peers:"
		for n in 1 2 3 4 5 6; do
			echo "  - {name: p$n, id: $(uuid $n), interval: 100ms}"
		done
		echo "consumers: [{name: page, suspect: 8, clear: 4}]"
	} > "$WORK/kphi.yaml"
	start run in_ns b kphi run config "$WORK/kphi.yaml"
	eventually 10 kphi event socket "$SOCKET"
}

beats_on() { # COUNT: all six have so many more
	local n

	for n in 1 2 3 4 5 6; do
		[ "$(peer_field "p$n" beats)" -ge "$1" ] || return 1
	done
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
for n in 1 2 3 4 5 6; do
	beat "p$n" "$n" 10.0.0.2 interval 100ms
done
daemon
ok "all are heard" eventually 20 beats_on 30

"$TOOLS/stall" 2000
ok "the stall is an event" eventually 5 has 1 '.type == "stall"'
between "as long as it was (ms)" "$(events '.type == "stall"' | jq -s 'map(.length_ns) | max / 1000000')" 1990 4000
sleep 1
is "nobody was suspected" "$(suspects)" ""
between "and nothing of it was learned (mean, ms)" "$(kphi -j peer show | jq 'map(.mean_ns) | max / 1000000')" 95 110
between "it is discounted for nobody any more" "$(kphi -j peer show | jq 'map(.stalled_ns) | max')" 0 0

"$TOOLS/stall" 1000
stop p3 KILL
ok "a death right after one is found" eventually 10 has 1 '.type == "suspect"'
is "that one" "$(suspects)" p3
