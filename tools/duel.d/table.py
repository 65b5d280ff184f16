# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""table.py RAW OUT: judges what distill.py has made of a duel and writes OUT/duel.md, OUT/duel.svg and RAW/results.json"""
import collections
import json
import os
import sys

import figure
import judge
import text

SECOND = 10**9
ALL_BEATS, ALL_BFD = "beat", ("frr", "bird")
# Key, title, the detector in verdicts.tsv, kinds of streams that it watches.
DETECTORS = [
    ("kphi-fifo", "kphi, SCHED_FIFO", "kphi-fifo", ("beat",)),
    ("kphi", "kphi", "kphi", ("beat",)),
    ("kphi-bfd", "kphi on BFD", "kphi", ("frr", "bird")),
    ("kphi-vrrp", "kphi on VRRP", "kphi", ("vrrp",)),
    ("kphi-serf", "kphi on Serf", "kphi", ("serf",)),
    ("user-reads", "user space, reads first", "user-reads", ("beat",)),
    ("user-timers", "user space, timers first", "user-timers", ("beat",)),
    ("gc-reads", "user space + GC, reads first", "gc-reads", ("beat",)),
    ("gc-timers", "user space + GC, timers first", "gc-timers", ("beat",)),
    ("bfdd", "bfdd", "bfdd", ("frr",)),
    ("BIRD", "BIRD", "BIRD", ("bird",)),
    ("keepalived", "keepalived", "keepalived", ("vrrp",)),
    ("serf", "Serf", "serf", ("serf",)),
]
LATE = ("kphi-fifo", "kphi", "kphi-bfd", "user-reads", "user-timers")
STAMPS = ("xdp", "kernel", "user")


# --- reading ----------------------------------------------------------------------------------------------------------

def table(raw, name, *types):
    path = os.path.join(raw, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [tuple(t(x) for t, x in zip(types, line.rstrip("\n").split("\t"))) for line in file]


def read_streams(raw):
    kills = collections.defaultdict(list)
    for time, victim in table(raw, "kills.tsv", int, str):
        kills[VICTIM_OF.get(victim, victim)].append(time)
    packets = collections.defaultdict(list)
    for name, *rest in table(raw, "packets.tsv", str, int, int, int):
        packets[name].append(tuple(rest))
    return {name: judge.Stream(name, p, sorted(kills[name] + kills[judge.kind(name)])) for name, p in packets.items()}


VICTIM_OF = {"keepalived": "vrrp", "serf": "serf3"}


def read_verdicts(raw):
    """{detector: {stream: [(time, kind, deadline, last)]}}"""
    out = collections.defaultdict(lambda: collections.defaultdict(list))
    for detector, stream, *rest in table(raw, "verdicts.tsv", str, str, int, str, int, int):
        out[detector][stream].append(tuple(rest))
    return out


def read_rows(raw):
    """[{row, napi, healthy, killed, whole: (begin, end), note}] in the order in which they ran"""
    out, now = [], {}
    for row, napi, phase, begin, end, note in table(raw, "rows.tsv", str, str, str, int, int, str):
        now[phase] = (begin, end)
        if phase == "whole":
            out.append({"row": row, "napi": napi, "note": note, **now})
            now = {}
    return out


def read_stamps(raw, offset):
    """{stamp: {stream: {(epoch, sequence): ns}}}, the wire's among them"""
    out = {name: collections.defaultdict(dict) for name in STAMPS + ("wire",)}
    for name, epoch, sequence, kernel, user in table(raw, "stamps.tsv", str, int, int, int, int):
        out["kernel"][name][epoch, sequence] = kernel
        out["user"][name][epoch, sequence] = user
    for name, epoch, sequence, stamp in table(raw, "alike.tsv", str, int, int, int):
        if judge.kind(name) == ALL_BEATS:
            out["xdp"][name][epoch, sequence] = stamp + offset
    for name, stamp, epoch, sequence in table(raw, "packets.tsv", str, int, int, int):
        if judge.kind(name) == ALL_BEATS:
            out["wire"][name][epoch, sequence] = stamp
    return out


# --- judging ----------------------------------------------------------------------------------------------------------

def of_detector(streams, verdicts, kinds, whole):
    """False, justified, detection times, missed: of all streams of these kinds"""
    result = {"false": 0, "justified": 0, "times": [], "missed": 0, "streams": 0}
    for name, stream in streams.items():
        if judge.kind(name) not in kinds:
            continue
        told = [v[:2] for v in verdicts.get(name, [])]
        wrong, justified = judge.count(stream, told, *whole)
        died = judge.deaths(stream, told, *whole)
        result["streams"] += 1
        result["false"] += wrong
        result["justified"] += justified
        result["times"] += [time for time in died if time is not None]
        result["missed"] += died.count(None)
    result["times"].sort()
    return result


def late_of(streams, verdicts, kinds, stalls, whole):
    told = [(time, deadline, last) for name in streams if judge.kind(name) in kinds
            for time, how, deadline, last in verdicts.get(name, []) if how == "suspect"
            and streams[name].silence_at(time) is not None]
    late, left_out = judge.lateness(told, stalls, *whole)
    return {"late": late, "left_out": left_out}


def gaps_of(streams, whole):
    """{kind: (largest gap, largest multiple of the announced interval)} but for deaths"""
    out = {}
    for name, stream in streams.items():
        gap, ratio = stream.largest_gap(*whole)
        before = out.get(judge.kind(name), (0, 0))
        out[judge.kind(name)] = (max(gap, before[0]), max(ratio, before[1]))
    return out


def jitter_of(stamps, whole):
    """{stamp: sorted deviations} of the beats of this time"""
    out = {}
    for what in STAMPS:
        values = []
        for name, sent in stamps["wire"].items():
            here = {key: at for key, at in sent.items() if whole[0] <= at <= whole[1]}
            both = {key: at for key, at in stamps[what][name].items() if key in here}
            values += judge.deviations(both, here)
        out[what] = sorted(values)
    return out


def results_of(raw):
    with open(os.path.join(raw, "meta.json"), encoding="utf-8") as file:
        meta = json.load(file)
    offset = (meta["offset_begin_ns"] + meta["offset_end_ns"]) // 2
    streams, verdicts = read_streams(raw), read_verdicts(raw)
    stalls = collections.defaultdict(list)
    for name, begin, end in table(raw, "stalls.tsv", str, int, int):
        stalls[name].append((begin, end))
    stamps = read_stamps(raw, offset)
    rows = read_rows(raw)
    for row in rows:
        row["gaps"] = gaps_of(streams, row["whole"])
        row["detectors"], row["late"] = {}, {}
        for key, _, who, kinds in DETECTORS:
            row["detectors"][key] = of_detector(streams, verdicts[who], kinds, row["whole"])
            if key in LATE:
                row["late"][key] = late_of(streams, verdicts[who], kinds, stalls[who], row["whole"])
        row["jitter"] = jitter_of(stamps, row["whole"])
    return meta, merge(rows)


def merge(rows):
    """Rows that were measured more than once become one."""
    out = {}
    for row in rows:
        key = (row["row"], row["napi"])
        if key not in out:
            out[key] = {**row, "times": 1}
            continue
        to = out[key]
        to["times"] += 1
        for name, gap in row["gaps"].items():
            to["gaps"][name] = tuple(map(max, gap, to["gaps"].get(name, (0, 0))))
        for name, d in row["detectors"].items():
            for what in ("false", "justified", "missed"):
                to["detectors"][name][what] += d[what]
            to["detectors"][name]["times"] = sorted(to["detectors"][name]["times"] + d["times"])
        for name, late in row["late"].items():
            to["late"][name] = {"late": sorted(to["late"][name]["late"] + late["late"]),
                                "left_out": to["late"][name]["left_out"] + late["left_out"]}
        for name, values in row["jitter"].items():
            to["jitter"][name] = sorted(to["jitter"][name] + values)
    return list(out.values())


def main(raw, out):
    meta, rows = results_of(raw)
    present = [d for d in DETECTORS if any(r["detectors"][d[0]]["streams"] for r in rows)]
    with open(os.path.join(raw, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"meta": meta, "rows": rows}, file)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "duel.md"), "w", encoding="utf-8") as file:
        file.write(text.page(meta, rows, present))
    with open(os.path.join(out, "duel.svg"), "w", encoding="utf-8") as file:
        file.write(figure.picture(rows))
    print(f"{out}/duel.md, {out}/duel.svg; raw data in {raw}")
    print(text.false_table(rows, present))
    print(text.time_table(rows, present))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
