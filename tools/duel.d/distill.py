# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""distill.py RAW: captures and logs of a duel become three tables in the same folder, all times Unix time in ns

    packets.tsv    STREAM TIME A B     what left for the observers. Of BFD: announced interval (ns), state; of beats: epoch, sequence
    verdicts.tsv   DETECTOR STREAM TIME KIND DEADLINE LAST
                   KIND: suspect (by itself), told (by the peer, which heard nothing of this side), trust. DEADLINE and LAST (arrival)
                   where it says them, else 0
    stalls.tsv     DETECTOR FROM TO    when this host did not work, by kphi's own account
"""
import bisect
import calendar
import json
import os
import re
import struct
import sys
import time

SECOND = 10**9
MAGIC_NANOSECONDS = 0xA1B23C4D
ETHERNET, UDP, VRRP = 14, 17, 112
BFD_PORT, SERF_PORT, BEAT_PORT = 3784, 7946, 7441
VRID = 52
USERS = ("user-reads", "user-timers", "gc-reads", "gc-timers")
OBSERVED_NS = SECOND + SECOND // 10  # a stall is told within a second after it has ended


# --- captures ---------------------------------------------------------------------------------------------------------

def captured(path):
    """Time and frame of each packet. In pieces, because a long run has many; one that was cut off is the end."""
    with open(path, "rb") as file:
        head = file.read(24)
        if len(head) < 24:
            return
        order = "<" if struct.unpack("<I", head[:4])[0] == MAGIC_NANOSECONDS else ">"
        if struct.unpack(order + "I", head[:4])[0] != MAGIC_NANOSECONDS:
            sys.exit(f"{path}: not a capture with nanoseconds")
        while len(record := file.read(16)) == 16:
            seconds, nanoseconds, size, _ = struct.unpack(order + "IIII", record)
            yield seconds * SECOND + nanoseconds, file.read(size)


def packet(frame):
    """Stream and its two figures; None if it is nobody's sign of life."""
    if len(frame) < ETHERNET + 20 or frame[12:14] != b"\x08\x00":
        return None
    ip = frame[ETHERNET:]
    payload = ip[(ip[0] & 15) * 4:]
    source, target, protocol = ip[12:16], ip[16:20], ip[9]
    if protocol == VRRP and payload[1] == VRID and source[3] == 2:
        return "vrrp3", 0, 0
    if protocol != UDP or len(payload) < 8:
        return None
    port, payload = struct.unpack("!H", payload[2:4])[0], payload[8:]
    if port == BFD_PORT and len(payload) >= 24 and source[3] == 1:
        name = {1: "frr", 2: "bird"}[source[1]]
        return f"{name}{source[2]}", struct.unpack("!I", payload[12:16])[0] * 1000, payload[1] >> 6
    if port == SERF_PORT and target[3] == 1 and source[3] in (2, 3):
        return f"serf{source[3]}", 0, 0
    if port == BEAT_PORT and len(payload) >= 48:
        number = int(payload[26:32].hex())
        return (f"beat{number}",) + struct.unpack("!QQ", payload[32:48])
    return None


def packets(raw):
    for place in ("cluster", "frr", "bird"):
        path = os.path.join(raw, place + ".pcap")
        if not os.path.exists(path):
            continue
        for stamp, frame in captured(path):
            if found := packet(frame):
                yield (found[0], stamp) + found[1:]


# --- logs -------------------------------------------------------------------------------------------------------------

def stamp_ns(text):
    """2026/11/30 08:21:57.024733 or with dashes, UTC"""
    whole, fraction = text.replace("/", "-").split(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%d %H:%M:%S")) * SECOND + int(fraction.ljust(9, "0"))


FRR = re.compile(r"^(\S+ \S+) BFD: .*peer:10\.1\.(\d+)\.1 .*\] (\S+) -> (\S+?)(?: reason:(\S+))?$")


def bfdd(lines):
    for line in lines:
        if not (m := FRR.match(line)):
            continue
        when, number, before, after, why = m.groups()
        if after == "up":
            yield f"frr{number}", stamp_ns(when), "trust"
        elif before == "up":
            yield f"frr{number}", stamp_ns(when), "suspect" if why == "control-expired" else "told"


BIRD = re.compile(r"^(\S+ \S+) <\w+> links: Session to 10\.2\.(\d+)\.1 (expired|changed state from (\w+) to (\w+))")


def bird(lines):
    """It says that a session has expired, then that it is down."""
    expired = set()
    for line in lines:
        if not (m := BIRD.match(line)):
            continue
        when, number, what, before, after = m.groups()
        if what == "expired":
            expired.add(number)
        elif after == "Up":
            yield f"bird{number}", stamp_ns(when), "trust"
        elif before == "Up":
            yield f"bird{number}", stamp_ns(when), "suspect" if number in expired else "told"
            expired.discard(number)


def stamped(lines):
    """Of keepalived and Serf: (detector, stream, time, kind)"""
    for line in lines:
        when, file, text = line.rstrip("\n").split("\t", 2)
        if file.startswith("keepalived") and (m := re.search(r"\(v3\) Entering (MASTER|BACKUP) STATE", text)):
            yield "keepalived", "vrrp3", int(when), "suspect" if m[1] == "MASTER" else "trust"
        elif file.startswith("serf") and (m := re.search(r"serf: EventMember(Failed|Join): n([23]) ", text)):
            yield "serf", f"serf{m[2]}", int(when), "suspect" if m[1] == "Failed" else "trust"


def events(lines):
    """What a program says in JSON lines, as it may be cut off."""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


# --- kphi -------------------------------------------------------------------------------------------------------------

def arrivals(lines):
    """{stream: [(stamp, deadline)]} of what `deadlines` has printed"""
    heard = {}
    for line in lines:
        name, _, _, stamp, deadline, _ = line.split("\t")
        heard.setdefault(name, []).append((int(stamp), int(deadline)))
    return heard


def kphi(lines, heard, offset):
    """Verdicts, each with the deadline that follows from the arrivals before it. Gossip has a consumer of its own."""
    for e in events(lines):
        if e.get("consumer") != ("gossip" if str(e.get("peer")).startswith("serf") else "page"):
            continue
        if e.get("type") == "trust":
            yield e["peer"], e["monotonic_ns"] + offset, "trust", 0, 0
        elif e.get("type") == "suspect" and e.get("cause") in ("silence", "never_heard"):
            now, of_peer = e["monotonic_ns"], heard.get(e["peer"], [])
            at = bisect.bisect_right(of_peer, (now, 2**63)) - 1
            last, deadline = of_peer[at] if at >= 0 else (0, 0)
            told = deadline and e["cause"] == "silence"
            yield e["peer"], now + offset, "suspect", deadline + offset if told else 0, last + offset if told else 0


def stalls(lines, offset):
    for e in events(lines):
        if e.get("type") == "stall":
            yield e["monotonic_ns"] - (e.get("length_ns") or 0) - OBSERVED_NS + offset, e["monotonic_ns"] + offset


def user(lines, offset):
    for e in events(lines):
        if e.get("type") == "trust":
            yield e["peer"], e["monotonic_ns"] + offset, "trust", 0, 0
        elif e.get("type") == "suspect":
            yield e["peer"], e["monotonic_ns"] + offset, "suspect", e["deadline_ns"] + offset, e["last_ns"] + offset


# --- all of it --------------------------------------------------------------------------------------------------------

def lines_of(raw, name):
    path = os.path.join(raw, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def verdicts(raw, offset):
    for program, read in (("frr", bfdd), ("bird", bird)):
        for found in read(lines_of(raw, f"{program}-{'f2' if program == 'frr' else 'd2'}.log")):
            yield ({"frr": "bfdd", "bird": "BIRD"}[program],) + found + (0, 0)
    for found in stamped(lines_of(raw, "stamped.tsv")):
        yield found + (0, 0)
    for name, log, trace in (("kphi", "run", "alike"), ("kphi-fifo", "run-fifo", "fifo")):
        heard = arrivals(lines_of(raw, trace + ".tsv"))
        for found in kphi(lines_of(raw, log + ".log"), heard, offset):
            yield (name,) + found
    for name in USERS:
        for found in user(lines_of(raw, name + ".log"), offset):
            yield (name,) + found


def write(raw, name, rows):
    with open(os.path.join(raw, name), "w", encoding="utf-8") as file:
        for row in rows:
            file.write("\t".join(map(str, row)) + "\n")


def main(raw):
    with open(os.path.join(raw, "meta.json"), encoding="utf-8") as file:
        meta = json.load(file)
    offset = (meta["offset_begin_ns"] + meta["offset_end_ns"]) // 2
    write(raw, "packets.tsv", sorted(packets(raw)))
    write(raw, "verdicts.tsv", sorted(verdicts(raw, offset), key=lambda row: row[2]))
    write(raw, "stalls.tsv", [(name,) + stall for name, log in (("kphi", "run.log"), ("kphi-fifo", "run-fifo.log"))
                              for stall in stalls(lines_of(raw, log), offset)])


if __name__ == "__main__":
    main(sys.argv[1])
