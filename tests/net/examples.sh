#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the manual pages and the README tell people to type works as it stands there: the examples of each page, one after the
# other, on a host that has a device eth0, a sender db1 and a store, and a daemon where the page is about one. Files are where
# they are on a real host.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

DB1=6d7f3a52-90c4-4a55-8f0e-2f1f8a4b7c10

# This room has its own mounts: of what is written below these nothing reaches the machine.
own_folders() {
	local folder at

	mount -t tmpfs tmpfs /mnt
	mkdir /mnt/netns
	mount --rbind /run/netns /mnt/netns
	for folder in /etc /var/lib /run; do
		at=/mnt/${folder//\//-}
		mkdir -p "$at/upper" "$at/work"
		mount -t overlay -o "lowerdir=$folder,upperdir=$at/upper,workdir=$at/work" overlay "$folder"
	done
	mkdir -p /run/netns /etc/kphi /var/lib/kphi "$WORK/home" "$WORK/bin"
	mount --rbind /mnt/netns /run/netns
	ln -s "$KPHI" "$WORK/bin/kphi"
	ln -s "$ROOT/dist" "$WORK/home/dist"
	printf '#!/bin/sh\nexec "$@"\n' > "$WORK/bin/sudo"
	chmod +x "$WORK/bin/sudo"
	export PATH=$WORK/bin:$PATH
}

# here COMMAND...: on the observer's host
here() {
	(cd "$WORK/home" && exec nsenter --net="/run/netns/${namespaces[b]}" "$@")
}

# The host as a page finds it; the README begins with a bare one.
host() {
	[ "$1" != README ] || { cp "$ROOT/dist/kphi.yaml" /etc/kphi/ && return; }
	here kphi net attach dev eth0
	here kphi peer add db1 id $DB1 interval 100ms
	[ "$1" != beat ] || here kphi key add cluster generate /etc/kphi/cluster.key
	start db1 in_ns a "$KPHI" beat to 10.0.0.2 interval 100ms id $DB1 state "$WORK/state"
	eventually 20 up
	case $1 in run | event | web | kphi.yaml) daemon ;; esac
} > "$WORK/host" 2>&1

up() {
	here kphi --exit-status peer show db1 | grep -q ' up'
}

daemon() {
	cp "$ROOT/dist/kphi.yaml" /etc/kphi/kphi.yaml
	start daemon nsenter --net="/run/netns/${namespaces[b]}" "$KPHI" run
	eventually 20 here kphi event
	eventually 20 here curl -sf http://127.0.0.1:7441/healthz
}

leave() {
	[ -z "${daemons[daemon]-}" ] || stop daemon
	[ -z "${daemons[db1]-}" ] || stop db1
	! here kphi store show || here kphi store purge
	rm -rf /etc/kphi/* /var/lib/kphi/* "$WORK"/home/week*
} > "$WORK/left" 2>&1

# examples PAGE: the command lines in it
examples() {
	case $1 in
	README.md) sed -n 's/^    \(sudo \)\?kphi /kphi /p' "$ROOT/$1" | sed 's/ *# .*//' ;;
	*) sed -n 's/^\.Dl # //p' "$ROOT/$1" ;;
	esac
}

# Some go on until somebody ends them: that they still do so after two seconds is what can be asked of them.
goes_on() {
	[ "$1" = "kphi event follow" ]
}

# run PAGE LINE
run() {
	local status=0

	if [ "$2" = "kphi run" ]; then
		daemon
		ok "$1: $2" running daemon
		return
	fi
	here timeout -s INT "$(goes_on "$2" && echo 2 || echo 60)" bash -o pipefail -c "$2" > "$WORK/said" 2>&1 < /dev/null || status=$?
	if [ $status = 0 ] || { [ $status = 124 ] && goes_on "$2"; }; then
		pass "$1: $2"
	else
		fail "$1: $2" "exit status $status"$'\n'"$(cat "$WORK/said")"
	fi
}

own_folders
ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2

for page in README.md docs/man/*.[0-9]; do
	name=$(basename "$page")
	name=${name%.*}
	host "${name#kphi-}"
	while IFS= read -r line; do
		run "$name" "$line"
	done < <(examples "$page")
	leave
done
