# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""capture.py CAPTURE WINDOW

Finds the intervals of `kphi -j peer window` (file WINDOW) among those between the packets of a capture (file CAPTURE,
pcap with nanoseconds) and prints JSON: how many, the mean of both in ns, and the median and the largest difference
between two that belong together.
"""
import json
import sys

from packets import captured


def distance(place):
    return sum(abs(a - b) for a, b in zip(heard, seen[place:]))


times = [stamp for stamp, _ in captured(sys.argv[1])]
seen = [b - a for a, b in zip(times, times[1:])]
with open(sys.argv[2]) as file:
    heard = json.load(file)["intervals_ns"]
if not heard or len(seen) < len(heard):
    sys.exit(f"{len(heard)} intervals heard, {len(seen)} captured: nothing to compare")
place = min(range(len(seen) - len(heard) + 1), key=distance)
same = seen[place:place + len(heard)]
apart = sorted(abs(a - b) for a, b in zip(heard, same))
print(json.dumps({
    "intervals": len(heard),
    "kphi_mean_ns": round(sum(heard) / len(heard)),
    "capture_mean_ns": round(sum(same) / len(same)),
    "median_difference_ns": apart[len(apart) // 2],
    "largest_difference_ns": apart[-1],
}))
