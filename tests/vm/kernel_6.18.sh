#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A kernel of long term support.

SERIES=6.18 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
