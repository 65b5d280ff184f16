#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The judge of a soak on made-up logs, good and bad: see soak_judge.py.
# It measures no time, so it runs beside others.

PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/soak_judge.py"
