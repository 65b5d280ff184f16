# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tun.py DEVICE SOURCE TARGET PORT COUNT

COUNT datagrams of 40 bytes that arrive on a tun device: IP packets written into its file, one every 5 ms.
"""
import fcntl
import ipaddress
import os
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
UDP, HOPS = 17, 64


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(source, target, port, payload):
    udp = struct.pack("!HHHH", port, port, 8 + len(payload), 0)
    pseudo = source.packed + target.packed + struct.pack("!HH", len(udp) + len(payload), UDP)
    udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp + payload)) + payload
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(udp), UDP, HOPS) + source.packed + target.packed + udp
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, HOPS, UDP, 0) + source.packed + target.packed
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + udp


device, source, target, port, count = sys.argv[1:]
source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
for _ in range(int(count)):
    os.write(tun, packet(source, target, int(port), bytes(40)))
    time.sleep(0.005)
