#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/setup, with an apt-get that installs nothing: what it says on a terminal, and where there is none.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

BIN=$WORK/bin
mkdir "$BIN"

# A machine that lacks jq, until this apt-get brings it; `broken` or `no-lists` in the folder makes it fail, always or
# until the lists are fetched.
cat > "$BIN/apt-get" << 'END'
#!/bin/sh
for word; do
	case $word in
	update) rm -f "$FOLDER/no-lists"; exit 0 ;;
	esac
done
if [ -e "$FOLDER/no-lists" ] || [ -e "$FOLDER/broken" ]; then
	echo "E: Unable to locate package jq" >&2
	exit 100
fi
echo "dlstatus:1:40.1234:Retrieving file 1 of 1" >&3
echo "Setting up jq (1.6-2.1) ..."
printf 'pmstatus:jq:75.5:Unpacking jq \033[2J(amd64)\n' >&3
ln -sf /bin/true "$FOLDER/bin/jq"
END
chmod +x "$BIN/apt-get"
export FOLDER=$WORK

# What setup needs of this machine, jq apart: a folder of links for a PATH of its own.
mkdir "$WORK/all"
ln -sf -t "$WORK/all" /usr/sbin/* /usr/bin/*
rm "$WORK/all/jq" "$WORK/all/apt-get"
# It adds the usual folders of root's commands to PATH, so the copy has none.
mkdir "$WORK/tools"
sed 's/^PATH=\$PATH:.*//' "$ROOT/tools/setup" > "$WORK/tools/setup"

# set_up [WORD...]: without a terminal; the output in $said, the status in $status
set_up() {
	status=0
	said=$(PATH=$BIN:$WORK/all bash "$WORK/tools/setup" "$@" 2>&1) || status=$?
}

set_up --check
is "--check: what is missing, and what for" "$status $said" "1 jq               test: reading JSON output"

set_up
is "no terminal: fine" "$status" 0
is "no terminal: what is missing, and no more" "$said" $'missing here:\njq               test: reading JSON output'
set_up
is "nothing to do: silent" "$status $said" "0 "

rm "$BIN/jq"
said=$(TERM=xterm PATH=$BIN:$WORK/all script -qec "bash $WORK/tools/setup" "$WORK/typed" < /dev/null)
like "terminal: how far the download is" "$said" $'\r\e\\[Kdownloading: 40%'
like "terminal: how far the installation is" "$said" $'\r\e\\[Kinstalling: 75%, Unpacking jq'
is "terminal: nothing of it drives the terminal" "$(grep -c $'\e\\[2J' <<< "$said")" 0
like "terminal: the line goes away" "$said" $'\r\e\\[K$'
is "terminal: apt's own lines are not shown" "$(grep -c 'Setting up' <<< "$said")" 0

rm "$BIN/jq"
touch "$WORK/no-lists"
set_up
is "old lists: fetched, and tried again" "$status $(test -e "$BIN/jq" && echo there)" "0 there"

rm "$BIN/jq"
touch "$WORK/broken"
set_up
is "failed: status" "$status" 1
like "failed: what apt said, and a sentence" "$said" \
	$'E: Unable to locate package jq\ntools/setup: apt-get could not install: jq'
