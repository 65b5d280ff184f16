# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""senders.py: what tools/swarm wrote down of its senders. Times are CLOCK_MONOTONIC in nanoseconds."""
from collections import defaultdict


class Silence:
    def __init__(self, why, begin, before=None, after=None):
        self.why, self.begin, self.before, self.after = why, begin, before, after  # before, after: of what ended it

    def covers(self, at):
        return self.begin <= at and (self.after is None or at <= self.after)

    def __str__(self):
        return f"{self.why}, silent from {self.begin} to {self.before or 'the end'}"


class Senders:
    """swarm.log: per peer its silences in order, its lives, its goodbyes."""

    def __init__(self, path):
        self.silences, self.lives, self.leaves = defaultdict(list), defaultdict(list), defaultdict(list)
        self.totals = {}
        with open(path) as file:
            for line in file:
                verb, peer, *numbers = line.split()
                getattr(self, verb)(f"n{peer}", *(int(n) if n.isdigit() else n for n in numbers))

    def join(self, peer, before, after, epoch):
        if not self.lives[peer]:
            self.silences[peer].append(Silence("absent", 0))
        if self.silences[peer] and self.silences[peer][-1].after is None:
            self.silences[peer][-1].before, self.silences[peer][-1].after = before, after
        self.lives[peer].append((before, epoch))

    def die(self, peer, _now, last):
        self.silences[peer].append(Silence("died", last))

    def leave(self, peer, now, last):
        self.silences[peer].append(Silence("left", last))
        self.leaves[peer].append((last, now))

    def lose(self, *_):
        """The gap that follows says it."""

    def gap(self, peer, last, before, after):
        self.silences[peer].append(Silence("gap", last, before, after))

    def last(self, peer, last):
        self.silences[peer].append(Silence("gap", last))

    def end(self, _now, *words):
        self.totals = dict(zip(words[::2], words[1::2]))

    def silence_at(self, peer, at):
        return next((s for s in reversed(self.silences[peer]) if s.covers(at)), None)
