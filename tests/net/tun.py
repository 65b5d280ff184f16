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

from packets import HOPS, UDP, datagram, packet

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000

device, source, target, port, count = sys.argv[1:]
source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
for _ in range(int(count)):
    os.write(tun, packet(source, target, UDP, HOPS, datagram(source, target, int(port), bytes(40))))
    time.sleep(0.005)
