#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Files of ours damaged: the configuration of a daemon at work, the fencing token, the consumers' names, a sender's epoch, a
# key, a saved store, a trace. What is wrong is named, nothing is overwritten or believed, and the right file is taken again.

. "$(dirname "$0")/faults.bash"

# spoil KIND FILE: makes something of that kind in its place
spoil() {
	rm -rf "$2"
	case $1 in
	binary) head -c 5000 "$KPHI" > "$2" ;;
	truncated) head -c "$(($(stat -c %s "$WORK/good") * 2 / 3))" "$WORK/good" > "$2" ;;
	empty) : > "$2" ;;
	folder) mkdir "$2" ;;
	pipe) mkfifo "$2" ;;
	huge) truncate -s 5G "$2" ;;
	loop) ln -s "$2" "$2" ;;
	latin1) sed 's/page/p\xe4ge/' "$WORK/good" > "$2" ;;
	nul) sed 's/page/p\x00ge/' "$WORK/good" > "$2" ;;
	deleted) ;;
	unreadable) cp "$WORK/good" "$2" && chmod 0 "$2" ;;
	esac
}

# Each is refused at a reload, in a moment, with its reason; what was in force stays so. Then the right one is taken.
configuration() {
	local kind refused=0
	declare -A reason=(
		[binary]="this is no YAML: control characters are not allowed"
		[truncated]="this is no YAML"
		[empty]="nothing is configured here"
		[folder]="not a file of at most"
		[pipe]="not a file of at most"
		[huge]="not a file of at most"
		[loop]="cannot open: Too many levels of symbolic links"
		[latin1]="this is no YAML: .*UTF-8"
		[nul]="this is no YAML: control characters"
		[deleted]="cannot open: No such file"
	)

	cp "$FILE" "$WORK/good"
	for kind in "${!reason[@]}"; do
		spoil "$kind" "$FILE"
		refused=$((refused + 1))
		fails "configuration: $kind is refused" "$FILE.*${reason[$kind]}" kphi run reload socket "$SOCKET"
		fails "... and by a check" "$FILE.*${reason[$kind]}" kphi run config "$FILE" check
	done
	is "each refusal is told once" "$(times "^Warning: refused, the former configuration stays in force")" $refused
	judges db1 "what was in force is"
	rm -rf "$FILE"
	cp "$WORK/good" "$FILE"
	ok "the right one is taken" kphi run reload socket "$SOCKET"
	rm "$SOCKET"
	ok "a removed socket is made anew" eventually 20 kphi event socket "$SOCKET"
	is "... and said once" "$(times "the socket was removed, and is there again")" 1
	ok "... with its mode" test "$(stat -c %a "$SOCKET")" = 660
	judges db1 "after it"
	stop run
}

# start_refused NAME REGEX: the daemon does not start, and does not touch what it does not understand
start_refused() {
	fails "$1" "$2" in_ns b kphi run config "$FILE"
}

token() {
	local good kind

	good=$(cat "$STATE/token")
	for kind in "kphi token 0000001" "kphi token 99999999x" "" "kphi token 0x000001"; do
		echo "$kind" > "$STATE/token"
		start_refused "token '$kind'" "state/token: damaged, so it is not known which fencing tokens were handed out"
		is "... is left as it is" "$(cat "$STATE/token")" "$kind"
	done
	spoil pipe "$STATE/token"
	start_refused "token: a pipe" "state/token: cannot save the fencing token: it is no ordinary file"
	spoil folder "$STATE/token"
	start_refused "token: a folder" "state/token: cannot save the fencing token: Is a directory"
	rm -r "$STATE/token"
	run
	ok "deleted: the store still knows which tokens there were" test "$(cat "$STATE/token")" \> "$good"
	stop run
}

# They only say which consumer had which number: without them a suspicion is told again, and no more.
consumers() {
	spoil pipe "$STATE/consumers"
	start_refused "consumers: a pipe" "state/consumers: cannot keep the consumers' names: it is no ordinary file"
	spoil folder "$STATE/consumers"
	start_refused "consumers: a folder" "state/consumers: cannot keep the consumers' names: Is a directory"
	spoil binary "$STATE/consumers"
	run
	judges db1 "consumers: garbage"
	is "... is replaced" "$(sed -n 2p "$STATE/consumers")" page
	stop run
}

send() { # a beat, from the file $WORK/epoch, or the sentence why not
	in_ns a timeout -k 1 20 "$KPHI" -j beat to 10.0.0.2 id "$(uuid 7)" state "$WORK/epoch" count 1 2> "$WORK/err"
}

epoch() {
	local first kind next
	local sender=(in_ns a "$KPHI" beat to 10.0.0.2 id "$(uuid 7)" state "$WORK/epoch" count 1)

	first=$(send | jq .epoch)
	cp "$WORK/epoch" "$WORK/good"
	for kind in binary truncated empty; do
		spoil $kind "$WORK/epoch"
		fails "epoch: $kind" "epoch: damaged, so the last epoch of $(uuid 7) is not known. Delete the file" "${sender[@]}"
	done
	for kind in pipe folder; do
		spoil $kind "$WORK/epoch"
		fails "epoch: a $kind" "epoch: cannot save the epoch: (it is no ordinary file|Is a directory)" "${sender[@]}"
	done
	sed 's/7$/8/' "$WORK/good" > "$WORK/other"
	rm -r "$WORK/epoch"
	cp "$WORK/other" "$WORK/epoch"
	fails "epoch: of another node" "belongs to another node" "${sender[@]}"
	cp "$WORK/good" "$WORK/epoch"
	next=$(send | jq .epoch)
	ok "epoch: the right file goes on" test "$next" -gt "$first"
}

keys() {
	local kind

	kphi key add ring generate "$WORK/key" > /dev/null
	cp -p "$WORK/key" "$WORK/good"
	for kind in binary truncated empty folder pipe; do
		spoil $kind "$WORK/key"
		chmod 600 "$WORK/key"
		fails "key: $kind is refused to an observer" "/key: (no key file|(line 1: )?no key)" kphi key add other file "$WORK/key"
		fails "... and to a sender" "/key: (no key file|(line 1: )?no key)" \
			in_ns a "$KPHI" beat to 10.0.0.2 id "$(uuid 8)" state "$WORK/epoch8" key "$WORK/key" count 1
	done
	ok "... at no cost of an epoch" ! test -e "$WORK/epoch8"
	rm "$WORK/key"
	cp -p "$WORK/good" "$WORK/key"
	is "the key in the store is as it was" "$(kphi -j key show | jq -r '[.[].name] | join(",")')" ring
	ok "the right file is taken" in_ns a "$KPHI" beat to 10.0.0.2 id "$(uuid 8)" state "$WORK/epoch8" key "$WORK/key" count 1
}

# What is before the damage is told, and that there is one.
traces() {
	local size kind

	in_ns b kphi trace record "$WORK/whole" for 1s > /dev/null
	size=$(stat -c %s "$WORK/whole")
	for kind in binary empty folder; do
		spoil $kind "$WORK/t.trace"
		fails "trace: $kind" "t.trace: " kphi trace show "$WORK/t.trace"
	done
	rm -r "$WORK/t.trace"
	head -c $((size - 3)) "$WORK/whole" > "$WORK/t.trace"
	is "trace: torn at its end: it is told" "$(kphi -j trace show "$WORK/t.trace" | jq -c '[.ended, .torn_bytes > 0]')" '[false,true]'
	# A byte in the last block, whose sum does not agree then.
	cp "$WORK/whole" "$WORK/t.trace"
	printf '\xff' | dd of="$WORK/t.trace" bs=1 seek=$((size - 8)) conv=notrunc 2> /dev/null
	kphi -j trace show "$WORK/t.trace" > "$WORK/out" 2> "$WORK/err" || true
	like "trace: a damaged byte is found" "$(cat "$WORK/out" "$WORK/err")" "\"torn_bytes\":[1-9]|damaged|checksum"
	is "trace: the right file replays" "$(kphi -j trace replay "$WORK/whole" | jq '.records | length > 0')" true
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
write_file
for name in "${PEERS[@]}"; do sender "$name"; done
run
ok "all are heard" eventually 20 heard "${PEERS[@]}"
configuration
token
consumers
epoch
keys
traces
