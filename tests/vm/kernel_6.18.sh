#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A kernel of long term support.

if [ "${KPHI_TEST_KERNELS-}" != all ]; then
	echo "1..0 # SKIP only the oldest kernel is for every day: make check-kernels runs this one"
	exit
fi
SERIES=6.18 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
