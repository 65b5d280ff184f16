#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The oldest kernel that kphi names: Debian 12's. It has no TCX.

SERIES=6.1 HOOK=clsact
. "$(dirname "$0")/kernel.bash"
