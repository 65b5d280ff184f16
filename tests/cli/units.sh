#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The units of dist/: what systemd makes of them, how exposed it says that they are, and that what they start works with what
# they leave it. No systemd runs here, so the sandbox is made by hand, of what the unit says: its bounding set, no new
# privileges, its limits, and a mount namespace in which everything but its writable paths is read-only and into which mounts of
# the host come. What remains untried here is SystemCallFilter= and the like.

. "$(dirname "$0")/../net/lib.sh"

DIST=$ROOT/dist
UNITS=$WORK/units

# --- what systemd makes of them ---------------------------------------------------------------------------------------

if type -P systemd-analyze > /dev/null; then
	ANALYZE=(systemd-analyze)
	OTHERS='' # the units that ours name: systemd's own
else
	peer systemd || skip_all "systemd-analyze cannot be had"
	ANALYZE=(env "LD_LIBRARY_PATH=$PEER_LIB:$(echo "$PEER"/usr/lib/*-linux-gnu*/systemd)" "$PEER/usr/bin/systemd-analyze")
	OTHERS=$PEER/lib/systemd/system:
fi

# With the binary that is to be tested in the place of the one that is installed.
mkdir "$UNITS"
for file in "$DIST"/*.service "$DIST"/*.mount; do
	sed "s,/usr/bin/kphi,$KPHI," "$file" > "$UNITS/$(basename "$file")"
done
cp "$UNITS/kphi-beat@.service" "$UNITS/kphi-beat@x.service"
mkdir "$WORK/commands" "$WORK/commands/kphi.service.d"
cp "$UNITS"/kphi.service "$UNITS"/*.mount "$WORK/commands"
cp "$DIST/kphi-commands.conf" "$WORK/commands/kphi.service.d"

# verified FOLDER UNIT: what systemd has against it
verified() {
	(cd "$1" && SYSTEMD_UNIT_PATH=$1:$OTHERS "${ANALYZE[@]}" --man=no verify "./$2" 2>&1) | grep kphi || true # units of the host are none of ours
}

for unit in kphi.service kphi-store.service kphi-beat@x.service run-kphi-bpf.mount; do
	is "$unit: systemd has nothing against it" "$(verified "$UNITS" $unit)" ""
done
is "nor against the drop-in for commands" "$(verified "$WORK/commands" kphi.service)" ""
sed 's/^ProtectHome=/ProtectHouse=/' "$UNITS/kphi.service" > "$WORK/commands/kphi.service"
like "witness: it would say so" "$(verified "$WORK/commands" kphi.service)" "ProtectHouse"

# exposed UNIT TENTHS: less than that, as systemd reckons (0: not at all, 100: it could not be more)
exposed() {
	ok "$1: exposed by less than $2 tenths" "${ANALYZE[@]}" security --offline=true --threshold="$2" "$UNITS/$1"
	note "$("${ANALYZE[@]}" security --offline=true "$UNITS/$1" 2>&1 | sed -n 's/.*\(Overall.*: [0-9.]* [A-Z]*\).*/\1/p')"
}

# Versions of systemd differ by some tenths.
exposed kphi.service 30
exposed kphi-store.service 22
exposed kphi-beat@x.service 18

# --- their sandbox ----------------------------------------------------------------------------------------------------

# values UNIT KEY: all of them, in a line
values() {
	sed -n "s/^$2=//p" "$DIST/$1" | paste -sd' '
}

# sandboxed UNIT COMMAND...: as the unit would have it
sandboxed() {
	local unit=$1 caps writable

	caps=$(values "$unit" CapabilityBoundingSet | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g; s/^./,&/; s/,$//')
	writable="$(values "$unit" ReadWritePaths) /var/lib/kphi"
	# shellcheck disable=SC2016 # for the other shell
	exec unshare --mount --propagation slave sh -ec '
		for path in $1; do mount --rbind "$path" "$path"; done
		for path in / /run /etc /var/lib; do mount -o remount,ro,bind "$path"; done
		shift
		exec "$@"' sh "$writable" setpriv "--bounding-set=-all$caps" --no-new-privs "${@:2}"
}

# in_sandbox UNIT COMMAND...
in_sandbox() {
	(sandboxed "$@")
}

# start_unit NAME NAMESPACE UNIT COMMAND...: in the background
start_unit() {
	: > "$(log_of "$1")"
	(
		resolve in_ns "$2" true
		exec "${ARGV[@]:0:2}" bash -c "$(declare -f values sandboxed); DIST=$DIST; sandboxed \"\$@\"" bash "${@:3}"
	) >> "$(log_of "$1")" 2>&1 < /dev/null &
	daemons[$1]=$!
}

# Folders of the host that are this test's own.
for path in /run /etc /var/lib; do
	mkdir -p "$WORK$path"
	[ $path != /etc ] || cp -a /etc/. "$WORK/etc/"
done
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind "$WORK/etc" /etc
mount --bind "$WORK/var/lib" /var/lib
mount --make-rshared /
install -d -m 755 /etc/kphi /var/lib/kphi

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
veth_pair a eth1 10.0.1.1/24 b eth1 10.0.1.2/24

WHERE=$(values run-kphi-bpf.mount Where)
mount_unit() {
	mkdir -p "$WHERE"
	mount -t "$(values run-kphi-bpf.mount Type)" -o "$(values run-kphi-bpf.mount Options)" \
		"$(values run-kphi-bpf.mount What)" "$WHERE"
}

# --- the mount, and the daemon ----------------------------------------------------------------------------------------

like "what is mounted is the root of the pins" "$("$KPHI" store show 2>&1 || true)" "^Error: $WHERE: there is no store yet"
mount_unit
is "for root, and later for its group" "$(stat -c '%a %U' "$WHERE" | sed s/^1//)" "750 root"
ok "the sandbox cannot write elsewhere" ! in_sandbox kphi.service touch /etc/kphi/x
ok "witness: this test can" touch /etc/kphi/x
ok "and it can where it has to" in_sandbox kphi.service touch /run/kphi/x /var/lib/kphi/x

# device NAME: in the file of the daemon
write_file() {
	cat > /etc/kphi/kphi.yaml <<- EOF
		devices: [$1]
		peers: [{name: db1, id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8, interval: 100ms, key: cluster}]
		keys: [{name: cluster, file: /etc/kphi/cluster.key}]
	EOF
}

# exec_line UNIT KEY: what it starts, in the unit's own words but for this kphi
exec_line() {
	values "$1" "$2" | sed "s,/usr/bin/kphi,$KPHI,g"
}

attached() {
	in_ns b "$KPHI" -j net show | jq -e --arg device "$1" '.devices[] | select(.device == $device)'
}

told() {
	grep -q "^{\"type\":\"$2\"" "$(log_of "$1")"
}

is_up() {
	"$KPHI" -j peer show | jq -e '.[0].state == "up"'
}

"$KPHI" key add cluster generate /etc/kphi/cluster.key > /dev/null
write_file "{name: eth0, mode: native}"
read -ra LINE <<< "$(exec_line kphi.service ExecStart)"
start_unit run b kphi.service "${LINE[@]}"
ok "kphi.service: it runs" eventually 30 "$KPHI" event
ok "kphi.service: it has attached" eventually 30 attached eth0

# --- the sender -------------------------------------------------------------------------------------------------------

# What systemd does with the unit's words: %S, %i, unbraced variables; the key in a folder of the user's, for it alone.
beat_line() {
	local TO=10.0.0.2 OPTIONS="id 6ba7b810-9dad-11d1-80b4-00c04fd430c8 interval 100ms key $WORK/credentials/key"

	exec_line kphi-beat@.service ExecStart | sed "s,%S/kphi-beat-%i,$WORK/beat,; s,\$TO,$TO,; s,\$OPTIONS,$OPTIONS,"
}

NOBODY=65534
chmod 755 "$WORK"
install -d -m 700 -o $NOBODY "$WORK/beat" "$WORK/credentials"
install -m 755 "$KPHI" "$WORK/kphi" # where the tests live, nobody may have no business
install -m 400 -o $NOBODY /etc/kphi/cluster.key "$WORK/credentials/key"
is "kphi-beat@: it may have no capability" "$(grep -c '^CapabilityBoundingSet=$' "$DIST/kphi-beat@.service")" 1
read -ra LINE <<< "$(beat_line)"
start beat in_ns a setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups --bounding-set=-all --no-new-privs \
	"$WORK/kphi" "${LINE[@]:1}"
ok "kphi-beat@: nobody sends signed beats, and the daemon hears them" eventually 30 is_up
is "kphi-beat@: as it should" "$(awk '/^Cap(Prm|Eff)/ { print $2 }' "/proc/$(pid_of beat)/status" | sort -u)" 0000000000000000
ok "kphi-beat@: its counter is kept" test -s "$WORK/beat/epoch"
grep -v '^#' "$DIST/kphi-beat.env" > "$WORK/env"
is "kphi-beat@: the example sets what the unit takes" "$(cut -d= -f1 "$WORK/env" | paste -sd' ')" "TO OPTIONS"

# --- it judges, is reloaded, and outlives its store -------------------------------------------------------------------

stop beat KILL
ok "kphi.service: it suspects who has been killed" eventually 30 told run suspect
write_file "{name: eth0, mode: native}, {name: eth1, mode: tc}"
ok "kphi.service: it is reloaded" "$KPHI" run reload
ok "kphi.service: and attaches what is new" eventually 30 attached eth1
read -ra LINE <<< "$(exec_line kphi-store.service ExecStop)"
ok "kphi-store: it saves" in_sandbox kphi-store.service "${LINE[@]}"
stop run
is "kphi.service: it ends in order" "$stopped" 0

start_unit witness b kphi.service sleep 600
"$KPHI" store purge > /dev/null
inside() {
	nsenter --mount="/proc/$(pid_of witness)/ns/mnt" "$@"
}
ok "a store that is purged is gone in the sandbox" eventually 20 inside test ! -e "$WHERE"
mount_unit
ok "one that is mounted again is there" eventually 20 inside mountpoint -q "$WHERE"
eval "LINE=($(exec_line kphi-store.service ExecStart))" # quotes are for sh -c
ok "kphi-store: it restores" in_sandbox kphi-store.service "${LINE[@]}"
is "kphi-store: the peer is back" "$("$KPHI" -j peer show | jq -r '.[0].name')" db1
