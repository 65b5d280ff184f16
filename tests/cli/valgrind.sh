#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The program under valgrind, as it is built: no use of what was not set, none of what is not ours, nothing lost at the end.
# The unit tests say the same of the parts with sanitizers; this is about the whole, with its libraries and a real store.
# KPHI_VALGRIND=all (`make valgrind`) runs every command and lets the daemons live longer.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

type -P valgrind > /dev/null || skip_all "no valgrind: tools/setup installs it"

ALL=${KPHI_VALGRIND-}
LOGS=$WORK/valgrind
SOCKET=$WORK/event.sock
AT=127.0.0.1:7483
FOUND=99 # its exit status if it found something
mkdir "$LOGS"

# Sets UNDER to the command that runs the rest under valgrind. The log has a name, by which it is asked for.
under() {
	UNDER=(valgrind --log-file="$LOGS/$1" --error-exitcode="$FOUND" --leak-check=full --show-leak-kinds=definite
		--errors-for-leak-kinds=definite --num-callers=25 --suppressions="$ROOT/tests/cli/valgrind.supp"
		"$KPHI" --pin "$KPHI_PIN")
}

# clean NAME STATUS EXPECTED: nothing was found, and the program itself ended as it should. The summary is there only if
# valgrind has seen it through.
clean() {
	is "$1" "$2 $(sed -n 's/^==[0-9]*== ERROR SUMMARY: \([0-9]* errors\).*/\1/p' "$LOGS/$1")" "$3 0 errors"
	[ "$2" = "$3" ] || note "$(grep -v 'unhandled eBPF' "$LOGS/$1" | head -n 60)"
}

# run STATUS WORD...: a command that ends by itself
run() {
	local name=${*:2} status=0

	name=${name//[^a-z]/-}
	under "${name:0:60}"
	"${UNDER[@]}" "${@:2}" > "$WORK/out" 2>&1 || status=$?
	clean "${name:0:60}" $status "$1"
}

# ends NAME [STATUS]: a daemon when it is told to. It looks through its memory for what was lost, which takes its time.
ends() {
	local pid status=0

	pid=$(pid_of "$1")
	kill -TERM "$pid"
	eventually 60 gone "$pid" || kill -KILL "$pid"
	wait "$pid" || status=$?
	unset "daemons[$1]"
	clean "$1" $status "${2:-0}"
}

id_of() {
	printf '00000000-0000-0000-0000-%012x' "$1"
}

write_file() {
	cat > "$WORK/kphi.yaml" <<- END
		devices: [{name: eth0}]
		outputs: {socket: $SOCKET}
		state: $WORK/state
		priority: 0
		peers:
		  - {name: db1, id: $(id_of 1), interval: 50ms}
		  - {name: db2, id: $(id_of 2), interval: 50ms}
		  - {name: $1, proto: udp, from: 10.95.0.2, port: $2, interval: 50ms}
		consumers:
		  - {name: page, suspect: $3, exec: 'cat >> $WORK/executed'}
	END
}

read_only() {
	local words

	run 0 peer show
	run 0 -j peer explain db1
	run 1 peer show nobody
	[ "$ALL" ] || return 0
	for words in "guard show" "store show" "net show" "key show" "peer window db1" "peer explain db2" "-j peer show" \
		"peer presets" "top once" "event socket $SOCKET" "help"; do
		# shellcheck disable=SC2086 # words
		run 0 $words
	done
	run 2 peer shew
	run 0 doctor
}

writers() {
	[ "$ALL" ] || return 0
	run 0 peer add third id "$(id_of 3)"
	run 0 peer mute third
	run 0 peer unmute third
	run 0 peer reset third
	run 0 store save "$WORK/saved"
	run 0 peer del third
	run 0 store restore "$WORK/saved"
}

traces() {
	python3 -c 'print("peer,arrival_ns,sequence")
for i in range(1, 400):
    print("a,%d,%d" % (i * 100000000 + i * i % 977 * 1000, i))' > "$WORK/small.csv"
	run 0 trace convert "$WORK/small.csv" "$WORK/small.trace" interval 100ms
	run 0 trace replay "$WORK/small.trace" crashes 20 detector fixed:1s,chen:500ms
	run 0 trace calibrate "$WORK/small.trace" crashes 10 html "$WORK/page.html"
	[ "$ALL" ] || return 0
	run 0 trace show "$WORK/small.trace"
	run 0 trace show "$WORK/small.trace" peer a
	run 0 trace convert tests/prog/captures/vrrp.pcap "$WORK/vrrp.trace"
	head -c 500 "$WORK/small.trace" > "$WORK/torn.trace"
	run 0 trace show "$WORK/torn.trace"
}

heard() {
	[ "$(peer_field "$1" samples)" -ge "$2" ]
}

known() {
	[ "$(peer_field "$1" name)" = "$1" ]
}

serves() {
	in_ns a curl -fsS -m 20 "${@:2}" "http://$AT$1"
}

# says NAME TYPE: has this client been told of such an event?
says() {
	grep -q "\"type\":\"$2\"" "$(log_of "$1")"
}

# The daemon with a sender, a client, a server, a death, a reload to another peer and threshold, and one that is refused.
daemons() {
	local path

	ns_add a
	ns_add b
	veth_pair a eth0 10.95.0.1/24 b eth0 10.95.0.2/24
	write_file shop 9000 8
	run 0 run config "$WORK/kphi.yaml" check
	under run
	start run in_ns a "${UNDER[@]}" run config "$WORK/kphi.yaml"
	ok "the daemon is there" eventually 60 kphi event socket "$SOCKET"
	under beat
	start beat in_ns b "${UNDER[@]}" beat to 10.95.0.1 id "$(id_of 1)" interval 50ms priority 0 state "$WORK/epoch-1"
	start other in_ns b "$KPHI" beat to 10.95.0.1 id "$(id_of 2)" interval 50ms state "$WORK/epoch-2"
	under event
	start event "${UNDER[@]}" event follow state socket "$SOCKET"
	under web
	start web in_ns a "${UNDER[@]}" web serve listen $AT socket "$SOCKET"
	ok "a sender is heard" eventually 60 heard db1 30
	ok "the server answers" eventually 60 serves /healthz
	read_only
	for path in / /metrics /api/v1/peers /api/v1/events "/api/v1/window?peer=db1" /api/v1/history; do
		ok "it serves $path" serves "$path"
	done
	ok "and judges what it is sent" serves /api/v1/phi -d '{"intervals_ns": [1000000, 1000000, 1000000]}'
	write_file web 9001 6
	ok "another configuration is taken" kphi run reload socket "$SOCKET"
	ok "its peer is there" eventually 60 known web
	sed -i 's/interval: 50ms/interval: never/' "$WORK/kphi.yaml"
	ok "one with a fault is not" ! kphi run reload socket "$SOCKET"
	stop other KILL
	ok "the death is told" eventually 60 says event suspect
	[ -z "$ALL" ] || sleep 20
	writers
	ends event 143 # it has nothing to put in order
	ends web
	ends beat
	ends run
}

daemons
traces
