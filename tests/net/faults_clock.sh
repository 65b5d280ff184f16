#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The wall clock steps, forwards and backwards, for the daemon and for senders. This machine's clock stays as it is: a library
# that is loaded before the others tells these processes another time of day. Nobody is suspected or missed for it, epochs and
# tokens only go up, and events tell the time that it is said to be. And a time namespace, whose monotonic clock is another
# one, is refused.

. "$(dirname "$0")/faults.bash"

cat > "$WORK/clock.c" << 'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The seconds in the file $CLOCK are added to the time of day, and to nothing else. */
static long offset(void)
{
	FILE *file = fopen(getenv("CLOCK"), "re");
	long seconds = 0;

	if (file && fscanf(file, "%ld", &seconds) != 1)
		seconds = 0;
	if (file)
		fclose(file);
	return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int err = (int)syscall(SYS_clock_gettime, clock, t);

	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += offset();
	return err;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
C
gcc -shared -fPIC -O2 -o "$WORK/clock.so" "$WORK/clock.c"
FAKE=(env LD_PRELOAD="$WORK/clock.so" CLOCK="$WORK/clock")
DAY=86400

# step SECONDS: from now on the wall clock is so far off
step() {
	echo "$1" > "$WORK/clock.new"
	mv "$WORK/clock.new" "$WORK/clock"
}

marked=0
since() { # FILTER
	tail -n "+$((marked + 1))" "$(log_of run)" | jq -cR "fromjson? | select(.type) | select($1)"
}

fake_sender() { # NAME
	start "$1" in_ns a "${FAKE[@]}" "$KPHI" beat to 10.0.0.2 id "$(uuid "${1#db}")" state "$WORK/state-${1#db}" interval 100ms
}

# the year in which the last event was told
last_year() {
	events true | tail -n 1 | jq -r '.time[0:4]'
}

an_event() { # something to tell: a reload
	kphi run reload socket "$SOCKET" > /dev/null
}

token() {
	sed 's/.* 0*//' "$STATE/token"
}

steps() {
	local offset this before

	this=$(date -u +%Y)
	marked=$(wc -l < "$(log_of run)")
	for offset in $((400 * DAY)) $((-400 * DAY)) 0 -3600 3600; do
		before=$(peer_field db2 beats)
		step $offset
		ok "$offset s: beats go on" eventually 20 beats_reach db2 $((before + 15))
		an_event
		case $offset in
		34560000) between "$offset s: the daemon's clock has stepped" "$(last_year)" $((this + 1)) $((this + 2)) ;;
		-34560000) between "$offset s: the daemon's clock has stepped" "$(last_year)" $((this - 2)) $((this - 1)) ;;
		esac
	done
	is "nobody was suspected" "$(since '.type == "suspect"')" ""
	is "nor held, nor was anybody blind" "$(since '.type == "hold" or .type == "blind" or .type == "restart"')" ""
	is "nor is a beat lost, or stale" "$(kphi -j peer show | jq '[.[] | .lost + .stale] | add')" 0
	is "nor an interval out of the ordinary learned" "$(kphi -j peer show | jq 'map(select(.mean_ns < 90e6 or .mean_ns > 150e6)) | length')" 0
}

# A death is found by a daemon whose clock stands anywhere.
dies() {
	local deaths=$1

	deaths=$((deaths + first_deaths))
	stop db1 KILL 2> /dev/null
	ok "$2: a death is found" eventually 20 has '.type == "suspect" and .peer == "db1"' $deaths
	fake_sender db1
	ok "$2: a return is believed" eventually 20 has '.type == "trust" and .peer == "db1"' $deaths
}

# Lives of a sender on a clock that is a year behind, then right, then ahead by less than observers allow.
epochs() {
	local first second third

	marked=$(wc -l < "$(log_of run)")
	first_deaths=$(events '.type == "suspect" and .peer == "db1"' | wc -l)
	first=$(peer_field db1 epoch)
	step $((-400 * DAY))
	dies 1 "a sender whose clock fell back"
	second=$(peer_field db1 epoch)
	ok "its epoch goes up all the same" test "$second" -gt "$first"
	step 3600
	dies 2 "a sender whose clock is ahead"
	third=$(peer_field db1 epoch)
	between "its epoch is its clock's" "$third" $((second + 1)) $(($(date +%s) + 3700))
	step 0
	dies 3 "a sender whose clock is right again"
	ok "its epoch still goes up" test "$(peer_field db1 epoch)" -gt "$third"
	is "nobody else was suspected" "$(since '.type == "suspect"' | jq -r .peer | sort -u | xargs)" db1
}

tokens() {
	local before

	before=$(token)
	stop run
	step $((-400 * DAY))
	run "${FAKE[@]}"
	ok "a start on a clock that fell back: the token goes up" test "$(token)" -gt "$before"
	ok "... all are heard" eventually 20 heard "${PEERS[@]}"
	is "... and trusted" "$(kphi -j peer show | jq -c 'map(.verdict) | unique')" '["trust"]'
	stop run
	step 0
}

# The mute of a saved store ends by the wall clock, because there is no other over a reboot.
mutes() {
	kphi peer mute db3 for 1h reason "a disk" > /dev/null
	step $((2 * DAY))
	"${FAKE[@]}" "$KPHI" --pin "$KPHI_PIN" store save "$WORK/saved" > /dev/null
	kphi store purge > /dev/null
	"${FAKE[@]}" "$KPHI" --pin "$KPHI_PIN" store restore "$WORK/saved" > /dev/null
	between "a mute saved and restored on the same clock goes on" "$(peer_field db3 muted_for_ns)" 3000000000000 3600000000000
	kphi store purge > /dev/null
	kphi store restore "$WORK/saved" > /dev/null
	between "on a clock that fell back two days it is as long as it was, not two days longer" \
		"$(peer_field db3 muted_for_ns)" 3000000000000 3600000000000
}

namespaces_of_time() {
	local way=(unshare --time --fork --monotonic 1000)

	"${way[@]}" true 2> /dev/null || { skip "a time namespace" "this kernel has none" && return; }
	fails "a time namespace: a reader" "this process is in a time namespace, whose monotonic clock is 1000 s off" \
		"${way[@]}" "$KPHI" --pin "$KPHI_PIN" peer show
	fails "a time namespace: the daemon" "time namespace.*nsenter --time=/proc/1/ns/time" \
		in_ns b "${way[@]}" "$KPHI" --pin "$KPHI_PIN" run config "$FILE"
	ok "one without a difference is none" unshare --time --fork "$KPHI" --pin "$KPHI_PIN" peer show
}

ns_add a
ns_add b
veth_pair a eth0 10.0.0.1/24 b eth0 10.0.0.2/24
meet eth0 10.0.0.2
SETTING="pause: 500ms"
write_file
step 0
for name in "${PEERS[@]}"; do fake_sender "$name"; done
run "${FAKE[@]}"
ok "all are heard" eventually 20 heard "${PEERS[@]}"
steps
epochs
tokens
namespaces_of_time
mutes
