# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What tests of a guest share: whether there can be one, and what it answered. Source it first. SERIES, set before, names another
# kernel than tests/vm/boot's own choice.

. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"

SERIES=${SERIES:-6.1}
for tool in qemu-system-x86_64 cpio busybox; do
	command -v "$tool" > /dev/null || skip_all "$tool is not installed (tools/setup installs it)"
done
"$ROOT/tests/vm/boot" -k "$SERIES" -n > "$WORK/fetch" 2>&1 ||
	skip_all "Debian's cloud kernel $SERIES cannot be fetched: $(tail -n 1 "$WORK/fetch")"

# result NAME: the value of the guest's last line `result NAME VALUE`
result() {
	sed -n "s/^result $1 //p" "$(log_of guest)" | tail -n 1
}
