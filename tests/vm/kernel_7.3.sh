#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The newest kernel that Debian has for a stable release.

SERIES=7.3 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
