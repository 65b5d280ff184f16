# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges a duel: which verdict was false, by the wire, and how soon a death was told. Pure; times are ns of one clock.

A *silence* is a gap between two packets of a stream that is longer than its limit, the last packet included. It is a *death* if its
sender was killed in it. A suspicion during a silence (or up to GRACE after it, for a verdict may be late) is *found* if that was a
death, and *justified* by the wire if not. Any other is *false*.
"""
import bisect
import math

MS = 10**6
SECOND = 10**9
GRACE = SECOND // 2
UP = 3  # BFD
NEARLY = 0.95  # a gap this near to the timeout may be longer on the way of another packet
LIMITS = {"beat": 150 * MS, "vrrp": 380 * MS, "serf": 5 * SECOND}
SLACK = SECOND  # between the note that somebody will be killed and his last packet, on a busy machine


def kind(stream):
    """beat3 -> beat"""
    return stream.rstrip("0123456789")


def limit(stream, announced):
    """The shortest silence that is one. BFD says its interval in every packet, and three of them are its timeout."""
    return NEARLY * (LIMITS[kind(stream)] if kind(stream) in LIMITS else 3 * announced)


class Stream:
    """packets: sorted (time, a, b) as in packets.tsv; kills: times at which its sender was killed"""

    def __init__(self, name, packets, kills=()):
        self.name, self.packets = name, packets
        self.times = [p[0] for p in packets]
        self.silences = []  # (begin, end, killed at or None, its session was up)
        for i, (begin, a, b) in enumerate(packets):
            end = self.times[i + 1] if i + 1 < len(packets) else math.inf
            if end - begin < limit(name, a):
                continue
            killed = next((k for k in kills if begin - SLACK <= k < end), None)
            up = kind(name) not in ("frr", "bird") or b == UP
            self.silences.append((begin, end, killed, up))

    def silence_at(self, time):
        """The latest that had begun, unless it was over for longer than GRACE."""
        at = bisect.bisect_left(self.silences, (time,)) - 1
        if at < 0 or time > self.silences[at][1] + GRACE:
            return None
        return self.silences[at]

    def largest_gap(self, begin, end):
        """The largest gap in this time that is no death, and as a multiple of what BFD had announced (0 for others)."""
        low, high = bisect.bisect_left(self.times, begin), bisect.bisect_right(self.times, end)
        died = {silence[0] for silence in self.silences if silence[2] is not None}
        gaps = [(b[0] - a[0], (b[0] - a[0]) / a[1] if a[1] and kind(self.name) in ("frr", "bird") else 0)
                for a, b in zip(self.packets[low:high], self.packets[low + 1:high]) if a[0] not in died]
        return max((g for g, _ in gaps), default=0), max((r for _, r in gaps), default=0)


def sort_out(stream, verdicts):
    """[(what, time, silence)] of one detector's verdicts on one stream, in order; `what`: found, again, justified, false"""
    told, out = set(), []
    for time, how in verdicts:
        if how != "suspect":
            continue
        silence = stream.silence_at(time)
        if silence is None:
            out.append(("false", time, None))
        elif silence[2] is None:
            out.append(("justified", time, silence))
        else:
            out.append(("again" if silence in told else "found", time, silence))
            told.add(silence)
    return out


def trusted_at(verdicts, time):
    """Was the last word before that trust, or none?"""
    at = bisect.bisect_left(verdicts, (time,)) - 1
    return at < 0 or verdicts[at][1] == "trust"


def deaths(stream, verdicts, begin, end):
    """Of the deaths in this time that the detector could tell: [detection time or None]"""
    found = {silence: time for what, time, silence in sort_out(stream, verdicts) if what == "found"}
    out = []
    for silence in stream.silences:
        dead, _, killed, up = silence
        if killed is None or not begin <= killed <= end or not up or not trusted_at(verdicts, dead):
            continue
        out.append(found[silence] - dead if silence in found else None)
    return out


def count(stream, verdicts, begin, end):
    """(false, justified) verdicts in this time"""
    what = [w for w, time, _ in sort_out(stream, verdicts) if begin <= time <= end]
    return what.count("false"), what.count("justified")


def quantile(values, q):
    """The smallest value that at least this share is not above (values in ascending order)."""
    return values[max(0, math.ceil(q * len(values)) - 1)] if values else None


def lateness(verdicts, stalls, begin, end):
    """How much later than its deadline each suspicion of this time was, and how many were left out because this host had stalled
    between the last arrival and the verdict. verdicts: (time, deadline, last); stalls: (from, to)"""
    late, left_out = [], 0
    for time, deadline, last in verdicts:
        if not deadline or not begin <= time <= end:
            continue
        if any(a <= time and b >= last for a, b in stalls):
            left_out += 1
        else:
            late.append(time - deadline)
    return sorted(late), left_out


def deviations(stamps, sent):
    """How far each interval between two beats in a row is from that of the same beats on the wire. stamps, sent: {(epoch, sequence): ns}"""
    out = []
    for (epoch, sequence), stamp in stamps.items():
        after = (epoch, sequence + 1)
        if after in stamps and after in sent and (epoch, sequence) in sent:
            out.append(abs((stamps[after] - stamp) - (sent[after] - sent[(epoch, sequence)])))
    return sorted(out)
