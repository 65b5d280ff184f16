# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""judge.py DIR: holds what kphi said (life.*, follow.*) against what the senders did (swarm.log).

Prints a line for each question, `ok` or `FAILED`, with figures; for a failure the first cases with their evidence.
Exit status 1 if one failed. Times are CLOCK_MONOTONIC in nanoseconds, all of one host.

The senders' log is the truth about the wire: whatever kphi may have stamped as a silence is a silence there. Times
are reported. What is asserted is that verdicts are right and come at all, in a time that only a broken kphi exceeds.
"""
import sys
from collections import Counter, defaultdict

from household import Household

SECOND_NS = 1_000_000_000
LEAST_NS = 4 * SECOND_NS     # pause and interval: no deadline of the configured peers is sooner
DEADLINE_NS = 10 * SECOND_NS  # and none, without a look at it, is taken for later
PATIENCE_NS = 10 * SECOND_NS  # beyond the deadline, with a daemon that watches all the time
HOLD_NS = 60 * SECOND_NS     # no suspicion is withheld for longer
SLACK_NS = 1_000_000         # between two clocks that are read one after the other
LOOK_NS = 2 * SECOND_NS      # a daemon reads the clock and then the record, and may be kept from the CPU in between
UNASKED = ("blind", "sighted", "down", "degraded", "retuned", "handover", "mute", "hook", "carrier")  # events


class Judge(Household):
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
            holds = [e["monotonic_ns"] for e in self.by_peer["hold", peer] if s.covers(e["monotonic_ns"])]
            if told:
                kinds[s.why] += 1
                if look and not holds and any(a <= due and min(told) <= b for a, b in self.watches):
                    late_ns.append(min(told) - due)
                    if late_ns[-1] > PATIENCE_NS:
                        missed.append(f"{peer} ({s}) was found {late_ns[-1] / 1e9:.3f} s late")
            elif self.watched_ns(max([due] + [at + HOLD_NS for at in holds]), s.before) >= PATIENCE_NS:
                missed.append(f"{peer} ({s}) was never suspected; due at {due}")
            elif holds:
                held += 1
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
