#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/soak in short: 10,000 senders, of which some die, leave, return and lose beats, while the daemon is killed and
# programs and the configuration are exchanged. Verdicts have to be right; how soon they came is told only. A longer
# one: make soak.

. "$(dirname "$0")/lib.sh"

# Its own room, its own namespaces.
soak() {
	env -u KPHI_PIN "$ROOT/tools/soak" "$@"
}

# refused NAME FRAGMENT ARGUMENT...
refused() {
	local got=0

	soak "${@:3}" > "$WORK/out" 2> "$WORK/err" || got=$?
	is "$1" "$got $(wc -l < "$WORK/err") $(grep -cF -- "$2" "$WORK/err")" "2 1 1"
}

refused "no duration" "for: 'x' is no duration" for x
refused "too short" "less than 75s" for 10s
refused "no seed" "seed: '-1'" seed -1
refused "too few peers" "peers: '5'" peers 5
refused "no such word" "'sed' is unknown" sed 1
refused "a word without its value" "seed what?" seed

soak for 100s seed 1 dir "$WORK/soak" > "$WORK/said" 2> "$WORK/err" || true
while IFS= read -r line; do
	case $line in
	ok*) pass "${line:8}" ;;
	FAILED*) fail "${line:8}" ;;
	*) note "$line" ;;
	esac
done < "$WORK/said"
ok "it was judged" grep -qE '^(ok|FAILED)  *the soak' "$WORK/said"
note "$(cat "$WORK/err")"
