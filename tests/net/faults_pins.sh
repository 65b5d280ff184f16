#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The bpffs unmounted under a daemon, pins removed by hand: what is held goes on, what is lost is named, and there is a way
# back.

. "$(dirname "$0")/faults.bash"

# What must be the same before and after. The addresses and maps of the store, and how often each peer began anew.
kept() {
	kphi -j peer show | jq -c 'map([.name, .id, .generation, .epoch, .restarts, .interval_ns])'
}

beats_of() {
	peer_field "$1" beats
}

unmounted() {
	local before beats events_before

	before=$(kept)
	beats=$(beats_of db2)
	umount -l "$KPHI_PIN"
	ok "unmounted: the daemon says so" eventually 20 said "the bpffs of this store is not mounted any more"
	like "... with what to do" "$(grep "not mounted any more" "$WORK/run.err")" "This daemon goes on.*mount -t bpf bpf $KPHI_PIN"
	ok "... as an event, too" has '.type == "config" and (.detail | startswith("the bpffs of this store"))'
	fails "... readers say what they miss" "$KPHI_PIN is not on a bpffs. Mount one there with" kphi peer show
	fails "... and so does who would change something" "is not on a bpffs" kphi peer add other id "$(uuid 9)"
	judges db1 "unmounted"
	kill -HUP "$(pid_of run)"
	ok "... a reload is refused" eventually 20 said "refused, the former configuration stays in force: the bpffs of the store"
	events_before=$(events '.type == "blind" or .type == "hook"' | wc -l)
	is "... nobody is blind for it" "$events_before" 0
	sleep 2
	is "... it is said once" "$(times "not mounted any more")" 1
	mount -t bpf bpf "$KPHI_PIN"
	ok "mounted: the store is there again" eventually 20 said "the store is pinned in it as it was"
	is "... as it was" "$(kept | jq -c 'map(del(.[3,4]))')" "$(jq -c 'map(del(.[3,4]))' <<< "$before")"
	is "... who did not die lives its old life" "$(peer_field db2 restarts)" 0
	ok "... with its old window" test "$(beats_of db2)" -gt $((beats + 20))
	is "... and lost no beat" "$(peer_field db2 lost)" 0
	is "... with the modes it had" "$(stat -c '%a %n' "$KPHI_PIN"/abi-*/{control,records,daemon,keys,links} | sed 's,/.*/,,' | xargs)" \
		"600 control 660 records 640 daemon 600 keys 700 links"
	is "... and the device" "$(device b eth0 state)" attached
	ok "... commands work" kphi peer add other id "$(uuid 9)"
	ok "... and a reload" kphi run reload socket "$SOCKET"
	second=$(in_ns b "$KPHI" --pin "$KPHI_PIN" run config "$FILE" 2>&1 || true)
	like "... the store is locked as before" "$second" "another .kphi run. watches this store"
	judges db1 "mounted"
}

# A second time, and somebody makes another store in its place.
replaced() {
	umount -l "$KPHI_PIN"
	ok "again: said" eventually 20 said "not mounted any more" 2
	mount -t bpf bpf "$WORK/elsewhere" # as the place of the new store, which is there at once
	"$KPHI" --pin "$WORK/elsewhere" store create peers 4 window 8 > /dev/null
	mount --move "$WORK/elsewhere" "$KPHI_PIN"
	ok "another store in its place ends the daemon" eventually 20 gone "$(pid_of run)"
	stop run
	is "... with status 1" "$stopped" 1
	like "... and says why" "$(cat "$WORK/run.err")" "Error: .*there is another store in the place of the one that is watched here"
	is "the other store is as it was" "$(kphi -j store show | jq .peers_max)" 4
	kphi store purge > /dev/null
}

# One pin after the other, from a daemon at work. `what` of the command that misses it.
removed() {
	local pin status

	for pin in records control hints; do
		run
		ok "$pin: all are heard" eventually 20 heard "${PEERS[@]}"
		rm "$KPHI_PIN"/abi-*/$pin
		ok "$pin removed: said" eventually 20 said "the pin .$pin. was removed by hand"
		case $pin in
		records) fails "$pin removed: readers say so" "/records: cannot open: No such file.*removed by hand.*kphi store purge" kphi peer show ;;
		control) fails "$pin removed: writers say so" "/control: cannot open the control program.*removed by hand" kphi peer mute db1 for 1s ;;
		hints) fails "$pin removed: who attaches says so" "/hints: cannot open the pinned map.*removed by hand" in_ns b kphi net attach dev eth0 ;;
		esac
		[ $pin = control ] || judges db1 "$pin removed"
		is "$pin removed: said once" "$(times "the pin .$pin. was removed")" 1
		[ $pin = records ] || ok "$pin removed: the peers can be saved" kphi store save "$WORK/saved-$pin"
		stop run
		if [ $pin = hints ]; then
			status=0
			in_ns b "$KPHI" --pin "$KPHI_PIN" run config "$FILE" > /dev/null 2> "$WORK/err" || status=$?
			like "$pin removed: no daemon starts" "$status $(cat "$WORK/err")" "^1 Error: .*hints: cannot open.*kphi store purge"
		fi
		ok "$pin removed: it is purged" kphi store purge
	done
	ok "what was saved comes back" kphi store restore "$WORK/saved-hints"
	is "... all of it" "$(kphi -j peer show | jq -c 'map(.name) | sort')" '["db1","db2","db3"]'
}

# The folder of the links is only a folder.
links() {
	run
	ok "links: all are heard" eventually 20 heard "${PEERS[@]}"
	rm -r "$KPHI_PIN"/abi-*/links
	ok "links removed: the device is lost" eventually 20 has '.type == "hook" and .cause == "begun" and .subject == "eth0"'
	ok "... nobody is suspected, all are blind" eventually 20 has '.type == "blind" and .cause == "hook"' 3
	ok "... it is attached again by hand" in_ns b kphi net attach dev eth0
	ok "... and heard" eventually 20 has '.type == "sighted"' 3
	is "... nobody was suspected meanwhile" "$(events '.type == "suspect"' | wc -l)" 0
}

# The whole folder: that is a purge by hand.
folder() {
	rm -r "$KPHI_PIN"/abi-*
	ok "the folder removed: the daemon ends" eventually 20 gone "$(pid_of run)"
	stop run
	is "... with status 1" "$stopped" 1
	ok "... and says so" said "Error: .*the store was purged"
	run
	ok "... a start makes a new one" eventually 20 heard "${PEERS[@]}"
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
mkdir "$WORK/elsewhere"
write_file
for name in "${PEERS[@]}"; do sender "$name"; done
run
ok "all are heard" eventually 20 heard "${PEERS[@]}"
unmounted
replaced
removed
links
folder
