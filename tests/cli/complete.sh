#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Completion: what kphi offers, and what bash and zsh make of it, typed into real ones.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

# offers WORD...: the candidates for the last one, in a row
offers() {
	kphi complete "$@" | cut -f 1 | xargs
}

kphi store create peers 8 > /dev/null
kphi peer add db1 id 00000000-0000-4000-8000-000000000001 interval 1s host rack1 > /dev/null
kphi peer add db2 from 192.0.2.7 port 9000 interval 1s > /dev/null
kphi key add cluster generate "$WORK/key" > /dev/null

is "an OBJECT" "$(offers st)" store
is "all of them, and help" "$(offers "" | wc -w)" "$(($(kphi help | grep -c '^  [a-z]') + 1))"
is "a COMMAND" "$(offers peer ex)" explain
is "a peer that is there" "$(offers peer explain d)" "db1 db2"
is "behind a word for it" "$(offers peer show name d)" "db1 db2"
is "none for a name that is to be new" "$(offers peer add d)" "discriminator dev"
is "a host's label" "$(offers peer show host "")" rack1
is "a key's name" "$(offers key use c)" cluster
is "a choice" "$(offers peer add x model e)" "exponential empirical"
is "a preset" "$(offers peer add x proto b)" bfd
is "a device" "$(offers net attach dev l)" lo
is "a file" "$(offers run config /etc)" :files
is "a detector" "$(offers check follow ak)" akka
is "a keyword is offered once" "$(offers net attach mode auto m)" ""
is "unless it may come again" "$(offers peer add x match 0:41 ma)" "match max-interval"
is "another place of pins is minded" "$(kphi complete --pin "$KPHI_PIN/none" peer explain d | wc -l)" 0
is "what means nothing has nothing, and says nothing" "$(kphi complete xyzzy "" 2>&1)" ""
is "nor without a store" "$("$KPHI" complete --pin "$WORK" peer explain "" 2>&1 | cut -f 1 | xargs)" "name prior threshold"

# A kphi that knows where this test's pins are.
mkdir "$WORK/bin"
printf '#!/bin/sh\n[ "$1" = complete ] && shift && exec %s complete --pin %s "$@"\n' "$KPHI" "$KPHI_PIN" > "$WORK/bin/kphi"
chmod +x "$WORK/bin/kphi"
PATH=$WORK/bin:$PATH

# typed KEYS: what the terminal shows behind them
typed() {
	tmux -S "$WORK/tmux" send-keys -l "$1"
	tmux -S "$WORK/tmux" send-keys Tab
}

shows() {
	tmux -S "$WORK/tmux" capture-pane -p | grep -qE "$1"
}

# in_shell NAME COMMAND...
in_shell() {
	tmux -S "$WORK/tmux" -f /dev/null new-session -d -x 100 -y 24 "${@:2}"
	eventually 20 shows 'ready>'
	typed "kphi peer expl"
	ok "$1: a word is completed" eventually 20 shows 'kphi peer explain$'
	typed "db"
	ok "$1: to what candidates share" eventually 20 shows 'kphi peer explain db'
	tmux -S "$WORK/tmux" send-keys C-u
	typed "kphi net attach dev l"
	ok "$1: a device" eventually 20 shows 'kphi net attach dev lo$'
	tmux -S "$WORK/tmux" send-keys C-u
	typed "kphi trace show $WORK/ke"
	ok "$1: a file" eventually 20 shows "kphi trace show $WORK/key"
	tmux -S "$WORK/tmux" kill-server
	sleep 0.2
}

printf 'PS1="ready> "\n. %s/dist/completion/kphi.bash\n' "$ROOT" > "$WORK/bashrc"
in_shell bash bash --noprofile --rcfile "$WORK/bashrc" -i
mkdir "$WORK/zsh"
printf 'fpath=(%s/dist/completion $fpath)\nautoload -Uz compinit\ncompinit -u -D\nPS1="ready> "\n' "$ROOT" > "$WORK/zsh/.zshrc"
in_shell zsh env ZDOTDIR="$WORK/zsh" zsh -i
