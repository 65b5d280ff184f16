#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Commands at once, and commands that are killed: never two stores, never half a peer. The default root is used too, under a
# /run of the test's own.

. "$(dirname "$0")/../net/lib.sh"

AT_ONCE=20
KILLS=60
DEFAULT=/run/kphi/bpf

mount -t tmpfs -o mode=755 tmpfs /run
RANDOM=7441 # bash: seeds it

uuid() {
	printf '%08x-0000-4000-8000-000000000000' $(($1 + 1))
}

# at_once COMMAND...: AT_ONCE of them, each with a number of its own at the end; prints how many succeeded
at_once() {
	local i pid succeeded=0 pids=()

	for ((i = 0; i < AT_ONCE; i++)); do
		"$@" $i > "$WORK/at-once-$i.log" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		! wait "$pid" || succeeded=$((succeeded + 1))
	done
	echo $succeeded
}

# names PIN: of all peers there, sorted
names() {
	"$KPHI" -j --pin "$1" peer show | jq -r '.[].name' | sort
}

# --- from nothing, at once ----------------------------------------------------------------------------------------------

add() {
	exec "$KPHI" --pin "$1" peer add "peer-$2" id "$(uuid "$2")"
}

create() {
	exec "$KPHI" --pin "$1" store create peers $((100 + $2)) window 8
}

ALL=$(seq -f 'peer-%g' 0 $((AT_ONCE - 1)) | sort)

for pin in "$KPHI_PIN" "$KPHI_PIN/made" $DEFAULT; do
	is "$pin: all of $AT_ONCE peers are added at once" "$(at_once add "$pin")" $AT_ONCE
	is "$pin: and all are there" "$(names "$pin")" "$ALL"
	is "$pin: in one store" "$(find "$pin" -name 'abi-*' -o -name '*-store' | wc -l)" 1
	ok "$pin: which can be purged" "$KPHI" --pin "$pin" store purge
done
is "one bpffs was mounted, and none is left" "$(grep " $DEFAULT " /proc/self/mounts || true)" ""
ok "no directory is left" ! test -e /run/kphi

for pin in "$KPHI_PIN" $DEFAULT; do
	is "$pin: of $AT_ONCE stores one is made" "$(at_once create "$pin")" 1
	"$KPHI" --pin "$pin" peer add first id "$(uuid 99)" > "$WORK/out"
	is "$pin: of $AT_ONCE peers of one identity none is a second one" \
		"$(at_once bash -c '"$0" --pin "$1" peer add "other-$3" id "$2"' "$KPHI" "$pin" "$(uuid 99)") $(names "$pin")" "0 first"
	is "$pin: of $AT_ONCE of one name one is the first" \
		"$(at_once bash -c '"$0" --pin "$1" peer add same id "$(printf "%032x" $(($2 + 1)))"' "$KPHI" "$pin")" 1
	ok "$pin: purged" "$KPHI" --pin "$pin" store purge
done

# Four that wait in a tight loop for the same signal meet between looking for a bpffs and mounting one.
mounts() {
	grep -c " $DEFAULT " /proc/self/mounts || true
}

stampede() {
	local i

	rm -f /run/go
	for i in 0 1 2 3; do
		(
			until [ -e /run/go ]; do :; done
			add $DEFAULT $i
		) > "$WORK/at-once-$i.log" 2>&1 &
	done
	sleep 0.02
	touch /run/go
	wait
	[ "$(mounts) $(names $DEFAULT | wc -l)" = "1 4" ] || cat "$WORK"/at-once-[0-3].log
	while [ "$(mounts)" != 0 ]; do
		"$KPHI" store purge > "$WORK/out" 2>&1 || umount $DEFAULT
	done
}

wrong=""
for ((round = 0; round < 25; round++)); do
	wrong+=$(stampede)
done
is "however close they come: one bpffs, one store, four peers" "$wrong" ""

# Whoever comes while the default root goes is told so or makes it anew; nobody is left with a store that is not there.
purge_or_add() {
	if [ $(($1 % 4)) = 3 ]; then
		exec "$KPHI" store purge
	fi
	exec "$KPHI" peer add "peer-$1" id "$(uuid "$1")"
}

for ((round = 0; round < 4; round++)); do
	"$KPHI" store purge > "$WORK/out" 2>&1 || true
	at_once purge_or_add > "$WORK/out"
	bad=$(grep -hvE '^(added|purged): |there is no store yet|purged this very moment|cannot unpin: No such file' "$WORK"/at-once-*.log || true)
	is "adding while others purge, round $round: added, or said why not" "$bad" ""
done
"$KPHI" peer add last id "$(uuid 77)" > "$WORK/out"
ok "a store made after all that works" "$KPHI" peer show last

# --- a store of another ABI keeps its home ------------------------------------------------------------------------------

mkdir $DEFAULT/abi-00000000
ok "purging another ABI on the default root" "$KPHI" store purge abi 00000000
is "leaves this one's peers" "$(names $DEFAULT | grep -c last)" 1
mkdir $DEFAULT/abi-00000000
ok "purging this one" "$KPHI" store purge
is "leaves the other one" "$(cd $DEFAULT && echo abi-*)" abi-00000000
ok "which can be purged as well" "$KPHI" store purge abi 00000000
ok "and takes the root along" ! test -e /run/kphi

# --- kill -9 ------------------------------------------------------------------------------------------------------------

# killed_after MICROSECONDS WORD...
killed_after() {
	"$KPHI" --pin "$KPHI_PIN" "${@:2}" > "$WORK/out" 2>&1 &
	sleep "$(printf '0.%06d' "$1")"
	kill -9 $! 2> "$WORK/err" || true
	wait $! 2> "$WORK/err" || true
}

# whole NUMBER: the identity belongs to the peer that is listed with it, and to none if none is
whole() {
	local id owner

	id=$(uuid "$1")
	owner=$(kphi -j peer show | jq -r --arg id "$id" '[.[] | select(.id == $id) | .name] | join(",")')
	if kphi peer add probe id "$id" > "$WORK/out" 2>&1; then
		[ -z "$owner" ] || echo "$id was $owner's, and could be taken twice; "
		kphi peer del probe > "$WORK/out"
	else
		[ "$owner" = "k-$1" ] || echo "$id is listed as '$owner', but $(cat "$WORK/out"); "
	fi
}

wrong=""
landed=0
kphi store create peers 8 window 8 > "$WORK/out"
for ((n = 0; n < KILLS; n++)); do
	i=$((RANDOM % 4))
	before=$(kphi -j peer show | jq -c 'map([.name, .generation])')
	after=$((RANDOM % (n % 4 ? 16000 : 800)))
	case $((RANDOM % 3)) in
	0) killed_after $after peer add k-$i id "$(uuid $i)" ;;
	1) killed_after $after peer del k-$i ;;
	2) killed_after $after peer reset k-$i ;;
	esac
	[ "$(kphi -j peer show | jq -c 'map([.name, .generation])')" = "$before" ] || landed=$((landed + 1))
	wrong+=$(whole $i)
done
is "$KILLS commands killed at random moments: no half peer" "$wrong" ""
note "$landed of them had done their work"
ok "some had done their work, some had not" test $landed -gt 0 -a $landed -lt $KILLS
kphi store purge > "$WORK/out"

wrong=""
landed=0
for ((n = 0; n < KILLS / 3; n++)); do
	# Every other one hardly begins, so that there are some of both on any machine.
	killed_after $((RANDOM % (n % 2 ? 32000 : 1500))) store create peers $((8 + RANDOM % 64)) window 8
	if kphi peer show > "$WORK/out" 2>&1; then
		landed=$((landed + 1))
		[ -z "$(whole 1)" ] || wrong+="a store, but not whole; "
		killed_after $((RANDOM % 12000)) store purge
		kphi peer add k-0 id "$(uuid 0)" > "$WORK/out" 2>&1 || kphi peer show k-0 > "$WORK/out" || wrong+="no way on after a purge; "
		kphi store purge > "$WORK/out"
	else
		grep -q "there is no store yet" "$WORK/out" || wrong+="$(cat "$WORK/out"); "
	fi
done
is "store create and purge killed at random moments: whole, or not there" "$wrong" ""
note "$landed stores were made"
ok "some stores were made, some not" test $landed -gt 0 -a $landed -lt $((KILLS / 3))
is "and nothing is left of the others" "$(kphi peer add a id "$(uuid 1)" && kphi store purge > "$WORK/out" && find "$KPHI_PIN" -name 'abi-*' -o -name '*-store')" "added: a"
