#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The newest kernel that Debian has for a stable release.

if [ "${KPHI_TEST_KERNELS-}" != all ]; then
	echo "1..0 # SKIP only the oldest kernel is for every day: make check-kernels runs this one"
	exit
fi
SERIES=7.3 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
