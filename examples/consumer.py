#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every peer once a second: what it is called, its phi under its own model, who suspects it.

    consumer.py [ROOT [ROUNDS]]      ROOT: directory of the store; the usual one if not given
"""
import ctypes as c
import sys
import time

kphi = c.CDLL("libkphi.so.0")
kphi.kphi_now_ns.restype = c.c_uint64
kphi.kphi_model_name.restype = c.c_char_p


class Ref(c.Structure):
    _fields_ = [("slot", c.c_uint32), ("generation", c.c_uint32)]


class About(c.Structure):
    _fields_ = [("ref", Ref), ("name", c.c_char * 64), ("host", c.c_char * 64), ("id", c.c_uint8 * 16),
                ("interval_ns", c.c_uint64), ("model", c.c_int32), ("is_rule", c.c_uint32)]


class Reading(c.Structure):
    _fields_ = [("phi_q32", c.c_uint64), ("suspect_in_ns", c.c_uint64), ("silence_ns", c.c_uint64),
                ("beats", c.c_uint64), ("epoch", c.c_uint64), ("samples", c.c_uint32), ("model", c.c_int32),
                ("condition", c.c_uint8), ("judged", c.c_uint8), ("degraded", c.c_uint8),
                ("muted", c.c_uint8), ("reserved", c.c_uint32)]


def open_store(root):
    store, why = c.c_void_p(), c.create_string_buffer(1024)
    if kphi.kphi_open(c.byref(store), root, why, c.c_size_t(len(why))):
        sys.exit(why.value.decode())
    return store


def show(store):
    about, reading, cursor = About(), Reading(), c.c_uint32(0)
    now = c.c_uint64(kphi.kphi_now_ns())
    while kphi.kphi_next(store, c.byref(cursor), c.byref(about)) == 1:
        if kphi.kphi_read(store, about.ref, -1, c.c_uint64(0), now, c.byref(reading)):
            continue  # deleted since
        answer = kphi.kphi_suspected(store, about.ref, -1, now)
        phi = f"{reading.phi_q32 / 2**32:.3f}" if reading.judged else "-"
        print(about.name.decode(), phi, kphi.kphi_model_name(reading.model).decode(),
              {0: "trusted", 1: "suspected", 2: "unknown"}.get(answer, "gone"), flush=True)


root = sys.argv[1].encode() if len(sys.argv) > 1 else None
store = open_store(root)
for n in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    time.sleep(min(n, 1))
    if kphi.kphi_stale(store):
        kphi.kphi_close(store)
        store = open_store(root)
    show(store)
