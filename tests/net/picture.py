# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""picture.py PNG [WIDTH]: how many different rows of pixels it has; fails if it is not so wide."""
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
width, height = struct.unpack(">II", data[16:24])
assert len(sys.argv) < 3 or width == int(sys.argv[2]), "another width"
at, packed = 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at : at + 8])
    packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
    at += 12 + length
raw = zlib.decompress(packed)
stride = len(raw) // height
print(len({raw[i : i + stride] for i in range(0, len(raw), stride)}))
