# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tables and the words of docs/duel.md. What is read out of the figures is computed from them, so it cannot contradict them."""
import judge

MS = 1e6
ROWS = {
    "idle": "idle", "cpu": "stress-ng --cpu 4", "hogs": "16 hogs on one core", "switch": "context switches (stress-ng)",
    "timer": "timers (stress-ng)", "quota": "quota 10 in 100 ms", "fifo": "SCHED_FIFO hog", "frozen1": "frozen 1 s",
    "frozen5": "frozen 5 s", "frozen10": "frozen 10 s", "loss0.1": "loss 0.1 %", "loss1": "loss 1 %", "loss5": "loss 5 %",
}
NAPI = {"sender": "", "thread": " (T)"}
LOADED = ("cpu", "hogs", "switch", "timer", "quota", "fifo")
P99_LEAST, P999_LEAST = 100, 1000
KPHI = ("kphi-fifo", "kphi", "kphi-bfd", "kphi-vrrp", "kphi-serf")


def title(row):
    return ROWS.get(row["row"], row["row"]) + NAPI[row["napi"]]


def grid(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def ms(ns):
    value = ns / MS
    return f"{value:.1f}" if value < 100 else f"{value:.0f}" if value < 10000 else f"{value / 1000:.1f} s"


# --- false suspicions -------------------------------------------------------------------------------------------------

def wire(row):
    """What proves that the healthy were: the largest gap in what they sent."""
    said = []
    for kind, name in (("beat", "beats"), ("frr", "bfdd"), ("bird", "BIRD"), ("vrrp", "VRRP")):
        gap, ratio = row["gaps"].get(kind, (0, 0))
        if gap:
            said.append(f"{name} {ratio:.1f}x" if ratio else f"{name} {ms(gap)}")
    return ", ".join(said)


def false_cell(d):
    return f"{d['false']}" + (f" (+{d['justified']})" if d["justified"] else "")


def false_table(rows, detectors):
    return grid(["observers' trouble"] + [d[1] for d in detectors] + ["largest gap on the wire"],
                [[title(r)] + [false_cell(r["detectors"][d[0]]) for d in detectors] + [wire(r)] for r in rows])


# --- detection --------------------------------------------------------------------------------------------------------

def spread(values):
    """median / p99 / max, as far as there are enough for them"""
    if not values:
        return "-"
    parts = [ms(judge.quantile(values, 0.5))]
    if len(values) >= P99_LEAST:
        parts.append(ms(judge.quantile(values, 0.99)))
    return " / ".join(parts + [ms(values[-1])]) + f" (n={len(values)})"


def time_cell(d):
    return spread(d["times"]) + (f", {d['missed']} missed" if d["missed"] else "")


def time_table(rows, detectors):
    return grid(["observers' trouble"] + [d[1] for d in detectors],
                [[title(r)] + [time_cell(r["detectors"][d[0]]) for d in detectors] for r in rows])


def late_table(rows, detectors):
    names = {d[0]: d[1] for d in detectors}
    keys = [k for k in rows[0]["late"] if k in names]
    return grid(["observers' trouble"] + [names[k] for k in keys],
                [[title(r)] + [spread(r["late"][k]["late"]) + (f", {r['late'][k]['left_out']} left out"
                                                             if r["late"][k]["left_out"] else "") for k in keys] for r in rows])


# --- stamps -----------------------------------------------------------------------------------------------------------

def us(ns):
    value = ns / 1e3
    return f"{value:.1f}" if value < 100 else f"{value:.0f}" if value < 100000 else f"{value / 1000:.0f} ms"


def stamp_cell(values):
    shares = [0.5, 0.99] + ([0.999] if len(values) >= P999_LEAST else []) + [1]
    return " / ".join(us(judge.quantile(values, q)) for q in shares) if values else "-"


def ratio(row):
    """User space to XDP at p99.9; None if there are too few."""
    user, xdp = row["jitter"]["user"], row["jitter"]["xdp"]
    if min(len(user), len(xdp)) < P999_LEAST:
        return None
    return judge.quantile(user, 0.999) / max(1, judge.quantile(xdp, 0.999))


def stamp_table(rows):
    return grid(["observers' trouble", "XDP", "SO_TIMESTAMPNS", "after recvmsg()", "n", "user : XDP at p99.9"],
                [[title(r)] + [stamp_cell(r["jitter"][k]) for k in ("xdp", "kernel", "user")] +
                 [str(len(r["jitter"]["xdp"])), f"{ratio(r):.0f}" if ratio(r) else "-"] for r in rows])


# --- what to read out of it -------------------------------------------------------------------------------------------

def total(rows, keys, napi, what="false"):
    return sum(r["detectors"][k][what] for r in rows if r["napi"] == napi for k in keys)


def where(rows, keys, napi):
    out = [f"{ROWS.get(r['row'], r['row'])}: {n}" for r in rows if r["napi"] == napi
           and (n := sum(r["detectors"][k]["false"] for k in keys))]
    return "; ".join(out) or "none"


def reading_false(rows, detectors):
    ours = [d[0] for d in detectors if d[0] in KPHI]
    others = [d for d in detectors if d[0] not in KPHI]
    for napi, how in (("sender", "Packets taken in by the sender's CPU"), ("thread", "Threaded NAPI on the starved core (T)")):
        yield f"{how}: false suspicions of kphi: {where(rows, ours, napi)}. Of the others: " + ", ".join(
            f"{d[1]} {total(rows, [d[0]], napi)}" for d in others) + "."


def wanted(rows, detectors):
    """Nobody falsely accused by kphi wherever somebody else does so: where that holds, and where not."""
    others = [d[0] for d in detectors if d[0] not in KPHI]
    for napi, how in (("sender", "as it is"), ("thread", "with threaded NAPI")):
        hard = [r for r in rows if r["napi"] == napi and any(r["detectors"][k]["false"] for k in others)]
        failed = [ROWS.get(r["row"], r["row"]) for r in hard if any(r["detectors"][k]["false"] for k in KPHI)]
        if hard:
            yield (f"Rows ({how}) in which another detector accuses somebody who was on time: {len(hard)}. Those in which kphi, in any of its columns, "
                   f"does so too: {', '.join(failed) or 'none'}.")


def losses(rows, detectors):
    """Rows in which kphi is wrong and somebody else on the same or similar signals is not."""
    for r in rows:
        worst = max(r["detectors"][d[0]]["false"] for d in detectors if d[0] in KPHI)
        clean = [d[1] for d in detectors if d[0] not in KPHI and not r["detectors"][d[0]]["false"]]
        if worst and clean:
            yield f"{title(r)}: kphi is wrong (up to {worst} times), these are not: {', '.join(clean)}."


def slower(rows):
    """Rows in which BFD's own daemons tell a death sooner than kphi does from the same packets."""
    for r in rows:
        medians = {k: judge.quantile(r["detectors"][k]["times"], 0.5) for k in ("kphi-bfd", "bfdd", "BIRD")}
        if medians["kphi-bfd"] and medians["bfdd"] and medians["kphi-bfd"] > 1.1 * min(m for m in medians.values() if m):
            yield f"{title(r)} {ms(medians['kphi-bfd'])} ms (bfdd {ms(medians['bfdd'])})"


def missed(rows, detectors):
    """Who did not tell many of the deaths at all, before the peer was back."""
    for key, name, _, _ in detectors:
        few = [f"{title(r)} {d['missed']} of {len(d['times']) + d['missed']}" for r in rows
               if (d := r["detectors"][key])["missed"] * 10 > len(d["times"])]
        if few:
            yield f"Deaths that were not told before the peer was back, where they are more than a tenth: {name}: {'; '.join(few)}."


def reading_late(rows):
    ok, worse = [], []
    for r in rows:
        late = r["late"]["kphi-fifo"]["late"]
        if late and not r["row"].startswith("frozen"):
            (ok if judge.quantile(late, 0.99) <= MS else worse).append(f"{title(r)} {ms(judge.quantile(late, 0.99))}")
    return (f"kphi at SCHED_FIFO, verdict after its computed deadline: 99 of 100 (of fewer: all) within 1 ms in {len(ok)} of {len(ok) + len(worse)} rows"
            f" without a freeze; not in: {', '.join(worse) or 'none'} (p99, ms).")


def reading_stamps(rows):
    for napi, how in (("sender", "the sender's CPU"), ("thread", "threaded NAPI")):
        known = [(ROWS[r["row"]], ratio(r)) for r in rows if r["napi"] == napi and r["row"] in LOADED and ratio(r)]
        if known:
            yield (f"Stamps under load ({how}), user space : XDP at p99.9: " +
                   ", ".join(f"{name} {value:.0f}" for name, value in known) + ". Ten or more was wanted.")


def reading(rows, detectors):
    yield from wanted(rows, detectors)
    yield from reading_false(rows, detectors)
    yield from losses(rows, detectors)
    if found := list(slower(rows)):
        yield "kphi tells the death of a BFD peer more than a tenth later (median) than the quickest daemon in: " + "; ".join(found) + "."
    yield from missed(rows, detectors)
    yield reading_late(rows)
    yield from reading_stamps(rows)


# --- the page ---------------------------------------------------------------------------------------------------------

HEAD = """# kphi beside others

`sudo make duel` writes this page: one run in which kphi, FRR's bfdd, BIRD, keepalived, Serf and a detector in user space watch peers at the same time, in the
same trouble. `tools/duel.d/scene.bash` is who takes part, `rows.bash` what happens to them, `judge.py` what counts.

![Left: how often each detector suspected a peer that the wire shows to have been on time, by trouble. Right: how long each took to tell a real death.](duel.svg)

"""

SETTINGS = """
## Who watches what

| detector | watches | interval, timeout |
|---|---|---|
| bfdd, BIRD | six BFD sessions each | 50 ms, multiplier 3: 150 ms. BFD sends after 75 to 100 % of the interval |
| kphi on BFD | the packets of both | normal model, phi 8, `pause` 78 ms: 150 ms after the last packet, on a steady path |
| kphi | ten senders of native beats | 50 ms; phi 8, `pause` 72 ms: 150 ms |
| user space | the very same packets, by multicast | the same records, windows, phi and schedule (`user/core/`); stamped when recvmsg() has returned. *Reads first* empties the socket before it looks at deadlines, *timers first* the other way round |
| ... + GC | the same | stops for 200 ms every 2 s, as a garbage collector does |
| keepalived, kphi on VRRP | one VRRPv3 master | 100 ms; 380 ms (priority 50). kphi: `pause` 224 ms |
| Serf, kphi on Serf | two members | LAN profile; kphi: exponential model, phi 3: 6.9 mean intervals, about as long as Serf takes |

All observers are ordinary processes on CPU 1, `kphi` too (`priority: 0`); *kphi, SCHED_FIFO* is `kphi run` as it is shipped (priority 10), to which a quota does not
apply. Peers and captures have CPU 0 and a real-time priority, but for Serf. No setting is changed between rows.

* *False*: a suspicion of a peer whose packets, as captured where they leave for the observer (tcpdump, kernel stamps, at SCHED_FIFO), show no gap of its timeout.
  Behind a plus: those that the wire justifies. A BFD session that goes down because its *peer* heard nothing of a frozen observer is not counted.
* *Detection* is from the last packet on the wire to the verdict, in ms: median / p99 (if there are 100) / max (n). Deaths are SIGKILL. *Missed*: not told before the peer was back,
  one second (beats) or 2.5 s later. Only deaths of whom the detector trusted at that moment are trials.
* Frozen rows: who dies there dies in the first moment of the freeze, so the freeze is part of the detection time.
* bfdd runs the timers that have expired before it reads its sockets; BIRD, keepalived and *reads first* read first. That is why the ones accuse after a pause, and the others do not
  but take the pause for the rhythm of their peers, or wait for it.
* (T): the packets of the observers' devices are taken in by kernel threads (threaded NAPI) pinned to the observers' core, so that XDP's stamps suffer what the observers
  do. Otherwise, on veth, that happens on the CPU of the sender, as on a NIC whose interrupts go to another core.
"""


def machine(meta, rows):
    threads = sorted({r["note"] for r in rows if r["napi"] == "thread"})
    return (f"{meta['cpus']} cores ({meta['processor']}), Linux {meta['kernel']}, {meta['date']}; load average before: {meta['load_before']:.1f}. "
            f"(T): {'; '.join(threads)}.\n")


def page(meta, rows, detectors):
    beats = [d for d in detectors]
    return (HEAD + machine(meta, rows) + "\n## False suspicions of peers that were on time\n\n" + false_table(rows, beats) +
            "\n## Detection of killed peers, ms\n\n" + time_table(rows, beats) +
            "\n## Verdicts after their computed deadline, ms\n\nMedian / p99 (if there are 100) / max. The deadline is that of the arrivals "
            "that the detector itself had stamped. Left out: this host had stalled between.\n\n" +
            late_table(rows, detectors) +
            "\n## Stamps of the very same packets, us\n\nHow far the interval between two beats is from that of the same two on the wire: "
            "median / p99 / p99.9 / max.\n\n" +
            stamp_table(rows) + "\n## What to read out of it\n\n" + "".join(f"* {line}\n" for line in reading(rows, detectors)) + SETTINGS)
