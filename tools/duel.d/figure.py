# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs/duel.svg: who was wrong how often, and who was how quick. Plain SVG, for light and dark pages."""
import math

import judge
from text import ROWS

MS = 1e6
# Key, words under the column, colour; what belongs together is next to each other.
COLUMNS = [
    (("kphi-fifo",), "kphi", "as shipped", "#1f9d6b"),
    (("kphi", "kphi-bfd", "kphi-vrrp", "kphi-serf"), "kphi", "ordinary", "#3a7bd5"),
    (("user-reads",), "user space", "reads first", "#8a6fd1"),
    (("user-timers",), "user space", "timers first", "#b05fc4"),
    (("gc-reads", "gc-timers"), "user space", "with a GC", "#d0568f"),
    (("bfdd",), "FRR", "bfdd", "#d9662b"),
    (("BIRD",), "BIRD", "BFD", "#c08a1e"),
    (("keepalived",), "keepalived", "100 ms", "#7d8b2c"),
    (("serf",), "Serf", "LAN", "#6f7f8c"),
]
# Detection: of streams with the same timeout, so not the average of a column.
TIMED = {0: "kphi-fifo", 1: "kphi", 2: "user-reads", 3: "user-timers", 4: "gc-reads", 5: "bfdd", 6: "BIRD", 7: "keepalived", 8: "serf"}

LEFT, TOP, LINE, COLUMN = 212, 84, 30, 76
PLOT_GAP, PLOT = 40, 330
LEAST_MS, MOST_MS = 100, 30000
STYLE = """<style>
text { font-family: -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328 }
.small { font-size: 11px } .soft { fill: #59636e } .bold { font-weight: 600 }
.line { stroke: #d1d9e0; stroke-width: 1 } .none { fill: #8c959f }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .soft { fill: #9198a1 } .line { stroke: #3d444d } .none { fill: #767e87 } }
</style>"""


def say(x, y, text, anchor="start", kind="", colour=""):
    style = f' style="fill:{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{style}>{text}</text>'


def by_row(rows):
    """[(row, [its variants])] in the order in which they ran"""
    out = {}
    for row in rows:
        out.setdefault(row["row"], []).append(row)
    return list(out.items())


def falses(variants, keys, napi):
    return sum(v["detectors"][k]["false"] for v in variants for k in keys if v["napi"] == napi)


def bubble(x, y, count, colour, full):
    """Full: as it is; a ring: with threaded NAPI."""
    if not count:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="none"/>'
    radius = min(14, 7 + 1.2 * math.log2(1 + count))
    look = f"fill:{colour}" if full else f"fill:none;stroke:{colour};stroke-width:1.5"
    words = "fill:#fff;font-size:10px" if full else "font-size:10px"
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" style="{look}"/>' +
            f'<text x="{x:.1f}" y="{y + 3.6:.1f}" text-anchor="middle" style="{words}">{count}</text>')


def left_panel(rows):
    out = [say(LEFT - 10, 18, "False suspicions of peers that were on time, by the wire", kind="bold")]
    for i, (_, above, below, colour) in enumerate(COLUMNS):
        x = LEFT + COLUMN * (i + 0.5)
        out += [say(x, TOP - 36, above, "middle", "small", colour), say(x, TOP - 22, below, "middle", "small", colour)]
    for n, (name, variants) in enumerate(rows):
        y = TOP + LINE * (n + 0.5)
        out.append(f'<line x1="10" y1="{y + LINE / 2:.1f}" x2="{LEFT + COLUMN * len(COLUMNS):.1f}" y2="{y + LINE / 2:.1f}" class="line"/>')
        out.append(say(LEFT - 10, y + 4, ROWS.get(name, name), "end"))
        for i, (keys, _, _, colour) in enumerate(COLUMNS):
            for aside, napi in ((-16, "sender"), (16, "thread")):
                out.append(bubble(LEFT + COLUMN * (i + 0.5) + aside, y, falses(variants, keys, napi), colour, napi == "sender"))
    return out


def place(ms, x0):
    share = math.log(max(LEAST_MS, min(MOST_MS, ms)) / LEAST_MS) / math.log(MOST_MS / LEAST_MS)
    return x0 + PLOT * share


def right_panel(rows, x0):
    out = [say(x0, 18, "Killed peers found: median, line to the slowest", kind="bold")]
    bottom = TOP + LINE * len(rows)
    for ms, label in ((100, "100 ms"), (300, "300 ms"), (1000, "1 s"), (3000, "3 s"), (10000, "10 s"), (30000, "30 s")):
        x = place(ms, x0)
        out += [f'<line x1="{x:.1f}" y1="{TOP - 14}" x2="{x:.1f}" y2="{bottom}" class="line"/>', say(x, TOP - 22, label, "middle", "small soft")]
    for n, (_, variants) in enumerate(rows):
        for i, key in TIMED.items():
            values = sorted(t for v in variants for t in v["detectors"][key]["times"])
            y = TOP + LINE * n + 4 + (LINE - 8) * i / (len(TIMED) - 1)
            if sum(v["detectors"][key]["missed"] for v in variants):
                x = x0 + PLOT + 8 + 4 * (i % 3)
                out.append(f'<path d="M{x:.1f} {y - 2:.1f}l4 4m0 -4l-4 4" style="stroke:{COLUMNS[i][3]};stroke-width:1.3"/>')
            if not values:
                continue
            a, b = place(judge.quantile(values, 0.5) / MS, x0), place(values[-1] / MS, x0)
            colour = COLUMNS[i][3]
            out.append(f'<line x1="{a:.1f}" y1="{y:.1f}" x2="{b:.1f}" y2="{y:.1f}" style="stroke:{colour};stroke-width:1.5"/>')
            out.append(f'<circle cx="{a:.1f}" cy="{y:.1f}" r="2.6" style="fill:{colour}"/>')
        out.append(f'<line x1="{x0}" y1="{TOP + LINE * (n + 1)}" x2="{x0 + PLOT}" y2="{TOP + LINE * (n + 1)}" class="line"/>')
    return out


def picture(rows):
    grouped = by_row(rows)
    x0 = LEFT + COLUMN * len(COLUMNS) + PLOT_GAP
    width, height = x0 + PLOT + 30, TOP + LINE * len(grouped) + 66
    notes = [
        "Full: packets are taken in by the sender's CPU. Ring: by kernel threads on the starved core, so that the kernel's stamps suffer, too.",
        "Right: both; a cross: some deaths were not told before the peer was back. Deaths in frozen rows happen as the freeze begins.",
        "Timeouts: 150 ms; keepalived 380 ms; Serf its own. kphi as shipped is SCHED_FIFO and watches beats; the ordinary one watches all that the others watch.",
    ]
    notes = [say(10, height - 42 + 16 * i, line, kind="small soft") for i, line in enumerate(notes)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
                      "<title>kphi beside other detectors: false suspicions and detection times by the trouble that the observers are in</title>",
                      STYLE] + left_panel(grouped) + right_panel(grouped, x0) + notes + ["</svg>"]) + "\n"
