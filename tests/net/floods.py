# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of hostile floods in hex for build/tools/rawsend, and what a peer's beats were like on the wire.

floods.py CLASS TARGET PORT [UUID EPOCH KEY_ID]
    A thousand frames of a class: foreign, malformed, unknown, tag (wrong ones, in the name of UUID), source (spoofed ones,
    in its name), rule (UDP to a rule's PORT). Each comes from another address of 11.0.0.0/8.
floods.py tape CAPTURE...
    The frames of captures, to be sent again.
floods.py wire CAPTURE WINDOW
    Compares the beats of a capture with the window that kphi has of them (`-j peer window`): how far mean and standard
    deviation of the intervals between neighbours lie apart, and the largest gap in all of the capture, in microseconds.
"""
import ipaddress
import json
import random
import statistics
import struct
import sys
import uuid

from packets import UDP, captured, datagram, packet

COUNT = 1000
TCP = 6
SIGNED = 2
SEQUENCE_AT = 14 + 20 + 8 + 40
ETHERNET = bytes.fromhex("ffffffffffff" "020000000001")
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"

random.seed(7441)


def anywhere():
    return ipaddress.ip_address(0x0B000000 + random.getrandbits(24))


def message(node, epoch, sequence, flags=0, key_id=0, tag=0):
    return struct.pack("!4sBBHHHI16sQQ32xQ", b"KPHI", 1, 1, flags, 88, 0, key_id, node, epoch, sequence, tag)


def udp(target, port, payload):
    source = anywhere()
    return packet(source, target, UDP, 255, datagram(source, target, port, payload))


def foreign(target, port):
    kind = random.randrange(4)
    if kind == 0:
        return IPV4 + packet(anywhere(), target, TCP, 64, random.randbytes(40))
    if kind == 1:
        return b"\x88\xb5" + random.randbytes(60)
    return IPV4 + udp(target, 1024 + random.getrandbits(12), random.randbytes(100))


def malformed(target, port):
    sound = bytearray(udp(target, port, message(random.randbytes(16), 1, 1)))
    kind = random.randrange(6)
    if kind == 0:
        sound[2:4] = struct.pack("!H", len(sound) + 1)  # total length
    elif kind == 1:
        sound[24:26] = struct.pack("!H", len(sound))  # UDP length
    elif kind == 2:
        return IPV6 + bytes([0x60, 0, 0, 0, 0xFF, 0xFF, UDP, 64]) + random.randbytes(48)
    elif kind == 3:
        sound[28] ^= 0xFF  # magic
    elif kind == 4:
        sound[32] = 9  # version
    else:
        sound[36:38] = struct.pack("!H", 9000)  # the message's own length
    return IPV4 + sound


def unknown(target, port):
    return IPV4 + udp(target, port, message(random.randbytes(16), 1, 1))


def tag(target, port, node, epoch, key_id):
    return IPV4 + udp(target, port, message(node, epoch, 1 << 40, SIGNED, key_id, random.getrandbits(64)))


def source(target, port, node, epoch, key_id):
    return IPV4 + udp(target, port, message(node, epoch + random.randrange(2), 1 << 40))


def rule(target, port):
    return IPV4 + udp(target, port, b"beat")


def flood(make, target, port, *whose):
    whose = whose and (uuid.UUID(whose[0]).bytes, int(whose[1]), int(whose[2]))
    for _ in range(COUNT):
        print((ETHERNET + make(ipaddress.ip_address(target), int(port), *whose)).hex())


def tape(*paths):
    for path in paths:
        for _, frame in captured(path):
            print(frame.hex())


def wire(path, window):
    with open(window) as file:
        window = json.load(file)
    kept = [ns for ns, steps in zip(window["intervals_ns"], window["steps"]) if steps == 1]
    arrival = {struct.unpack_from("!Q", frame, SEQUENCE_AT)[0]: ns for ns, frame in captured(path)}
    times = sorted(arrival.values())
    sent = [arrival[n] - arrival[n - 1] for n in sorted(arrival) if n - 1 in arrival][-window["samples"]:]
    print(json.dumps({
        "samples": len(kept),
        "mean_us": abs(statistics.mean(kept) - statistics.mean(sent)) // 1000,
        "stddev_us": abs(statistics.pstdev(kept) - statistics.pstdev(sent)) // 1000,
        "wire_stddev_us": statistics.pstdev(sent) // 1000,
        "largest_us": max(b - a for a, b in zip(times, times[1:])) // 1000,
    }))


if sys.argv[1] in ("tape", "wire"):
    {"tape": tape, "wire": wire}[sys.argv[1]](*sys.argv[2:])
else:
    flood(globals()[sys.argv[1]], *sys.argv[2:])
