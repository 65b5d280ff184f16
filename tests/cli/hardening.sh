#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The binary that is installed is built so that a fault in it is hard to use: at an address that changes, with nothing that can
# be written and run, with all addresses of libraries bound and read-only, with guarded stacks and checked copies. Some of that
# depends on the compiler's defaults, so the file itself is asked. KPHI names it, as in every test.
# It measures no time, so it runs beside others.

. "$(dirname "$0")/../net/lib.sh"

# has OPTION PATTERN: what readelf says of the binary. (Not grep -q: it would go before readelf has said all.)
has() {
	readelf "$1" --wide "$KPHI" | grep -E "$2" > /dev/null
}

ok "its address changes (PIE)" has --file-header 'Type: +DYN \(Position-Independent'
ok "no segment is written and run" ! has --segments '^ +LOAD .* RWE '
ok "its segments were looked at" has --segments '^ +LOAD .* R E '
ok "its stack is not run" has --segments 'GNU_STACK .* RW +0x'
ok "addresses of libraries are read-only (RELRO)" has --segments GNU_RELRO
ok "and bound at the start" has --dynamic 'BIND_NOW|FLAGS.* NOW'
ok "stacks are guarded" has --dyn-syms '__stack_chk_fail@'
ok "copies are checked" has --dyn-syms '__(snprintf|memcpy|memset|read)_chk@'
ok "no code is rewritten when it starts" ! has --dynamic TEXTREL
