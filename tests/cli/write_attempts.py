#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tries to write into BPF maps by every way there is, and says how each attempt ended.

write_attempts.py MAP...      pinned maps: one line each, such as "records read:ok update:EPERM mmap:EPERM mprotect:EACCES"
write_attempts.py --read-only MAP...  the same through a descriptor that is asked for reading only, with a look-up before
write_attempts.py --witness   the same attempts where they have to succeed: on a map of its own (root), and on plain memory,
                              because what a map is once mapped for cannot be changed for anybody
"""
import ctypes
import errno
import mmap
import os
import platform
import struct
import sys

SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
MAP_CREATE, LOOKUP, UPDATE, OBJ_GET = 0, 1, 2, 7
TYPE_ARRAY, FLAG_READ_ONLY, FLAG_MMAPABLE = 2, 1 << 3, 1 << 10
VALUE_MAX = 1 << 16  # of one element, by far

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def bpf(command, *words):
    """The attributes as 64-bit words, zeros after them. Returns a descriptor or 0; raises OSError."""
    attributes = ctypes.create_string_buffer(struct.pack("%dQ" % len(words), *words), 128)
    result = libc.syscall(SYS_BPF, command, attributes, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


def element(command, fd):
    key, value = ctypes.c_uint32(0), ctypes.create_string_buffer(VALUE_MAX)
    bpf(command, fd, ctypes.addressof(key), ctypes.addressof(value), 0)


def open_pin(path, flags):
    name = ctypes.create_string_buffer(path.encode())
    return bpf(OBJ_GET, ctypes.addressof(name), flags << 32)


def map_memory(fd, protection):
    at = libc.mmap(None, mmap.PAGESIZE, protection, mmap.MAP_SHARED, fd, 0)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return at


def make_writable(fd):
    at = map_memory(fd, mmap.PROT_READ)
    if libc.mprotect(at, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")


ATTEMPTS = {
    "read": lambda fd: ctypes.string_at(map_memory(fd, mmap.PROT_READ), 8),
    "update": lambda fd: element(UPDATE, fd),
    "mmap": lambda fd: map_memory(fd, mmap.PROT_READ | mmap.PROT_WRITE),
    "mprotect": make_writable,
}


def outcome(attempt, fd):
    try:
        attempt(fd)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]


def report(name, fd, attempts=ATTEMPTS):
    print(name, *("%s:%s" % (word, outcome(attempt, fd)) for word, attempt in attempts.items()))


def main():
    if sys.argv[1:] == ["--witness"]:
        # type, key size; value size, elements; flags
        report("map", bpf(MAP_CREATE, TYPE_ARRAY | 4 << 32, 64 | 1 << 32, FLAG_MMAPABLE))
        memory = os.memfd_create("witness")
        os.truncate(memory, mmap.PAGESIZE)
        report("memory", memory)
        return
    read_only = sys.argv[1] == "--read-only"
    for path in sys.argv[1 + read_only :]:
        name = os.path.basename(path)
        try:
            if read_only:
                report(name, open_pin(path, FLAG_READ_ONLY), {"lookup": lambda fd: element(LOOKUP, fd), **ATTEMPTS})
            else:
                report(name, open_pin(path, 0))
        except OSError as e:
            print(name, "open:" + errno.errorcode[e.errno])


main()
