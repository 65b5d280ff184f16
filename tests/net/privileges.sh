#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Who holds which privileges: the daemon starts with just those that dist/kphi.service gives it, keeps no others when it has
# more, and gives its HTTP server none; commands are root's, if there were any at the start. What listens, and for whom; what
# the store's group may do with each map.

. "$(dirname "$0")/lib.sh"

SOCKET=$WORK/event.sock
FILE=$WORK/kphi.yaml
UNIT=$ROOT/dist/kphi.service
GROUP=games # any group that every Debian has

# --- helpers ----------------------------------------------------------------------------------------------------------

# write_file DEVICES CONSUMER [WEB]
write_file() {
	cat > "$FILE" <<- EOF
		devices: [$1]
		peers: [{name: app, from: 10.0.0.1, port: 5000, interval: 100ms}]
		consumers: [{name: page, suspect: 8${2:+, $2}}]
		outputs: {socket: $SOCKET}
		web: {listen: ${3:-127.0.0.1:7441}}
		state: $WORK/state
	EOF
}

# run NAME COMMAND...: the daemon in b, begun by that command
run() {
	start "$1" in_ns b "${@:2}" "$KPHI" --pin "$KPHI_PIN" run config "$FILE"
	eventually 20 kphi event socket "$SOCKET" || fail "the daemon starts" "$(cat "$(log_of "$1")")"
	eventually 20 has_server "$1" || fail "its server starts" "$(cat "$(log_of "$1")")"
}

child_of() {
	pgrep -P "$(pid_of "$1")" -f 'web serve' || true
}

# Its server has given up what it has to.
has_server() {
	local child

	child=$(child_of "$1")
	[ -n "$child" ] && [ "$(status_of "$child" Seccomp)" = 2 ]
}

# status_of PID KEY
status_of() {
	awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"
}

# held PID: what is asked of it here, in one line
held() {
	local key

	for key in CapPrm CapEff CapBnd CapAmb; do
		echo "$key=$(capabilities "$(status_of "$1" $key)")"
	done | tr '\n' ' '
	echo "NoNewPrivs=$(status_of "$1" NoNewPrivs) Seccomp=$(status_of "$1" Seccomp)"
}

# capabilities HEX: their names, in order of their numbers; `all` for those that this test has
capabilities() {
	local names

	[ "$1" != "$ALL" ] || { echo all && return; }
	names=$(for ((i = 0; i < 41; i++)); do
		[ $(((0x$1 >> i) & 1)) = 0 ] || echo "${NAMES[i]-cap_$i}"
	done | paste -sd,)
	echo "${names:-none}"
}

ALL=$(status_of self CapBnd)
NAMES=([0]=chown [5]=kill [10]=net_bind_service [12]=net_admin [38]=perfmon [39]=bpf)
KEPT=chown,net_bind_service,net_admin,perfmon,bpf

# bounds UNIT: its CapabilityBoundingSet as setpriv wants it
bounds() {
	sed -n 's/^CapabilityBoundingSet=//p' "$1" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g; s/^/-all,/; s/,$//'
}

program() {
	in_ns b kphi -j net show | jq -r --arg device "$1" '.devices[] | select(.device == $device) | .program_id'
}

attached() {
	[ -n "$(program "$1")" ]
}

# The peer's state, as a reader sees it.
is_state() {
	[ "$(peer_field app state)" = "$1" ]
}

# told NAME TYPE: how many such events
told() {
	grep -c "^{\"type\":\"$2\"" "$(log_of "$1")" || true
}

tells() {
	[ "$(told "$1" "$2")" -ge 1 ]
}

reload() {
	in_ns b "$KPHI" --pin "$KPHI_PIN" run reload socket "$SOCKET"
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24
ETH0="{name: eth0, mode: native}"

# --- with what its unit gives it --------------------------------------------------------------------------------------

BARE=(setpriv "--bounding-set=$(bounds "$UNIT")" --no-new-privs)
is "the unit gives it these" "$(bounds "$UNIT")" "-all,+bpf,+perfmon,+net_admin,+chown,+net_bind_service"
# shellcheck disable=SC2016 # for awk
bare=$("${BARE[@]}" awk '/^CapPrm/ { print $2 }' /proc/self/status)
is "none of which is CAP_SYS_ADMIN" "$((0x$bare >> 21 & 1))" 0
is "witness: this test has that" "$((0x$ALL >> 21 & 1))" 1
write_file "$ETH0" ""
run bare "${BARE[@]}"
is "started with these it has just these" "$(held "$(pid_of bare)")" \
	"CapPrm=$KEPT CapEff=$KEPT CapBnd=$KEPT CapAmb=none NoNewPrivs=1 Seccomp=2"
is "its server has none" "$(held "$(child_of bare)")" \
	"CapPrm=none CapEff=none CapBnd=$KEPT CapAmb=none NoNewPrivs=1 Seccomp=2"
ok "it has attached" attached eth0
start sender in_ns a python3 -c 'if True:
	import socket, time
	out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	while True:
		out.sendto(b"beat", ("10.0.0.2", 5000))
		time.sleep(0.05)'
ok "it trusts who beats" eventually 30 is_state up
write_file "$ETH0, {name: eth1, mode: native}" ""
ok "it is reloaded" reload
ok "a device is attached by a child of it" eventually 30 attached eth1
stop sender KILL
ok "it suspects who has ceased to" eventually 30 tells bare suspect
before=$(program eth0)
stop bare
write_file "$ETH0" ""
run again "${BARE[@]}"
is "another one knows the program for its own, and leaves it" "$(program eth0)" "$before"
is "the server tells of devices" \
	"$(in_ns b curl -fsS http://127.0.0.1:7441/api/v1/guard | jq -c '[.devices[].device] | sort')" '["eth0","eth1"]'
stop again
like "less than that is not enough, and it says so" \
	"$(in_ns b setpriv --bounding-set=-all,+net_admin "$KPHI" --pin "$KPHI_PIN" net attach dev lo mode tc 2>&1 || true)" \
	"it needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and this process has not all of them"

# --- as root, with all there is ---------------------------------------------------------------------------------------

run root env
is "as root it keeps just these" "$(held "$(pid_of root)")" \
	"CapPrm=$KEPT CapEff=$KEPT CapBnd=$KEPT CapAmb=none NoNewPrivs=1 Seccomp=2"
is "its server none" "$(held "$(child_of root)")" \
	"CapPrm=none CapEff=none CapBnd=$KEPT CapAmb=none NoNewPrivs=1 Seccomp=2"
is "TCP and UDP: it listens to the loopback, and to nothing else" "$(in_ns b ss -Hltun | awk '{ print $1, $5 }')" "tcp 127.0.0.1:7441"
is "its socket is root's and its group's" "$(stat -c '%a %U' "$SOCKET")" "660 root"
in_ns b kphi net detach dev eth1 > /dev/null
write_file "$ETH0, {name: eth1, mode: tc}" "exec: 'cat /proc/self/status > $WORK/status; mv $WORK/status $WORK/tame'" "'unix:$WORK/web.sock'"
like "a command that comes later is told to be less than root's" "$(reload)" "run without root's privileges until the next start"
ok "devices come later as before" eventually 30 attached eth1
ok "the server listens to a file" eventually 20 test -S "$WORK/web.sock"
is "which is root's and its group's" "$(stat -c '%a %U' "$WORK/web.sock")" "660 root"
is "and to nothing else" "$(in_ns b ss -Hltun)" ""
kphi peer reset app > /dev/null
in_ns a bash -c 'for ((i = 0; i < 30; i++)); do echo beat > /dev/udp/10.0.0.2/5000; sleep 0.02; done'
ok "it is run" eventually 30 test -e "$WORK/tame"
is "with what the daemon has" "$(awk '/^CapEff/ { print $2 }' "$WORK/tame")" "$(status_of "$(pid_of root)" CapPrm)"
stop root
ok "the file is gone with the server" test ! -e "$WORK/web.sock"

write_file "$ETH0" "exec: 'cat /proc/self/status > $WORK/status; mv $WORK/status $WORK/full'"
run commands env
is "with commands it keeps the same, and may end them" "$(held "$(pid_of commands)")" \
	"CapPrm=chown,kill,${KEPT#*,} CapEff=chown,kill,${KEPT#*,} CapBnd=all CapAmb=none NoNewPrivs=0 Seccomp=0"
is "its server has no more than before" "$(held "$(child_of commands)" | sed 's/CapBnd=[^ ]* //')" \
	"CapPrm=none CapEff=none CapAmb=none NoNewPrivs=1 Seccomp=2"
kphi peer reset app > /dev/null
in_ns a bash -c 'for ((i = 0; i < 30; i++)); do echo beat > /dev/udp/10.0.0.2/5000; sleep 0.02; done'
ok "the command is run" eventually 30 test -e "$WORK/full"
is "and is root's, with all there is" "$(awk '/^CapEff/ { print $2 }' "$WORK/full")" "$ALL"
stop commands

# --- files of others --------------------------------------------------------------------------------------------------

install -d -m 700 -o 65534 "$WORK/other"
sed -i "s,^state: .*,state: $WORK/other/state," "$FILE"
run other env
like "state in somebody else's folder is told" "$(cat "$(log_of other)")" "$WORK/other/state: Permission denied, once this daemon"
stop other

# --- where no bpffs is mounted ----------------------------------------------------------------------------------------

mount -t tmpfs -o mode=755 tmpfs /run
like "it cannot mount one, and says who can" "$("${BARE[@]}" "$KPHI" store create 2>&1 || true)" \
	"^Error: /run/kphi/bpf: there is no bpffs yet, and mounting one takes CAP_SYS_ADMIN.*systemctl start run-kphi-bpf.mount"
mkdir -p /run/kphi/bpf
mount -t bpf -o mode=750 bpf /run/kphi/bpf
ok "where one is, it makes the store" "${BARE[@]}" "$KPHI" store create group $GROUP peers 8 window 8

# --- the group --------------------------------------------------------------------------------------------------------

chmod 755 "$WORK"
install -m 755 "$(dirname "$0")/../cli/write_attempts.py" "$WORK"
gid=$(getent group $GROUP | cut -d: -f3)
PYTHON=/usr/bin/python3 # one that everybody may execute
[ -x $PYTHON ] || PYTHON=$(command -v python3)
cd /run/kphi/bpf/abi-* || exit 1
mapfile -t shared < <(find . -maxdepth 1 -type f -perm 660 -group $GROUP -printf '%f\n' | sort)
between "maps that the group reads" "${#shared[@]}" 8 100
is "it can write none of them" \
	"$(setpriv --reuid=65534 --regid="$gid" --clear-groups "$PYTHON" "$WORK/write_attempts.py" "${shared[@]/#/$PWD/}")" \
	"$(printf '%s read:ok update:EPERM mmap:EPERM mprotect:EACCES\n' "${shared[@]}")"
is "witness: what is tried can succeed" "$(python3 "$WORK/write_attempts.py" --witness | head -n 1)" \
	"map read:ok update:ok mmap:ok mprotect:EACCES"
is "all else is root's, but for what the daemon tells" \
	"$(find . -mindepth 1 -maxdepth 1 ! \( -type f -perm 660 -group $GROUP \) -printf '%f %m %u\n' | grep -v ' 600 root$' | sort)" \
	$'daemon 640 root\nlinks 700 root'
cd "$ROOT" || exit 1
