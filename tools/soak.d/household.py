# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""household.py: whether a soak cost what it may: commands, metrics, memory, descriptors, the kernel's things, accounts."""
import re
import statistics

from logs import Logs, lines

SECOND_NS = 1_000_000_000
PATIENCE_NS = 10 * SECOND_NS  # after which a daemon that lives has its HTTP server
WARM_NS = 20 * SECOND_NS      # after which a process has touched all of its memory once
GROWTH_KIB = {"daemon": 2048, "web": 8192, "recorder": 2048, "follower": 1024}  # in a run, however long
NOTES = ("restart", "capped", "retuned", "stamp_inverted", "unlearned", "handover", "renegotiated", "unrecorded")
HEALTHY = ("beat", "leave", "unknown_peer")  # outcomes; anything else was not sent


class Household(Logs):
    def commands(self):
        kills = [j["t"] for j in self.said("kill")]
        wrong = [f"{j['what']} at {j['t']}: {j['text']}" for j in self.said("reload") + self.said("upgrade")
                 if j["status"] and not any(j.get("begin", j["t"]) <= k <= j["t"] for k in kills)]
        wrong += [f"{j['of']}: {j['text']}" for j in self.said("refused")]
        wrong += [f"life {j['life']} had died by itself at {j['t']}: {self.last_words(j['life'])}"
                  for j in self.said("kill") + self.said("ending") if not j["alive"]]
        wrong += [f"the last daemon ended with status {j['status']}" for j in self.said("ended") if j["status"]]
        self.check("commands work, nobody dies alone", wrong, ", ".join(
            f"{len(self.said(what))} {what}s" for what in ("reload", "upgrade", "kill")))

    def last_words(self, life):
        with open(self.path(f"life.{life}.err"), errors="replace") as file:
            return " ".join(file.read().split())[-200:]

    def scrapes(self):
        wrong, whole = [], [j for j in self.said("scrape") if j["whole"]]
        for j in self.said("scrape"):
            begin = j["t"] - j["took_ns"] - PATIENCE_NS
            if not j["whole"] and any(a <= begin and j["t"] <= b for a, b in self.watches):
                wrong.append(f"the scrape at {j['t']} got {j['bytes']} bytes")
        if not whole:
            wrong.append("no scrape succeeded")
        self.check("metrics are served", wrong, f"{len(whole)} scrapes, the slowest "
                   f"{max([j['took_ns'] for j in whole] + [0]) / 1e6:.0f} ms")

    def growth(self):
        last = max(j["life"] for j in self.said("start"))
        begin = next(j["t"] for j in self.said("start") if j["life"] == last) + WARM_NS
        samples = [j for j in lines(self.path("samples.log")) if j["t"] >= begin and j["life"] == last]
        for role in GROWTH_KIB:
            of = [j for j in samples if j["role"] == role]
            if len({j["pid"] for j in of}) != 1 or len(of) < 6:
                self.check(f"{role}: no growth", [f"{len(of)} samples of {len({j['pid'] for j in of})} processes"])
                continue
            figures, wrong = [], []
            for key in ("rss_kib", "own_kib"):
                grown = slope([(j["t"], j[key]) for j in of]) * (of[-1]["t"] - of[0]["t"])
                figures.append(f"{key} {of[0][key]} to {of[-1][key]} ({grown:+.0f} by slope)")
                if grown > GROWTH_KIB[role]:
                    wrong.append(f"{key} grew by {grown:.0f} KiB in {(of[-1]['t'] - of[0]['t']) / 1e9:.0f} s")
            fds = [statistics.median_low([j["fds"] for j in part]) for part in (of[:5], of[-5:])]
            if fds[1] > fds[0]:
                wrong.append(f"{fds[0]} descriptors became {fds[1]}")
            self.check(f"{role}: no growth", wrong,
                       f"{', '.join(figures)}; {fds[1]} descriptors; bound {GROWTH_KIB[role]}")

    def kernel(self):
        first, last, left = (self.document(name) for name in ("bpf.first", "bpf.last", "purged"))
        wrong = ([f"{first} became {last}"] if first != last else []) + ([f"{left} after a purge"] if left else [])
        self.check("no program, link or map is left over", wrong, f"{last}")

    def accounts(self):
        """What was sent is what was counted is what was recorded."""
        counters, trace = self.document("net.json")["counters"], self.document("trace.json")
        dropped = self.document("link.json")[0]["stats64"]["rx"]["dropped"]
        outcomes = {k: v for k, v in counters.items() if k not in NOTES and v}
        sent = self.senders.totals["beats"] + self.senders.totals["leaves"]
        wrong = [f"{k}: {v}" for k, v in outcomes.items() if k not in HEALTHY]
        if not sum(outcomes.values()) <= sent <= sum(outcomes.values()) + dropped:
            wrong.append(f"{sent} sent, {sum(outcomes.values())} counted, {dropped} dropped by the device")
        self.check("what was sent is counted", wrong, f"{sent} sent, {outcomes}, "
                   f"{self.senders.totals['dropped']} lost on purpose, senders at most "
                   f"{self.senders.totals['late_max_ns'] / 1e6:.1f} ms late")
        self.recorded(trace, counters["beat"] + counters["leave"], counters["unrecorded"])

    def recorded(self, trace, known, unrecorded):
        wrong = [f"{trace['torn_bytes']} bytes are torn"] if trace["torn_bytes"] else []
        wrong += [] if trace["ended"] else ["the trace has no end"]
        # A recorder is told of peers that are added and deleted, too, and cannot tell what it lost.
        changes = sum(int(n) for e in self.events if e["type"] == "config"
                      for n in re.findall("([0-9]+) (?:added|changed)", e["detail"]))
        most = known + (2 * changes + len(self.said("del")) if trace["lost"] else 0)
        if not known <= trace["arrivals"] + trace["lost"] <= most or trace["lost"] != unrecorded:
            wrong.append(f"{trace['arrivals']} arrivals and {trace['lost']} lost; {known} counted, of which "
                         f"{unrecorded} were not told")
        self.check("what was counted is recorded", wrong, f"{trace['arrivals']} arrivals, {trace['lost']} lost, "
                   f"{trace['bytes_per_arrival']:.1f} bytes each")


def slope(points):
    """Median of the slopes between distant points (Theil and Sen): one leap is no trend, and neither is noise."""
    half = len(points) // 2
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(points, points[half:]) if b[0] > a[0])
