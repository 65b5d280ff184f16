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

exits "no duration" 2 "for: 'x' is no duration" soak for x
exits "too short" 2 "less than 75s" soak for 10s
exits "no seed" 2 "seed: '-1'" soak seed -1
exits "too few peers" 2 "peers: '5'" soak peers 5
exits "no such word" 2 "'sed' is unknown" soak sed 1
exits "a word without its value" 2 "seed what?" soak seed

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
