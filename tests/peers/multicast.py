# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""multicast.py SECONDS: a busy program of a corosync cluster: multicasts as fast as flow control lets it, and prints how many."""
import ctypes
import sys
import time

CPG_DISPATCH_ALL, CPG_TYPE_AGREED, CS_OK, CS_ERR_TRY_AGAIN = 2, 2, 1, 6
SIZE = 100


class Name(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("value", ctypes.c_char * 128)]


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Callbacks(ctypes.Structure):
    _fields_ = [("deliver", ctypes.c_void_p), ("change", ctypes.c_void_p)]


@ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t)
def deliver(*_):
    pass


@ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
                  ctypes.c_void_p, ctypes.c_size_t)
def change(*_):
    pass


def check(what, error):
    if error != CS_OK:
        sys.exit(f"{what}: corosync says {error}")


cpg = ctypes.CDLL("libcpg.so.4")
handle = ctypes.c_uint64()
callbacks = Callbacks(ctypes.cast(deliver, ctypes.c_void_p), ctypes.cast(change, ctypes.c_void_p))
check("cpg_initialize", cpg.cpg_initialize(ctypes.byref(handle), ctypes.byref(callbacks)))
check("cpg_join", cpg.cpg_join(handle, ctypes.byref(Name(5, b"flood"))))
message = (Part * 1)(Part(b"x" * SIZE, SIZE))
sent, end = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    cpg.cpg_dispatch(handle, CPG_DISPATCH_ALL)
    error = cpg.cpg_mcast_joined(handle, CPG_TYPE_AGREED, message, 1)
    sent += error == CS_OK
    if error == CS_ERR_TRY_AGAIN:
        time.sleep(0.001)
    elif error != CS_OK:
        check("cpg_mcast_joined", error)
print(sent)
