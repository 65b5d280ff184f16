# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Ways to make observers suffer: hogs on their core, a CPU quota, packets that wait for a kernel thread. Source it after
# daemons.bash. OBSERVERS are the names of those who suffer, `run` besides.

OBSERVERS=()
HOGS=16
GROUP=/sys/fs/cgroup

# --- one core with hogs -----------------------------------------------------------------------------------------------

hogs() { # CPUS
	local n

	for ((n = 0; n < HOGS; n++)); do
		start "hog$n" taskset -c "$1" timeout 60 sh -c 'while :; do :; done'
	done
}

no_hogs() {
	local n

	for ((n = 0; n < HOGS; n++)); do
		stop "hog$n"
	done
}

# pin CPUS: the observers
pin() { # CPUS
	local name pid

	for name in "${OBSERVERS[@]}" run; do
		for pid in $(family "$name"); do
			taskset -acp "$1" "$pid" > /dev/null
		done
	done
}

# --- packets wait for a kernel thread ---------------------------------------------------------------------------------

# /sys shows the devices of the namespace that it was mounted in.
set_threaded() {
	# shellcheck disable=SC2016 # expanded inside
	in_ns "$1" unshare --mount sh -c 'mount -t sysfs sysfs /sys && echo "$2" > "/sys/class/net/$1/threaded"' sh "$2" "$3"
}

# --- a CPU quota ------------------------------------------------------------------------------------------------------

confine() { # NAME GROUP
	mkdir "$2"
	if [ -e "$2/cpu.max" ]; then
		echo "10000 100000" > "$2/cpu.max"
	else
		echo 10000 > "$2/cpu.cfs_quota_us"
	fi
	start "beside-$1" timeout 60 sh -c 'while :; do :; done'
	enter "$1" "$2"
	enter "beside-$1" "$2"
}

free() { # NAME GROUP
	note "$1: $(awk '$1 == "nr_throttled" { t = $2 } $1 == "nr_periods" { p = $2 } END { print t " of " p " periods throttled" }' "$2/cpu.stat")"
	enter "$1" "$GROUP"
	enter "beside-$1" "$GROUP"
	stop "beside-$1"
	rmdir "$2"
}

enter() { # NAME GROUP
	local pid

	for pid in $(family "$1"); do
		echo "$pid" > "$2/cgroup.procs"
	done
}

# Sets GROUP to the root of the controller, or why there is none.
find_quota() {
	if [ -e $GROUP/cpu/cpu.cfs_period_us ]; then
		GROUP=$GROUP/cpu
	elif ! grep -qw cpu $GROUP/cgroup.subtree_control 2> /dev/null; then
		echo "no cgroup has the cpu controller here"
		return 1
	fi
	[ -w "$GROUP" ] || { echo "cgroups cannot be made here" && return 1; }
}
