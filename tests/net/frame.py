# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""frame.py UUID EPOCH SOURCE TARGET COUNT [TAG...]

Native heartbeats 1 to COUNT from SOURCE to TARGET (IPv4 or IPv6) as Ethernet frames in hex, one a line, for
build/tools/rawsend. Each TAG is put in front, the outermost first: 8100:5 is 802.1Q with VLAN 5, 88a8:7 is 802.1ad.
Written from include/kphi/wire.h, independently of `kphi beat`.
"""
import ipaddress
import struct
import sys
import time
import uuid

PORT = 7441
ETHERNET = bytes.fromhex("ffffffffffff" "020000000001")
UDP, HOPS = 17, 64


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def heartbeat(node, epoch, sequence):
    head = struct.pack("!4sBBHHHI", b"KPHI", 1, 1, 0, 88, 0, 0)
    body = struct.pack("!QQQffQQQ", epoch, sequence, int(time.time() * 1000), 0.25, 0.75, 0, 0, 0)
    return head + node + body


def packet(source, target, payload):
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(payload), 0)
    pseudo = source.packed + target.packed + struct.pack("!HH", len(udp) + len(payload), UDP)
    udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp + payload)) + payload
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(udp), UDP, HOPS) + source.packed + target.packed + udp
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, HOPS, UDP, 0) + source.packed + target.packed
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + udp


def tag(text):
    protocol, vlan = text.split(":")
    return struct.pack("!HH", int(protocol, 16), int(vlan))


node, epoch, source, target, count, *tags = sys.argv[1:]
source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
front = ETHERNET + b"".join(map(tag, tags)) + struct.pack("!H", 0x86DD if source.version == 6 else 0x0800)
for number in range(1, int(count) + 1):
    print((front + packet(source, target, heartbeat(uuid.UUID(node).bytes, int(epoch), number))).hex())
