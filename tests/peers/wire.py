# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""wire.py CAPTURE [from NS] [until NS] [knet] [window FILE]

What a capture of one stream (pcap with nanoseconds) says of its sender, as JSON: how many packets between the two moments
(ns of the wall clock), mean and standard deviation of their intervals, and the largest.

A sender of BFD says itself how fast it sends (RFC 5880, desired min tx), and slows down to a second while its session is
not up. So for BFD, `largest_gap_ratio` is the largest gap as a multiple of the interval announced by the packet before it, and
`largest_gap_up_ns` the largest after a packet that said Up.

With `window`, those intervals of the capture are found that are in `kphi -j peer window`, in this order. There may be others between
them, because kphi does not learn from every interval: `matched` of `intervals`, and the mean of both over the matched ones.

With `knet`, `largest_step` is how far the number of a ping was from that of the one before it (the shorter way round).
"""
import json
import math
import struct
import sys

from packets import captured

TAIL, SKIPPED_AT_ONCE = 8, 100
PING_BYTES, PING_NUMBER = 26, 23
BFD_BYTES = 24
UP = 3


def bfd(frame):
    """State and desired min tx in ns; None if it is no BFD."""
    if len(frame) < BFD_BYTES:
        return None
    first, second, _, length, _, _, tx = struct.unpack("!BBBBIII", frame[-BFD_BYTES:-8])
    return (second >> 6, tx * 1000) if first >> 5 == 1 and length == BFD_BYTES else None


def pairs(window, seen):
    """Backwards from where the last intervals of the window fit best."""
    tail = window[-TAIL:]
    place = min(range(len(seen) - len(tail) + 1), key=lambda p: sum(abs(a - b) for a, b in zip(tail, seen[p:])))
    at = place + len(tail) - 1
    for interval in reversed(window):
        apart = max(10**6, interval // 50)
        near = (i for i in range(at, max(at - SKIPPED_AT_ONCE, -1), -1) if abs(seen[i] - interval) <= apart)
        found = next(near, None)
        if found is not None:
            yield interval, seen[found]
        at = (at if found is None else found) - 1


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


begin, end = option("from", 0), option("until", 2**63)
all_of_it = list(captured(sys.argv[1]))
heard = [(stamp, bfd(frame)) for stamp, frame in all_of_it if begin <= stamp <= end]
gaps = [b[0] - a[0] for a, b in zip(heard, heard[1:])]
mean = sum(gaps) / len(gaps) if gaps else 0
out = {
    "packets": len(heard),
    "mean_ns": round(mean),
    "sd_ns": round(math.sqrt(sum((gap - mean)**2 for gap in gaps) / len(gaps))) if gaps else 0,
    "largest_gap_ns": max(gaps, default=0),
}
if heard and all(says for _, says in heard):
    ratios = [gap / says[1] for gap, (_, says) in zip(gaps, heard)]
    out["largest_gap_ratio"] = round(max(ratios, default=0), 2)
    out["largest_gap_up_ns"] = max((gap for gap, (_, says) in zip(gaps, heard) if says[0] == UP), default=0)
if "window" in sys.argv:
    with open(sys.argv[sys.argv.index("window") + 1]) as file:
        learned = json.load(file)["intervals_ns"]
    both = list(pairs(learned, [b[0] - a[0] for a, b in zip(all_of_it, all_of_it[1:])]))
    out.update(intervals=len(learned), matched=len(both))
    out["kphi_mean_ns"], out["capture_mean_ns"] = (round(sum(side) / len(both)) for side in zip(*both))
if "knet" in sys.argv:
    numbers = [struct.unpack("!H", frame[-PING_BYTES + PING_NUMBER:][:2])[0] for _, frame in all_of_it]
    steps = [(b - a) % 2**16 for a, b in zip(numbers, numbers[1:])]
    out["largest_step"] = max((min(step, 2**16 - step) for step in steps), default=0)
print(json.dumps(out))
