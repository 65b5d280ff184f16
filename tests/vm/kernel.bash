# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The test of one kernel, of the series SERIES on which tc's hook is HOOK: all of kphi's core over veth, beside others, and what
# its verifier has to say. What it measured goes to build/kernels/SERIES.tsv; tests/vm/table makes one table of them all.

. "$(dirname "${BASH_SOURCE[0]}")/guest.bash"

# Those whose outcome hangs on the kernel: its verifier, its compiler, its helpers, its buffers, its hooks.
PROG_TESTS=(verifier_test beat_test bound_test buffer_test hook_test keys_test protocols_test tc_test)

peer xdp-tools || skip_all "the package xdp-tools cannot be fetched"
cat > "$WORK/xdp.c" << 'C'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
C
clang -target bpf -O2 -g -I"/usr/include/$(gcc -print-multiarch)" -c "$WORK/xdp.c" -o "$WORK/xdp.o"
mkdir "$WORK/prog"
for test in "${PROG_TESTS[@]}"; do
	cp "$ROOT/build/tests/prog/$test" "$WORK/prog/"
done
limit=$((${KPHI_TEST_TIMEOUT:-300} - 20))
start guest "$ROOT/tests/vm/boot" -k "$SERIES" -t $limit -r "$PEER" -f "$WORK/xdp.o" -f "$WORK/prog" -f "$ROOT/tests/vm/kernel.guest" \
	'bash /test/kernel.guest'
ok "the guest boots, works and ends" eventually $((limit + 5)) grep -q vm-exit-status "$(log_of guest)"

like "its kernel is of that series" "$(result kernel)" "^${SERIES/./\\.}\\."
is "the program is attached natively" "$(result mode)" native
is "native beats arrive" "$(result native)" up
is "and signed ones, by the tag" "$(result signed)" '["up",true,0]'
is "which others cannot make" "$(result forged)" '[true,0]'
is "and beats behind a VLAN tag, by rule" "$(result tagged)" 20
is "a member of the store's group reads without privilege" "$(result member)" up
like "and nobody else" "$(result stranger)" '^Error: .*join the group that owns the store$'
between "the guard ticks" "$(result ticks)" 1 100000
is "libxdp's dispatcher is on a device" "$(result loader)" 0
is "kphi listens beside it" "$(result beside)" "$HOOK,tc,attached"
like "and says so" "$(result said)" 'Warning: eth1: an XDP program that is not kphi.s.*name "xdp_dispatcher"'
is "over an exchange of the program no beat and no interval is lost" "$(result upgraded)" "[0,1]"
is "the dispatcher stays" "$(result dispatcher)" xdp_dispatcher
like "a bond's port is refused, with its master's name" "$(result port)" "^1 Error: eth2: it is a port of bond bond0"
is "the bond is native" "$(result bond)" xdp,native
is "and heard" "$(result bonded)" 0
is "what is delayed is not lost" "$(result delayed)" 'yes,["up",0]'
is "who sends into a cut cable is suspect" "$(result cut)" suspect
is "and up when it is mended, with what was lost" "$(result healed)" '["up",true]'
is "a killed sender is suspect" "$(result killed)" suspect
is "the daemon's verdict, through the control program" "$(result verdict)" suspect
is "is kept fresh" "$(result refreshed)" '["suspect",["default"]]'
is "and ends with it" "$(result ended)" null
is "purge leaves no mount" "$(result mounts)" 0
core="$((tests_run - tests_failed)) of $tests_run"
for test in "${PROG_TESTS[@]}"; do
	like "prog/$test" "$(result "prog.$test")" '^exit 0, [1-9][0-9]* passed'
done

mkdir -p "$ROOT/build/kernels"
{
	printf '%s\tkernel\t%s\t%s\n' "$SERIES" release "$(result kernel)"
	sed -nE 's/^result verifier\.([a-z_]+) ([0-9]+) .*/verifier\t\1\t\2/p; s/^result prog\.([a-z_]+) exit 0, ([0-9]+) passed/test\tprog\/\1\t\2 passed/p' \
		"$(log_of guest)" | sed "s/^/$SERIES\t/"
	printf '%s\ttest\tdevices, peers, verdicts\t%s passed\n' "$SERIES" "$core"
} > "$ROOT/build/kernels/$SERIES.tsv"
sed 's/^/# /' "$(log_of guest)" | tail -n 60
