# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What a network test needs; source it first:
#
#     . "$(dirname "$0")/lib.sh"
#     ns_add a
#     ns_add b
#     veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
#     start listener in_ns a kphi device attach dev eth0
#     ok "a and b see each other" in_ns b ping -c 1 -W 1 10.0.0.1
#
# A test runs in a room of its own (tests/run --room): its network namespaces, pins and processes are nobody else's. Started
# by hand, a test goes there by itself. A command that fails outside an assertion ends the test as failed; assertions
# always return 0. The plan is printed at the end, so a test only counts.
#
# A command after ok, eventually, start and in_ns may begin with `in_ns NAME` and go on with `kphi`: both are resolved.

if [ -z "${KPHI_PIN-}" ]; then
	exec "$(dirname "${BASH_SOURCE[0]}")/../run" --room bash "$0" "$@"
fi

set -Eeuo pipefail
export LC_ALL=C
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
KPHI=${KPHI:-$ROOT/build/kphi}
export TOOLS=$ROOT/build/tools # for the tests
export PYTHONPATH=$ROOT/tests/net PYTHONDONTWRITEBYTECODE=1 # packets.py
WORK=$(mktemp -d)

tests_run=0
tests_failed=0
declare -A namespaces=() daemons=()

# --- commands and namespaces ------------------------------------------------------------------------------------------

# Sets ARGV to a command that can be exec'ed: `in_ns` and `kphi` are functions only for people. Never `ip netns exec`: it
# mounts a new /sys, and the bpffs is gone.
resolve() {
	ARGV=()
	if [ "$1" = in_ns ]; then
		ARGV=(nsenter --net="/run/netns/${namespaces[$2]}")
		shift 2
	fi
	if [ "$1" = kphi ]; then
		ARGV+=("$KPHI" --pin "$KPHI_PIN")
		shift
	fi
	ARGV+=("$@")
}

# in_ns NAME COMMAND...
in_ns() {
	resolve in_ns "$@"
	"${ARGV[@]}"
}

# kphi ARGUMENT...: on the pins of this test
kphi() {
	"$KPHI" --pin "$KPHI_PIN" "$@"
}

# ns_add NAME: a network namespace with a loopback device
ns_add() {
	local ns=kphi-$$-$1

	ip netns add "$ns"
	namespaces[$1]=$ns
	in_ns "$1" ip link set lo up
}

# ns_del NAME
ns_del() {
	ip netns del "${namespaces[$1]}"
	unset "namespaces[$1]"
}

# v6 10.1.2.3/24: the IPv6 address that veth_pair gives beside an IPv4 one, here fd00:10:1:2::3
v6() {
	local a b c d

	IFS=. read -r a b c d <<< "${1%/*}"
	echo "fd00:$a:$b:$c::$d"
}

# addr_add NS DEV A.B.C.D/LEN: IPv4 and IPv6, usable at once (no duplicate address detection), device up
addr_add() {
	in_ns "$1" sh -c "echo 0 > /proc/sys/net/ipv6/conf/$2/accept_dad"
	in_ns "$1" ip addr add "$3" dev "$2"
	in_ns "$1" ip addr add "$(v6 "$3")/64" dev "$2" nodad
	in_ns "$1" ip link set "$2" up
}

# veth_pair NS_A DEV_A ADDR_A NS_B DEV_B ADDR_B: a cable between two namespaces. An address of - leaves that end bare
# (up, without addresses), as a bridge or a relay wants it.
veth_pair() {
	ip link add "$2" netns "${namespaces[$1]}" type veth peer name "$5" netns "${namespaces[$4]}"
	veth_end "$1" "$2" "$3"
	veth_end "$4" "$5" "$6"
}

veth_end() {
	if [ "$3" = - ]; then
		in_ns "$1" sh -c "echo 1 > /proc/sys/net/ipv6/conf/$2/disable_ipv6"
		in_ns "$1" ip link set "$2" up
	else
		addr_add "$1" "$2" "$3"
	fi
}

# --- background processes ---------------------------------------------------------------------------------------------

# start NAME COMMAND...: in the background, output to $(log_of NAME). The pid is that of the command, not of a shell
# around it, because signals are meant for the command.
start() {
	local name=$1

	resolve "${@:2}"
	: > "$(log_of "$name")" # here, lest somebody who waits for a line finds that of a predecessor
	"${ARGV[@]}" >> "$(log_of "$name")" 2>&1 < /dev/null &
	daemons[$name]=$!
}

pid_of() {
	echo "${daemons[$1]}"
}

log_of() {
	echo "$WORK/$1.log"
}

running() {
	[ -n "${daemons[$1]-}" ] && kill -0 "${daemons[$1]}" 2> /dev/null
}

# stop NAME [SIGNAL]: ends it (TERM unless told otherwise; KILL after five seconds) and sets `stopped` to its exit status
stop() {
	local pid=${daemons[$1]}

	unset "daemons[$1]"
	kill "-${2:-TERM}" "$pid" 2> /dev/null || true
	kill -CONT "$pid" 2> /dev/null || true
	eventually 5 gone "$pid" || kill -KILL "$pid" 2> /dev/null || true
	export stopped=0 # for the caller
	wait "$pid" 2> /dev/null || stopped=$?
}

# A process that ended but was not waited for is gone, too.
gone() {
	local stat

	stat=$(cat "/proc/$1/stat" 2> /dev/null) || return 0
	[[ ${stat##*) } == Z* ]]
}

# peer PACKAGE: a test peer such as bird2, unpacked but not installed. Sets PEER to its root and PEER_LIB to the value of
# LD_LIBRARY_PATH: start bird in_ns a env LD_LIBRARY_PATH="$PEER_LIB" "$PEER/usr/sbin/bird" -f ...
peer() {
	export PEER PEER_LIB

	PEER=$("$ROOT/tools/setup" --peer "$1") || return 1
	PEER_LIB=$(printf '%s:' "$PEER"/usr/lib/*-linux-gnu* "$PEER"/lib/*-linux-gnu*)
}

# --- waiting ----------------------------------------------------------------------------------------------------------

# eventually SECONDS COMMAND...: tries every 50 ms; its status is 0 as soon as the command's is, 1 when the time is over
eventually() {
	local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000)) command

	shift
	resolve "$@"
	command=("${ARGV[@]}") # a function may resolve others
	until "${command[@]}" > /dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

now_ms() {
	echo $((${EPOCHREALTIME/./} / 1000))
}

# --- assertions -------------------------------------------------------------------------------------------------------

note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1"
}

# fail NAME DIAGNOSTIC...
fail() {
	tests_run=$((tests_run + 1))
	tests_failed=$((tests_failed + 1))
	echo "not ok $tests_run - $1"
	shift
	[ $# = 0 ] || note "$@"
}

# ok NAME COMMAND...: passes if the command succeeds; `ok NAME ! COMMAND...` if it fails (a command that could not be
# started at all, status 126 or 127, never passes)
ok() {
	local name=$1 want=0 got=0 output

	shift
	[ "$1" != ! ] || { want=1 && shift; }
	resolve "$@"
	output=$("${ARGV[@]}" 2>&1) || got=$?
	if [ $((got != 0)) = $want ] && [ $got != 126 ] && [ $got != 127 ]; then
		pass "$name"
	else
		fail "$name" "exit status $got of: $*"$'\n'"$output"
	fi
}

# exits NAME STATUS FRAGMENT COMMAND...: with that status and one line on standard error, which has the fragment
exits() {
	local got=0

	"${@:4}" > "$WORK/out" 2> "$WORK/err" || got=$?
	is "$1" "$got $(wc -l < "$WORK/err") $(grep -cF -- "$3" "$WORK/err")" "$2 1 1"
}

# is NAME GOT EXPECTED
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "     got: $2"$'\n'"expected: $3"
	fi
}

# like NAME TEXT REGEX
like() {
	if [[ $2 =~ $3 ]]; then
		pass "$1"
	else
		fail "$1" "        got: $2"$'\n'"not matched: $3"
	fi
}

# between NAME VALUE LOW HIGH: decimal numbers, limits included
between() {
	if [[ $2 =~ ^-?[0-9]+(\.[0-9]+)?$ ]] && awk "BEGIN { exit !($2 >= $3 && $2 <= $4) }"; then
		pass "$1"
		note "$2 in [$3, $4]"
	else
		fail "$1" "$2 is not in [$3, $4]"
	fi
}

# skip NAME REASON
skip() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# skip_all REASON: nothing of this file can run here; to be called before the first assertion
skip_all() {
	trap cleanup EXIT
	echo "1..0 # SKIP $1"
	exit 0
}

# peer_field NAME KEY: one value of `kphi -j peer show`; `null` if there is no such peer or key
peer_field() {
	kphi -j peer show | jq -r --arg name "$1" --arg key "$2" \
		'[.. | objects | select(.name? == $name)][0][$key]'
}

# --- the end ----------------------------------------------------------------------------------------------------------

cleanup() {
	local name

	trap - ERR
	for name in "${!daemons[@]}"; do
		stop "$name"
	done
	for name in "${!namespaces[@]}"; do
		ns_del "$name"
	done
	rm -rf "$WORK"
}

# The logs of what ran in the background go with a failure, because nobody can look at them later.
finish() {
	local status=$? log

	set +e
	trap - ERR
	if [ $tests_failed != 0 ] || [ $status != 0 ]; then
		for log in "$WORK"/*.log; do
			[ -s "$log" ] && note "$(basename "$log"):" && tail -n 20 "$log" | sed 's/^/#   /'
		done
	fi
	cleanup
	echo "1..$tests_run"
	[ $status != 0 ] || [ $tests_failed = 0 ] || status=1
	exit $status
}

trap 'note "status $? of: $BASH_COMMAND; line $LINENO, called from line ${BASH_LINENO[*]}" >&2' ERR
trap finish EXIT
trap 'exit 130' INT TERM
