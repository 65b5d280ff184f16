# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the tests of faults share: three senders in namespace a, `kphi run` in b, which listens at its eth0. One of three may
# die without the guard holding its verdict. Source it instead of pair.bash.

. "$(dirname "${BASH_SOURCE[0]}")/pair.bash"

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml
DEVICES="{name: eth0}"
STATE=$WORK/state
PEERS=(db1 db2 db3)
MORE='' # lines of the file besides

# write_file: the configuration
write_file() {
	local name

	{
		echo "devices: [$DEVICES]"
		echo "outputs: {socket: $SOCKET}"
		echo "state: $STATE"
		echo "web: {listen: no}"
		echo "$MORE"
		echo "consumers: [{name: page, suspect: 8, clear: 4}]"
		echo "peers:"
		for name in "${PEERS[@]}"; do
			echo "  - {name: $name, id: $(uuid "${name#db}"), interval: 100ms${SETTING:+, $SETTING}}"
		done
	} > "$FILE"
}

# sender NAME: begins to beat
sender() {
	beat "$1" "${1#db}" 10.0.0.2 interval 100ms
}

# run [COMMAND...]: the daemon, until it listens; its standard error is in $WORK/run.err
run() {
	start run in_ns b "$@" bash -c 'exec 2>> "$0"; exec "$@"' "$WORK/run.err" "$KPHI" --pin "$KPHI_PIN" run config "$FILE"
	eventually 20 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$WORK/run.err")"
}

# events JQ-FILTER: of the daemon's events those that it selects, one a line
events() {
	jq -cR "fromjson? | select(.type) | select($1)" < "$(log_of run)"
}

# has JQ-FILTER [N]: at least N (1) such events
has() {
	[ "$(events "$1" | wc -l)" -ge "${2:-1}" ]
}

# said REGEX [N]: the daemon's standard error has at least N (1) such lines
said() {
	[ "$(grep -cE "$1" "$WORK/run.err")" -ge "${2:-1}" ]
}

# times REGEX: how many lines of the daemon's standard error
times() {
	grep -cE "$1" "$WORK/run.err" || true
}

heard() { # NAME...: enough to be judged, and a moment ago
	kphi -j peer show | jq -e --arg names "$*" '[.[] | select(.beats >= 20 and .silence_ns < 500e6) | .name] as $heard |
		$names | split(" ") - $heard == []'
}

# judges NAME WHAT: a death is found and a return is believed: the daemon does its work
judges() {
	local deaths returns

	deaths=$(events ".type == \"suspect\" and .peer == \"$1\"" | wc -l)
	returns=$(events ".type == \"trust\" and .peer == \"$1\"" | wc -l)
	stop "$1" KILL 2> /dev/null
	ok "$2: a death is found" eventually 20 has ".type == \"suspect\" and .peer == \"$1\"" $((deaths + 1))
	sender "$1"
	ok "$2: a return is believed" eventually 20 has ".type == \"trust\" and .peer == \"$1\"" $((returns + 1))
}

# fails NAME REGEX COMMAND...: status 1, one sentence on standard error that matches, within 20 s
fails() {
	local got=0

	resolve "${@:3}"
	timeout -k 1 20 "${ARGV[@]}" > "$WORK/out" 2> "$WORK/err" < /dev/null || got=$?
	if [ $got = 1 ] && [ "$(grep -c ^Error: "$WORK/err")" = 1 ] && grep -qE "$2" "$WORK/err"; then
		pass "$1"
	else
		fail "$1" "exit status $got; wanted: $2"$'\n'"$(cat "$WORK/out" "$WORK/err")"
	fi
}

# cpu_ms PID: what it has used
cpu_ms() {
	awk -v tick="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000 / tick }' "/proc/$1/stat"
}
