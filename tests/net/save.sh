#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A reboot for the store: saved, purged, restored. Settings come back, windows do not, and no epoch is accepted that is
# older than the last one heard before.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/pair.bash"

SAVED=$WORK/store

# settings: of all peers, what a reboot must not change
settings() {
	kphi -j peer show | jq -S -c 'map({name, host, id, from, model, interval_ns, min_std_ns, pause_ns, max_interval_ns,
		mute_reason, epoch}) | sort_by(.name)'
}

restore() {
	kphi -j store restore "$SAVED"
}

reboot() {
	kphi store purge > /dev/null
	restore > "$WORK/restored"
}

# refused NAME REGEX: restoring is, with this sentence, and nothing has changed
refused() {
	local before after said status=0

	before=$(kphi -j peer show)
	said=$(kphi store restore "$SAVED" 2>&1) || status=$?
	after=$(kphi -j peer show)
	like "refused: $1" "$status $said" "^1 .*$2.*Nothing was restored"
	is "refused: $1: nothing has changed" "$(jq -c 'map({name, id, generation, epoch})' <<< "$after")" \
		"$(jq -c 'map({name, id, generation, epoch})' <<< "$before")"
}

peers() {
	kphi store create peers 32 window 16 > /dev/null
	kphi peer add native id "$(uuid 1)" interval 50ms host "rack 7" > /dev/null
	kphi peer add 'with "quotes" and a €' id "$(uuid 2)" model akka min-std 3ms pause 1s max-interval 2s interval 20ms > /dev/null
	kphi peer add rule4 from 10.0.0.9 port 4000 > /dev/null
	kphi peer add rule6 from fd00:10::9 port 4001 model exponential interval 1s > /dev/null
	kphi peer mute rule4 for 1h reason "new disk" > /dev/null
}

kept() {
	local before

	pair
	start native in_ns a kphi beat to 10.0.0.2 id "$(uuid 1)" interval 50ms state "$WORK/epoch"
	ok "beats arrive" eventually 20 beats_reach native 20
	before=$(settings)
	is "save says what it did" "$(kphi -j store save "$SAVED")" "{\"saved\":\"$SAVED\",\"peers\":4}"
	stop native KILL # it says no goodbye, and its next epoch is a later one
	reboot
	is "restore says what it did" "$(cat "$WORK/restored")" "{\"restored\":\"$SAVED\",\"peers\":4,\"kept\":0}"
	is "all settings are back" "$(settings)" "$before"
	is "the store has its old size" "$(kphi -j store show | jq -c '[.peers_max, .window]')" "[32,16]"
	is "nobody was heard yet" "$(kphi -j peer show | jq -c 'map(.state) | unique')" '["waiting"]'
	is "windows do not come back" "$(kphi -j peer show | jq 'map(.samples) | add')" 0
	between "the mute goes on" "$(peer_field rule4 muted_for_ns)" 3000000000000 3600000000000
	is "twice is once" "$(restore)" "{\"restored\":\"$SAVED\",\"peers\":0,\"kept\":4}"
	is "rules hear" "$(kphi -j net show | jq -c .rule_ports)" "[4000,4001]"
}

# old_beats EPOCH: five heartbeats of the native peer from that life
old_beats() {
	python3 "$ROOT/tests/net/frame.py" "$(uuid 1)" "$1" 10.0.0.1 10.0.0.2 5 | in_ns a "$TOOLS/rawsend" eth0
}

epochs() {
	local saved

	saved=$(peer_field native epoch)
	attach b eth0
	old_beats $((saved - 1)) > /dev/null
	ok "a life before the saved one is stale" eventually 10 stale_reaches native 5
	is "and not believed" "$(peer_field native state)/$(peer_field native epoch)" "waiting/$saved"
	like "that is said" "$(peer_field native reason)" "no beat yet.*epoch before the saved one \\($saved\\)"
	start native in_ns a kphi beat to 10.0.0.2 id "$(uuid 1)" interval 50ms state "$WORK/epoch"
	ok "a later life is up" eventually 10 state_is native up
	between "in its own epoch" "$(peer_field native epoch)" $((saved + 1)) 99999999999
	is "it is its first one here" "$(peer_field native restarts)" 0
	stop native
	reboot
	attach b eth0
	kphi peer reset native > /dev/null
	old_beats $((saved - 1)) > /dev/null
	ok "a reset accepts it" eventually 10 state_is native up
	kphi peer del native > /dev/null
	restore > /dev/null
}

stale_reaches() {
	[ "$(peer_field "$1" stale)" -ge "$2" ]
}

damage() {
	kphi peer del rule6 > /dev/null
	cp "$SAVED" "$WORK/good"
	sed -i '3s/akka/akkb/' "$SAVED"
	refused "a changed letter" "line 3: damaged"
	head -c -1 "$WORK/good" > "$SAVED"
	refused "a byte cut off" "line 6: it has no end: the file was cut off"
	sed '$d' "$WORK/good" > "$SAVED"
	refused "the last line lost" "line 6: missing: the file was cut off"
	sed '2d' "$WORK/good" > "$SAVED"
	refused "a line lost" "line 2: damaged, or a line before it is missing"
	: > "$SAVED"
	refused "nothing" "line 1: missing"
	cp "$KPHI" "$SAVED"
	refused "something else" "line 1: "
	cp "$WORK/good" "$SAVED"
	ok "a folder is no saved store" ! kphi store restore "$WORK"
	ok "a file that is not there" ! kphi store restore "$WORK/nowhere"
}

conflicts() {
	kphi peer del native > /dev/null
	kphi peer add native id "$(uuid 9)" > /dev/null
	refused "a name with another identity" "line 2: native: a peer of that name, but with another identity, is in the store"
	kphi peer del native > /dev/null
	kphi peer add other id "$(uuid 1)" > /dev/null
	refused "an identity of another name" "line 2: native: its identity belongs to other in the store"
	kphi peer del other > /dev/null
	ok "without conflicts: restored" restore
	is "what was missing, and only that" "$(kphi -j peer show | jq -c 'map(.name) | sort')" \
		'["native","rule4","rule6","with \"quotes\" and a €"]'
}

# A store that is too small takes nothing at all.
no_room() {
	kphi store purge > /dev/null
	kphi store create peers 3 > /dev/null
	refused "no room" "4 peers to add, but the store has room for 3 more"
}

atomic() {
	kphi store purge > /dev/null
	restore > /dev/null
	ok "a place that is none is an error" ! kphi store save "$WORK/nowhere/store"
	mknod "$WORK/device" c 1 3
	ok "a device is an error" ! kphi store save "$WORK/device"
	ok "and stays a device" test -c "$WORK/device"
	ok "an old file is replaced" kphi store save "$SAVED"
	is "nothing else is left" "$(find "$WORK" -name 'store*' | wc -l)" 1
	is "what was saved is the same again" "$(sed 1d "$SAVED" | cut -d' ' -f2-)" "$(sed 1d "$WORK/good" | cut -d' ' -f2- |
		sed "s/\"mute_left_ns\":[0-9]*/$(grep -o '"mute_left_ns":[0-9]*' "$SAVED")/; s/\"muted_until_s\":[0-9]*/$(grep -o '"muted_until_s":[0-9]*' "$SAVED")/")"
	kphi store purge > /dev/null
	ok "no store: nothing to save" ! kphi store save "$SAVED"
	ok "and the file is as it was" restore
}

# The units that do this at shutdown and boot.
units() {
	local unit

	type -P systemd-analyze > /dev/null || { skip "units are valid" "no systemd-analyze here" && return; }
	mkdir "$WORK/units"
	for unit in kphi.service kphi-store.service run-kphi-bpf.mount; do
		sed "s|/usr/bin/kphi|$KPHI|" "$ROOT/dist/$unit" > "$WORK/units/$unit"
	done
	is "units are valid" "$(SYSTEMD_UNIT_PATH=$WORK/units:/lib/systemd/system systemd-analyze verify "$WORK"/units/* 2>&1)" ""
}

peers
kept
epochs
damage
conflicts
no_room
atomic
units
