#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Too few descriptors, too little memory: who cannot start says so, a daemon at work refuses what it cannot do, once, and goes
# on judging; with more of it everything works again.

. "$(dirname "$0")/faults.bash"

PEERS=(db1 db2 db3)
MORE=''


# attempt LIMIT N REGEX WORDS: a command under `ulimit LIMIT N`. It works, or says what it lacks (REGEX), each of which is counted, or
# cannot even be loaded. Fails, with its `status`, if it does anything else.
attempt() {
	status=0
	# shellcheck disable=SC2086 # words
	in_ns b bash -c 'ulimit "$0" "$1"; exec "${@:2}"' "$1" "$2" timeout 20 "$KPHI" --pin "$KPHI_PIN" $4 \
		> "$WORK/out" 2> "$WORK/err" || status=$?
	if [ $status = 0 ]; then
		worked=$((worked + 1))
	elif [ $status = 1 ] && grep -qE "$3" "$WORK/out" "$WORK/err"; then
		refused=$((refused + 1))
	else
		grep -q "error while loading shared libraries" "$WORK/err"
	fi
}

# instead WORDS LIMIT: what an attempt did instead
instead() {
	echo "$1, $2: $status $(cat "$WORK/err" "$WORK/out")"
}

# Commands either do their work or say what they lack.
commands() {
	local n words bad='' worked=0 refused=0 status

	for words in "-j peer show" "-j net show" "-j store show" "-j guard show" "peer mute db1 for 1s" "store save $WORK/saved" \
		"net attach dev eth0" "trace record $WORK/l.trace for 50ms"; do
		for n in 4 6 9 14 20 26 40; do
			rm -f "$WORK/l.trace"
			attempt -n $n "Too many open files|descriptors are left" "$words" || bad+=$(instead "$words" "$n descriptors")$'\n'
		done
	done
	is "with few descriptors commands work or say what they lack" "$bad" ""
	between "... some worked" $worked 8 56
	between "... some said so" $refused 8 56
	is "... the peers are as they were" "$(kphi -j peer show | jq -c 'map(.name) | sort')" '["db1","db2","db3"]'
	is "... and the device" "$(device b eth0 state)" attached
	ok "... and a new one can be recorded" in_ns b kphi trace record "$WORK/new.trace" for 50ms
}

starts() {
	local n started=0 refused=0 bad='' status

	for n in 12 18 24 28 30 31 32 33; do
		status=0
		in_ns b timeout 2 bash -c 'ulimit -n "$0"; exec "$@"' $n "$KPHI" --pin "$KPHI_PIN" run config "$FILE" \
			> "$WORK/out" 2> "$WORK/err" || status=$?
		if [ $status = 1 ] && grep -qE "^Error: .*(Too many open files|descriptors are left|cannot make an event loop)" "$WORK/err"; then
			refused=$((refused + 1))
		elif [ $status = 0 ] || [ $status = 124 ]; then
			started=$((started + 1))
		else
			bad+="$n descriptors: $status $(cat "$WORK/err")"$'\n'
		fi
	done
	is "a daemon starts, or says what it lacks" "$bad" ""
	between "... it was refused" $refused 4 8
	note "$started started"
}

# used PID: how many descriptors it has
used() {
	find "/proc/$1/fd" -type l | wc -l
}

# Every descriptor below the limit is taken: by clients, until no more are served.
squeeze() {
	local pid n i

	pid=$(pid_of run)
	n=$(used "$pid")
	prlimit --pid "$pid" --nofile="$n:4096"
	for ((i = 0; i < 12; i++)); do
		start "client$i" kphi event follow socket "$SOCKET"
	done
	ok "clients are refused" eventually 20 said "clients cannot be served: Too many open files"
	ok "... and told so" eventually 20 grep -q "has no descriptor left for another client" "$WORK"/client*.log
}

release() {
	prlimit --pid "$(pid_of run)" --nofile=4096:4096
}

at_work() {
	local before

	run
	ok "all are heard" eventually 20 heard "${PEERS[@]}"
	squeeze
	before=$(cpu_ms "$(pid_of run)")
	judges db1 "without descriptors"
	between "... a daemon that cannot serve does not spin (ms of CPU)" "$(($(cpu_ms "$(pid_of run)") - before))" 0 1500
	is "... it is said once" "$(times "clients cannot be served")" 1
	ok "... commands that cannot be run are an event" eventually 20 has '.type == "exec" and (.detail | test("cannot be run: Too many open files"))'
	kill -HUP "$(pid_of run)"
	ok "... a reload is refused" eventually 20 said "refused, the former configuration stays in force: .*Too many open files"
	bpftool link detach id "$(device b eth0 link_id)" > /dev/null
	ok "... devices cannot be looked at, or are" eventually 20 sh -c \
		"grep -q 'devices cannot be looked at: Too many open files' '$WORK/run.err' || grep -q '\"type\":\"hook\"' '$(log_of run)'"
	release
	ok "released: the hook is found lost" eventually 20 has '.type == "hook" and .cause == "begun"'
	in_ns b kphi net attach dev eth0 > /dev/null 2>&1
	ok "... and the device heard again" eventually 20 has '.type == "hook" and .cause == "ended"'
	ok "... clients are served" eventually 20 kphi event socket "$SOCKET"
	ok "... a reload is done" kphi run reload socket "$SOCKET"
	judges db1 "released"
	ok "... commands are run" eventually 20 grep -q '"type":"trust"' "$WORK/executed"
	before=$(find "/proc/$(pid_of run)/fd" -type l | wc -l)
	for ((i = 0; i < 12; i++)); do stop "client$i"; done
	ok "... and no descriptor is lost" eventually 20 sh -c "[ \$(find /proc/$(pid_of run)/fd -type l | wc -l) -le $before ]"
	stop run
}

# An address space, and locked memory, of so much.
memory() {
	local mib status bad='' worked=0 refused=0 words

	for words in "-j peer show" "-j peer show metrics" "store save $WORK/saved" "trace show $WORK/new.trace" "run config $FILE check"; do
		for mib in 24 32 40 64 512; do
			attempt -v $((mib * 1024)) "[Mm]emory" "$words" || [ "$status" = 127 ] || bad+=$(instead "$words" "$mib MiB")$'\n'
		done
	done
	is "with little memory commands work or say so, and none dies of a signal" "$bad" ""
	between "... some worked" $worked 5 25
	note "$refused said so; the rest could not even be loaded"
	ok "RLIMIT_MEMLOCK of nothing is in nobody's way" in_ns b bash -c 'ulimit -l 0; exec "$@"' x "$KPHI" --pin "$KPHI_PIN" net attach dev eth0
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
write_file
sed -i "s|clear: 4}|clear: 4, exec: 'cat >> $WORK/executed', exec_burst: 100}|" "$FILE"
for name in "${PEERS[@]}"; do sender "$name"; done
starts
at_work
commands
memory
