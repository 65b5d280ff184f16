#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The manual pages: each OBJECT has one, it has every command and every keyword that the help text has, and mandoc finds nothing to warn of. That
# a page can lack something is shown with one whose table was left out.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

mkdir "$WORK/man"
cd "$ROOT"
objects=$(kphi -j help | jq -r .help | sed -n '/^OBJECT/,/^$/s/^  \([a-z]*\) .*/\1/p')
ok "the list of objects is read" [ "$(wc -w <<< "$objects")" -gt 10 ]

# words OBJECT: of its help text, all that one types
words() {
	kphi "$1" help | sed -n 's/^    \([a-z][a-z_-]*\) .*/\1/p; s/^ \{6,7\}kphi [a-z]* \([a-z]\+\).*/\1/p; s/^Usage: kphi [a-z]* \([a-z]\+\).*/\1/p' | sort -u
}

# lacking OBJECT PAGE
lacking() {
	mandoc -T ascii -O width=200 "$2" | col -b > "$WORK/text"
	for word in $(words "$1"); do
		grep -qE "(^|[^a-z])$word([^a-z]|$)" "$WORK/text" || echo "$word"
	done
}

for page in docs/man/*; do
	name=$(basename "$page")
	KPHI=$KPHI tools/manual "$page" > "$WORK/man/$name"
	is "$name: nothing to warn of" "$(mandoc -T lint -W warning "$WORK/man/$name" 2>&1)" ""
	ok "$name: nothing is left to be put in" ! grep -q '@[A-Z]*@' "$WORK/man/$name"
done
for object in $objects; do
	is "$object: the page has every word of the help text" "$(lacking "$object" "$WORK/man/kphi-$object.8")" ""
done
like "witness: without the table it would lack some" "$(lacking peer docs/man/kphi-peer.8 | xargs)" "discriminator"
like "every key of the configuration is in kphi.yaml(5)" "$(mandoc -T ascii "$WORK/man/kphi.yaml.5" | col -b)" "exec_per_minute"
