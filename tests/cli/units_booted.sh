#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The units of dist/ under the systemd of this machine: booted with them and nothing else, as process 1 of namespaces of its own,
# with a network that has a loopback only. So all of their sandbox is in force.

. "$(dirname "$0")/../net/lib.sh"

SYSTEMD=/lib/systemd/systemd
CGROUPS=$(findmnt -rnt cgroup2 -o TARGET | head -n 1)
GROUP=$CGROUPS/kphi-test-$$-$RANDOM
UNITS=$WORK/units
ID=6ba7b810-9dad-11d1-80b4-00c04fd430c8

[ -x $SYSTEMD ] || skip_all "no systemd here"
[ -n "$CGROUPS" ] || skip_all "no cgroup2 here"
mkdir "$GROUP" 2> /dev/null || skip_all "no cgroup2 that can be written here"

unboot() {
	[ -z "${daemons[boot]-}" ] || stop boot KILL
	eventually 20 sh -c "! grep -qs . '$GROUP/cgroup.procs' && find '$GROUP' -depth -type d -exec rmdir {} +" || true
}
trap 'status=$?; unboot; (exit $status); finish' EXIT

# --- what is booted ---------------------------------------------------------------------------------------------------

mkdir -p "$UNITS" "$WORK/etc/kphi" "$WORK/lib"
cp -a /etc/. "$WORK/etc/"
BINARY=/run/kphi-test/kphi # where everybody sees it: not in /tmp, of which each service has one of its own
for file in "$ROOT"/dist/*.service "$ROOT"/dist/*.mount; do
	sed "s,/usr/bin/kphi,$BINARY," "$file" > "$UNITS/$(basename "$file")"
done
for target in sysinit basic shutdown umount final local-fs local-fs-pre network time-sync; do
	printf '[Unit]\nDefaultDependencies=no\n' > "$UNITS/$target.target"
done
printf '[Unit]\nWants=kphi.service kphi-beat@x.service\n' > "$UNITS/test.target"
cat > "$WORK/etc/kphi/kphi.yaml" <<- EOF2
	devices: [{name: lo}]
	peers: [{name: me, id: $ID, interval: 100ms, key: cluster}]
	keys: [{name: cluster, file: /etc/kphi/cluster.key}]
EOF2
(umask 077 && echo 1:00112233445566778899aabbccddeeff | tee "$WORK/etc/kphi/cluster.key" > "$WORK/etc/kphi/beat-x.key")
cat > "$WORK/etc/kphi/beat-x.env" <<- EOF2
	TO=127.0.0.1
	OPTIONS=id $ID interval 100ms key /run/credentials/kphi-beat@x.service/key
EOF2

# The services' mounts come from what is shared, which a container's systemd leaves to others.
cat > "$WORK/boot" <<- EOF2
	set -e
	mount --make-rprivate /
	mount --bind "$WORK/etc" /etc
	mount --bind "$WORK/lib" /var/lib
	mount -t tmpfs -o mode=755 tmpfs /run
	install -D -m 755 "$KPHI" "$BINARY"
	mount -t proc proc /proc
	umount -R /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mount --make-rshared /
	ip link set lo up
	export container=kphi-test SYSTEMD_UNIT_PATH="$UNITS"
	exec $SYSTEMD --system --unit=test.target --log-target=console --log-level=notice --show-status=no
EOF2
start boot sh -c "echo \$\$ > '$GROUP/cgroup.procs' && exec unshare --cgroup --mount --net --uts --ipc --pid --fork --kill-child sh '$WORK/boot'"

# inside COMMAND...: in the booted world
inside() {
	local init

	init=$(pgrep -P "$(pid_of boot)")
	nsenter --target "$init" --mount --net --pid --uts --ipc "$@"
}

show() {
	inside systemctl show --value -p "$2" "$1"
}

is_active() {
	[ "$(show "$1" ActiveState)" = active ]
}

is_state() {
	[ "$(inside "$KPHI" -j peer show | jq -r '.[0].state')" = "$1" ]
}

# status UNIT KEY: of its main process
status() {
	inside awk -v key="$2:" '$1 == key { print $2 }' "/proc/$(show "$1" MainPID)/status"
}

# --- what it makes of them --------------------------------------------------------------------------------------------

eventually 30 inside systemctl list-units || { stop boot KILL && skip_all "systemd does not boot here: $(tail -n 3 "$(log_of boot)" | tr '\n' ' ')"; }
for unit in run-kphi-bpf.mount kphi-store.service kphi.service kphi-beat@x.service; do
	ok "$unit is active" eventually 30 is_active $unit
done
[ "$tests_failed" = 0 ] || exit 1
ok "signed beats are heard" eventually 60 is_state up
is "the daemon holds five capabilities" "$(status kphi.service CapPrm) $(status kphi.service CapBnd)" "000000c000001401 000000c000001401"
is "under filters, and gains no others" "$(status kphi.service Seccomp) $(status kphi.service NoNewPrivs)" "2 1"
is "the sender holds none" "$(status kphi-beat@x.service CapPrm) $(status kphi-beat@x.service CapBnd)" "0000000000000000 0000000000000000"
between "the sender is a user that exists only now" "$(status kphi-beat@x.service Uid)" 61184 65519
ok "the page is served" eventually 30 inside curl -fsS --max-time 5 http://127.0.0.1:7441/healthz
ok "reload" inside systemctl reload kphi.service
inside systemctl kill -s KILL kphi-beat@x.service
inside systemctl stop kphi-beat@x.service
ok "who is killed is suspected" eventually 60 is_state suspect
ok "the store cannot be unmounted by mistake" ! inside systemctl stop run-kphi-bpf.mount
ok "it can be purged" inside "$KPHI" store purge
ok "and is mounted again with the daemon" eventually 60 is_state waiting
ok "which is active" eventually 60 is_active kphi.service
ok "it is saved at the end" inside systemctl stop kphi-store.service
like "with its peers" "$(cat "$WORK/lib/kphi/store.saved")" '"me"'
