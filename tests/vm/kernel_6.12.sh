#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian 13's kernel.

SERIES=6.12 HOOK=tcx
. "$(dirname "$0")/kernel.bash"
