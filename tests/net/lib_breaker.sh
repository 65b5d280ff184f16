#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# examples/breaker: a BPF program that steers by the map of verdicts. Real sockets in a cgroup of their own; the server
# listens all the while, so that whoever is refused is refused by the breaker, and a probe gets through.

. "$(dirname "$0")/lib_examples.bash"
. "$(dirname "$0")/daemon.bash"

PEERS=(web db1 db2 db3)
CONSUMERS="  - {name: low, suspect: 3, clear: 1, peers: ['db*']}
  - {name: page, suspect: 8, clear: 4}"
WEB=10.98.0.2
OTHER=10.98.0.3 # the same server; the breaker was not told of it

mount -t cgroup2 none /mnt/cgroup 2> /dev/null || skip_all "there is no cgroup2 here"
CGROUP=$(mktemp -d /mnt/cgroup/kphi-XXXXXX)

# The cgroup is everybody's to see: it ends with this test, however that ends.
# shellcheck disable=SC2154 # it is assigned there
trap 'ended=$?; set +e; trap - ERR; running breaker && stop breaker; rmdir "$CGROUP"; (exit $ended); finish' EXIT

# --- helpers ----------------------------------------------------------------------------------------------------------

id_of() {
	case $1 in
	web) echo 00000000-0000-0000-0000-0000000000c1 ;;
	*) echo "00000000-0000-0000-0000-0000000000a${1#db}" ;;
	esac
}

beat() {
	start "$1" in_ns b kphi beat to 10.98.0.1 id "$(id_of "$1")" interval 100ms state "$WORK/epoch-$1"
}

run() {
	start run in_ns a kphi run config "$FILE"
	eventually 20 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of run)")"
}

breaker() {
	start breaker "$EXAMPLES/breaker" "$KPHI_PIN" "$CGROUP" page "web=$WEB" "web=$(v6 $WEB)"
	eventually 20 grep -q breaking "$(log_of breaker)"
}

# connect WHERE SECONDS ADDRESS...: sets ENDS
connect() {
	ENDS=$(in_ns a "$PYTHON" "$ROOT/tests/net/lib_connect.py" "$1" 8080 "${@:2}")
}

# end_of KIND: how many ended so
ends() {
	jq ".$1 // 0" <<< "$ENDS"
}

# all KIND WHERE SECONDS ADDRESS...: every one of them ends so
all() {
	connect "${@:2}"
	[ "$(ends "$1")" = "$(ends n)" ]
}

refuses() {
	connect "$CGROUP" 0.2 "$@"
	[ "$(ends ECONNREFUSED)" -gt 0 ]
}

verdict_is() {
	[ "$(peer_field "$1" verdict)" = "$2" ]
}

# counted COLUMN: of the breaker's own map, over both addresses
counted() {
	bpftool -j map dump name breaker_targets | jq "[.[].formatted.value.$1] | add"
}

# verdict KEY: of web, as it stands in the map
verdict() {
	local slot

	slot=$(peer_field web slot)
	bpftool -j map lookup pinned "$KPHI_PIN"/abi-*/verdicts key "$slot" 0 0 0 | jq -r ".formatted.value.$1"
}

# breaks NAME ADDRESS...: but for a probe a second and address
breaks() {
	local name=$1 probes refused most
	shift

	probes=$(counted probes)
	refused=$(counted refused)
	connect "$CGROUP" 1.5 "$@"
	note "$ENDS"
	probes=$(($(counted probes) - probes))
	refused=$(($(counted refused) - refused))
	is "$name: refused or connected" "$(($(ends ECONNREFUSED) + $(ends connected)))" "$(ends n)"
	is "... as the breaker counts them" "$(ends ECONNREFUSED) $(ends connected)" "$refused $probes"
	ok "... more than one refused" test "$refused" -gt 1
	most=$((($(ends seconds) + 1) * 2)) # two rows, for two families
	between "... and few are let through" "$probes" 1 $most
}

ns_add a
ns_add b
veth_pair a eth0 10.98.0.1/24 b eth0 $WEB/24
addr_add b eth0 $OTHER/24
ok "installed" install_library
ok "the breaker is built" examples breaker
write_file
start server in_ns b "$PYTHON" "$ROOT/tests/net/lib_connect.py" serve 8080
for name in "${PEERS[@]}"; do beat "$name"; done
run
ok "the server serves" eventually 20 grep -q serving "$(log_of server)"
ok "web is trusted" eventually 20 verdict_is web trust
breaker

# --- closed, broken, closed -----------------------------------------------------------------------------------------------

ok "who is trusted is connected to" all connected "$CGROUP" 0.5 $WEB "$(v6 $WEB)"
is "... without a probe" "$(counted probes) $(counted refused)" "0 0"
stop web KILL
ok "a killed peer is suspected" eventually 20 verdict_is web suspect
ok "... and connections to it are refused" eventually 20 refuses $WEB
breaks "IPv4" $WEB
breaks "IPv6, and IPv4 in its clothes" "$(v6 $WEB)" ::ffff:$WEB
ok "who asks from elsewhere is not concerned" all connected - 0.5 $WEB
ok "nor is another address" all connected "$CGROUP" 0.5 $OTHER
beat web
ok "when it is back, so are connections" eventually 20 all connected "$CGROUP" 0.2 $WEB
refused=$(counted refused)
ok "... all of them" all connected "$CGROUP" 0.5 $WEB "$(v6 $WEB)"
is "... and none by chance" "$(counted refused)" "$refused"

# --- it fails open ------------------------------------------------------------------------------------------------------

stop web KILL
ok "it breaks again" eventually 20 refuses $WEB
stop run KILL
ok "when kphi run is killed, it opens" eventually 20 all connected "$CGROUP" 0.3 $WEB
is "... because the verdict, which still stands there, has expired" "$(verdict state) $(verdict consumers)" "2 2"
run
ok "the next daemon has it broken" eventually 20 refuses $WEB
in_ns a kphi peer del web > "$WORK/out"
ok "who is deleted is nobody's to refuse" eventually 20 all connected "$CGROUP" 0.3 $WEB
beat web
ok "added again" in_ns a kphi peer add web id "$(id_of web)" interval 100ms
ok "... it is trusted" eventually 20 verdict_is web trust
ok "... and connected to" all connected "$CGROUP" 0.2 $WEB
sleep 1.5 # the loader looks once a second
stop web KILL
ok "... until it dies" eventually 20 refuses $WEB
stop breaker KILL
ok "without its loader nothing is refused" all connected "$CGROUP" 0.5 $WEB
breaker
ok "with the next one it is" eventually 20 refuses $WEB
stop run
kphi store purge > "$WORK/out"
ok "a store that is purged opens it, too" eventually 20 all connected "$CGROUP" 0.3 $WEB
ok "... and its loader says why it ends" eventually 20 grep -q "was purged" "$(log_of breaker)"
