#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The packages on a Debian that has nothing: installed, upgraded from the build before with traffic running, removed, purged.
# The Debian is a folder made by debootstrap; the mirror is this machine's own.

. "$(dirname "$0")/../net/pair.bash"

cd "$ROOT"
[ -n "$(compgen -G 'build/deb/kphi_*.deb')" ] || tools/deb > /dev/null
BASE=$ROOT/build/dist/base
DEBIAN=/mnt/debian

# A minimal system, made once; the test works on a layer above it that is gone afterwards.
debian() {
	if [ ! -e "$BASE/.complete" ]; then
		rm -rf "$BASE"
		tools/setup --debian "$BASE" > "$WORK/debian" 2>&1 || return 1
		touch "$BASE/.complete"
	fi
	mount -t tmpfs tmpfs /mnt
	mkdir -p /mnt/upper /mnt/work "$DEBIAN"
	mount -t overlay -o "lowerdir=$BASE,upperdir=/mnt/upper,workdir=/mnt/work" overlay "$DEBIAN"
	mount --bind /dev "$DEBIAN/dev"
	mount -t proc proc "$DEBIAN/proc"
	mount -t sysfs sysfs "$DEBIAN/sys"
	mkdir "$DEBIAN/root/new" "$DEBIAN/root/old"
	cp build/deb/kphi_*.deb build/deb/libkphi0_*.deb "$DEBIAN/root/new/"
}

inside() {
	chroot "$DEBIAN" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

# there COMMAND...: inside, on the observer's host
there() {
	in_ns b chroot "$DEBIAN" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
}

# The build before: the same files under a lower version, which is all that dpkg goes by.
former() {
	local deb

	for deb in "$DEBIAN"/root/new/*.deb; do
		rm -rf "$WORK/deb"
		dpkg-deb -R "$deb" "$WORK/deb"
		sed -i 's/^Version: .*/Version: 0.0.1/' "$WORK/deb/DEBIAN/control"
		dpkg-deb -b "$WORK/deb" "$DEBIAN/root/old/" > /dev/null
	done
}

# install FOLDER: its packages with what they need
install() {
	inside sh -c "apt-get -qq -y -o Dpkg::Options::=--force-confold install /root/$1/*.deb" > "$WORK/$1.log" 2>&1
}

of_db1() {
	there kphi -j peer show db1 | jq -c "$1"
}

if ! debian; then
	skip_all "$(tail -n 1 "$WORK/debian")"
fi
former
before=$(du -sm /mnt/upper | cut -f 1)
inside apt-get -qq update > "$WORK/update.log" 2>&1
ok "it is installed" install old
note "it and what it needs: $(($(du -sm /mnt/upper | cut -f 1) - before)) MB, with the downloads"
is "version" "$(inside dpkg-query -W -f '${Version}' kphi)" 0.0.1
like "the group is there" "$(inside getent group kphi)" '^kphi:'
ok "nothing is enabled" [ -z "$(inside find /etc/systemd -name 'kphi*')" ]
ok "its configuration is sound" inside kphi run check

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
ok "it listens" there kphi net attach dev eth0
there kphi peer add db1 id "$(uuid 1)" interval 50ms > /dev/null
printf 'devices: [{name: eth0}]\npeers: [{name: db1, id: %s, interval: 50ms}]\nweb: {listen: no}\n' "$(uuid 1)" > "$DEBIAN/etc/kphi/kphi.yaml"
beat db1 1 10.0.0.2 interval 50ms
start daemon in_ns b chroot "$DEBIAN" /usr/bin/kphi run
ok "it judges" eventually 20 there kphi event
heard() {
	[ "$(of_db1 .beats)" -ge "$1" ]
}
ok "it hears" eventually 20 heard 40

first=$(there kphi -j net show | jq -c '[.devices[].program_id // .devices[].hook]')
ok "upgraded, with traffic" install new
note "program before $first, now $(there kphi -j net show | jq -c '[.devices[].program_id // .devices[].hook]')"
ok "and it goes on hearing" eventually 20 heard $(($(of_db1 .beats) + 20))
ok "the new program takes the old one's place" there kphi net attach dev eth0
stop daemon
start daemon in_ns b chroot "$DEBIAN" /usr/bin/kphi run
ok "the new daemon judges" eventually 20 there kphi event
ok "it hears" eventually 20 heard $(($(of_db1 .beats) + 20))
is "no beat was lost, and it is the same life" "$(of_db1 '[.lost, .restarts, .generation]')" "[0,0,0]"
is "each of its intervals is in the window, or was this host's own stall" "$(of_db1 '.beats - .samples - .capped - .unlearned')" 1
like "what was written into the configuration is kept" "$(cat "$DEBIAN/etc/kphi/kphi.yaml")" "interval: 50ms"
ok "none was accused" ! grep -q '"suspect"' "$(log_of daemon)"

stop daemon
stop db1
ok "removed" inside apt-get -qq -y remove kphi
ok "no command is left" [ ! -e "$DEBIAN/usr/bin/kphi" ]
is "no program is left on the device" "$(in_ns b ip -j link show dev eth0 | jq '.[0] | has("xdp")')" false
ok "and no map" [ -z "$(find "$DEBIAN/run/kphi" -mindepth 2 2> /dev/null || true)" ]
like "but who was watched is" "$(cat "$DEBIAN/var/lib/kphi/store.saved")" "db1"
ok "installed again, it takes them back" install new
ok "it does" there kphi store restore /var/lib/kphi/store.saved
is "db1 is there" "$(there kphi -j peer show db1 | jq -r .name)" db1
there kphi store purge > /dev/null
ok "purged" inside apt-get -qq -y purge kphi libkphi0
is "nothing is left" "$(inside find / -xdev -name '*kphi*' -not -path '/root/*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/dev/*')" ""
