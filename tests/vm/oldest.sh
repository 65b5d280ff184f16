#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The oldest kernel that kphi names: Debian 12's 6.1. Its verifier takes the programs, real beats over veth become phi, a
# VLAN tag is looked behind on a real 802.1Q device, a daemon publishes verdicts, and the default pin root is mounted and unmounted.

. "$(dirname "$0")/guest.bash"

start guest "$ROOT/tests/vm/boot" -t 150 -f "$ROOT/tests/vm/oldest.guest" 'bash /test/oldest.guest'
ok "the guest boots, works and ends" eventually 150 grep -q vm-exit-status "$(log_of guest)"
like "its kernel is Debian 12's" "$(result kernel)" '^6\.1\.'
is "the program is attached natively" "$(result mode)" native
is "native beats arrive" "$(result native)" up
is "and beats behind a VLAN tag, by rule" "$(result tagged)" up
between "about as many as were sent" "$(result beats)" 15 25
is "a killed sender is suspect" "$(result killed)" suspect
is "the daemon's verdict, through the control program" "$(result verdict)" suspect
is "is kept fresh" "$(result refreshed)" '["suspect",["default"]]'
is "and ends with it" "$(result ended)" null
is "purge leaves no mount" "$(result mounts)" 0
sed 's/^/# /' "$(log_of guest)" | tail -n 20
