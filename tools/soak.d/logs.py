# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""logs.py: what a soak left in its folder, and how an answer to a question about it is printed."""
import glob
import json
import os
from collections import defaultdict

from senders import Senders

EVIDENCE = 5  # cases that are printed of each failure


def lines(path):
    """JSON lines; the last one of a process that was killed may be torn."""
    with open(path, errors="replace") as file:
        for text in file:
            if text.endswith("\n"):
                yield json.loads(text)


class Logs:
    def __init__(self, folder):
        self.folder, self.failed = folder, 0
        self.senders = Senders(f"{folder}/swarm.log")
        self.journal = list(lines(f"{folder}/conduct.log"))
        self.lives = len(glob.glob(f"{folder}/life.*[0-9]"))
        self.life = {n: list(lines(f"{folder}/life.{n}")) for n in range(1, self.lives + 1)}
        self.events = [e for n in self.life for e in self.life[n]]
        self.recited = [e for n in self.life for e in self.follow(n) if e.get("current")]
        self.watches = self.stretches()
        self.end = self.watches[-1][1] if self.watches else 0
        self.by_peer = defaultdict(list)
        for e in self.events:
            if e.get("peer"):
                self.by_peer[e["type"], e["peer"]].append(e)

    def path(self, name):
        return os.path.join(self.folder, name)

    def document(self, name):
        with open(self.path(name)) as file:
            return json.load(file)

    def follow(self, n):
        return list(lines(self.path(f"follow.{n}"))) if os.path.exists(self.path(f"follow.{n}")) else []

    def said(self, what):
        return [j for j in self.journal if j["what"] == what]

    def stretches(self):
        """From when until when a daemon watched."""
        end = {j["life"]: j["t"] for what in ("kill", "ending") for j in self.said(what)}
        return sorted((j["t"], end[j["life"]]) for j in self.said("ready") if j["life"] in end)

    def watched_ns(self, begin, until):
        """The longest stretch of these two during which one daemon watched."""
        until = self.end if until is None else min(until, self.end)
        return max([min(b, until) - max(a, begin) for a, b in self.watches] + [0])

    def check(self, what, wrong, figures=""):
        self.failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok':6}  {what:40}  {figures}" + (f"; {len(wrong)} wrong" if wrong else ""))
        for case in list(wrong)[:EVIDENCE]:
            print(f"          {case}")
