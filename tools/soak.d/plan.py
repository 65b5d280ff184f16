# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""plan.py SEED SECONDS PEERS DIR: what a soak does to whom and when, all of it from one seed.

Writes into DIR
  script    what tools/swarm does: who joins, dies, leaves, loses beats
  conduct   what conduct.py does: `MS kill`, `MS start`, `MS reload N [NAME,...]` (the peers to delete), `MS upgrade`,
            `MS look PEER` (ask for the deadline of a silent peer), `MS freeze SECONDS` (the recorder), `MS end`
  peers     the part of the configuration that never changes
  spare.N   the part that reload N puts in its place: some are there, some are not, some have other settings
Times are milliseconds after the beginning of the script.
"""
import random
import sys

WARM_S = 15     # every window has some intervals
DRAIN_S = 35    # and in the end every death has the time to be found
DEATH_S = 15    # how long a death lasts at least; the deadline of a peer in good order is 4.6 s
CAPPED_S = 11   # a silence of more than ten intervals is not learned, and so bends no window
OUTAGE_RUN_S = 240  # shorter runs have no outage of all
SPARE = 0.02    # part of the peers with which the configuration is changed
ABSENT = 0.01   # part that is configured, but joins late
LOSSY = 0.1     # part whose path loses beats at random ...
FREEZE_S = 3    # at 10,000 beats a second the recorder's ring is full after 1.6
LOSSES_PPM = (1000, 10000, 30000)  # ... this many of a million
RATE = 1 / 5000  # injections per second and peer


def name(peer):
    return f"n{peer}"


def entry(peer):
    return f"      - {{name: {name(peer)}, id: 00000000-0000-4000-8000-{peer:012d}}}\n"


class Plan:
    def __init__(self, seed, seconds, peers):
        self.random = random.Random(seed)
        self.seconds, self.peers = seconds, peers
        self.base = peers - int(peers * SPARE)
        self.absent = self.base - int(peers * ABSENT)
        self.busy_until_s = {}
        self.script, self.conduct, self.spares = [], [], []
        self.outage = None
        if seconds >= OUTAGE_RUN_S:
            begin_s = seconds * self.random.uniform(0.6, 0.75)
            self.outage = begin_s, begin_s + self.random.uniform(CAPPED_S, CAPPED_S + 3)

    def swarm(self, at_s, verb, *arguments):
        self.script.append((int(at_s * 1000), " ".join([verb, *map(str, arguments)])))

    def do(self, at_s, verb, *arguments):
        self.conduct.append((int(at_s * 1000), " ".join([verb, *map(str, arguments)])))

    def everybody(self):
        """Who is there from the beginning, whose path is bad, and when the late ones come."""
        self.swarm(0, "join", f"0-{self.absent - 1}")
        self.swarm(0, "join", f"{self.base}-{self.peers - 1}")
        for peer in range(self.absent, self.base):
            self.swarm(self.random.uniform(WARM_S, self.seconds - DRAIN_S), "join", peer)
        for peer in self.random.sample(range(self.absent), int(self.absent * LOSSY)):
            self.swarm(0, "drop", peer, self.random.choice(LOSSES_PPM))

    def idle_peer(self, at_s):
        for _ in range(100):
            peer = self.random.randrange(self.absent)
            if self.busy_until_s.get(peer, 0) < at_s:
                return peer
        return None

    def near_outage(self, at_s, until_s):
        return self.outage and until_s > self.outage[0] - 5 and at_s < self.outage[1] + 15

    def inject(self, at_s):
        peer = self.idle_peer(at_s)
        kind = self.random.choices(("die", "blink", "leave", "short", "burst"), (40, 15, 20, 10, 15))[0]
        longest_s = min(90, max(DEATH_S + 10, self.seconds / 10))
        away_s = {"die": self.random.uniform(DEATH_S, longest_s), "blink": self.random.uniform(0.2, 2),
                  "leave": self.random.uniform(3, 20), "short": self.random.uniform(1, 2.5),
                  "burst": self.random.uniform(CAPPED_S, CAPPED_S + 5)}[kind]
        for_good = kind == "die" and self.random.random() < 0.1
        if peer is None or self.near_outage(at_s, at_s + away_s):
            return
        if kind in ("short", "burst"):
            self.swarm(at_s, "lose", peer, int(away_s * 1000))
        else:
            self.swarm(at_s, "leave" if kind == "leave" else "die", peer)
            if not for_good:
                self.swarm(at_s + away_s, "join", peer)
        if kind in ("die", "burst"):
            self.do(at_s + 2.5, "look", peer)
        self.busy_until_s[peer] = float("inf") if for_good else at_s + away_s + 5

    def injections(self):
        at_s = WARM_S
        while True:
            at_s += self.random.expovariate(self.peers * RATE)
            if at_s >= self.seconds - DRAIN_S:
                break
            self.inject(at_s)
        if self.outage:
            self.swarm(self.outage[0], "lose", f"0-{self.peers - 1}", int((self.outage[1] - self.outage[0]) * 1000))

    def moments(self, every_s, end_s):
        """At random, but never less than half of every_s apart."""
        at_s = WARM_S + self.random.uniform(0, every_s / 2)
        while at_s < end_s:
            yield at_s
            at_s += every_s * self.random.uniform(0.5, 1.5)

    def daemon(self):
        """It is killed in the first half only: the growth of the one that lives through the other is measured."""
        for at_s in self.moments(min(60, max(16, self.seconds / 10)), self.seconds * 0.45):
            self.do(at_s, "kill")
            self.do(at_s + self.random.uniform(0.1, 7), "start")
        for at_s in self.moments(15, self.seconds - DRAIN_S / 2):
            self.do(at_s, "upgrade")
        self.do(self.random.uniform(0.5, 0.6) * self.seconds, "freeze", FREEZE_S)

    def reloads(self):
        there = set(range(self.base, self.peers))
        patient = set()
        self.spare(there, patient)
        for number, at_s in enumerate(self.moments(12, self.seconds - DRAIN_S), 1):
            gone = set(self.random.sample(sorted(there), min(len(there), max(1, len(there) // 10))))
            back = set(self.random.sample(sorted(set(range(self.base, self.peers)) - there),
                                          (self.peers - self.base - len(there)) // 2))
            patient ^= set(self.random.sample(range(self.base, self.peers), max(1, (self.peers - self.base) // 20)))
            there = there - gone | back
            self.spare(there, patient)
            self.do(at_s, "reload", number, ",".join(name(peer) for peer in sorted(gone)))

    def spare(self, there, patient):
        """The list of the other peers goes on here; then those that are waited for longer."""
        text = "".join(entry(peer) for peer in sorted(there - patient))
        if there & patient:
            text += "  - interval: 1s\n    pause: 4s\n    list:\n"
        self.spares.append(text + "".join(entry(peer) for peer in sorted(there & patient)))

    def write(self, folder):
        self.everybody()
        self.injections()
        self.daemon()
        self.reloads()
        self.do(self.seconds, "end")
        for kind, lines in (("script", self.script), ("conduct", self.conduct)):
            with open(f"{folder}/{kind}", "w") as file:
                file.writelines(f"{at_ms} {text}\n" for at_ms, text in sorted(lines, key=lambda line: line[0]))
        with open(f"{folder}/peers", "w") as file:
            file.writelines(entry(peer) for peer in range(self.base))
        for number, text in enumerate(self.spares):
            with open(f"{folder}/spare.{number}", "w") as file:
                file.write(text)


if __name__ == "__main__":
    Plan(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).write(sys.argv[4])
