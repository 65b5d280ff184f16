# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ethernet frames in hex, one a line, for build/tools/rawsend, from SOURCE to TARGET (IPv4 or IPv6).

frame.py UUID EPOCH SOURCE TARGET COUNT [TAG...]
    Native heartbeats 1 to COUNT. Each TAG is put in front, the outermost first: 8100:5 is 802.1Q with VLAN 5, 88a8:7 is
    802.1ad. Written from include/kphi/wire.h, independently of `kphi beat`.
frame.py packet SOURCE TARGET PROTOCOL TTL [TAG...]
    A packet for each line of hex on standard input, its payload. PROTOCOL is an IP protocol number, or udp:PORT.
"""
import ipaddress
import struct
import sys
import time
import uuid

from packets import HOPS, UDP, datagram, packet

PORT = 7441
ETHERNET = bytes.fromhex("ffffffffffff" "020000000001")


def heartbeat(node, epoch, sequence):
    head = struct.pack("!4sBBHHHI", b"KPHI", 1, 1, 0, 88, 0, 0)
    body = struct.pack("!QQQffQQQ", epoch, sequence, int(time.time() * 1000), 0.25, 0.75, 0, 0, 0)
    return head + node + body


def tag(text):
    protocol, vlan = text.split(":")
    return struct.pack("!HH", int(protocol, 16), int(vlan))


def frames(source, target, tags, packets):
    front = ETHERNET + b"".join(map(tag, tags)) + struct.pack("!H", 0x86DD if source.version == 6 else 0x0800)
    for one in packets:
        print((front + one).hex())


def heartbeats(node, epoch, source, target, count, *tags):
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    beats = (heartbeat(uuid.UUID(node).bytes, int(epoch), number) for number in range(1, int(count) + 1))
    frames(source, target, tags, (packet(source, target, UDP, HOPS, datagram(source, target, PORT, b)) for b in beats))


def packets(source, target, protocol, hops, *tags):
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    payloads = map(bytes.fromhex, sys.stdin.read().split())
    if protocol.startswith("udp:"):
        port, protocol = int(protocol[4:]), UDP
        payloads = (datagram(source, target, port, payload) for payload in payloads)
    frames(source, target, tags, (packet(source, target, int(protocol), int(hops), payload) for payload in payloads))


if sys.argv[1] == "packet":
    packets(*sys.argv[2:])
else:
    heartbeats(*sys.argv[1:])
