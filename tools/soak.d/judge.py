# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""judge.py DIR: holds what kphi said (life.*, follow.*) against what the senders did (swarm.log).

Prints a line for each question, `ok` or `FAILED`, with figures; for a failure the first cases with their evidence.
Exit status 1 if one failed. Times are CLOCK_MONOTONIC in nanoseconds, all of one host.

The senders' log is the truth about the wire: whatever kphi may have stamped as a silence is a silence there. Times
are reported. What is asserted is that verdicts are right and come at all, in a time that only a broken kphi exceeds.
"""
import glob
import json
import os
import re
import statistics
import sys
from collections import Counter, defaultdict

from senders import Senders

SECOND_NS = 1_000_000_000
LEAST_NS = 4 * SECOND_NS     # pause and interval: no deadline of the configured peers is sooner
DEADLINE_NS = 10 * SECOND_NS  # and none, without a look at it, is taken for later
PATIENCE_NS = 10 * SECOND_NS  # beyond the deadline, with a daemon that watches all the time
SLACK_NS = 1_000_000         # between two clocks that are read one after the other
LOOK_NS = 2 * SECOND_NS      # a daemon reads the clock and then the record, and may be kept from the CPU in between
WARM_NS = 20 * SECOND_NS     # after which a process has touched all of its memory once
GROWTH_KIB = {"daemon": 2048, "web": 8192, "recorder": 2048, "follower": 1024}  # in a run, however long
EVIDENCE = 5                 # cases that are printed of each failure
NOTES = ("restart", "capped", "retuned", "stamp_inverted", "unlearned", "handover", "renegotiated", "unrecorded")
UNASKED = ("blind", "sighted", "down", "degraded", "retuned", "handover", "mute", "hook", "carrier")  # events
HEALTHY = ("beat", "leave", "unknown_peer")  # outcomes; anything else was not sent


def lines(path):
    """JSON lines; the last one of a process that was killed may be torn."""
    with open(path, errors="replace") as file:
        for text in file:
            if text.endswith("\n"):
                yield json.loads(text)


class Judge:
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

    # --- verdicts ---

    def page(self, kind):
        return [e for e in self.events if e["type"] == kind and e["consumer"] == "page"]

    def explained(self, e):
        """Why an accusation (suspect, hold, never_heard) is wrong; None: the wire was silent for so long."""
        s = self.senders.silence_at(e["peer"], e["monotonic_ns"])
        case = f"{e['type']} of {e['peer']} by {e['consumer']} at {e['monotonic_ns']}, silent for {e['silence_ns']}"
        if s is None:
            before = [str(x) for x in self.senders.silences[e["peer"]] if x.begin <= e["monotonic_ns"]][-1:]
            return f"{case}: it was beating" + (f"; the last silence before: {before[0]}" if before else "")
        lasted = e["monotonic_ns"] - s.begin + SLACK_NS
        if s.why == "left":
            return f"{case}: it had said goodbye ({s})"
        if lasted < LEAST_NS or lasted < (e["silence_ns"] or 0):
            return f"{case}: that is too long ({s})"
        return None

    def verdicts_explained(self):
        accusing = [e for e in self.events if e["type"] in ("suspect", "hold", "never_heard")]
        self.check("every suspicion is explained", list(filter(None, map(self.explained, accusing))),
                   f"{dict(Counter(e['type'] for e in accusing))}")
        wrong = []
        for e in self.events:
            peer, at = e.get("peer"), e["monotonic_ns"]
            if e["type"] == "trust":
                s = self.senders.silence_at(peer, e["since_ns"]) if e["since_ns"] else None
                if s and (s.before is None or at < s.before - LOOK_NS):
                    wrong.append(f"trust in {peer} at {at}: it was not back ({s})")
            elif e["type"] == "restart" and not any(b <= at + LOOK_NS and epoch == e["epoch"]
                                                    for b, epoch in self.senders.lives[peer]):
                wrong.append(f"restart of {peer} at {at}: no life of epoch {e['epoch']} had begun")
            elif e["type"] == "leave" and not any(last <= at + LOOK_NS for last, _ in self.senders.leaves[peer]):
                wrong.append(f"leave of {peer} at {at}: it said nothing")
            elif e["type"] in UNASKED:
                wrong.append(f"{e['type']} {e.get('detail') or peer or ''} at {at}: nobody gave a reason for it")
        self.check("every other verdict is explained", wrong, f"{dict(Counter(e['type'] for e in self.events))}")

    def deaths_found(self):
        looks = defaultdict(list)
        for j in self.said("look"):
            looks[j["peer"]].append(j)
        # After an exchange of programs while no daemon lived, the next one counts silences from the exchange on.
        blind = [j["begin"] for j in self.said("upgrade") if not any(a <= j["begin"] <= b for a, b in self.watches)]
        kinds, late_ns, missed, held, unseen = Counter(), [], [], 0, 0
        found = defaultdict(list)
        for e in self.events + self.recited:
            if e["type"] == "suspect" and e["consumer"] == "page":
                found[e["peer"]].append(e)
        for peer, s in ((p, s) for p, all_of in self.senders.silences.items() for s in all_of if s.why != "left"):
            if s.before is not None and s.before < self.watches[0][0]:
                continue
            look = next((j for j in looks[peer] if s.begin <= j["last_ns"] <= j["t"] and s.covers(j["t"])), None)
            allowed_ns = look["deadline_ns"] if look else DEADLINE_NS
            begin = look["last_ns"] if look else max(s.begin, self.watches[0][0])
            due = max([begin] + [t for t in blind if s.covers(t)]) + allowed_ns
            told = [e["monotonic_ns"] for e in found[peer] if s.covers(e["monotonic_ns"])]
            was_held = any(s.covers(e["monotonic_ns"]) for e in self.by_peer["hold", peer])
            if told:
                kinds[s.why] += 1
                if look and not was_held and any(a <= due and min(told) <= b for a, b in self.watches):
                    late_ns.append(min(told) - due)
                    if late_ns[-1] > PATIENCE_NS:
                        missed.append(f"{peer} ({s}) was found {late_ns[-1] / 1e9:.3f} s late")
            elif was_held:
                held += 1
            elif self.watched_ns(due, s.before) >= PATIENCE_NS:
                missed.append(f"{peer} ({s}) was never suspected; due at {due}")
            elif s.before is None or s.before > due:
                unseen += 1
        few = ["nothing was found, so nothing is proved"] if not kinds["died"] else []
        self.check("every death is found", missed + few, f"found {dict(kinds)}; withheld {held}, "
                   f"back before a daemon had the time {unseen}")
        if late_ns:
            late_ns.sort()
            at = [late_ns[len(late_ns) * percent // 100] / 1e6 for percent in (50, 99)] + [late_ns[-1] / 1e6]
            print(f"        {'after the computed deadline':40}  median {at[0]:.3f} ms, p99 {at[1]:.3f}, "
                  f"max {at[2]:.3f}, of {len(late_ns)}")

    def returns_found(self):
        wrong, count = [], 0
        told = sorted(self.page("suspect") + self.page("trust"), key=lambda e: e["monotonic_ns"])
        runs = defaultdict(list)
        for e in told:
            runs[e["peer"]].append(e)
        for peer, run in runs.items():
            for e, following in zip(run, run[1:] + [None]):
                s = self.senders.silence_at(peer, e["monotonic_ns"])
                if e["type"] != "suspect" or not s or s.before is None:
                    continue
                count += 1
                back = following["monotonic_ns"] if following and following["type"] == "trust" else None
                if self.watched_ns(s.after, back) > PATIENCE_NS:
                    wrong.append(f"{peer} was back at {s.before} and is suspected until {back or 'the end'}")
        self.check("every return is found", wrong, f"{count}")

    def lives_and_goodbyes(self):
        # A first life that was over before anybody knew the peer was not heard.
        lives = [(p, b, epoch) for p, all_of in self.senders.lives.items() for b, epoch in all_of[1:]
                 if any(s.before == b and s.begin > self.watches[0][0] for s in self.senders.silences[p])]
        leaves = [(p, now, None) for p, all_of in self.senders.leaves.items() for _, now in all_of]
        for kind, happened in (("restart", lives), ("leave", leaves)):
            wrong, count = [], 0
            for peer, at, epoch in happened:
                told = [e for e in self.by_peer[kind, peer] if e["monotonic_ns"] >= at - SECOND_NS
                        and epoch in (None, e["epoch"])]
                over = min([b for b, _ in self.senders.lives[peer] if b > at], default=None)
                count += bool(told)
                if not told and self.watched_ns(at, over) > PATIENCE_NS:
                    wrong.append(f"{kind} of {peer} at {at} was never told")
            self.check(f"every {kind} is told", wrong, f"{count} of {len(happened)}")

    def in_the_end(self):
        state = self.said("state")[-1]
        silent = {p: s for p, all_of in self.senders.silences.items() for s in all_of
                  if s.why != "left" and s.begin + DEADLINE_NS + PATIENCE_NS < state["t"] and s.covers(state["t"])}
        suspects = set(state["suspects"])
        wrong = [f"{p} is not suspected ({silent[p]})" for p in silent if p not in suspects]
        wrong += [f"{p} is suspected, but beats" for p in suspects if not self.senders.silence_at(p, state["t"])]
        wrong += ["no answer"] if state["status"] else []
        self.check("in the end the dead are suspected", wrong, f"{len(suspects)}")

    def events_whole(self):
        wrong, lost, heard = [], 0, 0
        for n in self.life:
            numbers = [e["seq"] for e in self.life[n]]
            if numbers != list(range(1, len(numbers) + 1)):
                wrong.append(f"life {n}: events are missing on standard output")
            by_seq, expected = {e["seq"]: e for e in self.life[n]}, None
            for e in self.follow(n):
                if e["type"] == "lost":
                    lost, expected = lost + e["count"], expected + e["count"] if expected else None
                elif e["type"] != "state" and not e["current"]:
                    if expected not in (None, e["seq"]) or by_seq.get(e["seq"], e) != e:
                        wrong.append(f"life {n}: a follower got {e['seq']}, or another event, not {expected}")
                    heard, expected = heard + 1, e["seq"] + 1
        few = [] if heard else ["a follower heard nothing"]
        self.check("followers hear what is said", wrong + few,
                   f"{heard} events of {len(self.events)}, {lost} told as lost")

    # --- the rest ---

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


def main(folder):
    judge = Judge(folder)
    if not judge.senders.totals:
        print("FAILED  the senders did not come to their end: what they did is not known, and nothing can be judged")
        return True
    for question in (judge.deaths_found, judge.verdicts_explained, judge.returns_found, judge.lives_and_goodbyes,
                     judge.in_the_end, judge.events_whole, judge.commands, judge.scrapes, judge.growth, judge.kernel,
                     judge.accounts):
        question()
    print(f"{'FAILED' if judge.failed else 'ok':6}  the soak")
    return judge.failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
