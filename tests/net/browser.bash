# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A browser in a namespace, for tests of the page; source it after lib.sh. Its namespace must have no way out, because a
# browser calls home whatever it is told.

# browser_begin NS: a headless Chromium there
browser_begin() {
	local sound

	peer chromium
	sound=$(dirname "$(find "$PEER/usr/lib" -name "libpulsecommon-*" -print -quit)")
	start browser in_ns "$1" env LD_LIBRARY_PATH="$PEER_LIB:$sound" \
		python3 "$ROOT/tests/net/browser.py" "$WORK/browser.sock" serve "$PEER/usr/lib/chromium/chromium"
	eventually 30 browser eval 1
}

# browser COMMAND...: see browser.py
browser() {
	python3 "$ROOT/tests/net/browser.py" "$WORK/browser.sock" "$@"
}

# says EXPRESSION: its value in the page, as a word; of an array, its elements with commas
says() {
	browser eval "$1" | jq -r 'if type == "array" then flatten | map(tostring) | join(",") else . end'
}

# holds EXPRESSION: whether it is true in the page, for `ok` and `eventually`
holds() {
	[ "$(says "$1")" = true ]
}

# strangers ORIGIN: what was asked of anybody else since the page was opened
strangers() {
	browser requests | grep -vF "$1/" | grep -vE '^(data|about|blob):' || true
}

# colours PNG: how many different rows of pixels it has
colours() {
	python3 "$ROOT/tests/net/picture.py" "$1"
}
