#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The store of another user: who is in its group reads it without any privilege and can write nothing, who is not cannot
# read. At the default root, as kphi mounts it, under a /run of the test's own.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

GROUP=games # any group that every Debian has
NOBODY=65534
ID=6ba7b810-9dad-11d1-80b4-00c04fd430c8
ROOT_PIN=/run/kphi/bpf

gid=$(getent group $GROUP | cut -d: -f3) || skip_all "there is no group $GROUP here"
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=$(command -v python3)
mount -t tmpfs -o mode=755 tmpfs /run
# Where the tests live, nobody may have no business.
chmod 755 "$WORK"
mkdir -m 755 "$WORK/bin"
install -m 755 "$KPHI" "$(dirname "$0")/write_attempts.py" "$WORK/bin"

# as GID COMMAND...: as nobody, in this group only. Sets OUT, ERR and STATUS.
as() {
	STATUS=0
	setpriv --reuid=$NOBODY --regid="$1" --clear-groups "${@:2}" > "$WORK/out" 2> "$WORK/err" || STATUS=$?
	OUT=$(cat "$WORK/out")
	ERR=$(cat "$WORK/err")
}

# refused NAME FRAGMENT: the last command failed, saying so, and said nothing else
refused() {
	is "$1: refused" "$STATUS '$OUT' $(grep -c '^Error: ' <<< "$ERR")" "1 '' 1"
	like "$1: and told why" "$ERR" "$2"
}

# Members get through even if whoever made it (dist/kphi.service does) keeps to himself what he makes.
(umask 077 && "$KPHI" store create group $GROUP peers 8 window 8 > "$WORK/out")
"$KPHI" peer add db1 id $ID interval 100ms > "$WORK/out"
store=$(echo $ROOT_PIN/abi-*)

is "the root is the group's to look into" "$(stat -c '%a %U %G' $ROOT_PIN)" "1750 root $GROUP" # bpffs roots are sticky
is "and so is the store" "$(stat -c '%a %U %G' "$store")" "750 root $GROUP"
is "maps that readers map" "$(cd "$store" && stat -c '%n %a %G' store peers records windows counters ticks verdicts | sort | tr '\n' ' ')" \
	"counters 660 $GROUP peers 660 $GROUP records 660 $GROUP store 660 $GROUP ticks 660 $GROUP verdicts 660 $GROUP windows 660 $GROUP "
is "what the daemon tells of itself is the group's to look up" "$(cd "$store" && stat -c '%a %U %G' daemon)" "640 root $GROUP"
is "the rest is root's" "$(cd "$store" && stat -c '%n %a %G' control ids locks ports links | sort | tr '\n' ' ')" \
	"control 600 root ids 600 root links 700 root locks 600 root ports 600 root "

# --- in the group: reading ----------------------------------------------------------------------------------------------

kphi=$WORK/bin/kphi
as "$gid" "$kphi" -j peer show
is "a member lists the peers" "$STATUS $(jq -r '.[0].name' <<< "$OUT") '$ERR'" "0 db1 ''"
as "$gid" "$kphi" peer show db1
like "a member looks at one" "$STATUS $OUT" "^0 .*waiting"
as "$gid" "$kphi" peer window db1
is "a member reads its window" "$STATUS $(grep -c 'samples: 0' <<< "$OUT")" "0 1"
as "$gid" "$kphi" store show
is "a member looks at the store" "$STATUS $(grep -c 'room for peers: 8' <<< "$OUT")" "0 1"
as "$gid" "$kphi" peer show metrics
is "a member scrapes it, all but the devices" "$STATUS $(grep -c '^kphi_peer_state{peer="db1"\|^kphi_devices_readable 0\|^kphi_daemon_up 0' <<< "$OUT") '$ERR'" "0 3 ''"
is "which root can" "$("$KPHI" peer show metrics | grep '^kphi_devices_readable')" "kphi_devices_readable 1"

# --- in the group: no changing ------------------------------------------------------------------------------------------

before=$("$KPHI" -j peer show | jq -c 'map(del(.reason))')
as "$gid" "$kphi" peer add db2 id 6ba7b811-9dad-11d1-80b4-00c04fd430c8
refused "a member adds a peer" "Run it as root"
as "$gid" "$kphi" peer del db1
refused "a member deletes one" "Run it as root"
as "$gid" "$kphi" peer reset db1
refused "a member resets one" "Run it as root"
as "$gid" "$kphi" net attach dev lo
refused "a member attaches" "Run it as root"
as "$gid" "$kphi" net show
refused "a member asks for devices and ports" "run it as root"
as "$gid" "$kphi" store purge
refused "a member purges" "Run it as root"
as "$gid" "$kphi" store create
refused "a member makes a store" "Run it as root"
is "nothing has changed" "$("$KPHI" -j peer show | jq -c 'map(del(.reason))')" "$before"

# The same attempts succeed on a map that is nobody's, so they are attempts.
is "witness: what is tried can succeed" "$("$PYTHON" "$WORK/bin/write_attempts.py" --witness)" \
	$'map read:ok update:ok mmap:ok mprotect:EACCES\nmemory read:ok update:EINVAL mmap:ok mprotect:ok'
as "$gid" "$PYTHON" "$WORK/bin/write_attempts.py" "$store"/{store,peers,records,windows,counters,ticks,verdicts}
is "a member can write into no map" "$OUT" "$(printf '%s read:ok update:EPERM mmap:EPERM mprotect:EACCES\n' \
	store peers records windows counters ticks verdicts)"
as "$gid" "$PYTHON" "$WORK/bin/write_attempts.py" --read-only "$store"/{verdicts,daemon}
is "nor through a descriptor for reading only; of the daemon, looking up is all" "$OUT" \
	"$(printf '%s lookup:ok read:EINVAL update:EPERM mmap:EACCES mprotect:EINVAL\n' verdicts daemon)"
as "$gid" "$PYTHON" "$WORK/bin/write_attempts.py" "$store/daemon"
is "what the daemon writes opens for nothing else" "$OUT" "daemon open:EACCES"
is "witness: the daemon's user can write it" "$("$PYTHON" "$WORK/bin/write_attempts.py" "$store/daemon")" \
	"daemon read:ok update:ok mmap:ok mprotect:EACCES"
as "$gid" "$PYTHON" "$WORK/bin/write_attempts.py" "$store"/{control,ids,locks,ports}
is "nor open those that are not shared" "$OUT" "$(printf '%s open:EACCES\n' control ids locks ports)"
is "not even root can write what is frozen" "$("$PYTHON" "$WORK/bin/write_attempts.py" "$store"/{records,verdicts})" \
	"$(printf '%s read:ok update:EPERM mmap:EPERM mprotect:EACCES\n' records verdicts)"

# --- outside the group --------------------------------------------------------------------------------------------------

for words in "peer show" "peer show db1" "peer window db1" "store show" "net show" "peer add x id $ID" "store create" "store purge"; do
	# shellcheck disable=SC2086 # words
	as $NOBODY "$kphi" $words
	refused "a stranger: kphi ${words% id*}" "$ROOT_PIN: permission denied. Run it as root, or join the group that owns the store"
done
as $NOBODY "$PYTHON" "$WORK/bin/write_attempts.py" "$store/records"
is "a stranger opens no map" "$OUT" "records open:EACCES"
as $NOBODY "$kphi" -j peer show
is "a stranger's error is a document, too" "$STATUS $(jq -s 'length == 1 and (.[0] | has("error"))' "$WORK/out")" "1 true"

# --- a root that kphi makes where it is told to -------------------------------------------------------------------------

mkdir -m 755 /run/bpf
mount -t bpf -o mode=755 bpf /run/bpf
(umask 077 && "$KPHI" --pin /run/bpf/mine store create group $GROUP peers 2 > "$WORK/out")
as "$gid" "$kphi" --pin /run/bpf/mine peer show
is "a member reads there as well" "$STATUS $ERR" "0 "
as $NOBODY "$kphi" --pin /run/bpf/mine peer show
refused "a stranger does not" "join the group that owns the store"

# --- nobody's rights where there is no store ----------------------------------------------------------------------------

"$KPHI" store purge > "$WORK/out"
as "$gid" "$kphi" peer show
refused "no store to read" "there is no store yet"
as "$gid" "$kphi" store create
refused "no right to make one" "[Rr]un it as root"
