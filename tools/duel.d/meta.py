# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""meta.py { begin | end } FILE: the machine, and how far Unix time is ahead of CLOCK_MONOTONIC, as JSON in FILE"""
import json
import os
import platform
import sys
import time


def offset_ns():
    """The one that was measured between the two closest readings."""
    best = None
    for _ in range(100):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, wall - (before + after) // 2)
    return best[1]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(when, path):
    if when == "begin":
        meta = {"kernel": platform.release(), "cpus": os.cpu_count(), "processor": processor(),
                "date": time.strftime("%Y-%m-%d", time.gmtime()), "load_before": os.getloadavg()[0]}
    else:
        with open(path, encoding="utf-8") as file:
            meta = json.load(file)
    meta[f"offset_{when}_ns"] = offset_ns()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(meta, file)


main(*sys.argv[1:])
