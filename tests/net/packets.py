# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets, made and found: for the other scripts, which lib.sh lets import it."""
import struct
import sys

UDP, HOPS = 17, 64
MAGIC_NANOSECONDS = 0xA1B23C4D


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def datagram(source, target, port, payload):
    """UDP from a port to the same one."""
    udp = struct.pack("!HHHH", port, port, 8 + len(payload), 0)
    pseudo = source.packed + target.packed + struct.pack("!HH", len(udp) + len(payload), UDP)
    padded = udp + payload + bytes(len(payload) % 2)
    return udp[:6] + struct.pack("!H", checksum(pseudo + padded)) + payload


def packet(source, target, protocol, hops, payload):
    """IPv4 or IPv6, as the addresses are."""
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops) + source.packed + target.packed + payload
    length = 20 + len(payload)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, hops, protocol, 0) + source.packed + target.packed
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + payload


def captured(path):
    """Time (ns) and frame of each packet of a capture, a pcap with nanoseconds."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if struct.unpack("<I", data[:4])[0] == MAGIC_NANOSECONDS else ">"
    if struct.unpack(order + "I", data[:4])[0] != MAGIC_NANOSECONDS:
        sys.exit(f"{path}: not a capture with nanoseconds")
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, size, _ = struct.unpack(order + "IIII", data[at:at + 16])
        at += 16 + size
        yield seconds * 10**9 + nanoseconds, data[at - size:at]
