#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A real whole-machine stall: a guest in which five peers beat is stopped for 10 s from outside, as a hypervisor does it, and
# goes on. Its kphi convicts nobody, says that it was stalled, and finds a sender that is killed right after.

. "$(dirname "$0")/guest.bash"

# The witness for "nobody": the same peers are convicted after 2.3 s of silence when one really dies.
start guest "$ROOT/tests/vm/boot" -t 150 -p "$WORK/qemu.pid" -f "$ROOT/tests/vm/stall.guest" \
	'bash /test/stall.guest'
ok "the guest boots and its peers beat" eventually 60 grep -q guest-ready "$(log_of guest)"
machine=$(cat "$WORK/qemu.pid")
sleep 2
kill -STOP "$machine"
sleep 10
kill -CONT "$machine"
ok "the guest finishes" eventually 90 grep -q vm-exit-status "$(log_of guest)"

stalled=$(result stall_ms)
if [ "${stalled:-0}" -lt 9000 ]; then
	note "the guest's clock did not see the stop (longest stall ${stalled:-none} ms)"
fi
between "the stall is logged (ms)" "${stalled:-0}" 9000 60000
is "nobody is convicted by kphi run" "$(result suspects)" 0
is "nobody is suspect to a reader without a daemon" "$(result reads_suspect)" 0
between "which did read all along" "$(result reads)" 10 100000
is "all five are up afterwards" "$(result up)" 5
between "no mean moved by more than 1 % (ppm)" "$(result mean_off_ppm)" 0 10000
between "because the stalled intervals were not learned" "$(result unlearned)" 1 1000
is "a sender killed right after is found" "$(result found_p1)" 1
is "and no other" "$(result suspects_in_all)" 1
sed 's/^/# /' "$(log_of guest)" | tail -n 30
