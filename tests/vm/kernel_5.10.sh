#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A kernel without BPF timers, Debian 11's: whatever would make a store says so in one sentence and leaves nothing, whatever
# would read one says that there is none, doctor names all that is missing, and what needs no BPF works.

SERIES=5.10
. "$(dirname "$0")/guest.bash"

start guest "$ROOT/tests/vm/boot" -k "$SERIES" -t 280 -f "$ROOT/tests/vm/refused.guest" 'bash /test/refused.guest'
ok "the guest boots, works and ends" eventually 285 grep -q vm-exit-status "$(log_of guest)"
like "its kernel is of that series" "$(result kernel)" '^5\.10\.'

sentence="Error: Linux $(result kernel) has no BPF timers (they came with 5.15): kphi needs Linux 6.1 or newer. Nothing was changed"
for verb in attach create add key run; do
	is "$verb: refused, in one sentence" "$(result $verb)" "1 1 $sentence"
	is "$verb: no mount, no pin and no lock is left" "$(result $verb.left)" 0
done
is "nor a program, nor a qdisc" "$(result device)" "null 0"
is "the key's file is not left either" "$(result keyfile)" absent
for verb in show purge; do
	like "$verb: there is nothing" "$(result $verb)" '^1 1 Error: /run/kphi/bpf: there is no store yet'
done
is "doctor fails" "$(result doctor)" 1
is "by what is missing" "$(result missing)" "bpf_timer,clock_tai,kernel_version"
is "presets and a check of the configuration need no kernel" "$(result pure)" "0 0"
is "a beat is sent" "$(result beat)" 0
is "and arrives: what else was refused could have been done" "$(result arrived)" yes
mkdir -p "$ROOT/build/kernels"
{
	printf '%s\tkernel\trelease\t%s\n' "$SERIES" "$(result kernel)"
	printf '%s\ttest\tdevices, peers, verdicts\trefused\n' "$SERIES"
} > "$ROOT/build/kernels/$SERIES.tsv"
sed 's/^/# /' "$(log_of guest)" | tail -n 40
