#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kphi top in a terminal that tmux emulates: what it shows, what keys do, any size, and every way out.

. "$(dirname "$0")/pair.bash"

# --- a terminal -------------------------------------------------------------------------------------------------------

tm() {
	tmux -u -S "$WORK/tmux" "$@"
}

# terminal [LOCALE]: a server of its own, 80x24, with a shell in it
terminal() {
	printf 'set -g status off\nset -g escape-time 0\nset -g default-terminal screen-256color\n' > "$WORK/tmux.conf"
	printf 'PS1="> "\nunset HISTFILE\nexport LC_ALL=%s\n' "${1:-C.UTF-8}" > "$WORK/bashrc"
	start tmux tmux -u -D -S "$WORK/tmux" -f "$WORK/tmux.conf"
	eventually 10 tm new-session -d -s top -x 80 -y 24 "bash --rcfile $WORK/bashrc"
	ok "a terminal (${1:-C.UTF-8})" eventually 10 shows '^> *$'
}

terminal_end() {
	tm kill-server
	stop tmux
}

keys() {
	tm send-keys -t top: "$@"
}

type_line() {
	keys -l "$1"
	keys Enter
}

screen() {
	tm capture-pane -p -t top:
}

# Conditions.
shows() {
	screen | grep -aqE -- "$1"
}

hides() {
	! shows "$1"
}

alternate() { # ON: is the alternate screen
	[ "$(tm display-message -p -t top: '#{alternate_on}')" = "$1" ]
}

size_is() { # COLUMNS LINES, as the program in it sees it
	[ "$(stty -F "$(tm display-message -p -t top: '#{pane_tty}')" size)" = "$2 $1" ]
}

resize_window() { # COLUMNS LINES
	tm resize-window -t top: -x "$1" -y "$2"
}

# The same, and until the program can see it: tmux takes its time.
resize() {
	resize_window "$@"
	eventually 10 size_is "$@"
}

# The row of a peer.
row() {
	screen | grep -aE -- "(^| )$1 "
}

row_shows() { # PEER REGEX
	row "$1" | grep -aqE -- "$2"
}

# The peers of the table, from top to bottom.
order() {
	screen | grep -aoE -- '\b(db1|db2|db3|web4|never5)\b' | tr '\n' ' '
}

order_is() {
	[ "$(order)" = "$1 " ]
}

# --- the program in it ------------------------------------------------------------------------------------------------

# begin [WORD...]: `kphi top` with these words; what the terminal was like is kept for ended()
begin() {
	begun=$((begun + 1)) # what one waits for must not be on the screen already
	type_line "clear; stty -a > $WORK/before; echo before top $begun"
	eventually 10 shows "^before top $begun\$"
	type_line "${ENV-}$KPHI --pin $KPHI_PIN top $*"
	eventually 20 shows 'by [a-z]+ ' || fail "top began: $*" "$(screen)"
}

begun=0

pid_of_top() {
	pgrep -nf "^$KPHI --pin $KPHI_PIN top"
}

# ended NAME STATUS: it has, with this status, and the terminal is as it was
ended() {
	ok "$1: the usual screen is back" eventually 10 alternate 0
	ok "$1: with what was on it" eventually 10 shows "^before top $begun\$"
	is "$1: the cursor is seen" "$(tm display-message -p -t top: '#{cursor_flag}')" 1
	type_line "echo \"ended: \$?\"; stty -a > $WORK/after; echo done $begun"
	ok "$1: done" eventually 10 shows "^done $begun\$"
	ok "$1: status $2" shows "^ended: $2\$"
	is "$1: the terminal is as it was" "$(cat "$WORK/after")" "$(cat "$WORK/before")"
}

# --- what it shows ----------------------------------------------------------------------------------------------------

cast() {
	local i

	for i in 1 2 3; do
		kphi peer add "db$i" id "$(uuid $i)" interval 100ms host "rack$i" > /dev/null
		beat "db$i" $i 10.0.0.2 interval 100ms
	done
	kphi peer add web4 id "$(uuid 4)" interval 200ms model exponential > /dev/null
	beat web4 4 10.0.0.2 interval 200ms
	kphi peer add never5 id "$(uuid 5)" > /dev/null
	for i in db1 db2 db3 web4; do
		eventually 20 beats_reach $i 15
	done
}

rows_appear() {
	begin every 200ms
	ok "the alternate screen" alternate 1
	for i in db1 db2 db3 web4; do
		ok "$i is up" eventually 10 row_shows $i '^up '
	done
	ok "never5 waits" row_shows never5 '^waiting '
	like "phi has its model" "$(row web4)" ' [0-9]+\.[0-9]{3} expo'
	like "the head: use of the store" "$(screen | head -1)" '5 of 1024 peers'
	like "the head: the guard, the daemon, sort, interval" "$(screen | sed -n 2p)" \
		'(no stalls|stall).*no daemon  by phi  every 200ms'
	like "the footer" "$(screen | tail -1)" '^q quit  h help'
	stop db2 KILL 2> /dev/null
	ok "the killed one is suspect" eventually 20 row_shows db2 '^suspect '
	like "and the first" "$(order)" '^db2 '
	ok "counted" eventually 20 shows '^1 suspect  0 held'
	ok "its history fills up" eventually 10 row_shows db2 '█'
	ok "that of the others does not" ! row_shows db1 '█'
}

sorting() {
	keys s
	ok "s: by name" eventually 5 order_is "db1 db2 db3 never5 web4"
	like "s: said so" "$(screen | sed -n 2p)" 'by name'
	keys r
	ok "r: the other way round" eventually 5 order_is "web4 never5 db3 db2 db1"
	keys r s
	ok "s: by host, those without one last" eventually 5 order_is "db1 db2 db3 never5 web4"
	keys s
	ok "s: by silence" eventually 5 shows 'by silence'
	like "s: the longest first, who never spoke last" "$(order)" '^db2 .*never5 $'
	keys s s s
	ok "s: and round again" eventually 5 shows 'by phi'
}

filtering() {
	keys /
	keys -l "RACK"
	ok "/: live, by host" eventually 5 eval '! shows web4 && shows db1 && shows "filter: RACK"'
	keys -l 2
	ok "/: one is left" eventually 5 order_is db2
	keys BSpace
	ok "/: backspace" eventually 5 shows db1
	keys Enter
	ok "/: Enter keeps it" eventually 5 shows "filter 'RACK'"
	keys Escape
	ok "Esc clears it" eventually 5 shows web4
	keys / q Escape
	ok "/: its letters are no keys" eventually 5 shows web4
}

# The silence of the dead one grows; then it does not.
pausing() {
	local first

	first=$(row db2)
	ok "unpaused, figures move" eventually 10 eval '[ "$(row db2)" != "'"$first"'" ]'
	keys p
	ok "p: paused" eventually 5 shows PAUSED
	first=$(screen)
	sleep 1.5
	is "p: nothing moves" "$(screen)" "$first"
	keys s
	ok "p: but sorting does" eventually 5 shows 'by name'
	keys s s s s s
	keys Space
	ok "p: it goes on" eventually 10 eval 'hides PAUSED && [ "$(row db2)" != "'"$(grep -a db2 <<< "$first")"'" ]'
}

details() {
	keys Home Enter
	ok "Enter: the first peer" eventually 5 shows '^db2: suspect, phi [0-9.]+ \(normal\), silent for'
	ok "Enter: why" shows '^silent for .*phi has reached 8'
	ok "Enter: facts" shows '^standard deviation: '
	ok "Enter: the intervals" shows '[0-9]+ intervals'
	ok "Enter: their histogram" shows '[0-9]+(\.[0-9]+)?ms +[0-9]+ #+'
	ok "Enter: phi over time" shows 'phi \(normal\) of the last'
	ok "what is further down is not seen" hides '^sequence: '
	keys End
	ok "End: it is" eventually 5 shows '^sequence: '
	keys Escape
	ok "Esc: back" eventually 5 shows '^STATE'
	keys Down Down Enter
	ok "another one" eventually 5 shows '^(db1|db3|web4): up, '
	keys '?'
	ok "help" eventually 5 shows '^Keys'
	keys Escape Escape
	ok "back again" eventually 5 shows '^STATE'
	keys + ; ok "+: less often" eventually 5 shows 'every 500ms'
	keys - ; ok "-: more often" eventually 5 shows 'every 200ms'
}

# --- sizes ------------------------------------------------------------------------------------------------------------

sizes() {
	local i

	resize 40 10
	ok "40x10: letters for states" eventually 10 row_shows db2 '^S db2 .*norm'
	is "40x10: no line is longer" "$(screen | awk 'length > 120')" ""
	like "40x10: the footer is the last line" "$(screen | sed -n 10p)" '^q quit'
	resize 80 24
	ok "80x24: whole words" eventually 10 row_shows db2 '^suspect  db2'
	resize 132 40
	ok "132x40: reasons" eventually 10 row_shows db2 'silent for'
	for i in 12x3 5x2 1x1 200x60; do
		resize ${i%x*} ${i#*x}
	done
	for ((i = 0; i < 100; i++)); do
		resize_window $((1 + i * 37 % 150)) $((1 + i * 17 % 50))
	done
	resize 80 24
	ok "after a hundred quick resizes it is as before" eventually 20 row_shows db2 '^suspect  db2 .*%$'
	like "footer and all" "$(screen | sed -n 24p)" '^q quit'
}

# --- the ways out -----------------------------------------------------------------------------------------------------

ways_out() {
	local signal

	keys q
	ended "q" 0
	for signal in TERM:143 HUP:129 INT:130; do
		begin
		kill "-${signal%:*}" "$(pid_of_top)"
		ended "SIG${signal%:*}" "${signal#*:}"
	done
	begin
	keys C-c
	ended "Ctrl-C" 130
	for signal in SEGV:139 ABRT:134; do
		begin
		kill "-${signal%:*}" "$(pid_of_top)"
		ended "a crash by SIG${signal%:*}" "${signal#*:}"
	done
}

stopped_and_resumed() {
	begin every 200ms
	keys C-z
	ok "Ctrl-Z: the usual screen" eventually 10 alternate 0
	ok "Ctrl-Z: stopped" eventually 10 shows 'Stopped'
	type_line 'stty -a > '"$WORK/stopped"'; echo stopped too'
	ok "Ctrl-Z: a shell" eventually 10 shows '^stopped too'
	is "Ctrl-Z: the terminal is as it was" "$(cat "$WORK/stopped")" "$(cat "$WORK/before")"
	resize 40 10
	type_line fg
	ok "fg: it goes on, at the size of now" eventually 10 row_shows db2 '^S db2'
	resize 80 24
	ok "fg: and follows it" eventually 10 row_shows db2 '^suspect  db2'
	keys q
	ended "after fg" 0
}

# --- terminals --------------------------------------------------------------------------------------------------------

colours() {
	tm capture-pane -e -p -t top: | grep -acE $'\e\\[([0-9]+;)*3[1-7]' || true
}

terminals() {
	begin
	between "colours" "$(colours)" 2 24
	keys q
	ended colours 0
	ENV="NO_COLOR=1 " begin
	is "NO_COLOR: none" "$(colours)" 0
	ok "NO_COLOR: the state is a word" eventually 20 row_shows db2 '^suspect'
	keys q
	ended NO_COLOR 0
	for term in xterm-256color linux screen; do
		ENV="TERM=$term " begin
		ok "$term: rows" eventually 20 row_shows db2 '^suspect'
		keys q
		ok "$term: quits" eventually 10 shows '^> *$'
	done
	ENV="TERM=vt100 " begin
	is "vt100: no colours" "$(colours)" 0
	ok "vt100: rows" eventually 20 row_shows db2 '^suspect'
	keys q
	ok "vt100: quits" eventually 10 shows '^> *$'
	type_line clear
	for term in "" dumb no-such-terminal; do
		type_line "clear; TERM=$term $KPHI --pin $KPHI_PIN top; echo \"ended: \$?\""
		ok "TERM='$term': a sentence" eventually 10 eval 'shows "^Error: top: TERM is" && shows "^ended: 1"'
	done
	terminal_end

	terminal C
	begin
	ok "in the C locale: ASCII" eventually 10 row_shows db2 '##'
	is "in the C locale: nothing else" "$(screen | grep -acP '[^\x00-\x7f]')" 0
	keys q
	ended "in the C locale" 0
}

# --- where there is none ----------------------------------------------------------------------------------------------

# A stall of this host, which a busy one has, turns suspect into held for a moment.
same_as_peer_show() {
	[ "$(kphi -j top | jq -cS '[.peers[] | {name, state, model}] | sort_by(.name)')" = \
		"$(kphi -j peer show | jq -cS '[.[] | {name, state, model}] | sort_by(.name)')" ]
}

figures_are() { # JSON
	[ "$(kphi -j top | jq -c '[.used, .capacity, .suspect, .held, .blind, .daemon_pid]')" = "$1" ]
}

accuses() { # [WORD...]
	local status=0

	kphi --exit-status top "$@" > /dev/null || status=$?
	[ $status = 3 ]
}

plain() {
	local text

	text=$(kphi top)
	like "plain: a table" "$text" $'\nPEER .*STATE .*PHI .*MODEL'
	is "plain: no escape sequences" "$(grep -c $'\e' <<< "$text")" 0
	is "plain: the most suspicious first" "$(sed -n 3p <<< "$text" | cut -d' ' -f1)" db2
	is "JSON: the same" "$(kphi -j top | jq -r '[.peers[].name] | sort | join(" ")')" "db1 db2 db3 never5 web4"
	ok "JSON: as peer show has it" eventually 10 same_as_peer_show
	ok "JSON: figures" eventually 20 figures_are '[5,1024,1,0,0,null]'
	is "sort and filter" "$(kphi -j top sort name filter db | jq -r '[.peers[].name] | join(" ")')" "db1 db2 db3"
	ok "--exit-status: 3" eventually 20 accuses
	ok "--exit-status: of those shown" kphi --exit-status top filter db1
	is "'once' in a terminal" "$(script -qec "$KPHI --pin $KPHI_PIN top once" "$WORK/typed" < /dev/null | grep -c PEER)" 1
}

# A daemon knows more: whose thresholds are reached, and that a silence of all of them is this host's matter.
watched() {
	cat > "$WORK/kphi.yaml" << END
devices: [{name: eth0}]
outputs: {socket: $WORK/event.sock}
state: $WORK/state
consumers:
  - {name: pager, suspect: 8, clear: 4}
  - {name: router, suspect: 3, clear: 1}
END
	start run in_ns b kphi run config "$WORK/kphi.yaml"
	resize 160 24
	begin every 200ms
	ok "the daemon lives" eventually 20 shows "daemon $(pid_of run) "
	ok "its consumers, by name" eventually 20 row_shows db2 '^suspect .* pager,router '
	ok "JSON: as well" eventually 5 eval \
		'[ "$(kphi -j top filter db2 | jq -c ".peers[0].suspected_by")" = "[\"pager\",\"router\"]" ]'
	ok "who lives has none" row_shows db1 '^up .* - '
	for i in db1 db3 web4; do
		stop "$i" KILL 2> /dev/null
	done
	ok "all at once: held, not suspect" eventually 20 row_shows db1 '^held .* \((pager,)?router\) .*held by the daemon: too many'
	ok "counted" eventually 5 eval 'screen | head -1 | grep -qE " [123] held"'
	ok "db2 is suspect as before" eventually 20 row_shows db2 '^suspect'
	stop run KILL 2> /dev/null
	ok "without it, everybody judges for himself" eventually 20 row_shows db1 '^suspect'
	ok "and says that it is gone" shows 'no daemon'
	keys q
	ended "with a daemon" 0
	resize 80 24
}

# It is purged and made anew under the eyes of who looks.
store_comes_and_goes() {
	begin every 200ms
	kphi store purge > /dev/null
	ok "purged: it says so" eventually 10 shows 'The store is gone'
	ok "purged: how to make one" shows 'there is no store yet'
	kphi peer add anew6 id "$(uuid 6)" > /dev/null
	ok "back: the new one's peers" eventually 10 row_shows anew6 waiting
	keys q
	ended "after that" 0
	kphi store purge > /dev/null
	type_line "clear; $KPHI --pin $KPHI_PIN top; echo \"ended: \$?\""
	ok "no store at the start: the usual sentence" eventually 10 eval 'shows "there is no store yet" && shows "^ended: 1"'
}

pair
cast
terminal
rows_appear
sorting
filtering
pausing
details
sizes
ways_out
stopped_and_resumed
plain
terminals
watched
store_comes_and_goes
terminal_end
