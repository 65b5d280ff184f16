# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""soak_judge.py: the judge of a soak (tools/soak.d/judge.py) on made-up logs, as TAP.

It finds nothing wrong where nothing is, and each fault that is put in is named by the question that it belongs to.

Two minutes of seven senders, in seconds: n0 dies and returns, n1 loses beats, n2 leaves and returns, n3 comes late,
n4 dies for good, n5 is in good health, n6 is away while no daemon lives. The daemon is killed at 155, and is there
again at 157.
"""
import contextlib
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/soak.d"))
import judge  # noqa: E402

S = 1_000_000_000
EPOCH = 1000


def event(kind, at, peer=None, consumer=None, **more):
    return {"type": kind, "monotonic_ns": int(at * S), "current": False, "peer": peer, "consumer": consumer,
            "epoch": EPOCH, "cause": None, "silence_ns": None, "since_ns": None, **more}


def suspect(at, peer, silence=4.56):
    return event("suspect", at, peer, "page", silence_ns=int(silence * S), since_ns=int(at * S))


def trust(at, peer, since):
    return event("trust", at, peer, "page", since_ns=int(since * S))


def done(what, at, **more):
    return {"t": int(at * S), "what": what, **more}


class World:
    def __init__(self):
        self.swarm = [("join", n, 99.99, 100, EPOCH) for n in (0, 1, 2, 4, 5, 6)]
        self.swarm += [("join", 3, 139.99, 140, EPOCH), ("lose", 1, 190.5, 190, 22000), ("die", 0, 150.1, 150),
                       ("leave", 2, 152, 151.9), ("die", 6, 155.6, 155.5), ("join", 6, 156.49, 156.5, EPOCH + 1),
                       ("join", 2, 169.99, 170, EPOCH + 1),
                       ("join", 0, 174.99, 175, EPOCH + 1), ("die", 4, 180.1, 180), ("gap", 1, 190, 212.99, 213)]
        self.totals = {"beats": 900, "leaves": 1, "dropped": 12, "failed": 0, "skipped": 0, "late_max_ns": 100}
        self.life = {1: [event("config", 101, detail="7 peers: 7 added, 0 changed"),
                         event("never_heard", 106.2, "n3"),
                         event("suspect", 106.2, "n3", "page", cause="never_heard"), trust(140, "n3", 106.2),
                         event("leave", 152, "n2"), suspect(154.56, "n0")],
                     2: [event("config", 157, detail="7 peers: 0 added, 0 changed"),
                         event("restart", 157.1, "n6", epoch=EPOCH + 1), event("restart", 170, "n2", epoch=EPOCH + 1),
                         event("restart", 175, "n0", epoch=EPOCH + 1),
                         trust(175, "n0", 154.56), suspect(184.57, "n4", 4.57),
                         suspect(194.6, "n1", 4.6), trust(213, "n1", 194.6)]}
        self.heard = None  # the follower's, where it is not the same
        self.journal = [done("start", 101, life=1), done("ready", 101.2, life=1),
                        done("kill", 155, life=1, alive=True),
                        done("look", 152.5, peer="n0", last_ns=150 * S, deadline_ns=int(4.56 * S)),
                        done("look", 182.5, peer="n4", last_ns=180 * S, deadline_ns=int(4.56 * S)),
                        done("reload", 120, begin=119 * S, status=0, text=""),
                        done("upgrade", 130, begin=129 * S, status=0, text=""),
                        done("start", 157, life=2), done("ready", 157.3, life=2),
                        done("scrape", 180, whole=True, bytes=9, took_ns=1000),
                        done("state", 270, status=0, suspects=["n4"]), done("ending", 271, life=2, alive=True),
                        done("ended", 271, life=2, status=0)]
        self.samples = [{"t": at * S, "role": role, "pid": 1, "life": 2, "rss_kib": 5000, "own_kib": 4000, "fds": 12}
                        for at in range(158, 270, 2) for role in ("daemon", "web", "recorder", "follower")]
        self.documents = {"bpf.first": {"programs": ["kphi_xdp"], "links": 1, "maps": 18},
                          "bpf.last": {"programs": ["kphi_xdp"], "links": 1, "maps": 18}, "purged": 0,
                          "net.json": {"counters": {"beat": 890, "leave": 1, "unknown_peer": 10, "duplicate": 0,
                                                    "restart": 3, "unrecorded": 11}},
                          "link.json": [{"stats64": {"rx": {"dropped": 0}}}],
                          "trace.json": {"arrivals": 880, "lost": 11, "torn_bytes": 0, "ended": True,
                                          "bytes_per_arrival": 6}}

    # --- what the faults are made of ---

    def drop(self, kind, peer):
        for life in self.life.values():
            life[:] = [e for e in life if (e["type"], e["peer"]) != (kind, peer)]

    def say(self, *events):
        self.life[2] = sorted(self.life[2] + list(events), key=lambda e: e["monotonic_ns"])

    def find(self, what):
        return [j for j in self.journal if j["what"] == what][-1]

    def late(self):
        self.drop("suspect", "n4")
        self.say(suspect(195, "n4", 15))

    def withhold(self):
        self.drop("suspect", "n4")
        self.say(event("hold", 184.57, "n4", "page", silence_ns=4 * S))

    def unheard(self):
        self.number()
        self.heard = {n: list(life) for n, life in self.life.items()}
        del self.heard[2][3]

    def grow(self, key, by):
        for i, sample in enumerate(s for s in self.samples if s["role"] == "daemon"):
            sample[key] += i * by

    def number(self):
        for life in self.life.values():
            for seq, e in enumerate(life, 1):
                e.setdefault("seq", seq)

    def write(self, folder):
        def dump(name, all_of):
            with open(f"{folder}/{name}", "w") as file:
                file.writelines(json.dumps(one) + "\n" for one in all_of)
        self.number()
        with open(f"{folder}/swarm.log", "w") as file:
            for verb, peer, *times in self.swarm:
                numbers = [t if t in (EPOCH, EPOCH + 1, 22000) else int(t * S) for t in times]
                file.write(" ".join(map(str, (verb, peer, *numbers))) + "\n")
            file.write(f"end {272 * S} " + " ".join(f"{k} {v}" for k, v in self.totals.items()) + "\n")
        for n, life in self.life.items():
            dump(f"life.{n}", life)
            dump(f"follow.{n}", self.heard[n] if self.heard else life)
            open(f"{folder}/life.{n}.err", "w").close()
        dump("conduct.log", self.journal)
        dump("samples.log", self.samples)
        for name, document in self.documents.items():
            dump(name, [document])


FAULTS = {
    "a death that nobody told": ("every death is found", lambda w: w.drop("suspect", "n4")),
    "a death withheld for more than a minute": ("every death is found", World.withhold),
    "a death told 10 s after its deadline": ("every death is found", World.late),
    "a late comer who was not missed": ("every death is found", lambda w: w.drop("suspect", "n3")),
    "a lossy path that was not noticed": ("every death is found", lambda w: w.drop("suspect", "n1")),
    "no death at all": ("every death is found", lambda w: (w.drop("suspect", "n0"), w.drop("suspect", "n4"))),
    "a suspicion of a peer that beats": ("every suspicion is explained", lambda w: w.say(suspect(200, "n5"))),
    "a hold of a peer that beats": ("every suspicion is explained", lambda w: w.say(
        event("hold", 200, "n5", "page", silence_ns=5 * S))),
    "a suspicion too early": ("every suspicion is explained", lambda w: w.say(suspect(182, "n4", 2))),
    "a silence that is longer than the wire's": ("every suspicion is explained",
        lambda w: w.say(suspect(185, "n4", 9))),
    "a suspicion after a goodbye": ("every suspicion is explained", lambda w: w.say(suspect(165, "n2"))),
    "trust in the dead": ("every other verdict is explained", lambda w: w.say(trust(200, "n4", 184.57))),
    "a new life that nobody lives": ("every other verdict is explained",
        lambda w: w.say(event("restart", 200, "n5", epoch=5))),
    "a goodbye that nobody said": ("every other verdict is explained", lambda w: w.say(event("leave", 200, "n5"))),
    "blindness": ("every other verdict is explained", lambda w: w.say(event("blind", 200, "n5"))),
    "a return that was not told": ("every return is found", lambda w: w.drop("trust", "n1")),
    "a life that was not told": ("every restart is told", lambda w: w.drop("restart", "n2")),
    "a life between two daemons that was not told": ("every restart is told", lambda w: w.drop("restart", "n6")),
    "a goodbye that was not told": ("every leave is told", lambda w: w.drop("leave", "n2")),
    "the dead forgotten in the end": ("in the end the dead are suspected",
        lambda w: w.find("state").update(suspects=[])),
    "the living suspected in the end": ("in the end the dead are suspected",
                                        lambda w: w.find("state").update(suspects=["n4", "n5"])),
    "an event that standard output lacks": ("followers hear what is said",
        lambda w: (w.number(), w.life[2].pop(3))),
    "an event that a follower lacks": ("followers hear what is said", World.unheard),
    "a reload that was refused": ("commands work, nobody dies alone", lambda w: w.find("reload").update(status=1)),
    "an upgrade that was refused": ("commands work, nobody dies alone",
        lambda w: w.find("upgrade").update(status=1)),
    "a daemon that died": ("commands work, nobody dies alone", lambda w: w.find("kill").update(alive=False)),
    "a daemon that did not end well": ("commands work, nobody dies alone",
        lambda w: w.find("ended").update(status=1)),
    "a scrape cut short": ("metrics are served", lambda w: w.journal.append(
        done("scrape", 200, whole=False, bytes=5, took_ns=1000))),
    "memory that grows": ("daemon: no growth", lambda w: w.grow("rss_kib", 100)),
    "memory of its own that grows": ("daemon: no growth", lambda w: w.grow("own_kib", 100)),
    "descriptors that grow": ("daemon: no growth", lambda w: w.grow("fds", 1)),
    "a web server that was not there": ("web: no growth", lambda w: w.samples.__setitem__(
        slice(None), [s for s in w.samples if s["role"] != "web"])),
    "a program left over": ("no program, link or map is left over",
        lambda w: w.documents["bpf.last"]["programs"].append("x")),
    "a map left over": ("no program, link or map is left over", lambda w: w.documents["bpf.last"].update(maps=19)),
    "a program that outlives a purge": ("no program, link or map is left over",
        lambda w: w.documents.update(purged=1)),
    "a beat that was not counted": ("what was sent is counted", lambda w: w.totals.update(beats=901)),
    "a beat counted as another thing": ("what was sent is counted",
        lambda w: w.documents["net.json"]["counters"].update(
        beat=889, duplicate=1)),
    "an arrival that was not recorded": ("what was counted is recorded", lambda w: w.documents["trace.json"].update(
        arrivals=879)),
    "a loss that was not told": ("what was counted is recorded",
        lambda w: w.documents["net.json"]["counters"].update(
        unrecorded=12)),
    "a torn trace": ("what was counted is recorded", lambda w: w.documents["trace.json"].update(torn_bytes=3)),
    "a trace without an end": ("what was counted is recorded",
        lambda w: w.documents["trace.json"].update(ended=False)),
}


def judged(fault=None):
    """Whether the judge failed it, and what it said."""
    world, said = World(), io.StringIO()
    if fault:
        FAULTS[fault][1](world)
    with tempfile.TemporaryDirectory() as folder:
        world.write(folder)
        with contextlib.redirect_stdout(said):
            failed = judge.main(folder)
    return failed, said.getvalue()


def answers(said, word):
    return {line[8:].split("   ")[0].strip() for line in said.splitlines() if line.startswith(word)}


class Tap:
    def __init__(self):
        self.count, self.failed = 0, 0

    def is_so(self, name, good, evidence):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        if not good:
            print("".join(f"# {line}\n" for line in str(evidence).splitlines()), end="")


def main():
    tap = Tap()
    failed, said = judged()
    tap.is_so("a good soak is good", not failed and not answers(said, "FAILED"), said)
    questions, doubted = answers(said, "ok") - {"the soak"}, set()
    for fault, (question, _) in FAULTS.items():
        failed, said = judged(fault)
        # More than one may see it, but this one has to, with evidence.
        named = failed and question in answers(said, "FAILED") and "\n          " in said
        tap.is_so(f"{fault}: {question}", named, said)
        doubted.add(question)
    # Of growth there is one text for all processes.
    left = {q for q in questions - doubted if "no growth" not in q}
    tap.is_so("no question is never failed", not left and len(questions) > 12, left)
    print(f"1..{tap.count}")
    return tap.failed > 0


if __name__ == "__main__":
    sys.exit(main())
