#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian 13's kernel.

if [ "${KPHI_TEST_KERNELS-}" != all ]; then
	echo "1..0 # SKIP only the oldest kernel is for every day: make check-kernels runs this one"
	exit
fi
SERIES=6.12 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
