# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Debian's FRR, BIRD, keepalived, Serf and corosync, started in the namespaces of a test: their configurations, and the
# questions about what they believe. Source it after net/pair.bash and call `unpack` before the first namespace is made.
#
# No package is installed: the unpacked ones lie over /usr in the room of the test, where the programs look for their parts.
# A daemon is started as PROGRAM-NAMESPACE (frr-a, zebra-a, bird-a, ...).

AHEAD=() # see ahead
CLUSTER=(1 2 3) # the nodes n1, n2, n3 at 10.9.0.N of keepalived, Serf and corosync
CLUSTER_DEV=eth0 # their devices
BFD_MS=(10 50 300) # the sessions of a pair of BFD speakers: see bfd_interval

# ahead [COMMAND...]: what goes before the commands of the daemons that are started from now on
ahead() {
	AHEAD=("$@")
}

# unpack PACKAGE...: fails if one cannot be fetched, or if the kernel has no overlays
unpack() {
	local package usr=() lib=()

	for package in "$@"; do
		peer "$package" || return 1
		usr+=("$PEER/usr")
		[ ! -d "$PEER/lib" ] || lib+=("$PEER/lib")
	done
	mount -t overlay overlay -o "lowerdir=$(IFS=: && echo "${usr[*]}"):/usr" /usr || return 1
	[ ${#lib[@]} = 0 ] || mount -t overlay overlay -o "lowerdir=$(IFS=: && echo "${lib[*]}"):/usr/lib" /usr/lib || return 1
	mount -t tmpfs tmpfs /run
	mkdir /run/netns /run/lock
	users
}

# The users that the installation of FRR would have made.
users() {
	cp /etc/passwd /etc/group "$WORK"
	echo "frr:x:990:990::/nonexistent:/usr/sbin/nologin" >> "$WORK/passwd"
	printf 'frr:x:990:\nfrrvty:x:991:frr\n' >> "$WORK/group"
	mount --bind "$WORK/passwd" /etc/passwd
	mount --bind "$WORK/group" /etc/group
	install -d -o frr -g frr /run/frr
	chmod 711 "$WORK" # FRR reads its files as frr
}

# --- FRR --------------------------------------------------------------------------------------------------------------

# What a test may define anew: the interval of a session, in ms, and the device that it goes by.
bfd_interval() { echo "$1"; }
bfd_dev() { echo "ms$1"; }

# frr NS LOCAL PEER: all sessions at once, three at 3 x 10, 50 and 300 ms, over the devices ms10, ms50 and ms300, where the
# addresses end in LOCAL and PEER
frr() {
	local ms interval

	{
		echo "log stdout"
		echo "log timestamp precision 6"
		echo "debug bfd peer" # it tells why a session went down
		echo "bfd"
		for ms in "${BFD_MS[@]}"; do
			interval=$(bfd_interval "$ms")
			echo " peer $(bfd_address "$ms" frr "$3") local-address $(bfd_address "$ms" frr "$2") interface $(bfd_dev "$ms")"
			printf '  detect-multiplier 3\n  receive-interval %d\n  transmit-interval %d\n !\n' "$interval" "$interval"
		done
		echo "!"
	} > "$WORK/frr-$1.conf"
	: > "$WORK/zebra-$1.conf"
	chown frr:frr "$WORK/frr-$1.conf" "$WORK/zebra-$1.conf"
	install -d -o frr -g frr "/run/frr/$1"
	mkdir -p "$WORK/vtysh/$1"
	echo "username root nopassword" > "$WORK/vtysh/$1/vtysh.conf"
	running "zebra-$1" || {
		start "zebra-$1" in_ns "$1" "${AHEAD[@]}" /usr/lib/frr/zebra -N "$1" -f "$WORK/zebra-$1.conf" -A 127.0.0.1 -P 0
		eventually 10 test -S "/run/frr/$1/zserv.api"
	}
	start "frr-$1" in_ns "$1" "${AHEAD[@]}" /usr/lib/frr/bfdd -N "$1" -f "$WORK/frr-$1.conf" -A 127.0.0.1 -P 0
}

# bfd_address MS PROGRAM HOST: FRR and BIRD have a subnet for each interval
bfd_address() {
	case $2 in frr) echo "10.1.$(($1 / 10)).$3" ;; bird) echo "10.2.$(($1 / 10)).$3" ;; esac
}

# frr_shell NS COMMAND...
frr_shell() {
	local ns=$1 words=()

	shift
	while [ $# -gt 0 ]; do
		words+=(-c "$1")
		shift
	done
	vtysh --config_dir "$WORK/vtysh" -N "$ns" "${words[@]}"
}

# frr_set NS MS LOCAL PEER COMMAND: a setting of one session
frr_set() {
	frr_shell "$1" "configure terminal" bfd "peer $(bfd_address "$2" frr "$4") local-address $(bfd_address "$2" frr "$3") interface ms$2" "$5"
}

frr_peers() {
	frr_shell "$1" "show bfd peers json"
}

# frr_state NS MS
frr_state() {
	frr_peers "$1" | jq -r --arg dev "ms$2" '.[] | select(.interface == $dev).status'
}

# frr_downs NS MS: how often a session that was up went down, by the daemon's own count
frr_downs() {
	frr_shell "$1" "show bfd peers counters json" |
		jq --arg dev "ms$2" '[.[] | select(.interface == $dev)["session-down"]][0] // 0'
}

# --- BIRD -------------------------------------------------------------------------------------------------------------

# bird NS LOCAL PEER: the same sessions as those of frr
bird() {
	local ms

	{
		echo 'log stderr { info, warning, error, fatal, trace };'
		echo 'timeformat log iso long us;'
		echo "router id 10.2.0.$2;"
		echo 'protocol device { scan time 10; }'
		echo 'protocol bfd links {'
		echo '	debug { states, events };'
		for ms in "${BFD_MS[@]}"; do
			echo "	interface \"$(bfd_dev "$ms")\" { interval $(bfd_interval "$ms") ms; idle tx interval 1 s; multiplier 3; };"
			echo "	neighbor $(bfd_address "$ms" bird "$3") dev \"$(bfd_dev "$ms")\" local $(bfd_address "$ms" bird "$2");"
		done
		echo '}'
	} > "$WORK/bird-$1.conf"
	start "bird-$1" in_ns "$1" "${AHEAD[@]}" /usr/sbin/bird -f -c "$WORK/bird-$1.conf" -s "$WORK/bird-$1.ctl"
}

# bird_shell NS COMMAND...
bird_shell() {
	/usr/sbin/birdc -s "$WORK/bird-$1.ctl" "${@:2}"
}

bird_sessions() {
	bird_shell "$1" show bfd sessions
}

# bird_state NS MS
bird_state() {
	bird_sessions "$1" | awk -v dev="ms$2" '$2 == dev { print tolower($3) }'
}

# bird_downs NS MS HOST: how often the session with that host went down since the daemon began, by its log
bird_downs() {
	grep -c "Session to $(bfd_address "$2" bird "$3") changed state from Up to Down" "$(log_of "bird-$1")" || true
}

# --- keepalived -------------------------------------------------------------------------------------------------------

# keepalived N PRIORITY: node n$N; router 51 speaks VRRPv2 once a second, router 52 VRRPv3 every 100 ms
keepalived() {
	{
		printf 'global_defs {\n\trouter_id n%s\n\tvrrp_garp_master_delay 1\n}\n' "$1"
		router 51 2 1 "$2"
		router 52 3 0.1 "$2"
	} > "$WORK/keepalived-n$1.conf"
	start "keepalived-n$1" in_ns "n$1" "${AHEAD[@]}" /usr/sbin/keepalived -P -n -l -D -f "$WORK/keepalived-n$1.conf" \
		-p "$WORK/keepalived-n$1.pid" -r "$WORK/vrrp-n$1.pid"
}

# router VRID VERSION SECONDS PRIORITY
router() {
	cat <<- CONF
		vrrp_instance v$2 {
			version $2
			state BACKUP
			interface $CLUSTER_DEV
			virtual_router_id $1
			priority $4
			advert_int $3
			virtual_ipaddress {
				10.9.0.1$1/24
			}
		}
	CONF
}

# keepalived_masters N VERSION: how often this node believed that it was the master's turn to be replaced
keepalived_masters() {
	grep -c "(v$2) Entering MASTER STATE" "$(log_of "keepalived-n$1")" || true
}

# --- Serf -------------------------------------------------------------------------------------------------------------

# serf N
serf() {
	local join=()

	[ "$1" = 1 ] || join=(-retry-join=10.9.0.1 -retry-interval=1s)
	start "serf-n$1" in_ns "n$1" "${AHEAD[@]}" /usr/bin/serf agent -node="n$1" -bind="10.9.0.$1:7946" \
		-rpc-addr=127.0.0.1:7373 -profile=lan -log-level=debug "${join[@]}"
}

# serf_members N: as node n$N sees them
serf_members() {
	in_ns "n$1" /usr/bin/serf members -format json
}

# serf_failures N NAME: how often node n$N declared that member failed
serf_failures() {
	grep -c "EventMemberFailed: $2 " "$(log_of "serf-n$1")" || true
}

# --- corosync ---------------------------------------------------------------------------------------------------------

# corosync N: without encryption, which would hide what is a ping; a /run and a state of its own for each node
corosync() {
	local node

	{
		printf 'totem {\n version: 2\n cluster_name: peers\n transport: knet\n'
		printf ' crypto_cipher: none\n crypto_hash: none\n token: 1000\n}\nnodelist {\n'
		for node in "${CLUSTER[@]}"; do
			printf ' node {\n  ring0_addr: 10.9.0.%d\n  name: n%d\n  nodeid: %d\n }\n' "$node" "$node" "$node"
		done
		printf '}\nquorum {\n provider: corosync_votequorum\n}\n'
		printf 'logging {\n to_stderr: yes\n to_syslog: no\n timestamp: hires\n debug: off\n}\n'
	} > "$WORK/corosync-n$1.conf"
	mkdir -p /var/lib/corosync
	# shellcheck disable=SC2016 # expanded inside
	start "corosync-n$1" in_ns "n$1" unshare --mount sh -c 'mount -t tmpfs tmpfs /run && mkdir /run/lock &&
		mount -t tmpfs tmpfs /var/lib/corosync && exec /usr/sbin/corosync -f -c "$1"' sh "$WORK/corosync-n$1.conf"
}

# corosync_said N REGEX: how often
corosync_said() {
	grep -cE "$2" "$(log_of "corosync-n$1")" || true
}

# --- signals ----------------------------------------------------------------------------------------------------------

# family NAME: the children of a daemon, and itself. The children first: keepalived's says goodbye when it loses its parent.
family() {
	local pid

	pid=$(pid_of "$1")
	echo "$(cat "/proc/$pid/task/$pid/children") $pid"
}

# send SIGNAL NAME...
send() {
	local name

	for name in "${@:2}"; do
		# shellcheck disable=SC2046 # several words
		kill "-$1" $(family "$name")
		[ "$1" != KILL ] || stop "$name" KILL
	done
}
